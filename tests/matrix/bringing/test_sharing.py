"""What is one parameter and what are several, in graphs that say nothing of their model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from small_graphs import drawn, graph, node, ones, run, values

from stackproof.backends.errors import InputError
from stackproof.matrix.bringing.declaring import declare
from stackproof.matrix.bringing.trap import refuse
from stackproof.matrix.bringing.traps import find_traps, mend, trainable

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto

X = drawn(3, 4, seed=9)


def _two_norms(scale: NDArray[np.float32]) -> ModelProto:
    nodes = [node("LayerNormalization", ["x", "scale"], ["h"]), node("LayerNormalization", ["h", "scale"], ["y"])]
    return graph(nodes, {"scale": scale})


def _tied(*, transposed: bool = True, **attributes: int) -> ModelProto:
    """An embedding and a head that are one in the model and two in the graph."""
    table = drawn(5, 4, seed=3)
    nodes = [
        node("ArgMax", ["x"], ["i"], axis=1, keepdims=0),
        node("Gather", ["table", "i"], ["h"]),
        node("Gemm", ["h", "head"], ["y"], **attributes),
    ]
    return graph(nodes, {"table": table, "head": table.T.copy() if transposed else table})


def test_fresh_scales_that_two_layers_share_are_refused() -> None:
    (trap,) = find_traps(_two_norms(ones(4)))
    assert (trap.name, trap.severity) == ("parameters-merged", "refused")
    assert (trap.nodes, trap.tensors) == (("h", "y"), ("scale",))
    with pytest.raises(InputError, match=r"scale: scale is used by 2 layers \(h, y\)"):
        refuse("m.onnx", [trap])


def test_a_trained_scale_that_two_layers_share_is_a_tied_one() -> None:
    assert find_traps(_two_norms(drawn(4))) == []


def test_declared_tied_it_stays_one() -> None:
    model = _two_norms(ones(4))
    declare(model, tied=[("scale",)])
    assert find_traps(model) == []


def test_declared_independent_it_becomes_several() -> None:
    model = _two_norms(ones(4))
    declare(model, independent=["scale"])
    traps = find_traps(model)
    assert [(trap.severity, trap.tensors) for trap in traps] == [("mended", ("scale", "scale.1"))]
    mended = mend(model, traps)
    assert sorted(values(mended)) == ["scale", "scale.1"]
    np.testing.assert_array_equal(run(mended, X), run(model, X))
    doubled = run(mended, X, **{"scale.1": 2 * ones(4)})
    np.testing.assert_allclose(doubled, 2 * run(model, X), rtol=1e-6)
    assert find_traps(mended) == []


def test_a_statistic_merged_with_a_scale_is_refused_and_split() -> None:
    nodes = [node("BatchNormalization", ["x", "one", "zero", "zero", "one"], ["y"])]
    model = graph(nodes, {"one": ones(4), "zero": 0 * ones(4)})
    found = [(t.name, t.tensors) for t in find_traps(model) if t.severity == "refused"]
    assert found == [("parameters-merged", ("one",)), ("parameters-merged", ("zero",))]
    declare(model, independent=["one", "zero"])
    mended = mend(model, find_traps(model))
    assert list(mended.graph.node[0].input) == ["x", "one", "zero", "zero.1", "one.1"]


def test_literals_used_twice_are_no_trap() -> None:
    nodes = [node("Mul", ["x", "half"], ["h"]), node("Add", ["h", "half"], ["y"])]
    assert find_traps(graph(nodes, {"half": np.float32(0.5)})) == []


@pytest.mark.parametrize("transposed", [True, False])
def test_equal_weights_are_refused_as_they_are_and_transposed(transposed: bool) -> None:  # noqa: FBT001 - a case
    (trap,) = find_traps(_tied(transposed=transposed, transB=int(not transposed)))
    assert (trap.name, trap.severity, trap.tensors) == ("tied-duplicated", "refused", ("table", "head"))


@pytest.mark.parametrize("transposed", [True, False])
def test_declared_tied_they_become_one(transposed: bool) -> None:  # noqa: FBT001 - a case
    model = _tied(transposed=transposed, transB=int(not transposed))
    declare(model, tied=[("table", "head")])
    mended = mend(model, find_traps(model))
    assert list(values(mended)) == ["table"]
    np.testing.assert_array_equal(run(mended, X), run(model, X))
    other = drawn(5, 4, seed=8)
    both = run(model, X, table=other, head=other.T.copy() if transposed else other)
    np.testing.assert_allclose(run(mended, X, table=other), both, rtol=1e-6)


def test_declared_tied_a_square_weight_is_turned_if_its_copy_is() -> None:
    square = drawn(4, 4, seed=3)
    nodes = [node("MatMul", ["x", "a"], ["h"]), node("MatMul", ["h", "b"], ["y"])]
    model = graph(nodes, {"a": square, "b": square.T.copy()})
    declare(model, tied=[("a", "b")])
    mended = mend(model, find_traps(model))
    assert list(values(mended)) == ["a"]
    np.testing.assert_allclose(run(mended, X), run(model, X), rtol=1e-6)


def test_declared_tied_with_other_values_is_refused() -> None:
    nodes = [node("MatMul", ["x", "a"], ["h"]), node("MatMul", ["h", "b"], ["y"])]
    model = graph(nodes, {"a": drawn(4, 4), "b": drawn(4, 4, seed=1)})
    declare(model, tied=[("a", "b")])
    (trap,) = find_traps(model)
    assert (trap.name, trap.severity, trap.tensors) == ("tied-duplicated", "refused", ("b", "a"))


def test_declared_independent_they_stay_two() -> None:
    model = _tied()
    declare(model, independent=["table", "head"])
    assert find_traps(model) == []
    assert mend(model, find_traps(model)) == model


def test_weights_of_few_values_are_no_copies_of_each_other() -> None:
    nodes = [node("MatMul", ["x", "a"], ["h"]), node("MatMul", ["h", "b"], ["y"])]
    assert find_traps(graph(nodes, {"a": np.eye(4, dtype=np.float32), "b": np.eye(4, dtype=np.float32)})) == []


def test_an_alias_of_fresh_values_is_a_parameter_again() -> None:
    nodes = [
        node("Identity", ["n1.weight"], ["n2.weight"]),
        node("LayerNormalization", ["x", "n1.weight"], ["h"]),
        node("LayerNormalization", ["h", "n2.weight"], ["y"]),
    ]
    model = graph(nodes, {"n1.weight": ones(4)})
    traps = find_traps(model)
    assert [(t.severity, t.tensors) for t in traps] == [("mended", ("n1.weight", "n2.weight"))]
    mended = mend(model, traps)
    assert sorted(values(mended)) == ["n1.weight", "n2.weight"]
    np.testing.assert_allclose(run(mended, X, **{"n2.weight": 3 * ones(4)}), 3 * run(model, X), rtol=1e-6)


def test_an_alias_of_trained_values_is_asked_about() -> None:
    nodes = [
        node("Identity", ["a.weight"], ["b.weight"]),
        node("MatMul", ["x", "a.weight"], ["h"]),
        node("MatMul", ["h", "b.weight"], ["y"]),
    ]
    model = graph(nodes, {"a.weight": drawn(4, 4)})
    (trap,) = find_traps(model)
    assert (trap.name, trap.severity, trap.tensors) == ("parameters-merged", "refused", ("a.weight", "b.weight"))
    declare(model, tied=[("a.weight", "b.weight")])
    assert find_traps(model) == []


def test_a_lost_name_is_found_by_the_bias() -> None:
    nodes = [node("MatMul", ["x", "onnx::MatMul_36"], ["h"]), node("Add", ["layer.bias", "h"], ["y"])]
    model = graph(nodes, {"onnx::MatMul_36": drawn(4, 6), "layer.bias": drawn(6, seed=1)})
    traps = find_traps(model)
    assert [(t.name, t.severity, t.tensors) for t in traps] == [
        ("name-lost", "mended", ("onnx::MatMul_36", "layer.weight"))
    ]
    mended = mend(model, traps)
    np.testing.assert_array_equal(values(mended)["layer.weight"], values(model)["onnx::MatMul_36"].T)
    np.testing.assert_array_equal(run(mended, X), run(model, X))


@pytest.mark.parametrize("name", ["val_7", "onnx::MatMul_36", "const_3", "42"])
def test_a_lost_name_without_a_hint_is_noted(name: str) -> None:
    (trap,) = find_traps(graph([node("MatMul", ["x", name], ["y"])], {name: drawn(4, 6)}))
    assert (trap.name, trap.severity, trap.tensors) == ("name-lost", "noted", (name,))


def test_a_lost_name_of_a_scale_is_noted_and_of_a_literal_is_none() -> None:
    nodes = [node("Mul", ["x", "onnx::Mul_8"], ["h"]), node("Add", ["h", "onnx::Add_9"], ["y"])]
    (trap,) = find_traps(graph(nodes, {"onnx::Mul_8": drawn(4), "onnx::Add_9": np.float32(2)}))
    assert (trap.name, trap.severity, trap.tensors) == ("name-lost", "noted", ("onnx::Mul_8",))


@pytest.mark.parametrize("name", ["fc1", "layers.0.weight", "W", "block_3.kernel", "weight_1", "t2"])
def test_a_proper_name_is_no_trap(name: str) -> None:
    assert find_traps(graph([node("MatMul", ["x", name], ["y"])], {name: drawn(4, 6)})) == []


def test_only_initializers_can_be_declared() -> None:
    with pytest.raises(InputError, match=r"declared: scael: no initializer of the model; did you mean 'scale'\?"):
        declare(_two_norms(ones(4)), independent=["scael"])


def test_what_is_trained_is_not_known_of_such_a_graph() -> None:
    assert trainable(_two_norms(ones(4))) is None
