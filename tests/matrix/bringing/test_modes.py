"""Batch norms in inference mode, and dropout that drops nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from small_graphs import drawn, graph, node, ones, run, signed, values, zeros

from stackproof.backends.errors import InputError
from stackproof.matrix.bringing.declaring import declare
from stackproof.matrix.bringing.modes import train_batch_norms, train_dropouts
from stackproof.matrix.bringing.origin import Origin, write_origin
from stackproof.matrix.bringing.trap import refuse
from stackproof.matrix.bringing.traps import find_traps, mend

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto

EPSILON = 1e-5


def _norm(**attributes: int) -> ModelProto:
    inputs = ["x", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"]
    outputs = ["y", "mean", "var"] if attributes.get("training_mode") else ["y"]
    tensors = {
        "bn.weight": drawn(4, seed=1),
        "bn.bias": drawn(4, seed=2),
        "bn.running_mean": zeros(4),
        "bn.running_var": ones(4),
    }
    return graph([node("BatchNormalization", inputs, outputs, epsilon=EPSILON, **attributes)], tensors)


def _by_batch(x: NDArray[np.float32], model: ModelProto) -> NDArray[np.float32]:
    held = values(model)
    normal = (x - x.mean(0)) / np.sqrt(x.var(0) + EPSILON)
    return normal * held["bn.weight"] + held["bn.bias"]


def test_an_unknown_batch_norm_in_inference_mode_is_noted_and_left() -> None:
    model = _norm()
    (trap,) = find_traps(model)
    assert (trap.name, trap.severity, trap.nodes) == ("batch-norm-inference", "noted", ("y",))
    assert "bn.running_mean" in trap.message
    assert mend(model, [trap]) == model


def test_one_that_trained_in_its_model_is_mended() -> None:
    model, x = _norm(), drawn(3, 4) * 5 + 2
    write_origin(model, Origin(batch_norms=("bn.running_mean",)))
    traps = find_traps(model)
    assert [trap.severity for trap in traps] == ["mended"]
    mended = mend(model, traps)
    np.testing.assert_allclose(run(mended, x), _by_batch(x, model), rtol=1e-5, atol=1e-6)
    assert np.abs(run(model, x) - _by_batch(x, model)).max() > 0.1
    assert list(mended.graph.node[0].output) == ["y", "bn.running_mean.next", "bn.running_var.next"]
    assert find_traps(mended) == []


def test_pytorch_says_of_its_own_export_which_ones_trained() -> None:
    names = ["bn.running_mean", "bn.running_var"]
    model = signed(_norm(), ["bn.weight", "bn.bias"], names, names)
    (trap,) = find_traps(model)
    assert (trap.name, trap.severity) == ("batch-norm-inference", "mended")
    frozen = signed(_norm(), ["bn.weight", "bn.bias"], names)
    assert [trap.severity for trap in find_traps(frozen)] == ["noted"]


def test_one_that_trains_is_no_trap() -> None:
    assert find_traps(_norm(training_mode=1)) == []


def test_one_with_statistics_of_the_batch_computed_beside_it_is_no_trap() -> None:
    nodes = [
        node("ReduceMean", ["x", "axes"], ["mean"], keepdims=0),
        node("Sub", ["x", "mean"], ["off"]),
        node("Mul", ["off", "off"], ["square"]),
        node("ReduceMean", ["square", "axes"], ["var"], keepdims=0),
        node("BatchNormalization", ["x", "w", "b", "mean", "var"], ["y"]),
    ]
    assert find_traps(graph(nodes, {"axes": np.array([0]), "w": drawn(4), "b": drawn(4, seed=1)})) == []


def test_the_importer_can_switch_noted_ones_itself() -> None:
    model, x = _norm(), drawn(3, 4) + 3
    train_batch_norms(model, [trap.nodes[0] for trap in find_traps(model)])
    np.testing.assert_allclose(run(model, x), _by_batch(x, model), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("inputs", [["x"], ["x", "rate"], ["x", "rate", "off"]])
def test_idle_dropout_is_noted_or_mended(inputs: list[str]) -> None:
    model = graph([node("Dropout", inputs, ["y"])], {"rate": np.float32(0.5), "off": np.bool_(0)}, (40, 50))
    (trap,) = find_traps(model)
    assert (trap.name, trap.severity, trap.nodes) == ("dropout-inference", "noted", ("y",))
    write_origin(model, Origin(dropouts={"drop": 0.5}))
    (trap,) = find_traps(model)
    assert trap.severity == "mended"
    dropped = run(mend(model, [trap]), np.ones((40, 50), np.float32))
    share = float((dropped == 0).mean())
    assert 0.4 < share < 0.6
    np.testing.assert_allclose(dropped[dropped != 0], 2.0)


def test_active_dropout_is_no_trap() -> None:
    tensors = {"rate": np.float32(0.5), "on": np.bool_(1)}
    assert find_traps(graph([node("Dropout", ["x", "rate", "on"], ["y"])], tensors)) == []


def test_two_dropouts_share_one_flag() -> None:
    model = graph([node("Dropout", ["x"], ["h"]), node("Dropout", ["h"], ["y"])], {}, (40, 50))
    train_dropouts(model, ["h", "y"])
    assert list(values(model)) == ["stackproof.training", "stackproof.half"]
    assert 0.15 < float((run(model, np.ones((40, 50), np.float32)) != 0).mean()) < 0.35


def test_dropout_that_is_gone_is_refused_by_name_and_can_be_accepted() -> None:
    model = graph([node("Relu", ["x"], ["y"])], {})
    write_origin(model, Origin(dropouts={"block.drop": 0.25}))
    (trap,) = find_traps(model)
    assert (trap.name, trap.severity) == ("dropout-dropped", "refused")
    with pytest.raises(InputError, match=r"m\.onnx: block\.drop: the model drops out in block\.drop \(0\.25\)"):
        refuse("m.onnx", [trap])
    declare(model, accepted=["dropout-dropped"])
    (trap,) = find_traps(model)
    assert trap.severity == "noted"
    refuse("m.onnx", [trap])
