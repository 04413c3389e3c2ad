"""The checks of the image that a cell ran in, from what was found in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...compat.gpu_names import capability_of
from ...containers.inspecting.drivers import judge_drivers
from ...containers.inspecting.judge import judge_inspection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...compat.gpu_code import Capability
    from ...compat.verdict import Check
    from ..records import CellRecord


def check_image(record: CellRecord) -> tuple[Check, ...]:
    """Return the checks of a cell's image; none for a venv, or where nobody looked into it."""
    document, lock = record.inspected.value, record.lock.value
    if document is None or lock is None:
        return ()
    held = tuple(package for package in lock.packages if package.name not in document["omitted"])
    looked = judge_inspection(document["inspection"], replace(lock, packages=held), _capability(document["gpu"]))
    return (*looked, judge_drivers(document["drivers"]))


def was_simulated(document: Mapping[str, Any]) -> bool:
    """Say whether the image's CUDA runtime answered about a driver."""
    return any(answer["loads"] is not None for answer in document["drivers"]["answers"])


def _capability(gpu: str) -> Capability | None:
    found = capability_of(gpu) if gpu else None
    major, _, minor = (found or "").partition(".")
    return (int(major), int(minor)) if major and minor else None
