"""Read what the loader reads of a shared library: its name, what it needs, where it says to look, its symbol versions.

Only headers and the dynamic section are read, so that a library of gigabytes costs a few page reads. A file of the
other byte order is read as well; of a 32-bit file only the kind is read, since no 64-bit process maps one.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAGIC: Final = b"\x7fELF"
_BIG_ENDIAN, _WIDE = 2, 2
_CLASSES, _ORDERS = (1, _WIDE), (1, _BIG_ENDIAN)
_LOAD, _DYNAMIC = 1, 2
_NEEDED, _STRTAB, _SONAME, _RPATH, _RUNPATH = 1, 5, 14, 15, 29
_FLAGS_1, _VERDEF, _VERDEFNUM, _VERNEED, _VERNEEDNUM = 0x6FFFFFFB, 0x6FFFFFFC, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF
_NO_DEFAULT_DIRS: Final = 0x800
_MOST_ENTRIES: Final = 4096
_LONGEST_NUMBER: Final = 40
_LONGEST_TEXT: Final = 1024 * 1024

MACHINES: Final = {3: "i686", 21: "ppc64le", 22: "s390x", 40: "armv7l", 62: "x86_64", 183: "aarch64", 243: "riscv64"}


class NotElfError(ValueError):
    """A file is no ELF file, or is cut short."""


@dataclass(frozen=True)
class Elf:
    """A shared library or program.

    Attributes:
        bits: 32 or 64.
        machine: As `platform.machine` names it, or the ELF number as text.
        soname: Its own name, if it has one.
        needed: Names of the libraries that it needs, in order.
        rpath: Folders to search before LD_LIBRARY_PATH, as written; none where there is a runpath.
        runpath: Folders to search after LD_LIBRARY_PATH, as written.
        no_default_dirs: Whether the loader's cache and default folders are left out.
        needs: Symbol versions that it needs of others, such as `GLIBC_2.34`.
        gives: Symbol versions that it has, such as `GLIBCXX_3.4.30`.
    """

    bits: int
    machine: str
    soname: str | None = None
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    no_default_dirs: bool = False
    needs: frozenset[str] = frozenset()
    gives: frozenset[str] = frozenset()

    @property
    def kind(self) -> tuple[int, str]:
        """Return what must be equal for a process to map it."""
        return self.bits, self.machine


def read_elf(path: Path | str) -> Elf:
    """Read a shared library or program.

    Args:
        path: The file.

    Raises:
        NotElfError: It is no ELF file or is cut short.
        OSError: It cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return _File(descriptor).read()
    except (struct.error, UnicodeDecodeError, OverflowError) as error:
        raise NotElfError(f"{path} is cut short or damaged") from error
    finally:
        os.close(descriptor)


def highest(versions: frozenset[str], prefix: str) -> str | None:
    """Return the highest version of `GLIBC_2.34`-like names with this prefix, such as `2.34`.

    Args:
        versions: Symbol versions of an `Elf`.
        prefix: Such as `GLIBC_` or `GLIBCXX_`.
    """
    numbers = [text.removeprefix(prefix) for text in versions if text.startswith(prefix)]
    plain = [number for number in numbers if number.replace(".", "").isdigit() and len(number) < _LONGEST_NUMBER]
    return max(plain, key=lambda number: [int(part or 0) for part in number.split(".")], default=None)


class _File:
    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.order = "<"
        self.loads: list[tuple[int, int, int]] = []
        self.entries: list[tuple[int, int]] = []

    def read(self) -> Elf:
        head = self._bytes(0, 64)
        if head[:4] != _MAGIC or head[4] not in _CLASSES or head[5] not in _ORDERS:
            raise NotElfError("no ELF file")
        self.order = ">" if head[5] == _BIG_ENDIAN else "<"
        (number,) = struct.unpack_from(f"{self.order}H", head, 18)
        machine = MACHINES.get(number, str(number))
        if head[4] != _WIDE:
            return Elf(32, machine)
        self._read_segments(head)
        return self._describe(machine)

    def _read_segments(self, head: bytes) -> None:
        (start,) = struct.unpack_from(f"{self.order}Q", head, 32)
        size, count = struct.unpack_from(f"{self.order}HH", head, 54)
        dynamic: tuple[int, int] | None = None
        for index in range(min(count, _MOST_ENTRIES)):
            kind, _, offset, address, _, length = self._unpack("IIQQQQ", start + index * size)
            if kind == _LOAD:
                self.loads.append((address, length, offset))
            elif kind == _DYNAMIC:
                dynamic = offset, length
        if dynamic is not None:
            self._read_dynamic(*dynamic)

    def _read_dynamic(self, offset: int, length: int) -> None:
        for index in range(min(length // 16, _MOST_ENTRIES)):
            tag, value = self._unpack("QQ", offset + index * 16)
            if tag == 0:
                return
            self.entries.append((tag, value))

    def _describe(self, machine: str) -> Elf:
        runpath = self._paths(_RUNPATH)
        return Elf(
            64,
            machine,
            soname=next(iter(self._texts(_SONAME)), None),
            needed=tuple(self._texts(_NEEDED)),
            rpath=() if runpath else self._paths(_RPATH),
            runpath=runpath,
            no_default_dirs=bool((self._value(_FLAGS_1) or 0) & _NO_DEFAULT_DIRS),
            needs=frozenset(self._needs()),
            gives=frozenset(self._gives()),
        )

    def _value(self, wanted: int) -> int | None:
        return next((value for tag, value in self.entries if tag == wanted), None)

    def _texts(self, wanted: int) -> list[str]:
        return [self._text(value) for tag, value in self.entries if tag == wanted]

    def _paths(self, wanted: int) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part for text in self._texts(wanted) for part in text.split(":") if part))

    def _needs(self) -> Iterator[str]:
        place, count = self._value(_VERNEED), self._value(_VERNEEDNUM) or 0
        at = self._offset(place) if place is not None else 0
        for _ in range(min(count if place is not None else 0, _MOST_ENTRIES)):
            _, parts, _, first, following = self._unpack("HHIII", at)
            inner = at + first
            for _ in range(min(parts, _MOST_ENTRIES)):
                _, _, _, name, step = self._unpack("IHHII", inner)
                yield self._text(name)
                inner += step
            at += following

    def _gives(self) -> Iterator[str]:
        place, count = self._value(_VERDEF), self._value(_VERDEFNUM) or 0
        at = self._offset(place) if place is not None else 0
        for _ in range(min(count if place is not None else 0, _MOST_ENTRIES)):
            _, _, _, _, _, first, following = self._unpack("HHHHIII", at)
            (name,) = self._unpack("I", at + first)
            yield self._text(name)
            at += following

    def _text(self, offset: int) -> str:
        table = self._value(_STRTAB)
        if table is None:
            raise NotElfError("no table of names")
        start, found = self._offset(table) + offset, b""
        while b"\0" not in found:
            piece = os.pread(self.descriptor, 4096, start + len(found))
            if not piece or len(found) > _LONGEST_TEXT:
                raise NotElfError("a name without an end")
            found += piece
        return found.partition(b"\0")[0].decode("utf-8", "surrogateescape")

    def _offset(self, address: int) -> int:
        for start, length, offset in self.loads:
            if start <= address < start + length:
                return address - start + offset
        raise NotElfError("an address outside of the file")

    def _unpack(self, form: str, offset: int) -> tuple[int, ...]:
        return struct.unpack(self.order + form, self._bytes(offset, struct.calcsize(self.order + form)))

    def _bytes(self, offset: int, length: int) -> bytes:
        found = os.pread(self.descriptor, length, offset)
        if len(found) < length:
            raise NotElfError("cut short")
        return found
