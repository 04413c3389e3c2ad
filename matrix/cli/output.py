"""Standard output, which may be a pipe that its reader has left, or a file on a full disk."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from ...compat.errors import OutsideError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Yield standard output, and see that all of it is written.

    A reader that goes away is no error: what was found, and so the exit code, stands.

    Raises:
        OutsideError: It cannot be written.
    """
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        _write_no_more(sys.stdout)
    except OSError as error:
        _write_no_more(sys.stdout)
        raise OutsideError(
            f"standard output cannot be written: {error.strerror or error}; send it elsewhere, or make room there"
        ) from error


def finish_standard_error() -> None:
    """See that standard error, where it cannot be written, does not change the exit code when Python ends."""
    try:
        sys.stderr.flush()
    except OSError:
        _write_no_more(sys.stderr)


def _write_no_more(stream: TextIO) -> None:
    """Let what is still in the buffer, which Python writes at its end, go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
