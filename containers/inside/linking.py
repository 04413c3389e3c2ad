"""Ask this system's own loader what each binary would have mapped, without running any of it.

`LD_TRACE_LOADED_OBJECTS` makes the loader map a file with all it needs, say what it found and what not, and end. A
library that is asked alone may lack what its package loads before it: such a question is put again with that loaded.
"""

from __future__ import annotations

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .binaries import Binary

_TRACE: Final = {"LD_TRACE_LOADED_OBJECTS": "1"}
# The loader also looks up every symbol, as it would while the library is used.
_LOOK_UP: Final = {"LD_WARN": "1", "LD_BIND_NOW": "1"}
_UNDEFINED: Final = re.compile(r"^undefined symbol: (\w+)", re.MULTILINE)
_OF_DRIVER: Final = re.compile(r"cu[A-Z]\w+|nvml[A-Z]\w+")
_LOADER: Final = re.compile(r"\s(/\S*/ld(?:-linux[\w-]*|64|-[\d.]+)?\.so[.\d]*)$", re.MULTILINE)
_LINE: Final = re.compile(r"^\s*(\S+) => (not found|\S.*?)(?: \(0x[0-9a-f]+\))?$", re.MULTILINE)
_UNMET: Final = re.compile(r"^(?:.*: )?(\S+): version `([^']+)' not found \(required by (.+)\)$", re.MULTILINE)
_ABSENT: Final = "not found"
_STUB: Final = re.compile(r"/stubs/")
_SEPARATOR: Final = re.compile(r"[\s:;]")
_PATIENCE: Final = 20.0
_MOST_ASKED: Final = 8
_SHOWN: Final = 300


@dataclass(frozen=True)
class Traced:
    """What the loader said of one binary.

    Attributes:
        found: Path by the name that was asked for.
        absent: Names that it did not find, those that its libraries need among them.
        unmet: Symbol versions that a library lacks: (library, version, the file that needs it).
        failed: Why it gave no answer; empty where it did.
    """

    found: Mapping[str, str]
    absent: frozenset[str]
    unmet: frozenset[tuple[str, str, str]]
    failed: str = ""


@dataclass(frozen=True)
class Unresolved:
    """A library that a binary needs and the loader does not find.

    Attributes:
        file: The binary.
        needs: The name.
        beside: Where a library of that name lies with which all is found once it is loaded; empty where none does.
    """

    file: str
    needs: str
    beside: str = ""


def find_loader() -> str:
    """Return the loader that this very process was started by; empty for a static one."""
    found = _LOADER.search(Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace"))
    return found[1] if found else ""


def trace_all(
    loader: str, paths: Iterable[str], before: Mapping[str, Sequence[str]] | None = None
) -> dict[str, Traced]:
    """Ask the loader about many binaries, several at a time.

    Args:
        loader: As `find_loader` returns it.
        paths: The binaries.
        before: Libraries to load before a binary, by its path.

    Returns:
        What it said, by path.
    """
    preload, asked = before or {}, list(paths)
    width = max(1, min(_MOST_ASKED, 2 * len(os.sched_getaffinity(0))))
    with ThreadPoolExecutor(width) as pool:
        said = pool.map(lambda path: _trace(loader, path, preload.get(path, ())), asked)
        return {path: next(said) for path in asked}


def find_unresolved(
    loader: str, binaries: Sequence[Binary], traced: Mapping[str, Traced], prefix: str
) -> list[Unresolved]:
    """Return what binaries themselves need and the loader does not find.

    Args:
        loader: As `find_loader` returns it.
        binaries: The binaries.
        traced: What the loader said of each.
        prefix: Folder of an environment: a library that lies there counts as one that may be loaded before.
    """
    lying = _by_name(binaries, traced, prefix)
    lacking = [(one, names) for one in binaries if (names := _absent(one, traced))]
    before = {
        one.path: [lying[name] for name in sorted(traced[one.path].absent) if name in lying] for one, _ in lacking
    }
    again = trace_all(loader, (path for path, libraries in before.items() if libraries), before)
    return [
        Unresolved(one.path, name, lying.get(name, "") if _has(again.get(one.path), name) else "")
        for one, names in lacking
        for name in names
    ]


def find_undefined(loader: str, path: str) -> list[str]:
    """Return the symbols that a library needs and nothing that it maps has; those of a driver are left out.

    Libraries that fit together only in one version lack some where one of them is of another.

    Args:
        loader: As `find_loader` returns it.
        path: The library.
    """
    text, _ = _run(loader, path, _LOOK_UP)
    return sorted({name for name in _UNDEFINED.findall(text) if not _OF_DRIVER.fullmatch(name)})


def _has(said: Traced | None, name: str) -> bool:
    return said is not None and not said.failed and name not in said.absent


def _absent(binary: Binary, traced: Mapping[str, Traced]) -> list[str]:
    said = traced.get(binary.path)
    return [name for name in binary.elf.needed if said is not None and name in said.absent]


def _by_name(binaries: Iterable[Binary], traced: Mapping[str, Traced], prefix: str) -> dict[str, str]:
    """Return where libraries lie: those that the loader finds for anybody, and those of the environment."""
    lying = {name: path for said in traced.values() for name, path in said.found.items()}
    for one in binaries:
        if one.path.startswith(prefix) and not _STUB.search(one.path):
            for name in {one.elf.soname or "", one.path.rpartition("/")[2]} - {""}:
                lying.setdefault(name, one.path)
    return lying


def _trace(loader: str, path: str, before: Sequence[str]) -> Traced:
    preload = ":".join(one for one in before if not _SEPARATOR.search(one))
    text, code = _run(loader, path, {"LD_PRELOAD": preload} if preload else {})
    lines = _LINE.findall(text)
    unmet = frozenset((match[1], match[2], match[3]) for match in _UNMET.finditer(text))
    return Traced(
        {name: where for name, where in lines if where != _ABSENT},
        frozenset(name for name, where in lines if where == _ABSENT),
        unmet,
        "" if lines or unmet or code == 0 else f"the loader ended with {code}: {text.strip()}"[:_SHOWN],
    )


def _run(loader: str, path: str, variables: Mapping[str, str]) -> tuple[str, int | str]:
    """Have the loader say what it would map; return what it wrote, and how it ended."""
    try:
        ended = subprocess.run(
            [loader, path],
            env={**os.environ, **_TRACE, "LC_ALL": "C", **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_PATIENCE,
            close_fds=False,  # lets the system start it without copying this process
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return "", str(error)
    return os.fsdecode(ended.stdout), ended.returncode
