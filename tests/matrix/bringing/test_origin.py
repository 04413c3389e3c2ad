"""What is written into an ONNX file of the model that it was made from."""

from __future__ import annotations

import json

import pytest
from small_graphs import drawn, graph, node, signed

from stackproof.backends.errors import InputError
from stackproof.matrix.bringing.declaring import declare
from stackproof.matrix.bringing.origin import KEY, Origin, Tensor, read_origin, write_origin
from stackproof.matrix.bringing.traps import known_origin

WHOLE = Origin(
    source="torch 2.13.0",
    tensors=(
        Tensor("emb.weight", (5, 4), "FLOAT", tied=("head.weight",)),
        Tensor("scale", (), "FLOAT", role="buffer"),
        Tensor("spare", None, role="frozen", used=False),
    ),
    batch_norms=("bn.running_mean",),
    dropouts={"drop": 0.25},
    updates={"mean": "mean.next"},
    tied=(("a", "b"), ("c",)),
    independent=("ones",),
    accepted=("dropout-dropped",),
)


def test_it_is_read_back_as_it_was_written() -> None:
    model = graph([node("MatMul", ["x", "w"], ["y"])], {"w": drawn(4, 6)})
    assert read_origin(model) is None
    model.metadata_props.add(key="author", value="somebody")
    write_origin(model, Origin(source="something else"))
    write_origin(model, WHOLE)
    assert read_origin(model) == WHOLE
    assert [entry.key for entry in model.metadata_props] == ["author", KEY]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("no JSON", "Expecting value"),
        ("{}", "schema version None"),
        ('{"schema_version": 2}', "schema version 2, this version reads 1"),
        ('{"schema_version": 1, "tensors": [{}]}', "shape"),
        ("[]", ""),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, what: str) -> None:
    model = graph([node("MatMul", ["x", "w"], ["y"])], {"w": drawn(4, 6)})
    model.metadata_props.add(key=KEY, value=text)
    with pytest.raises(InputError, match=f"metadata {KEY}.*{what}"):
        read_origin(model)


def test_a_declaration_leaves_the_rest_as_it_is() -> None:
    model = graph([node("MatMul", ["x", "w"], ["y"])], {"w": drawn(4, 6)})
    write_origin(model, WHOLE)
    declare(model, independent=["w"])
    origin = read_origin(model)
    assert origin is not None
    assert (origin.tensors, origin.independent, origin.tied) == (WHOLE.tensors, ("w",), ())


def test_a_declaration_goes_with_what_pytorch_wrote() -> None:
    model = signed(graph([node("MatMul", ["x", "w"], ["y"])], {"w": drawn(4, 6)}), ["w"], ["m"])
    declare(model, accepted=["parameters-merged"])
    origin = known_origin(model)
    assert origin is not None
    assert [(tensor.name, tensor.role, tensor.used) for tensor in origin.tensors] == [
        ("w", "parameter", True),
        ("m", "buffer", False),
    ]
    assert (origin.source, origin.accepted) == ("pytorch 2.13.0", ("parameters-merged",))


def test_names_of_any_script_are_kept() -> None:
    model = graph([node("MatMul", ["x", "w"], ["y"])], {"w": drawn(4, 6)})
    write_origin(model, Origin(tensors=(Tensor("gewicht.größe/0", (4, 6)),)))
    assert json.loads(model.metadata_props[0].value)["tensors"][0]["name"] == "gewicht.größe/0"
