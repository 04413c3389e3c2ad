"""What is worked out before training, and what is left to the frameworks: `onnx.reference` errs in some operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import TensorProto
from onnx.shape_inference import infer_shapes
from onnx_models import drawn, floats, info, model, node

from stackproof.matrix.importing.prepare import Wishes, import_proto

if TYPE_CHECKING:
    from onnx import NodeProto

    from stackproof.backends.program import Program


def made_of(nodes: list[NodeProto], tensors: dict[str, Any], freeze: tuple[str, ...] = ()) -> Program:
    """Return the program of y = x + c, where the nodes make c of constants."""
    last = node("Add", ["x", "c"], ["y"])
    given = model([*nodes, last], [floats("x", 1)], [info("y", TensorProto.FLOAT, None)], tensors)
    return import_proto(infer_shapes(given), "m.onnx", Wishes(freeze=freeze), "m").program


@pytest.mark.parametrize(
    "entry",
    [
        node("LRN", ["k"], ["c"], size=3, alpha=0.9),
        node("LpNormalization", ["k"], ["c"], p=1, axis=1),
        node("LpPool", ["k"], ["c"], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
        node("MaxPool", ["k"], ["c"], kernel_shape=[3, 2], strides=[2, 2], auto_pad="SAME_LOWER"),
        node("Resize", ["k", "", "", "half"], ["c"], mode="cubic"),
        node("Softmax", ["k"], ["c"]),
    ],
    ids=lambda entry: entry.op_type,
)
def test_what_the_reference_may_get_wrong_is_left_to_the_frameworks(entry: NodeProto) -> None:
    made = made_of([entry], {"k": drawn(1, 4, 6, 6), "half": np.array([1, 4, 3, 3])}, ("k",))
    assert [step.op for step in made.nodes] == [entry.op_type, "Add"]
    np.testing.assert_array_equal(made.constants["k"], drawn(1, 4, 6, 6))


def test_a_sequence_stays_one() -> None:
    nodes = [
        node("SplitToSequence", ["k", "two"], ["parts"], axis=0),
        node("SequenceLength", ["parts"], ["length"]),
        node("Cast", ["length"], ["c"], to=TensorProto.FLOAT),
    ]
    made = made_of(nodes, {"k": drawn(6, 3), "two": np.array(2)})
    assert [step.op for step in made.nodes] == ["SplitToSequence", "SequenceLength", "Cast", "Add"]


def test_arithmetic_of_shapes_and_tables_is_worked_out() -> None:
    nodes = [
        node("Range", ["0", "6", "1"], ["places"]),
        node("Cast", ["places"], ["wide"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["wide", "ends"], ["column"]),
        node("Div", ["column", "rates"], ["angles"]),
        node("Sin", ["angles"], ["c"]),
    ]
    numbers = {name: np.array(int(name)) for name in "016"}
    made = made_of(nodes, {**numbers, "ends": np.array([1]), "rates": np.array([1, 2], np.float32)})
    assert [step.op for step in made.nodes] == ["Add"]
    np.testing.assert_allclose(made.constants["c"], np.sin(np.arange(6)[:, None] / np.array([1, 2])), rtol=1e-6)


def test_sums_of_short_floats_are_left_to_the_frameworks() -> None:
    nodes = [node("ReduceSum", ["k"], ["sum"], keepdims=0), node("Cast", ["sum"], ["c"], to=TensorProto.FLOAT)]
    made = made_of(nodes, {"k": np.full(5000, 1, np.float16)})
    assert [step.op for step in made.nodes] == ["ReduceSum", "Cast", "Add"]
