from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stackproof.backends import registry
from stackproof.backends.errors import Fault, InputError, StackproofError, UnsupportedError
from stackproof.backends.lower import Lowered
from stackproof.backends.program import Node, Program

FLOAT, DOUBLE = 1, 11


@pytest.fixture(autouse=True)
def _rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a target of its own a rule for anything that gives the node's attributes back."""
    monkeypatch.setattr(registry, "_RULES", dict(registry._RULES))
    for op in ("Cast", "ConstantOfShape", "DequantizeLinear", "EyeLike", "HannWindow", "RandomNormal"):
        registry.rule(op, "echo")(lambda _inputs, attributes: dict(attributes))


def lowered(op: str, precision: str, **attributes: Any) -> Any:
    node = Node(op, ("x",), ("y",), attributes)
    return Lowered(Program("p", (), (node,), "y", {}), "echo", precision)({"x": None}, {})["y"]


@pytest.mark.parametrize(
    ("op", "given", "name"),
    [
        ("Cast", {"to": FLOAT}, "to"),
        ("EyeLike", {"dtype": FLOAT}, "dtype"),
        ("DequantizeLinear", {"output_dtype": FLOAT}, "output_dtype"),
        ("HannWindow", {"output_datatype": FLOAT}, "output_datatype"),
        ("HannWindow", {}, "output_datatype"),
        ("RandomNormal", {}, "dtype"),
    ],
)
def test_what_is_said_to_be_float32_is_float64_in_a_float64_run(op: str, given: dict[str, int], name: str) -> None:
    assert lowered(op, "float64", **given)[name] == DOUBLE
    assert lowered(op, "float32", **given).get(name) == given.get(name)
    assert lowered(op, "stated", **given).get(name) == given.get(name)


def test_other_dtypes_are_kept_in_a_float64_run() -> None:
    assert lowered("Cast", "float64", to=7)["to"] == 7
    assert lowered("EyeLike", "float64") == {"outputs": (True,)}
    assert lowered("ConstantOfShape", "float64", value=np.ones(1, np.int64))["value"].dtype == np.int64


@pytest.mark.parametrize("given", [{}, {"value": np.zeros(1, np.float32)}], ids=["unless_said", "said"])
def test_a_repeated_float32_is_a_float64_in_a_float64_run(given: dict[str, Any]) -> None:
    assert lowered("ConstantOfShape", "float64", **given)["value"].dtype == np.float64


@pytest.mark.parametrize(
    "error",
    [StackproofError("too big"), UnsupportedError("too big"), InputError("data", [Fault("x", "too big")])],
    ids=lambda error: type(error).__name__,
)
def test_an_error_of_any_kind_says_at_which_node(error: StackproofError) -> None:
    def refuse(_inputs: Any, _attributes: Any) -> Any:
        raise error

    registry.rule("Refused", "echo")(refuse)
    program = Program("p", (), (Node("Refused", ("x",), ("y",)),), "y", {})
    with pytest.raises(type(error), match=r"too big \(node that makes 'y'\)") as raised:
        Lowered(program, "echo")({"x": None}, {})
    assert raised.value.exit_code == error.exit_code
