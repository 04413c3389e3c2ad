"""What a killed stackproof left in an engine: containers and their folders, told from those of one that lives."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from . import sdk
from .faults import garbled, telling

if TYPE_CHECKING:
    from .connect import Engine

_LABEL: Final = "stackproof"
_DOING: Final = "looking for what a killed run left"
_WORKER: Final = "worker"
_OWNER: Final = "stackproof.owner"
_START_TIME: Final = 19  # field of /proc/PID/stat, counted from the one after the name
_PROC: Final = Path("/proc")


def labels() -> dict[str, str]:
    """Return the labels of a container of this process."""
    return {_LABEL: _WORKER, _OWNER: f"{_place()} {os.getpid()} {_started(os.getpid())}"}


def remove_leftovers(engine: Engine) -> int:
    """Remove the containers and folders of stackproof processes of this machine that have ended.

    Args:
        engine: The engine.

    Returns:
        How many were removed.

    Raises:
        OutsideError: The engine refused to list them, or answered something else than its API.
    """
    filters, removed = {"label": f"{_LABEL}={_WORKER}"}, 0
    with telling(engine, _DOING):
        api = engine.client.api
        for container in _listed(engine, api.containers(all=True, filters=filters), "Id"):
            if _is_left(container.get("Labels")):
                with contextlib.suppress(sdk.docker().errors.APIError):
                    api.remove_container(container["Id"], v=True, force=True)
                    removed += 1
        volumes = api.volumes(filters=filters)
        if not isinstance(volumes, dict):
            raise garbled(engine, _DOING)
        for volume in _listed(engine, volumes.get("Volumes"), "Name"):
            if _is_left(volume.get("Labels")):
                with contextlib.suppress(sdk.docker().errors.APIError):
                    api.remove_volume(volume["Name"])
                    removed += 1
    return removed


def _listed(engine: Engine, found: object, name: str) -> list[dict[str, Any]]:
    """Return what an engine lists: objects that have a name; nothing where it says null."""
    listed = [] if found is None else found
    if not isinstance(listed, list) or not all(
        isinstance(one, dict) and isinstance(one.get(name), str) for one in listed
    ):
        raise garbled(engine, _DOING)
    return listed


def _is_left(found: object) -> bool:
    """Say whether labels are those of a process that has ended, and of which that is certain."""
    owner = str(found.get(_OWNER, "")) if isinstance(found, dict) else ""
    place, _, process = owner.rpartition(" ")[0].rpartition(" ")
    if place != _place() or not process.isdigit():
        return False
    return _started(int(process)) != owner.rpartition(" ")[2]


def _place() -> str:
    """Name what makes process numbers comparable: this start of this machine, and the set of processes we see."""
    with contextlib.suppress(OSError):
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {(_PROC / 'self/ns/pid').readlink()}"
    return "unknown"


def _started(process: int) -> str:
    """Return when a process started, in ticks; empty where there is none."""
    with contextlib.suppress(OSError, IndexError):
        fields = (_PROC / str(process) / "stat").read_bytes().rpartition(b")")[2].split()
        return "" if fields[0] == b"Z" else fields[_START_TIME].decode()
    return ""
