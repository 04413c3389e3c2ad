"""A trap: one place where an ONNX graph would train as another model than the one it was made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...backends.errors import Fault, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

Severity = Literal["refused", "mended", "noted"]


@dataclass(frozen=True)
class Trap:
    """One finding about a graph.

    Attributes:
        name: Which trap it is, such as `batch-norm-folded`.
        severity: `refused`: it cannot be trained as it is; `mended`: `mend` puts it right; `noted`: nothing is
            wrong, or only the user can know.
        message: What is there, why it matters, and what to do or what was done.
        nodes: The nodes concerned, each by its first output, which names it beyond doubt.
        tensors: The tensors concerned; where one is mended, the one in the graph first, then the one it is made to be.
        transposed: Whether the one in the graph is the other way round.
        position: The one input of the nodes that is concerned; -1 for every input that the tensor goes into.
    """

    name: str
    severity: Severity
    message: str
    nodes: tuple[str, ...] = ()
    tensors: tuple[str, ...] = ()
    transposed: bool = False
    position: int = -1


def refuse(source: str, traps: Iterable[Trap]) -> None:
    """Raise for the traps that are refused, all at once.

    Args:
        source: What the user called the model, such as its file.
        traps: What was found.

    Raises:
        InputError: At least one trap is refused.
    """
    faults = [
        Fault(", ".join(trap.tensors or trap.nodes), trap.message) for trap in traps if trap.severity == "refused"
    ]
    if faults:
        raise InputError(source, faults)
