"""Find the programs and shared libraries in a tree, by what they are and not by what they are called."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ...compat.doctor.elf import Elf, NotElfError, read_elf

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .walking import Entry

_MAGIC: Final = b"\x7fELF"
_SMALLEST: Final = 64
# What a loader maps, and not objects of a compiler or dumps of memory.
_MAPPED: Final = (b"\2\0", b"\3\0")
_KIND_AT: Final = 16
# Most of a tree; opening them all would cost as much as all the rest.
_DEBUG: Final = "/usr/lib/debug/"  # symbols alone, in the shape of the binary that they belong to
_TEXT: Final = frozenset({".py", ".pyc", ".pyi", ".h", ".hpp", ".cuh", ".txt", ".md", ".json", ".html", ".rst", ".mo"})


@dataclass(frozen=True)
class Binary:
    """A program or shared library for this machine."""

    path: str
    elf: Elf


@dataclass(frozen=True)
class Binaries:
    """What was found in a tree.

    Attributes:
        native: Those for this machine.
        foreign: Paths of those for another kind of machine, which nothing here maps.
        damaged: Paths of those that are cut short or damaged, with what is wrong.
        unreadable: Paths of files that could not be read.
    """

    native: list[Binary]
    foreign: list[str]
    damaged: dict[str, str]
    unreadable: list[str]


def find_binaries(entries: Iterable[Entry]) -> Binaries:
    """Read the headers of every program and shared library among files."""
    kind = read_elf(sys.executable).kind
    found = Binaries([], [], {}, [])
    for entry in entries:
        if not _may_be_binary(entry):
            continue
        try:
            if not _is_mapped(entry.path):
                continue
            elf = read_elf(entry.path)
        except NotElfError as error:
            found.damaged[entry.path] = str(error).replace(entry.path, "it")
            continue
        except OSError:
            found.unreadable.append(entry.path)
            continue
        if elf.kind == kind:
            found.native.append(Binary(entry.path, elf))
        else:
            found.foreign.append(entry.path)
    return found


def _may_be_binary(entry: Entry) -> bool:
    ending = "." + entry.name.rpartition(".")[2]
    return entry.is_file and entry.size >= _SMALLEST and ending not in _TEXT and _DEBUG not in entry.path


def _is_mapped(path: str) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        head = os.read(descriptor, _KIND_AT + 2)
    finally:
        os.close(descriptor)
    return head.startswith(_MAGIC) and head[_KIND_AT:] in _MAPPED
