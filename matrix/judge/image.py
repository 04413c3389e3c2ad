"""The checks of the image that a cell ran in, from what was found in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...compat.gpu_names import capability_of
from ...compat.verdict import Check
from ...containers.inspecting.drivers import judge_drivers
from ...containers.inspecting.judge import judge_inspection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...compat.gpu_code import Capability
    from ..records import CellRecord


def check_image(record: CellRecord) -> tuple[Check, ...]:
    """Return the checks of a cell's image; none for a venv, or where nobody looked into it."""
    document, lock = record.inspected.value, record.lock.value
    if document is None or lock is None:
        return ()
    held = tuple(package for package in lock.packages if package.name not in document["omitted"])
    looked = judge_inspection(document["inspection"], replace(lock, packages=held), _capability(document["gpu"]))
    return (*looked, judge_drivers(document["drivers"]), *_other_images(record, document["image"]["content_digest"]))


def _other_images(record: CellRecord, looked_into: str) -> tuple[Check, ...]:
    """Return a failed check where a run was made in another image than the one that was looked into."""
    runs = [*(record.run.value or {}).get("runs", ())]
    if record.measured.value is not None and record.measured.value.repeat is not None:
        runs.append(record.measured.value.repeat)
    others = sorted({run.get("image_digest") or "none" for run in runs} - {looked_into})
    if not others:
        return ()
    why = "a run was made in another image than the one that was looked into: certify again with --fresh"
    return (Check("image", "fail", f"sha256:{others[0]}", f"sha256:{looked_into}", why),)


def was_simulated(document: Mapping[str, Any]) -> bool:
    """Say whether the image's CUDA runtime answered about a driver."""
    return any(answer["loads"] is not None for answer in document["drivers"]["answers"])


def _capability(gpu: str) -> Capability | None:
    found = capability_of(gpu) if gpu else None
    major, _, minor = (found or "").partition(".")
    return (int(major), int(minor)) if major and minor else None
