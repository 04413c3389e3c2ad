"""`uv`, the program that resolves and installs: found, given its settings, run and stopped."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..compat.errors import OutsideError, StoppedError
from . import process
from .diagnose import tidy

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Mapping, Sequence
    from typing import IO

# Settings that would change what a lock means or what an environment holds; uv gets them from us or not at all.
_OVERRULED: Final = (
    "UV_BREAK_SYSTEM_PACKAGES",
    "UV_COMPILE_BYTECODE",
    "UV_NO_VERIFY_HASHES",
    "UV_PROJECT_ENVIRONMENT",
    "UV_PYTHON",
    "UV_REQUIRE_HASHES",
    "UV_SYSTEM_PYTHON",
    "UV_VENV_CLEAR",
    "UV_VENV_SEED",
)
_FORCED: Final = {"NO_COLOR": "1", "UV_NO_PROGRESS": "1", "UV_PYTHON_DOWNLOADS": "never"}
_TICK: Final = 0.1


@dataclass(frozen=True)
class Finished:
    """A uv command that ran to its end.

    Attributes:
        code: Exit status; 0 is success.
        stdout: Standard output.
        stderr: Standard error, without colours and credentials.
    """

    code: int
    stdout: str
    stderr: str


def find_uv() -> str:
    """Return the path of the uv executable that the `uv` package brought.

    Raises:
        OutsideError: The package has no executable.
    """
    from uv import find_uv_bin  # noqa: PLC0415 - the command line must start without it

    try:
        return find_uv_bin()
    except FileNotFoundError as error:
        raise OutsideError(
            f"the uv program was not found ({error}). It comes with the `uv` package: install stackproof again."
        ) from error


def settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that uv runs with.

    What is set for pip holds for uv where the setting of uv's own is absent: PIP_INDEX_URL as UV_DEFAULT_INDEX,
    PIP_EXTRA_INDEX_URL as UV_INDEX, PIP_FIND_LINKS as UV_FIND_LINKS. Pip separates values by spaces; so does UV_INDEX,
    but UV_FIND_LINKS by commas.

    Args:
        environ: The environment that stackproof itself runs in.
    """
    given = {name: value for name, value in environ.items() if name not in _OVERRULED}
    if index := _only_pip(given, "PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        given["UV_DEFAULT_INDEX"] = index
    if extra := _only_pip(given, "PIP_EXTRA_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL"):
        given["UV_INDEX"] = " ".join(extra.split())
    if links := _only_pip(given, "PIP_FIND_LINKS", "UV_FIND_LINKS"):
        given["UV_FIND_LINKS"] = ",".join(links.split())
    return {**given, **_FORCED}


def run_uv(
    arguments: Sequence[str],
    *,
    stdin: str = "",
    variables: Mapping[str, str] | None = None,
    keep_open: Sequence[int] = (),
    time_limit: float = 1800.0,
    cancel: threading.Event | None = None,
) -> Finished:
    """Run a uv command in a process group of its own, and wait for it.

    Args:
        arguments: The arguments after `uv`.
        stdin: What it reads on its standard input.
        variables: Environment variables on top of `settings`.
        keep_open: File descriptors that it inherits, so that a lock on them is held until it has ended.
        time_limit: Seconds that it may take.
        cancel: Stops it when set.

    Raises:
        OutsideError: It could not be started, took too long, or was killed by someone else.
        StoppedError: `cancel` was set.
    """
    mark = process.new_mark()
    try:
        with _readable(stdin) as given:
            child = subprocess.Popen(
                [find_uv(), *arguments],
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**settings(os.environ), **(variables or {}), process.MARK: mark},
                start_new_session=True,
                pass_fds=tuple(keep_open),
            )
    except OSError as error:
        raise OutsideError(f"the uv program could not be started: {error}. Install stackproof again.") from error
    command = f"uv {arguments[0]}" if arguments else "uv"
    with child:
        try:
            stdout, stderr = _wait(child, command, time.monotonic() + time_limit, cancel)
        finally:
            process.end(child, mark)
    if child.returncode < 0:
        raise OutsideError(
            f"{command} was killed by signal {-child.returncode}, which stackproof did not send. Try again."
        )
    return Finished(child.returncode, tidy(stdout.decode(errors="replace")), tidy(stderr.decode(errors="replace")))


@contextlib.contextmanager
def _readable(text: str) -> Iterator[IO[bytes]]:
    """Give a text as a file: what a child has not read from a pipe when `communicate` times out is never written."""
    with tempfile.TemporaryFile() as file:
        file.write(text.encode())
        file.seek(0)
        yield file


def _wait(
    child: subprocess.Popen[bytes], command: str, deadline: float, cancel: threading.Event | None
) -> tuple[bytes, bytes]:
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.communicate(timeout=_TICK)
        if cancel is not None and cancel.is_set():
            raise StoppedError(f"{command} was stopped; nothing that it left half-done is used.")
        if time.monotonic() > deadline:
            raise OutsideError(
                f"{command} did not end within its time limit and was stopped. The index or the disk may be very slow:"
                " try again; what was downloaded is kept in uv's cache."
            )


def _only_pip(given: Mapping[str, str], pip: str, *uv: str) -> str:
    return "" if any(given.get(name) for name in uv) else given.get(pip, "").strip()
