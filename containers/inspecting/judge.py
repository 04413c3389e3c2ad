"""Judge an inspection: what an image holds against its lock, the GPU, and what no image should carry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from packaging.version import InvalidVersion, Version

from .judge_libraries import judge_architectures, judge_cuda_libraries, judge_linking, judge_symbols
from .known import usual_setuid
from .words import count, judge

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...compat.gpu_code import Capability
    from ...compat.lock import Lock
    from ...compat.verdict import Check

_RECORDS: Final = {
    "missing": "is recorded and is gone",
    "altered": "has another size than was recorded",
    "unrecorded": "lies among the packages and no package brought it",
}
_HYGIENE: Final = {
    "world_writable": "may be written by anybody",
    "capabilities": "gets capabilities of the kernel",
    "listening": "listens",
}


def judge_inspection(document: Mapping[str, Any], lock: Lock, gpu: Capability | None = None) -> tuple[Check, ...]:
    """Judge what an image holds.

    Args:
        document: What `inspect_image` returned.
        lock: What the image was made from.
        gpu: Compute capability that its binaries must have code for, such as (9, 0); None where no GPU is named.

    Returns:
        The checks `linking`, `cuda-libraries`, `architectures`, `symbols`, `packages` and `hygiene`.
    """
    return (
        judge_linking(document),
        judge_cuda_libraries(document, lock),
        judge_architectures(document, lock, gpu),
        judge_symbols(document),
        judge_packages(document, lock),
        judge_hygiene(document),
    )


def judge_packages(document: Mapping[str, Any], lock: Lock) -> Check:
    """Judge whether exactly the locked packages are there, as their records describe them."""
    there, locked = document["packages"], {one.name: one.version for one in lock.packages}
    faults = [
        *(f"{name} {version} is locked and not there" for name, version in locked.items() if name not in there),
        *(f"{name} {version} is there and not locked" for name, version in there.items() if name not in locked),
        *(
            f"{name} is {there[name]} and locked at {version}"
            for name, version in locked.items()
            if name in there and not _is_same(there[name], version)
        ),
        *(f"{one['file']}: {one['error']}" for one in document["records"]["faults"]),
        *(f"{path} {what}" for kind, what in _RECORDS.items() for path in document["records"][kind]),
        *_python_faults(document["python"], lock.python),
    ]
    measured = f"{len(there)} packages on Python {document['python']}"
    allowed = f"the {len(locked)} of the lock, on Python {lock.python}"
    return judge("packages", faults, measured, allowed, "each is there in its locked version, as it was recorded")


def judge_hygiene(document: Mapping[str, Any]) -> Check:
    """Judge whether an image carries what none should."""
    unusual = [path for path in document["setuid"] if path not in usual_setuid()]
    faults = [
        *(f"{path} runs as its owner or group" for path in unusual),
        *(f"{path} {what}" for name, what in _HYGIENE.items() for path in document[name]),
        *(f"{one['path']}: {one['what']}" for one in document["leftovers"]),
    ]
    measured = (
        f"{len(unusual)} setuid files beyond {len(document['setuid']) - len(unusual)} of the distribution, "
        f"{count(document, 'world_writable')} world-writable, {count(document, 'capabilities')} with capabilities, "
        f"{count(document, 'listening')} listening, {count(document, 'leftovers')} leftovers"
    )
    return judge("hygiene", faults, measured, "none", "nothing that does not belong")


def _is_same(there: str, locked: str) -> bool:
    try:
        return Version(there) == Version(locked)
    except InvalidVersion:
        return there == locked


def _python_faults(there: str, locked: str) -> Iterator[str]:
    """Yield where the Python is of another minor version than wheels were chosen for."""
    if there.split(".")[:2] != locked.split(".")[:2]:
        yield f"its Python is {there}, and the lock is for {locked}"
