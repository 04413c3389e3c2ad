"""Standard output, which may be a pipe that its reader has left, or a file on a full disk."""

from __future__ import annotations

import io
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

from ...compat.errors import OutsideError

if TYPE_CHECKING:
    from collections.abc import Iterator

_STANDARD_ERROR: Final = 2


def open_missing_streams() -> None:
    """Let standard streams that the process was started without go nowhere, so that no other file takes their place."""
    if None not in {sys.stdin, sys.stdout, sys.stderr}:
        return
    while (number := os.open(os.devnull, os.O_RDWR)) <= _STANDARD_ERROR:
        os.set_inheritable(number, True)  # noqa: FBT003 - the function takes it by place only
    os.close(number)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - open to the very end


def escape_what_has_no_character() -> None:
    """Let what the encoding of a stream cannot hold, or a file's name that is no text, be written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


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
