from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from onnx_models import compute, drawn, floats, info, model, node

from stackproof.backends.errors import InputError
from stackproof.matrix.importing.checking import check_by_onnx
from stackproof.matrix.importing.upgrading import upgrade

X = drawn(2, 3, 4)
IMAGE = drawn(1, 2, 4, 4, seed=1)
SQUARE = drawn(3, 3, seed=2)
COLUMN = drawn(3, seed=3)
STATISTICS = [drawn(2, seed=4), drawn(2, seed=5), drawn(2, seed=6), np.abs(drawn(2, seed=7)) + 0.5]


def softmax(values: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    shifted = np.exp(values - values.max(axes, keepdims=True))
    return shifted / shifted.sum(axes, keepdims=True)


def normalised(image: np.ndarray, epsilon: float) -> np.ndarray:
    scale, bias, mean, variance = (value.reshape(1, -1, 1, 1) for value in STATISTICS)
    return (image - mean) / np.sqrt(variance + epsilon) * scale + bias


def hardmax_of_flat(values: np.ndarray) -> np.ndarray:
    flat = values.reshape(values.shape[0], -1)
    return np.eye(flat.shape[1], dtype=np.float32)[flat.argmax(1)].reshape(values.shape)


@dataclass
class Case:
    """An operator of an old set, and what its definition in that set says it gives."""

    op: str
    opset: int
    feeds: list[np.ndarray]
    wanted: list[np.ndarray]
    attributes: dict[str, Any] = field(default_factory=dict)
    constants: list[np.ndarray] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.op}-{self.opset}-{','.join(self.attributes)}"


CASES = [
    Case("Softmax", 12, [X], [softmax(X, (1, 2))]),
    Case("Softmax", 11, [X], [softmax(X, (0, 1, 2))], {"axis": 0}),
    Case("Softmax", 11, [X], [softmax(X, (2,))], {"axis": 2}),
    Case("LogSoftmax", 1, [X], [np.log(softmax(X, (1, 2)))]),
    Case("Hardmax", 11, [X], [hardmax_of_flat(X)]),
    Case("Squeeze", 11, [X[None, :, None]], [X], {"axes": [0, 2]}),
    Case("Squeeze", 1, [X[None]], [X]),
    Case("Unsqueeze", 12, [X], [X[None, ..., None]], {"axes": [0, 4]}),
    Case("ReduceSum", 12, [X], [X.sum(1)], {"axes": [1], "keepdims": 0}),
    Case("ReduceSum", 1, [X], [X.sum(keepdims=True)]),
    Case("ReduceMean", 17, [X], [X.mean((0, 2), keepdims=True)], {"axes": [0, 2]}),
    Case("ReduceMax", 13, [X], [X.max(2)], {"axes": [-1], "keepdims": 0}),
    Case("ReduceLogSumExp", 11, [X], [np.log(np.exp(X).sum(1))], {"axes": [1], "keepdims": 0}),
    Case("Clip", 6, [X], [X.clip(-0.5, 0.25)], {"min": -0.5, "max": 0.25}),
    Case("Clip", 10, [X], [X.clip(-0.5, None)], {"min": -0.5}),
    Case("Pad", 2, [X[0]], [np.pad(X[0], ((1, 0), (0, 2)), constant_values=2)], {"pads": [1, 0, 0, 2], "value": 2.0}),
    Case("Pad", 10, [SQUARE], [np.pad(SQUARE, ((1, 0), (0, 2)), "reflect")], {"pads": [1, 0, 0, 2], "mode": "reflect"}),
    Case("Pad", 1, [SQUARE], [np.pad(SQUARE, ((1, 0), (0, 2)))], {"paddings": [1, 0, 0, 2]}),
    Case("Slice", 9, [X], [X[:, 1:3, :2]], {"starts": [1, 0], "ends": [3, 2], "axes": [1, 2]}),
    Case("Slice", 1, [X], [X[:1, 1:]], {"starts": [0, 1], "ends": [1, 9]}),
    Case("TopK", 9, [X], [np.sort(X, 2)[..., ::-1][..., :2]], {"k": 2}),
    Case("Split", 2, [X], [X[..., :1], X[..., 1:]], {"axis": 2, "split": [1, 3]}),
    Case("Split", 11, [X], [X[..., :2], X[..., 2:]], {"axis": 2}),
    Case("Split", 13, [X], [X[..., :2], X[..., 2:]], {"axis": 2}),
    Case("Dropout", 10, [X], [X], {"ratio": 0.3}),
    Case("Dropout", 6, [X], [X], {"ratio": 0.3, "is_test": 1}),
    Case("BatchNormalization", 9, [IMAGE], [normalised(IMAGE, 0.01)], {"epsilon": 0.01}, STATISTICS),
    Case("BatchNormalization", 6, [IMAGE], [normalised(IMAGE, 1e-5)], {"is_test": 1}, STATISTICS),
    Case("Upsample", 7, [IMAGE], [IMAGE.repeat(2, 2).repeat(3, 3)], {"scales": [1.0, 1.0, 2.0, 3.0]}),
    Case("Upsample", 9, [IMAGE], [IMAGE.repeat(2, 2)], {}, [np.array([1, 1, 2, 1], np.float32)]),
    Case("Upsample", 1, [IMAGE], [IMAGE.repeat(2, 2)], {"height_scale": 2.0, "width_scale": 1.0}),
    Case("Resize", 10, [IMAGE], [IMAGE.repeat(2, 3)], {}, [np.array([1, 1, 1, 2], np.float32)]),
    Case("Add", 6, [X], [X + COLUMN[:, None]], {"broadcast": 1, "axis": 1}, [COLUMN]),
    Case("Mul", 1, [X], [X * SQUARE[0][None, :, None]], {"broadcast": 1, "axis": 1}, [SQUARE[0]]),
    Case("Sub", 6, [X], [X - X[0, 0]], {"broadcast": 1}, [X[0, 0]]),
    Case("PRelu", 6, [X], [np.where(X < 0, X * COLUMN[:, None], X)], {}, [COLUMN]),
    Case("Gemm", 6, [SQUARE], [SQUARE @ SQUARE + COLUMN], {"broadcast": 1}, [SQUARE, COLUMN]),
    Case("Concat", 1, [X], [np.concatenate([X, X[:, :1]], 1)], {}, [X[:, :1]]),
    Case("Reshape", 4, [X], [X.reshape(2, -1)], {"shape": [0, -1]}),
    Case("Cast", 5, [np.trunc(X)], [X.astype(np.int32)], {"to": "INT32"}),
    Case("Selu", 5, [X], [1.0507 * np.where(X > 0, X, 1.6732 * (np.exp(X) - 1))]),
    Case("Relu", 5, [X], [X.clip(0)], {"consumed_inputs": [0]}),
    Case("Tile", 5, [X], [np.tile(X, (1, 2, 1))], {}, [np.array(2.0, np.float32), np.array(1.0, np.float32)]),
    Case(
        "Scatter", 9, [SQUARE], [np.concatenate([[[7, 8, SQUARE[0, 2]]], SQUARE[1:]])], {"axis": 1},
        [np.array([[0, 1]]), np.array([[7, 8]], np.float32)],
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_old_operator_gives_what_its_own_set_says(case: Case) -> None:
    names = [f"x{place}" for place in range(len(case.feeds))]
    constants = {f"c{place}": value for place, value in enumerate(case.constants)}
    outputs = [f"y{place}" for place in range(2 if case.op == "TopK" else len(case.wanted))]
    old = model(
        [node(case.op, [*names, *constants], outputs, **case.attributes)],
        [floats(name, *value.shape) for name, value in zip(names, case.feeds, strict=True)],
        [info(name, _kind(case, name), [None] * 3) for name in outputs],
        constants,
        case.opset,
    )
    new, changed = upgrade(old, "old.onnx")
    check_by_onnx(new, "old.onnx")
    assert set(changed) <= {case.op}
    made = compute(new, dict(zip(names, case.feeds, strict=True)))
    for value, wanted in zip(made, case.wanted, strict=False):
        assert value.shape == wanted.shape
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)


def _kind(case: Case, name: str) -> int:
    if case.op == "TopK" and name == "y1":
        return TensorProto.INT64
    return TensorProto.INT32 if case.op == "Cast" else TensorProto.FLOAT


def test_one_scale_per_group_becomes_one_per_channel() -> None:
    image, scale, bias = drawn(2, 4, 3, 3), np.array([2, 3], np.float32), np.array([0.5, -1], np.float32)
    old = model(
        [node("GroupNormalization", ["x", "scale", "bias"], ["y"], num_groups=2)],
        [floats("x", 2, 4, 3, 3)], [floats("y", 2, 4, 3, 3)], {"scale": scale, "bias": bias}, 18,
    )  # fmt: skip
    grouped = image.reshape(2, 2, -1)
    normal = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 1e-5)
    wanted = (normal * scale[:, None] + bias[:, None]).reshape(image.shape)
    np.testing.assert_allclose(compute(upgrade(old, "old.onnx")[0], {"x": image})[0], wanted, rtol=1e-4, atol=1e-5)


def test_several_outputs_say_that_an_old_batch_norm_trains() -> None:
    names = ["scale", "bias", "mean", "variance"]
    outputs = ["y", "new_mean", "new_variance", "saved_mean", "saved_variance"]
    old = model(
        [node("BatchNormalization", ["x", *names], outputs)],
        [floats("x", 1, 2, 4, 4)], [floats("y", 1, 2, 4, 4)], dict(zip(names, STATISTICS, strict=True)), 9,
    )  # fmt: skip
    (made,) = upgrade(old, "old.onnx")[0].graph.node
    assert {entry.name: entry.i for entry in made.attribute} == {"training_mode": 1}
    assert list(made.output) == outputs[:3]
    old.graph.output.append(floats("saved_mean", 2))
    with pytest.raises(InputError, match="gives out statistics of the batch that newer sets do not"):
        upgrade(old, "old.onnx")


def test_an_old_operator_in_a_body_is_upgraded_too() -> None:
    then = model([node("Squeeze", ["x"], ["a"], axes=[0])], [], [floats("a", 3)]).graph
    otherwise = model([node("Identity", ["c"], ["b"])], [], [floats("b", 3)]).graph
    nodes = [node("If", ["flag"], ["y"], then_branch=then, else_branch=otherwise)]
    old = model(nodes, [floats("x", 1, 3), info("flag", TensorProto.BOOL, [])], [floats("y", 3)], {"c": COLUMN}, 11)
    new, _ = upgrade(old, "old.onnx")
    x = drawn(1, 3, seed=9)
    np.testing.assert_array_equal(compute(new, {"x": x, "flag": np.True_})[0], x[0])
    np.testing.assert_array_equal(compute(new, {"x": x, "flag": np.False_})[0], COLUMN)


def test_a_model_of_the_newest_set_stays_as_it_is() -> None:
    new = model([node("Relu", ["x"], ["y"])], [floats("x", 2)], [floats("y", 2)])
    made, changed = upgrade(new, "new.onnx")
    assert (made.graph, changed) == (new.graph, [])


@pytest.mark.parametrize(
    ("op", "opset", "attributes", "why"),
    [
        ("Upsample", 7, {"scales": [1.0, 1.0, 0.5, 0.5]}, "makes an image smaller"),
        ("BatchNormalization", 7, {"spatial": 0}, "spatial = 0"),
        ("LpPool", 1, {"kernel_shape": [2, 2], "p": 1.5}, "no whole number"),
    ],
)
def test_an_old_form_without_counterpart_is_refused_by_name(
    op: str, opset: int, attributes: dict[str, Any], why: str
) -> None:
    constants = dict(zip(["a", "b", "c", "d"], STATISTICS, strict=True)) if op == "BatchNormalization" else {}
    nodes = [node(op, ["x", *constants], ["y"], name="the node", **attributes)]
    old = model(nodes, [floats("x", 1, 2, 4, 4)], [floats("y", 1, 2, None, None)], constants, opset)
    with pytest.raises(InputError, match=f"old.onnx: the node: {op} of operator set {opset} .*{why}"):
        upgrade(old, "old.onnx")
