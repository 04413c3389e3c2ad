"""Read the loader's cache, `/etc/ld.so.cache`, as `ldconfig -p` shows it; a container may lack that program."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

CACHE: Final = Path("/etc/ld.so.cache")
_MAGIC: Final = b"glibc-ld.so.cache1.1"
_HEAD: Final = 48
_ENTRY: Final = struct.Struct("=iIIIQ")
_MOST_BYTES: Final = 64 * 1024 * 1024


def read_cache(path: Path = CACHE) -> dict[str, list[str]]:
    """Return the paths by library name, in the cache's order.

    Entries for particular processors (`glibc-hwcaps`) are left out.

    Args:
        path: The cache file.

    Returns:
        Empty where there is no cache or it is of an unknown format.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES)
    except OSError:
        return {}
    start = data.find(_MAGIC)
    if start < 0 or len(data) < start + _HEAD:
        return {}
    (count,) = struct.unpack_from("=I", data, start + len(_MAGIC))
    found: dict[str, list[str]] = {}
    end = min(start + _HEAD + count * _ENTRY.size, len(data) - _ENTRY.size + 1)
    for at in range(start + _HEAD, end, _ENTRY.size):
        _, name, value, _, processor = _ENTRY.unpack_from(data, at)
        if processor == 0:
            found.setdefault(_text(data, start + name), []).append(_text(data, start + value))
    return found


def _text(data: bytes, start: int) -> str:
    end = data.find(b"\0", start)
    return data[start : end if end >= 0 else len(data)].decode("utf-8", "surrogateescape")
