"""What was understood of a model, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .supported import targets_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from .prepare import Imported

SCHEMA_VERSION: Final = 1


def describe(made: Imported, source: str) -> dict[str, Any]:
    """Return the tables of `import --json`.

    Args:
        made: What was imported.
        source: What the user called the model.
    """
    program = made.program
    frozen = {"tensors": len(made.roles.frozen), "elements": made.roles.frozen_elements, "names": [*made.roles.frozen]}
    return {
        "schema_version": SCHEMA_VERSION,
        "model": source,
        "name": program.name,
        "opset": made.opset,
        "program_digest": program.digest,
        "inputs": [
            {"name": e.name, "dtype": e.dtype, "shape": list(e.shape), "bound": e.bound or None} for e in program.inputs
        ],
        "outputs": list(program.outputs),
        "loss": program.loss or None,
        "trained": _tensors(program.parameters),
        "frozen": frozen,
        "state": _tensors(program.state),
        "decided": made.roles.why,
        "operators": {
            op: {"nodes": count, "frameworks": list(targets_of(op))} for op, count in sorted(made.operators.items())
        },
        "upgraded": list(made.upgraded),
        "opened": list(made.opened),
        "folded_nodes": made.folded,
        "widened": list(made.widened),
        "mended": _messages(made, "mended"),
        "notes": _messages(made, "noted"),
    }


def _tensors(held: Mapping[str, np.ndarray]) -> dict[str, Any]:
    return {"tensors": len(held), "elements": sum(int(value.size) for value in held.values()), "names": list(held)}


def _messages(made: Imported, severity: str) -> Sequence[dict[str, Any]]:
    return [
        {"trap": trap.name, "message": trap.message, "tensors": list(trap.tensors)}
        for trap in made.traps
        if trap.severity == severity
    ]
