"""Which rule and which numbers update a parameter: groups, decay of matrices only, and what Muon leaves to AdamW."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import UnsupportedError
from .recipe import Optimizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .recipe import Group

_MATRIX = 2


class Own(NamedTuple):
    """What updates one parameter.

    Attributes:
        rule: The optimizer with the kind and the weight decay that hold for the parameter, and without groups.
        share: Its learning rate as a share of the optimizer's.
    """

    rule: Optimizer
    share: float


@lru_cache(maxsize=65536)
def own_of(optimizer: Optimizer, name: str, axes: int) -> Own:
    """Return what updates a parameter.

    Args:
        optimizer: The spec's.
        name: The parameter's name.
        axes: How many axes it has.
    """
    group = next((group for group in optimizer.groups if _fits(name, group.match)), None)
    rule = replace(optimizer, groups=(), decay="all", weight_decay=_decay_of(optimizer, group, axes))
    if optimizer.kind == "muon" and (axes != _MATRIX or _fits(name, optimizer.adamw)):
        rule = replace(rule, kind="adamw", momentum=0.0, nesterov=False)
    return Own(rule, 1.0 if group is None else group.lr)


def _decay_of(optimizer: Optimizer, group: Group | None, axes: int) -> float:
    if group is not None and group.weight_decay is not None:
        return group.weight_decay
    return 0.0 if optimizer.decay == "matrices" and axes < _MATRIX else optimizer.weight_decay


def parts(optimizer: Optimizer, parameters: Mapping[str, Any]) -> list[tuple[Own, list[str]]]:
    """Return the names of parameters that the same numbers update, together.

    Args:
        optimizer: The spec's.
        parameters: Tensors by name.
    """
    if not (optimizer.groups or optimizer.kind == "muon" or optimizer.decay == "matrices"):
        return [(Own(optimizer, 1.0), list(parameters))] if parameters else []
    found: dict[Own, list[str]] = {}
    for name, parameter in parameters.items():
        found.setdefault(own_of(optimizer, name, len(parameter.shape)), []).append(name)
    return list(found.items())


def check_names(optimizer: Optimizer, names: Iterable[str]) -> None:
    """Check that each group and each pattern is of some parameter.

    Args:
        optimizer: The spec's.
        names: The names of the program's parameters.

    Raises:
        UnsupportedError: One is of none.
    """
    left = list(names)
    known = _some(left)
    for index, group in enumerate(optimizer.groups):
        where = f"optimizer.groups[{index}].match"
        _check_patterns(where, group.match, left, known)
        left = [name for name in left if not _fits(name, group.match)]
    if optimizer.kind == "muon":
        written = tuple(pattern for pattern in optimizer.adamw if pattern not in Optimizer.adamw)
        _check_patterns("optimizer.adamw", written, list(names), known)


def _check_patterns(where: str, patterns: Sequence[str], names: Sequence[str], known: str) -> None:
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            what = f'"{pattern}" is the name of no parameter that no earlier group has'
            raise UnsupportedError(f"{where}: {what}: remove it, or write names of parameters ({known})")


def _some(names: Sequence[str]) -> str:
    shown = 8
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
