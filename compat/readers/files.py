"""From paths to bytes."""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import TYPE_CHECKING, Final

from ..errors import Fault, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

STDIN: Final = "standard input"
LARGEST: Final = 64 * 1024 * 1024

_MENDS: Final = {
    errno.ENOENT: "there is no such file; check the path, or use `-` for standard input",
    errno.EACCES: "may not be read by this user; change its permissions",
    errno.ELOOP: "is a symbolic link that leads back to itself; name the file that it should lead to",
    errno.ENAMETOOLONG: "is too long to be a path; give its text through standard input (`-`)",
    errno.EISDIR: "is a folder; name a file in it, such as requirements.txt",
    errno.ENOTDIR: "leads through a file as if it were a folder; check the path",
}


def read_files(paths: Sequence[str]) -> list[tuple[str, bytes]]:
    """Read inputs whole.

    Args:
        paths: Paths of files; `-` is standard input.

    Returns:
        The name to show and the bytes of each, in the same order.

    Raises:
        InputError: Some cannot be read, or are larger than 64 MB; every such path is named.
    """
    faults: list[Fault] = []
    found: list[tuple[str, bytes]] = []
    for path in paths:
        try:
            found.append((STDIN, _read_stdin()) if path == "-" else (path, read_file(path)))
        except OSError as error:
            faults.append(Fault("", _explain(error), source=_shown(path)))
        except ValueError as error:
            faults.append(Fault("", str(error), source=_shown(path)))
    if faults:
        raise InputError(faults[0].source, faults)
    return found


def read_file(path: str) -> bytes:
    """Read a file whole.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no file that can be taken for an input; the message says why and how to mend it.
    """
    if "\0" in path:
        raise ValueError("has a zero byte in its path, which no path may have; check the path")
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
            raise ValueError("is a device or a socket; name a plain file, or use `-` for standard input")
        if stat.S_ISFIFO(mode):
            os.set_blocking(handle, True)
        return _limit(file.read(LARGEST + 1))


def _shown(path: str) -> str:
    return STDIN if path == "-" else path.replace("\0", "\\0")


def _read_stdin() -> bytes:
    return _limit(sys.stdin.buffer.read(LARGEST + 1))


def _limit(data: bytes) -> bytes:
    if len(data) > LARGEST:
        raise ValueError(f"is larger than {LARGEST // 1024**2} MB; give only the part that describes the environment")
    return data


def _explain(error: OSError) -> str:
    return _MENDS.get(error.errno or 0, f"cannot be read: {(error.strerror or str(error)).lower()}")
