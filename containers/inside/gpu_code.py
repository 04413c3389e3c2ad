"""Read which GPUs a binary has code for, from the headers of the device code that the CUDA compiler embedded in it.

The section `.nv_fatbin` holds containers, one for each compiled source: a header of 16 bytes, then
entries, each with a header that names its kind, architecture and length. Only these headers are read: some kilobytes of
a library of gigabytes. The layout is that of CUDA 11 to 13; bits 20 and 21 of an entry's flags, which tell `sm_90a` and
`sm_100f` from the plain ones, were seen in the output of nvcc 13.0 and are the same in wheels made with CUDA 12.
"""

from __future__ import annotations

import os
import struct
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC: Final = 0xBA55ED50
_DEVICE_CODE: Final = b".nv_fatbin"  # `__nv_relfatbin` holds what was to be linked, and is never loaded
_NO_CONTENT: Final = 8
_HEAD, _ENTRY, _SECTION = struct.Struct("<IHHQ"), struct.Struct("<HHIQIIHHIIIQ"), struct.Struct("<IIQQQQ")
_PTX: Final = 1
_COMPILED: Final = (2, 16)
_ARCH_ONLY, _FAMILY = 1 << 20, 1 << 21
_ALIGNED: Final = 8
_MOST_GAP: Final = 4096
_MOST_ENTRIES: Final = 1_000_000
_SECTION_BYTES: Final = 64
_ARCHITECTURES: Final = range(10, 1000)


class DamagedError(ValueError):
    """The device code of a file ends within itself or is of another layout."""


def read_gpu_code(path: str) -> Counter[str]:
    """Return how many compiled sources a binary has for each architecture, such as `sm_90a` and, for PTX, `compute_90`.

    Args:
        path: A 64-bit little-endian ELF file.

    Returns:
        The number by architecture; empty for a file without device code.

    Raises:
        DamagedError: There is device code that cannot be read to its end.
        OSError: The file cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        return _count(descriptor)
    except (struct.error, OverflowError) as error:
        raise DamagedError("its headers are cut short or damaged") from error
    finally:
        os.close(descriptor)


def _count(descriptor: int) -> Counter[str]:
    found: Counter[str] = Counter()
    size = os.fstat(descriptor).st_size
    for start, length in _sections(descriptor):
        if start + length > size:
            raise DamagedError("its device code reaches beyond the end of the file")
        found.update(_entries(descriptor, start, start + length))
    return found


def _sections(descriptor: int) -> Iterator[tuple[int, int]]:
    """Yield where the sections with device code lie: offset and length."""
    head = os.pread(descriptor, 64, 0)
    (table,) = struct.unpack_from("<Q", head, 40)
    step, count, names = struct.unpack_from("<HHH", head, 58)
    if not table or not count or step != _SECTION_BYTES:
        return
    raw = os.pread(descriptor, step * count, table)
    sections = [_SECTION.unpack_from(raw, index * step) for index in range(count)]
    texts = os.pread(descriptor, min(sections[names][5], 1 << 20), sections[names][4]) if names < count else b""
    for name, kind, _, _, offset, length in sections:
        if kind != _NO_CONTENT and texts[name:].partition(b"\0")[0] == _DEVICE_CODE:
            yield offset, length


def _entries(descriptor: int, start: int, end: int) -> Iterator[str]:
    """Yield the architecture of each entry between two offsets."""
    at, left = start, _MOST_ENTRIES
    while (at := _next_container(descriptor, at, end)) < end:
        _, _, head, length = _HEAD.unpack(os.pread(descriptor, _HEAD.size, at))
        stop, at = at + head + length, at + head
        if stop > end or head < _HEAD.size:
            raise DamagedError("a container of its device code reaches beyond it")
        while at < stop:
            entry = _ENTRY.unpack(os.pread(descriptor, _ENTRY.size, at))
            kind, own, payload, arch, flags = entry[0], entry[2], entry[3], entry[8], entry[11]
            at, left = at + own + payload, left - 1
            if own < _ENTRY.size or at > stop or not left:
                raise DamagedError("an entry of its device code reaches beyond its container")
            if kind in (_PTX, *_COMPILED) and arch in _ARCHITECTURES:
                yield _name_of(kind, arch, flags)


def _next_container(descriptor: int, at: int, end: int) -> int:
    """Return where the next container begins, past the filling between two; the end where there is none."""
    gap = at
    while gap + _HEAD.size <= end and gap - at <= _MOST_GAP:
        found = os.pread(descriptor, 4, gap)
        if int.from_bytes(found, "little") == _MAGIC:
            return gap
        if found != bytes(4):
            break
        gap += _ALIGNED
    if end - at > _MOST_GAP or any(os.pread(descriptor, end - at, at)):
        raise DamagedError("its device code is of an unknown layout")
    return end


def _name_of(kind: int, arch: int, flags: int) -> str:
    suffix = "a" if flags & _ARCH_ONLY else "f" if flags & _FAMILY else ""
    return f"{'compute' if kind == _PTX else 'sm'}_{arch}{suffix}"
