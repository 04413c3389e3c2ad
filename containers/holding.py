"""A lock file that is held while something shared is made."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from typing import TYPE_CHECKING, Final

from ..compat.errors import StoppedError

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator
    from pathlib import Path

_TICK: Final = 0.05


@contextlib.contextmanager
def hold(path: Path, doing: str, cancel: threading.Event | None) -> Iterator[int]:
    """Hold a lock file, waiting for whoever holds it now.

    Args:
        path: The file; made where it is not there.
        doing: What is being done meanwhile, such as `making the environment of torch2.13.0-py311`.
        cancel: Stops the wait when set.

    Yields:
        Its descriptor: a process that inherits it keeps the file held.

    Raises:
        OSError: The file cannot be opened.
        StoppedError: `cancel` was set.
    """
    held = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        while True:
            # flock, not lockf: it belongs to the open file, so that a child which inherits it keeps it held.
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if cancel is not None and cancel.is_set():
                    raise StoppedError(f"{doing} was stopped while another run was at it.") from None
                time.sleep(_TICK)
        yield held
    finally:
        os.close(held)
