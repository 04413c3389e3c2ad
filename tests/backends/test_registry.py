"""The rule table, and programs bound to it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stackproof.backends import registry
from stackproof.backends.errors import StackproofError, UnsupportedError
from stackproof.backends.lower import Lowered, widened
from stackproof.backends.program import Node, Program
from stackproof.backends.registry import find, operators, rule

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def empty_table(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "_RULES", {})
    return


@pytest.fixture
def rules() -> None:
    @rule("Add", "left")
    def _add(inputs: Any, _attributes: Any) -> Any:
        return inputs[0] + inputs[1]

    @rule("Scale", "left")
    def _scale(inputs: Any, attributes: Any) -> Any:
        return inputs[0] * attributes.get("by", 2.0)

    @rule("Split", "left")
    def _split(inputs: Any, _attributes: Any) -> Any:
        return inputs[0][: int(inputs[1][0])], inputs[0][int(inputs[1][0]) :]

    @rule("Clip", "left")
    def _clip(inputs: Any, _attributes: Any) -> Any:
        assert inputs[1] is None
        return np.minimum(inputs[0], inputs[2])

    @rule("Add", "right")
    def _other(_inputs: Any, _attributes: Any) -> Any:
        return "right"


@pytest.mark.usefixtures("rules")
def test_a_rule_is_found_by_operator_and_target() -> None:
    assert find("Add", "left")([1, 2], {}) == 3
    assert find("Add", "right")([1, 2], {}) == "right"


@pytest.mark.usefixtures("rules")
def test_a_second_rule_for_a_pair_is_refused_and_the_first_stays() -> None:
    with pytest.raises(StackproofError, match=r"Add on left already has a rule: .*_add"):
        rule("Add", "left")(lambda _inputs, _attributes: None)
    assert find("Add", "left")([1, 2], {}) == 3


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize(
    ("op", "target", "having"),
    [("Add", "middle", "left, right"), ("Split", "right", "left"), ("Sin", "left", "none that was loaded")],
)
def test_a_missing_rule_names_the_targets_that_have_one(op: str, target: str, having: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        find(op, target)
    assert str(caught.value) == f"operator {op} has no rule on {target}; targets that have one: {having}"
    assert caught.value.exit_code == 2


@pytest.mark.usefixtures("rules")
def test_operators_of_a_target_are_listed_in_order() -> None:
    assert operators("left") == ["Add", "Clip", "Scale", "Split"]
    assert operators("right") == ["Add"]
    assert operators("middle") == []


def program(*nodes: Node) -> Program:
    constants = {"at": np.array([1], dtype=np.int64), "table": np.array([10.0, 20.0], dtype=np.float32)}
    return Program("p", (), nodes, nodes[-1].outputs[0], {"weight": np.ones(2, dtype=np.float32)}, constants)


NODES = (
    Node("Add", ("weight", "features"), ("sum",)),
    Node("Split", ("sum", "at"), ("first", "second")),
    Node("Scale", ("first",), ("loss",), {"by": 3.0}),
)
FLOATS = {"weight": np.ones(2), "table": np.array([10.0, 20.0])}


@pytest.mark.usefixtures("rules")
def test_nodes_run_in_order_and_every_tensor_is_named() -> None:
    made = Lowered(program(*NODES), "left")(FLOATS, {"features": np.array([4.0, 5.0])})
    assert made["sum"].tolist() == [5.0, 6.0]
    assert (made["first"].tolist(), made["second"].tolist(), made["loss"].tolist()) == ([5.0], [6.0], [15.0])


@pytest.mark.usefixtures("rules")
def test_what_is_done_after_each_output_takes_its_place() -> None:
    seen = []

    def after(node: Node, name: str, tensor: Any) -> Any:
        seen.append((node.op, name))
        return tensor * 10.0

    made = Lowered(program(*NODES), "left")(FLOATS, {"features": np.array([4.0, 5.0])}, after)
    assert seen == [("Add", "sum"), ("Split", "first"), ("Split", "second"), ("Scale", "loss")]
    assert made["loss"].tolist() == [15000.0]


@pytest.mark.usefixtures("rules")
def test_an_absent_input_is_none() -> None:
    made = Lowered(program(Node("Clip", ("weight", "", "table"), ("loss",))), "left")(FLOATS, {})
    assert made["loss"].tolist() == [1.0, 1.0]


@pytest.mark.usefixtures("rules")
def test_static_inputs_are_python_numbers_from_constants_or_from_concrete_tensors() -> None:
    seen = []

    @rule("Reshape", "left")
    def reshape(inputs: Any, _attributes: Any) -> Any:
        seen.append(inputs[1])
        return inputs[0]

    constant = Program("p", (), (Node("Reshape", ("x", "shape"), ("y",)),), "y", {}, {"shape": np.array([[2], [3]])})
    Lowered(constant, "left")({}, {"x": np.ones(6)})
    Lowered(replace(constant, constants={}), "left")({"shape": np.array([3, 2])}, {"x": np.ones(6)})
    assert seen == [(2, 3), (3, 2)]


@pytest.mark.usefixtures("rules")
def test_a_static_input_that_is_not_known_is_refused_by_name() -> None:
    rule("Reshape", "left")(lambda inputs, _attributes: inputs[0])

    class Traced:
        def __array__(self) -> np.ndarray:
            raise TypeError("traced")

    lowered = Lowered(program(Node("Reshape", ("weight", "wanted"), ("loss",))), "left")
    with pytest.raises(UnsupportedError, match="input 'wanted' of Reshape depends on the values of a run"):
        lowered(FLOATS, {"wanted": Traced()})


@pytest.mark.usefixtures("rules")
def test_an_operator_without_a_rule_is_refused_before_anything_runs() -> None:
    with pytest.raises(UnsupportedError, match="operator Sin has no rule on left"):
        Lowered(program(*NODES, Node("Sin", ("loss",), ("more",))), "left")


@pytest.mark.usefixtures("rules")
def test_an_output_that_the_rule_does_not_make_is_refused() -> None:
    lowered = Lowered(program(Node("Add", ("weight", "weight"), ("loss", "mask"))), "left")
    with pytest.raises(UnsupportedError, match=r"Add on left makes 1 of its outputs; 'mask' is one more"):
        lowered(FLOATS, {})


def test_tensors_are_widened_and_integers_kept() -> None:
    found = widened({"a": np.ones(2, dtype=np.float32), "b": np.ones(2, dtype=np.int64)}, "float64")
    assert (found["a"].dtype, found["b"].dtype) == (np.float64, np.int64)
