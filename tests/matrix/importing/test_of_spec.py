from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx_models import classifier, drawn, floats, model, node, whole
from whole_programs import reference_loss

from stackproof.backends.data import batches
from stackproof.backends.errors import InputError
from stackproof.matrix.compiling import compile_spec
from stackproof.matrix.importing.loading import file_digest
from stackproof.matrix.spec_file import load_spec

if TYPE_CHECKING:
    from pathlib import Path

    from onnx import ModelProto


def write(folder: Path, given: ModelProto, more: str = "", top: str = "") -> Path:
    (folder / "models").mkdir(exist_ok=True)
    onnx.save(given, folder / "models" / "m.onnx")
    (folder / "own.toml").write_text(f'{top}\n[model]\nonnx = "models/m.onnx"\n{more}', encoding="utf-8")
    return folder / "own.toml"


def test_a_spec_with_a_model_file_becomes_a_program(tmp_path: Path) -> None:
    spec = load_spec(write(tmp_path, classifier(), "[data]\nbatch = 6"))
    program = compile_spec(spec)
    assert (program.name, program.loss, program.outputs) == ("own", "loss", ("scores",))
    assert [entry.shape for entry in program.inputs] == [(6, 3, 8, 8), (6,)]
    made = batches(spec, program.inputs)
    assert {name: value.shape for name, value in made[0].items()} == {"x": (6, 3, 8, 8), "labels": (6,)}


def test_the_spec_knows_its_file_by_content(tmp_path: Path) -> None:
    path = write(tmp_path, classifier())
    first = load_spec(path)
    assert first.to_dict()["model"]["digest"] == file_digest(tmp_path / "models" / "m.onnx")
    other = classifier()
    other.graph.initializer[0].raw_data = drawn(4, 3, 3, 3, seed=9).tobytes()
    write(tmp_path, other)
    assert load_spec(path).digest != first.digest


def test_a_digest_in_the_spec_holds_the_file_to_it(tmp_path: Path) -> None:
    wrong = "0" * 64
    path = write(tmp_path, classifier(), f'digest = "{wrong}"')
    with pytest.raises(InputError, match=r"own\.toml: model\.digest: models/m\.onnx has the SHA-256 [0-9a-f]{64}"):
        load_spec(path)
    right = file_digest(tmp_path / "models" / "m.onnx")
    assert load_spec(path, [f'model.digest="{right}"']).to_dict()["model"]["digest"] == right


def test_a_missing_model_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('[model]\nonnx = "m.onnx"\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"m\.onnx: no such file"):
        load_spec(tmp_path / "own.toml")


@pytest.mark.parametrize(
    ("given", "more", "why"),
    [
        (classifier(4), "[data]\nbatch = 8", "its batches have 4 samples and data.batch is 8: write data.batch = 4"),
        (classifier(), 'freeze = ["*"]', "has no parameter that is trained"),
        (
            model(
                [node("Cast", ["ids"], ["numbers"], to=1), node("MatMul", ["numbers", "w"], ["y"])],
                [whole("ids", 16, 3)],
                [floats("y", 16, 2)],
                {"w": drawn(3, 2)},
            ),
            '[train]\nloss = "mean-squared-error"',
            "ids: takes integers, and the graph does not say below which number",
        ),
    ],
)
def test_what_a_spec_cannot_train_is_refused(tmp_path: Path, given: ModelProto, more: str, why: str) -> None:
    with pytest.raises(InputError) as caught:
        compile_spec(load_spec(write(tmp_path, given, more)))
    assert why in str(caught.value)


def test_keys_of_the_spec_reach_the_import(tmp_path: Path) -> None:
    nodes = [
        node("Gather", ["table", "ids"], ["wide"]),
        node("MatMul", ["wide", "w"], ["a"]),
        node("Add", ["a", "offset"], ["y"]),
    ]
    tensors = {"table": drawn(9, 4), "w": drawn(4, 9), "offset": np.float32(0)}
    given = model(nodes, [whole("ids", "n", "t")], [floats("y", "n", "t", 9), floats("a", "n", "t", 9)], tensors)
    more = (
        'output = "y"\nshapes.ids = [4, 5]\nbounds.ids = 7\ntrain = ["offset"]\nfreeze = ["table"]\n[data]\nbatch = 4'
    )
    program = compile_spec(load_spec(write(tmp_path, given, more)))
    assert [(entry.shape, entry.bound) for entry in program.inputs] == [((4, 5), 7), ((4, 5), 9)]
    assert list(program.parameters) == ["w", "offset"]


@pytest.mark.parametrize(
    "train",
    [
        "label_smoothing = 0.1\nignore_label = -1\nclass_weights = [1, 2, 1, 1, 1]",
        'loss = "huber"\nhuber_delta = 0.5',
        'loss = "binary-cross-entropy"',
        'loss = "kl-divergence"',
    ],
)
def test_data_fit_each_loss(tmp_path: Path, train: str) -> None:
    spec = load_spec(write(tmp_path, classifier(), f"[data]\nbatch = 6\n[train]\n{train}"))
    program = compile_spec(spec)
    for made in batches(spec, program.inputs):
        assert {name: (value.dtype.name, value.shape) for name, value in made.items()} == {
            entry.name: (entry.dtype, entry.shape) for entry in program.inputs
        }
    assert math.isfinite(reference_loss(program, batches(spec, program.inputs)[0]))


def test_class_weights_are_held_to_the_classes_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, classifier(), "[train]\nclass_weights = [1, 2]")
    with pytest.raises(InputError, match=r"train\.class_weights: has 2 entries and the model has 5 classes"):
        compile_spec(load_spec(path))


def test_the_program_does_not_follow_from_where_the_file_lies(tmp_path: Path) -> None:
    first = load_spec(write(tmp_path, classifier()))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    second = load_spec(write(elsewhere, classifier()))
    assert (first, compile_spec(first).digest) == (replace(second), compile_spec(second).digest)
