"""Find what lets one become another user, what anybody may change, and what listens."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .walking import Entry

_CAPABILITY: Final = "security.capability"
_SHARED: Final = frozenset({"/tmp", "/var/tmp", "/run/lock", "/var/lock", "/run/shm"})  # noqa: S108 - they are named, not used
_TABLES: Final = ("tcp", "tcp6", "udp", "udp6")
# States of a socket that waits for others, as the kernel's tables have them.
_WAITING: Final = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}


def find_privileged(entries: Iterable[Entry]) -> list[str]:
    """Return the files that run as their owner or group: setuid and setgid."""
    return [one.path for one in entries if one.is_file and one.mode & (stat.S_ISUID | stat.S_ISGID)]


def find_world_writable(entries: Iterable[Entry], root: str = "") -> list[str]:
    """Return what anybody may write, the usual folders left out in which each may only remove what is his own.

    Args:
        entries: What lies there.
        root: Folder that stands for `/`.
    """
    return [
        one.path
        for one in entries
        if one.mode & stat.S_IWOTH
        and not stat.S_ISLNK(one.mode)
        and not (one.mode & stat.S_ISVTX and one.path[len(root) :] in _SHARED)
    ]


def find_capabilities(entries: Iterable[Entry]) -> list[str]:
    """Return the programs that get capabilities of the kernel when they are run."""
    return [one.path for one in entries if one.is_file and one.mode & 0o111 and _has_capability(one.path)]


def _has_capability(path: str) -> bool:
    try:
        return bool(os.getxattr(path, _CAPABILITY, follow_symlinks=False))
    except OSError:  # ENODATA for nearly all
        return False


def find_listening(entries: Iterable[Entry]) -> list[str]:
    """Return the addresses on which something listens now, and the sockets that lie in the tree."""
    return [*_addresses(), *(one.path for one in entries if stat.S_ISSOCK(one.mode))]


def _addresses() -> Iterator[str]:
    for table in _TABLES:
        with contextlib.suppress(OSError, ValueError, IndexError):
            for line in Path("/proc/net", table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _WAITING[table]:
                    yield f"{table} port {int(fields[1].rpartition(':')[2], 16)}"
