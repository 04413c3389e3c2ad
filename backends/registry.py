"""The rule table: how an operator is done on a framework.

A rule is keyed by (operator, target). It is called as `rule(inputs, attributes)`: the input tensors in order (None for
an absent optional input, trailing ones left out) and the node's ONNX attributes (defaults not filled in). It returns a
tuple with one tensor per output of the operator, or the single tensor. Integer constants arrive as numpy arrays, so
that shapes and axes stay static under every compiler; everything else arrives as the framework's tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from .errors import StackproofError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Rule = Callable[[Sequence[Any], Mapping[str, Any]], Any]

_RULES: dict[tuple[str, str], Rule] = {}


def rule(op: str, target: str) -> Callable[[Rule], Rule]:
    """Register the decorated function as the rule for an operator on a target.

    Args:
        op: ONNX operator name.
        target: `torch`, `tensorflow` or `jax`.

    Raises:
        StackproofError: The pair already has a rule.
    """

    def register(function: Rule) -> Rule:
        if (op, target) in _RULES:
            raise StackproofError(f"{op} on {target} already has a rule: {_RULES[op, target].__qualname__}")
        _RULES[op, target] = function
        return function

    return register


def find(op: str, target: str) -> Rule:
    """Return the rule for an operator on a target.

    Raises:
        UnsupportedError: There is none; the message names the targets that have one.
    """
    found = _RULES.get((op, target))
    if found is None:
        raise UnsupportedError(f"operator {op} has no rule on {target}; targets that have one: {_having(op)}")
    return found


def operators(target: str) -> Sequence[str]:
    """Return the operators that have a rule on a target, sorted."""
    return sorted(op for op, known in _RULES if known == target)


def _having(op: str) -> str:
    return ", ".join(sorted(target for known, target in _RULES if known == op)) or "none that was loaded"
