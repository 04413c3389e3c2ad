"""Find libraries as glibc's loader does, without loading any.

Modelled, in this order, for a library that another one needs or opens by name: one of that name that the process has
mapped already; DT_RPATH of the asking library, of the one that caused it to be mapped, and so on up to the program
(unless the asking one has a DT_RUNPATH); LD_LIBRARY_PATH; DT_RUNPATH of the asking library; the loader's cache; the
default folders. LD_PRELOAD comes before everything. What a library needs is mapped breadth first.

Not modelled: `glibc-hwcaps` folders for particular processors, `$PLATFORM`, `/etc/ld.so.preload`, dlmopen, auditing,
and what a running program does to its own variables. musl's loader has other rules.
"""

from __future__ import annotations

import os
import re
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .cache import read_cache
from .elf import Elf, NotElfError, read_elf

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MOST_MAPPED: Final = 2000


@dataclass(frozen=True, slots=True)
class System:
    """Where a system's loader looks for everybody.

    Attributes:
        library_path: Folders of LD_LIBRARY_PATH.
        preload: Entries of LD_PRELOAD.
        cache: Paths by library name, from the loader's cache.
        folders: Default folders, in order.
        lib: What `$LIB` stands for.
    """

    library_path: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    cache: Mapping[str, list[str]] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    lib: str = "lib64"


def read_system(variables: Mapping[str, str], machine: str) -> System:
    """Return where this system's loader looks.

    Args:
        variables: The environment variables that the process would have.
        machine: As `platform.machine` names it.
    """
    multiarch = f"{machine}-linux-gnu"
    folders = (f"/lib/{multiarch}", f"/usr/lib/{multiarch}", "/lib64", "/usr/lib64", "/lib", "/usr/lib")
    return System(
        _split(variables.get("LD_LIBRARY_PATH", "")),
        tuple(re.split(r"[\s:]+", variables.get("LD_PRELOAD", "").strip())) if variables.get("LD_PRELOAD") else (),
        read_cache(),
        folders,
        f"lib/{multiarch}" if Path(f"/lib/{multiarch}").is_dir() else "lib64",
    )


def _split(text: str) -> tuple[str, ...]:
    """Return the folders of a path; an empty entry is the working folder."""
    return tuple(part or os.curdir for part in re.split(r"[:;]", text)) if text else ()


@dataclass(eq=False, slots=True)
class Mapped:
    """A library or program as mapped.

    Attributes:
        path: Where the loader found it.
        elf: What it is; None where it could not be read.
        caller: The one that caused it to be mapped; None for the program and for what a program opens by path.
    """

    path: Path
    elf: Elf | None
    caller: Mapped | None = None


@dataclass(eq=False)
class Process:
    """A process as its loader would have it.

    Attributes:
        system: Where the loader looks for everybody.
        program: The program that runs, with symbolic links followed.
        names: What is mapped, by each name that it was asked for or calls itself.
        absent: Names that were asked for and not found, with who asked; None where a program opened it.
        damaged: Files that the loader would have refused, with the reason.
    """

    system: System
    program: Path | None = None
    names: dict[str, Mapped] = field(default_factory=dict)
    absent: dict[str, Mapped | None] = field(default_factory=dict)
    damaged: dict[Path, str] = field(default_factory=dict)
    _files: dict[tuple[int, int], Mapped] = field(default_factory=dict)
    _main: Mapped | None = None
    _kind: tuple[int, str] | None = None

    def __post_init__(self) -> None:
        if self.program is not None:
            self._main = self._map(self.program, None)
        for entry in self.system.preload:
            self.open(entry, self._main)
        if self._main is not None:
            self._map_needed(self._main)

    def open(self, name: str, caller: Mapped | None = None) -> Mapped | None:
        """Map a library and all that it needs.

        Args:
            name: A name to search for, or a path.
            caller: The library that asks.

        Returns:
            The library; None where it was not found or is refused.
        """
        mapped = self._find(name, caller)
        if mapped is None:
            self.absent[name] = None
            return None
        self._map_needed(mapped)
        return mapped

    def _map_needed(self, first: Mapped) -> None:
        waiting, seen = deque([first]), {id(first)}
        while waiting and len(self._files) < _MOST_MAPPED:
            asking = waiting.popleft()
            for name in asking.elf.needed if asking.elf else ():
                found = self._find(name, asking)
                if found is not None and id(found) not in seen:
                    seen.add(id(found))
                    waiting.append(found)

    def _find(self, name: str, caller: Mapped | None) -> Mapped | None:
        if name in self.names:
            return self.names[name]
        paths = [Path(name)] if "/" in name else self._candidates(name, caller)
        for path in paths:
            if (mapped := self._map(path, caller)) is not None:
                self.names.setdefault(name, mapped)
                self.absent.pop(name, None)
                return mapped
        self.absent.setdefault(name, caller)
        return None

    def _map(self, path: Path, caller: Mapped | None) -> Mapped | None:
        """Map a file; None where the search goes on: there is none, or it is for another kind of machine."""
        try:
            about = path.stat()
            key = about.st_dev, about.st_ino
            if key in self._files:
                return self._files[key]
            elf = read_elf(path)
        except OSError:
            return None
        except NotElfError as error:
            self.damaged.setdefault(path, str(error))
            return None
        if elf.kind != (self._kind or elf.kind):
            return None
        self._kind = elf.kind
        mapped = self._files[key] = Mapped(path, elf, caller)
        if elf.soname:
            self.names.setdefault(elf.soname, mapped)
            self.absent.pop(elf.soname, None)
        return mapped

    def _candidates(self, name: str, caller: Mapped | None) -> Iterator[Path]:
        elf = caller.elf if caller else None
        if elf is None or not elf.runpath:
            yield from (folder / name for folder in self._inherited(caller))
        yield from (Path(folder, name) for folder in self.system.library_path)
        if caller is not None and elf is not None:
            yield from (folder / name for folder in self._expand(elf.runpath, caller))
            if elf.no_default_dirs:
                return
        yield from map(Path, self.system.cache.get(name, ()))
        yield from (Path(folder, name) for folder in self.system.folders)

    def _inherited(self, caller: Mapped | None) -> Iterator[Path]:
        at, ended = caller, False
        while at is not None:
            ended = ended or at is self._main
            yield from self._expand(at.elf.rpath if at.elf else (), at)
            at = at.caller
        if not ended and self._main is not None and self._main.elf is not None:
            yield from self._expand(self._main.elf.rpath, self._main)

    def _expand(self, folders: tuple[str, ...], owner: Mapped) -> Iterator[Path]:
        origin = str(owner.path.absolute().parent)
        for folder in folders:
            text = re.sub(r"\$(?:ORIGIN\b|\{ORIGIN\})", lambda _: origin, folder)
            text = re.sub(r"\$(?:LIB\b|\{LIB\})", self.system.lib, text)
            if "$" not in text:
                yield Path(text)
