from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stackproof.backends import registry
from stackproof.backends.errors import UnsupportedError
from stackproof.backends.program import Body, Node, Program
from stackproof.backends.straight import Forward

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ONE = np.ones(3, np.float32)


@pytest.fixture(autouse=True)
def _rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a target of its own a few rules, in plain numpy."""
    monkeypatch.setattr(registry, "_RULES", dict(registry._RULES))

    @registry.rule("Add", "numpy")
    def add(inputs: Sequence[Any], _attributes: Mapping[str, Any]) -> Any:
        return inputs[0] + inputs[1]

    @registry.rule("Split", "numpy")
    def split(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
        assert attributes["outputs"] == (True, False, True)
        return tuple(np.split(inputs[0], np.cumsum(inputs[1])[:-1]))

    @registry.rule("ReduceSum", "numpy")
    def reduce_sum(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
        return np.sum(inputs[0] * attributes.get("alpha", 1.0), keepdims=bool(attributes["keepdims"]))

    @registry.rule("If", "numpy")
    def choose(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
        return attributes["then_branch" if inputs[0] else "else_branch"]()

    @registry.rule("Relu", "numpy")
    def refuse(_inputs: Sequence[Any], _attributes: Mapping[str, Any]) -> Any:
        raise UnsupportedError("nothing is rectified here")


def program(*nodes: Node, **more: Any) -> Program:
    return Program("p", (), nodes, "loss", {"w": ONE}, **more)


def total(source: str, **attributes: Any) -> Node:
    return Node("ReduceSum", (source,), ("loss",), {"keepdims": 0, **attributes})


def test_loss_and_new_state() -> None:
    made = program(Node("Add", ("w", "mean"), ("sum",)), total("sum"), state={"mean": ONE}, updates={"mean": "sum"})
    loss, running = Forward(made, "numpy", "float32")({"w": ONE, "mean": 2 * ONE})
    assert loss == 9.0
    assert running["mean"].tolist() == [3.0, 3.0, 3.0]


def test_what_no_result_needs_is_left_out() -> None:
    made = program(Node("Relu", ("w",), ("unused",)), Node("Add", ("unused", "other"), ("more",)), total("w"))
    forward = Forward(made, "numpy", "float32")
    assert forward.arguments == ("w",)
    assert forward({"w": ONE})[0] == 3.0


def test_static_inputs_and_unnamed_outputs() -> None:
    sizes = np.array([1, 1, 1], np.int64)
    made = program(Node("Split", ("w", "sizes"), ("a", "", "c")), Node("Add", ("a", "c"), ("s",)), total("s"),
                   constants={"sizes": sizes})  # fmt: skip
    forward = Forward(made, "numpy", "float32")
    assert forward.arguments == ("w",)
    assert forward({"w": np.array([1.0, 10.0, 100.0])})[0] == 101.0


@pytest.mark.parametrize("alpha", [0.1, 1e300, 5e-324, float("inf")])
def test_attributes_keep_every_bit(alpha: float) -> None:
    loss, _ = Forward(program(total("w", alpha=alpha)), "numpy", "float32")({"w": np.float64(1.0)})
    assert np.float64(loss).tobytes() == np.float64(alpha).tobytes()


def test_bodies_are_walked() -> None:
    branches = {
        "then_branch": Body((), (Node("Add", ("w", "w"), ("twice",)),), ("twice",)),
        "else_branch": Body((), (), ("w",)),
    }
    made = program(
        Node("If", ("which",), ("chosen",), branches), total("chosen"), constants={"which": np.ones((), bool)}
    )
    assert Forward(made, "numpy", "float32")({"w": ONE, "which": np.ones((), bool)})[0] == 6.0


def test_a_refusal_says_at_which_node() -> None:
    forward = Forward(program(Node("Relu", ("w",), ("active",)), total("active")), "numpy", "float32")
    with pytest.raises(UnsupportedError, match=r"nothing is rectified here .*'active'"):
        forward({"w": ONE})


def test_too_few_outputs_are_refused() -> None:
    made = program(Node("Add", ("w", "w"), ("sum", "carry")), Node("Add", ("sum", "carry"), ("s",)), total("s"))
    with pytest.raises(UnsupportedError, match="Add"):
        Forward(made, "numpy", "float32")({"w": ONE})
