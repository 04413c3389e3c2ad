from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

from stackproof.backends.errors import InputError
from stackproof.backends.reading import read_spec, spec_from_dict
from stackproof.backends.spec import Onnx, Spec

OWN = '[model]\nonnx = "m.onnx"\n'
DIGEST = "0123456789abcdef" * 4


def read(text: str) -> Spec:
    return read_spec(tomllib.loads(text), "own.toml", "own")


def test_the_file_is_all_that_is_required() -> None:
    spec = read(OWN)
    assert spec.model == Onnx(onnx="m.onnx")
    assert (spec.model.kind, spec.data.kind) == ("onnx", "prototypes")
    assert read(OWN + 'kind = "onnx"').model == spec.model


def test_every_key_arrives() -> None:
    spec = read(f"""
        [model]
        onnx = "models/m.onnx"
        digest = "{DIGEST}"
        output = "scores"
        shapes = {{x = [8, 3, 32, 32], flag = []}}
        bounds.tokens = 1000
        train = ["head.*"]
        freeze = ["body.*"]
        training = true
        [train]
        loss = "own"
    """)
    assert spec.model == Onnx(
        onnx="models/m.onnx",
        digest=DIGEST,
        output="scores",
        shapes={"x": (8, 3, 32, 32), "flag": ()},
        bounds={"tokens": 1000},
        train=("head.*",),
        freeze=("body.*",),
        training=True,
    )
    assert spec.train.loss == "own"
    assert spec_from_dict(spec.to_dict()) == spec


@pytest.mark.parametrize(
    ("text", "where", "fragment"),
    [
        ('[model]\nkind = "onnx"', "model.onnx", "missing: name the file"),
        ("[model]\nonnx = 3", "model.onnx", "must be text in quotes"),
        ('[model]\nonnx = ""', "model.onnx", "must be the path of an .onnx file"),
        (OWN + "layers = 3", "model.layers", 'set kind = "gpt"'),
        (OWN + 'digest = "abc"', "model.digest", "must be a SHA-256"),
        (OWN + "shapes = {x = [0]}", "model.shapes.x[0]", "must be from 1"),
        (OWN + "shapes = {x = 3}", "model.shapes.x", "must be a list"),
        (OWN + "bounds = {x = 0}", "model.bounds.x", "must be from 1"),
        (OWN + "bounds = 3", "model.bounds", "must be a table"),
        (OWN + "train = [1]", "model.train[0]", "must be text in quotes"),
        (OWN + '[data]\nkind = "tokens"', "data.kind", 'write "prototypes", or leave it out'),
        ('[model]\nkind = "mlp"\nonnx = "m.onnx"', "model.onnx", 'set kind = "onnx"'),
        ('[model]\nkind = "mlp"\n[train]\nloss = "own"', "train.loss", 'write "cross-entropy"'),
    ],
)
def test_a_fault_is_named_with_its_place_and_mend(text: str, where: str, fragment: str) -> None:
    with pytest.raises(InputError) as caught:
        read(text)
    assert [(fault.where, fragment in fault.what) for fault in caught.value.faults] == [(where, True)]


def test_the_digest_of_a_spec_is_of_the_content_of_its_file_and_not_of_its_place() -> None:
    spec = read(OWN)
    known = replace(spec, model=replace(spec.model, digest=DIGEST))
    moved = replace(known, model=replace(known.model, onnx="other.onnx"), folder="elsewhere")
    assert known.digest == moved.digest
    assert known.digest != spec.digest
    assert "folder" not in known.to_dict()
