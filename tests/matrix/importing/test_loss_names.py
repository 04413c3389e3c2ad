"""Names of the loss's own tensors, in models that have some of them already."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loss_cases import Case, wanted
from onnx_models import drawn, evaluate, floats, model, node

from stackproof.backends.program import dump, load
from stackproof.backends.recipe import Train
from stackproof.matrix.importing.prepare import Wishes, import_proto


@pytest.mark.parametrize("taken", ["loss", "loss.near", "loss.error", "loss.half"])
@pytest.mark.parametrize("as_parameter", [True, False])
def test_the_loss_takes_other_names_than_those_of_the_model(taken: str, *, as_parameter: bool) -> None:
    names = ("inner", taken) if as_parameter else (taken, "w")
    nodes = [node("Mul", ["x", names[1]], [names[0]]), node("Relu", [names[0]], ["y"])]
    weight = drawn(3, seed=1)
    given = model(nodes, [floats("x", 4, 3)], [floats("y", 4, 3)], {names[1]: weight})
    made = import_proto(given, "m.onnx", Wishes(loss="huber", numbers=Train(huber_delta=0.5)), "m").program
    assert list(made.parameters) == [names[1]]
    assert made.loss == "loss_2"
    x, targets = drawn(4, 3, seed=3), drawn(4, 3, seed=4)
    found = evaluate(replace(load(dump(made)), outputs=(made.loss,)), {"x": x, "targets": targets})[0]
    output = np.maximum(x * weight, 0).astype(np.float64)
    right = wanted(Case("", Train(loss="huber", huber_delta=0.5), output, targets))[0]
    np.testing.assert_allclose(found, right, rtol=1e-5)


def test_an_output_that_is_called_loss_and_has_one_element_is_the_loss() -> None:
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("ReduceMean", ["a", "axes"], ["loss"], keepdims=0)]
    tensors = {"w": drawn(3, 1), "axes": np.array([0])}
    given = model(nodes, [floats("x", 4, 3)], [floats("loss", 1)], tensors)
    made = import_proto(given, "m.onnx", Wishes(loss="own"), "m").program
    assert made.loss == "loss_2"
    x = drawn(4, 3, seed=3)
    found = evaluate(replace(made, outputs=("loss_2",)), {"x": x})[0]
    np.testing.assert_allclose(found, (x @ drawn(3, 1)).mean(), rtol=1e-5)
