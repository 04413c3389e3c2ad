"""What BuildKit keeps of the files that a build was given: removed after it, for nothing finds them again.

What a build left that was killed is removed by the next one, as far as its description tells it: the uploaded tar.
"""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ...compat.errors import OutsideError
from .faults import garbled, telling
from .wire import call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .connect import Engine

_UPLOADED: Final = "http url http://build-context-"  # the tar as it came
_UNPACKED: Final = "fileop target"  # what was unpacked of it; other builds' instructions are called so, too
_PATIENCE: Final = 5.0  # seconds for BuildKit to let go of them, after a build that was left early
_TICK: Final = 0.2
_BUSY: Final = "disk usage operation is already running"  # an engine counts for one client at a time
_MOST_BUSY: Final = 20.0  # seconds


@dataclass(frozen=True)
class _Record:
    """What BuildKit keeps of files given to a build."""

    name: str
    uploaded: bool
    used: bool


@contextlib.contextmanager
def without_context(engine: Engine) -> Iterator[None]:
    """Remove what the build in the block leaves of its files, and tars of older ones; Podman leaves nothing."""
    if engine.kind != "docker":
        yield
        return
    before, patience = _names(engine), _PATIENCE
    try:
        yield
        patience = 0
    finally:
        # Housekeeping: that it fails is no reason to lose the image, nor to hide why the build failed.
        with contextlib.suppress(OutsideError):
            _remove(engine, before, time.monotonic() + patience)


def _names(engine: Engine) -> set[str] | None:
    """Return the names of what is there already; None where the engine does not say."""
    with contextlib.suppress(OutsideError):  # housekeeping, as above
        return {record.name for record in _records(engine)}
    return None


def _remove(engine: Engine, before: set[str] | None, deadline: float) -> None:
    while True:
        records = _records(engine)
        new = set() if before is None else {record.name for record in records} - before
        for record in records:
            if not record.used and (record.uploaded or record.name in new):
                _prune(engine, record.name)
        if not any(record.used and record.name in new for record in records) or time.monotonic() > deadline:
            return
        time.sleep(_TICK)


def _prune(engine: Engine, name: str) -> None:
    with telling(engine, "removing a build's files"):
        query = {"all": "1", "filters": json.dumps({"id": [name]})}
        call(engine, "POST", "/build/prune", params=query, timeout=600).close()


def _records(engine: Engine) -> list[_Record]:
    """Return the records of files given to builds, when the engine has counted for whoever asked before."""
    deadline = time.monotonic() + _MOST_BUSY
    while True:
        try:
            return _ask(engine)
        except OutsideError as error:
            if _BUSY not in str(error) or time.monotonic() > deadline:
                raise
        time.sleep(_TICK)


def _ask(engine: Engine) -> list[_Record]:
    doing = "looking at the build cache"
    with telling(engine, doing):
        answer = engine.client.api.df()
    found = (answer.get("BuildCache") or []) if isinstance(answer, dict) else answer
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise garbled(engine, doing)
    told = [(one, str(one.get("Description", ""))) for one in found]
    return [
        _Record(str(one.get("ID")), text.startswith(_UPLOADED), bool(one.get("InUse")))
        for one, text in told
        if text.startswith((_UPLOADED, _UNPACKED))
    ]
