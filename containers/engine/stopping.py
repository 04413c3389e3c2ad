"""Builds that are left early: stopped in the engine, too."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...compat.errors import OutsideError
from .faults import telling
from .wire import call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .connect import Engine

MARK: Final = "ftp_proxy"
"""A build argument that reaches the processes of a step, and nothing that is kept: a builder's own, of no use today."""

_PROC: Final = Path("/proc")
_PATIENCE: Final = 5.0
_TICK: Final = 0.1


@contextlib.contextmanager
def stopping(engine: Engine, build: str) -> Iterator[None]:
    """Stop a build in the engine where the block is left by an error.

    Docker is told. Podman 4 forgets a build whose connection closes, but lets the step that runs go on; its processes
    are found by their mark and killed, where they run on this machine.

    Args:
        engine: The engine that builds.
        build: Id of the build, and value of `MARK`.
    """
    try:
        yield
    except BaseException:
        if engine.kind == "docker":
            with contextlib.suppress(OutsideError), telling(engine, "stopping a build"):
                call(engine, "POST", "/build/cancel", params={"id": build}, timeout=_PATIENCE).close()
        elif engine.address.startswith("unix:"):
            _kill_marked(f"{MARK}={build}".encode())
        raise


def _kill_marked(mark: bytes) -> None:
    """Kill what carries a mark until nothing does: a step may still be starting."""
    deadline, quiet = time.monotonic() + _PATIENCE, 0
    while time.monotonic() < deadline and quiet <= 1:
        found = [int(path.name) for path in _PROC.glob("[0-9]*") if mark in _environment(path)]
        quiet = 0 if found else quiet + 1
        for number in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
        time.sleep(_TICK)


def _environment(process: Path) -> list[bytes]:
    with contextlib.suppress(OSError):
        return (process / "environ").read_bytes().split(b"\0")
    return []
