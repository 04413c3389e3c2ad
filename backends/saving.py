"""What a session hands out to go on from later, by names that are the same on every target.

Names are `parameter/<name>`, `state/<name>` (such as running means), `optimizer/<slot>/<name>` and, where there are
moving averages, `average/<name>`. Tensors are in the program's own layout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .errors import Fault, InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Arrays = Mapping[str, np.ndarray]
    Orders = Mapping[str, Sequence[int]]

ROLES = ("parameter", "state", "optimizer", "average")
_MOST_NAMED = 5


def saved(held: Mapping[str, Arrays], orders: Orders) -> dict[str, np.ndarray]:
    """Return all tensors by their names.

    Args:
        held: Tensors of each role, in the session's layout.
        orders: For parameters in another order than the program's, its axis at each place.
    """
    named = {f"{role}/{name}": value for role in ROLES for name, value in held[role].items()}
    return {name: _turned(value, np.argsort(_order(name, orders)).tolist()) for name, value in named.items()}


def restored(mapping: Arrays, wanted: Arrays, orders: Orders) -> dict[str, dict[str, np.ndarray]]:
    """Return copies of saved tensors by role, in a session's layout and its dtypes.

    Args:
        mapping: What `saved` gave, of this target or of another.
        wanted: What the session itself would give.
        orders: As for `saved`.

    Raises:
        InputError: A tensor is missing, is of no use here, or has another shape.
    """
    _check(mapping, wanted)
    made: dict[str, dict[str, np.ndarray]] = {role: {} for role in ROLES}
    for key, like in wanted.items():
        role, _, name = key.partition("/")
        made[role][name] = _turned(np.array(mapping[key], dtype=like.dtype), _order(key, orders))
    return made


def _order(key: str, orders: Orders) -> Sequence[int]:
    role, _, name = key.partition("/")
    return () if role == "state" else orders.get(name.partition("/")[2] if role == "optimizer" else name, ())


def _turned(value: np.ndarray, order: Sequence[int]) -> np.ndarray:
    return np.ascontiguousarray(value.transpose(order)) if len(order) else value


def _check(mapping: Arrays, wanted: Arrays) -> None:
    faults = [Fault(name, "is not there: what was saved is of another spec") for name in wanted if name not in mapping]
    faults += [Fault(n, f"is of no use here: {did_you_mean(n, wanted)}") for n in mapping if n not in wanted]
    for name in wanted.keys() & mapping.keys():
        shape, found = wanted[name].shape, np.shape(mapping[name])
        if shape != found:
            faults.append(Fault(name, f"has shape {list(found)}, but {list(shape)} here: it is of another spec"))
    if faults:
        raise InputError("saved tensors", faults[:_MOST_NAMED])
