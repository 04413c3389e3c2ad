"""`Gradient` nodes made ready: the graph that each differentiates becomes a body of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .errors import UnsupportedError
from .graph import Body, Node

if TYPE_CHECKING:
    from collections.abc import Sequence


def with_bodies(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Return nodes in which each `Gradient` has the attribute `body`.

    The body makes the tensor that the node names `y` of those that it names `xs` and `zs`; the rest it sees outside.
    In it, a tensor has the name that it has outside.

    Args:
        nodes: A graph's, in order.

    Raises:
        UnsupportedError: No node before makes `y`.
    """
    made: list[Node] = []
    for node in nodes:
        made.append(_with_body(node, made) if node.op == "Gradient" else node)
    return tuple(made)


def _with_body(node: Node, before: Sequence[Node]) -> Node:
    lists = (node.attributes["xs"], node.attributes.get("zs", ()))
    given = tuple(str(name) for names in lists if isinstance(names, tuple) for name in names)
    wanted = str(node.attributes["y"])
    needed, kept = {wanted}, []
    for other in reversed(before):
        if needed & set(other.outputs) - set(given):
            kept.append(other)
            needed |= set(other.inputs)
    if not kept:
        raise UnsupportedError(f"Gradient of {wanted!r}: no node before it makes that tensor of {', '.join(given)}")
    return replace(node, attributes={**node.attributes, "body": Body(given, tuple(reversed(kept)), (wanted,))})
