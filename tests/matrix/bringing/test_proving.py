"""An export held against its model: tensors by name, outputs, and gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from small_graphs import drawn, graph, node, run, values

from stackproof.backends.errors import InputError
from stackproof.matrix.bringing.derivatives import check_gradients, moved
from stackproof.matrix.bringing.origin import Origin, Tensor
from stackproof.matrix.bringing.placing import place, rename_outputs
from stackproof.matrix.bringing.proving import check_outputs, check_tensors

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto

W = drawn(4, 6)
X = drawn(3, 4, seed=5)


def _product(weight: NDArray[np.float32] = W) -> ModelProto:
    return graph([node("MatMul", ["x", "w"], ["y"])], {"w": weight})


def _origin(*, used: bool = True) -> Origin:
    return Origin(tensors=(Tensor("w", W.shape, "FLOAT", used=used),))


def test_equal_tensors_pass() -> None:
    check_tensors("m", _product(), _origin(), {"w": W})
    check_tensors("m", graph([node("Relu", ["x"], ["y"])], {}), _origin(used=False), {"w": W})


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (graph([node("Relu", ["x"], ["y"])], {}), "w: is no initializer of the export"),
        (_product(W + np.float32(1e-6)), "w: has other values"),
        (_product(drawn(4, 5)), r"w: has shape \[4, 5\] in the export and \[4, 6\] in the model"),
    ],
)
def test_changed_tensors_are_refused(model: ModelProto, what: str) -> None:
    with pytest.raises(InputError, match=what):
        check_tensors("m", model, _origin(), {"w": W})


def test_a_tensor_that_is_there_twice_is_refused() -> None:
    model = _product()
    model.graph.initializer.append(model.graph.initializer[0])
    with pytest.raises(InputError, match="w: is an initializer twice"):
        check_tensors("m", model, _origin(), {"w": W})


def test_outputs_may_differ_by_rounding_only() -> None:
    check_outputs("m", _product(), [X], [X @ W])
    check_outputs("m", _product(), [X], [(X.astype(np.float64) @ W).astype(np.float32)])
    with pytest.raises(InputError, match=r"y: the export computes something else than the model, by 0\.01"):
        check_outputs("m", _product(), [X], [X @ W + np.float32(0.01)])
    with pytest.raises(InputError, match=r"of shape \[3, 6\] and not \[18\]"):
        check_outputs("m", _product(), [X], [(X @ W).ravel()])


def test_dropout_is_left_out_of_the_comparison() -> None:
    tensors = {"rate": np.float32(0.5), "on": np.bool_(1)}
    model = graph([node("Dropout", ["x", "rate", "on"], ["y"])], tensors)
    check_outputs("m", model, [X], [X])
    assert list(model.graph.node[0].input) == ["x", "rate", "on"]


def _loss(name: str, value: NDArray[np.float64]) -> float:
    given = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, -1.0]), name: value}
    return float(np.sum(given["a"] ** 2 * given["b"]))


VALUES = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, -1.0])}
GRADIENTS = {"a": np.array([6.0, -4.0]), "b": np.array([1.0, 4.0])}


@pytest.mark.parametrize("rough", [True, False])
def test_right_gradients_pass(*, rough: bool) -> None:
    check_gradients("m", _loss, VALUES, GRADIENTS, rough=rough)


@pytest.mark.parametrize("rough", [True, False])
def test_a_wrong_gradient_is_refused_by_name(*, rough: bool) -> None:
    wrong = {**GRADIENTS, "b": np.zeros(2)}
    with pytest.raises(InputError, match="m: b: the model's gradient along one direction is") as caught:
        check_gradients("m", _loss, VALUES, wrong, rough=rough)
    assert [fault.where for fault in caught.value.faults] == ["b"]


def test_fresh_values_are_moved_off_their_zeros() -> None:
    values = moved({"zero": np.zeros(5, np.float32), "big": np.full(5, 100.0, np.float32)})
    assert np.all(values["zero"] != 0)
    assert np.abs(values["zero"]).max() < 1e-2
    assert 0.1 < np.abs(values["big"] - 100).max() < 10


def _inputs(*, extra: bool = True) -> ModelProto:
    """A graph as an exporter makes it, whose weight is an input; `given_1` is used by nothing."""
    model = graph([node("MatMul", ["x", "w"], ["y"])], {"w": W})
    del model.graph.initializer[:]
    weight = model.graph.input.add()
    weight.name = "w"
    unused = model.graph.input.add()
    unused.name = "given_1"
    order = [weight, unused, model.graph.input[0]] if extra else [weight, model.graph.input[0]]
    copies = [type(entry).FromString(entry.SerializeToString()) for entry in order]
    del model.graph.input[:]
    model.graph.input.extend(copies)
    return model


def test_inputs_become_initializers_by_their_names() -> None:
    model = _inputs()
    given = {"layer.w": W, "spare": drawn(2)}
    tensors = place(model, given, dict.fromkeys(given, "parameter"), ["data"])
    rename_outputs(model, ["result"])
    assert [(tensor.name, tensor.shape, tensor.used) for tensor in tensors] == [
        ("layer.w", (4, 6), True),
        ("spare", (2,), False),
    ]
    assert list(values(model)) == ["layer.w"]
    assert [entry.name for entry in model.graph.input] == ["data"]
    assert [entry.name for entry in model.graph.output] == ["result"]
    check_outputs("m", model, [X], [X @ W])


def test_a_name_that_a_node_has_already_is_not_confused() -> None:
    model = _inputs()
    given = {"y": W, "x": drawn(2)}
    place(model, given, dict.fromkeys(given, "parameter"), ["data"])
    check_outputs("m", model, [X], [X @ W])


def test_a_dropped_input_is_refused() -> None:
    model = _inputs(extra=False)
    given = {"w": W, "spare": drawn(2)}
    with pytest.raises(InputError, match="the exporter dropped 1 of its inputs"):
        place(model, given, dict.fromkeys(given, "parameter"), ["data"])


def test_the_graphs_of_these_tests_compute_what_they_say() -> None:
    np.testing.assert_allclose(run(_product(), X), X @ W, rtol=1e-6)


def test_a_single_number_stays_an_array_when_it_is_moved() -> None:
    """Its gradient is checked as any other: a temperature, a scale of logits."""
    values = moved({"scale": np.array(0.3)})
    assert isinstance(values["scale"], np.ndarray)
    seen = []

    def loss(name: str, value: NDArray[np.float64]) -> float:
        seen.append((name, type(value)))
        return float(value) ** 2

    check_gradients("m", loss, values, {"scale": 2 * values["scale"]})
    assert set(seen) == {("scale", np.ndarray)}
