"""Which operators have a rule on which framework, from a table: no framework is imported to know it.

`operators.json` is written by `tests/support/operator_table.py` in each framework's environment, and a test there holds
it against the rules themselves.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from ...backends.errors import UnsupportedError
from ...backends.graph import Body

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...backends.program import Node, Program

TARGETS: Final = ("torch", "tensorflow", "jax")


def operators(target: str) -> frozenset[str]:
    """Return the operators that a target has a rule for."""
    return frozenset(op for op, targets in _table().items() if target in targets)


def targets_of(op: str) -> tuple[str, ...]:
    """Return the targets that have a rule for an operator."""
    return tuple(target for target in TARGETS if target in _table().get(op, ()))


@cache
def _table() -> dict[str, list[str]]:
    text = resources.files(__package__).joinpath("operators.json").read_text("utf-8")
    table: dict[str, list[str]] = json.loads(text)
    return table


def check_rules(program: Program, targets: Iterable[str]) -> None:
    """Refuse a program with an operator that a target has no rule for.

    Raises:
        UnsupportedError: Naming a node of each such operator, and the frameworks that have a rule for it.
    """
    lacking = {
        (node.op, target): f"operator {node.op} (node that makes {_first(node)!r}) has no rule on {target}; "
        f"frameworks that have one: {', '.join(targets_of(node.op)) or 'none'}"
        for target in targets
        for node in reversed(list(_every(program.nodes)))
        if target not in targets_of(node.op)
    }
    if lacking:
        raise UnsupportedError("\n".join(lacking.values()))


def _every(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        for value in node.attributes.values():
            if isinstance(value, Body):
                yield from _every(value.nodes)


def _first(node: Node) -> str:
    return next((name for name in node.outputs if name), "")
