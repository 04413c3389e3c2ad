"""What BuildKit keeps of the files that a build was given: removed after it, for nothing finds them again."""

from __future__ import annotations

import contextlib
import json
import time
from typing import TYPE_CHECKING, Final

from ...compat.errors import OutsideError
from .faults import telling
from .wire import call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .connect import Engine

# The tar as it came, and what was unpacked of it.
_DESCRIBED: Final = ("http url http://build-context-", "fileop target")
_PATIENCE: Final = 5.0  # seconds for BuildKit to let go of them, after a build that was left early
_TICK: Final = 0.2


@contextlib.contextmanager
def without_context(engine: Engine) -> Iterator[None]:
    """Remove what the build in the block leaves of its files; Podman leaves nothing."""
    if engine.kind != "docker":
        yield
        return
    before, patience = set(_records(engine)), _PATIENCE
    try:
        yield
        patience = 0
    finally:
        # Housekeeping: that it fails is no reason to lose the image, nor to hide why the build failed.
        with contextlib.suppress(OutsideError):
            _remove_new(engine, before, time.monotonic() + patience)


def _remove_new(engine: Engine, before: set[str], deadline: float) -> None:
    while True:
        found = {name: used for name, used in _records(engine).items() if name not in before}
        for name in (name for name, used in found.items() if not used):
            with telling(engine, "removing a build's files"):
                query = {"all": "1", "filters": json.dumps({"id": [name]})}
                call(engine, "POST", "/build/prune", params=query, timeout=600).close()
        if not any(found.values()) or time.monotonic() > deadline:
            return
        time.sleep(_TICK)


def _records(engine: Engine) -> dict[str, bool]:
    """Return the records of files given to builds: their ids, and whether they are in use."""
    with telling(engine, "looking at the build cache"):
        records = engine.client.api.df().get("BuildCache") or []
    return {
        str(record.get("ID")): bool(record.get("InUse"))
        for record in records
        if str(record.get("Description", "")).startswith(_DESCRIBED)
    }
