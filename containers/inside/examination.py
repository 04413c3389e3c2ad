"""Look at all of a system, and describe it as one document."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from .binaries import Binaries, find_binaries
from .gpu_code import DamagedError, read_gpu_code
from .hygiene import find_capabilities, find_listening, find_privileged, find_world_writable
from .leftovers import find_leftovers
from .libraries import ask_versions, find_libraries, start_of
from .linking import find_loader, find_undefined, find_unresolved, trace_all
from .records import Installed, compare, read_installed
from .symbols import read_symbols
from .walking import Entry, find_mounts, show, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SCHEMA_VERSION: Final = 1
_KERNEL: Final = frozenset({"/proc", "/sys", "/dev"})
_MOST_LISTED: Final = 500
_FEW: Final = 2  # an architecture that at least one in two sources was compiled for is one that all is compiled for


def examine(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a system holds.

    Args:
        request: `root`: the folder to look at, `/` for the whole system. `prefix`: the folder of the environment.
            `sites`: folders of Python packages; those that this Python imports from where it is empty.
    """
    start = time.monotonic()
    root, unreadable = str(request["root"]), []  # type: str, list[str]
    entries = {one.path: one for one in walk(root, find_mounts() | _KERNEL, unreadable)}
    sites = [os.path.realpath(one) for one in request["sites"] or sys.path]
    installed = read_installed(sites)
    binaries = find_binaries(entries.values())
    document = {
        "schema_version": SCHEMA_VERSION,
        "python": sys.version.split()[0],
        **_describe_binaries(binaries, installed, request, unreadable),
        **_describe_packages(installed, entries),
        **_describe_hygiene(entries, installed, root.rstrip("/")),
    }
    return {**_cut(document), "seconds": round(time.monotonic() - start, 3)}


def _describe_binaries(
    binaries: Binaries, installed: Installed, request: Mapping[str, Any], unreadable: list[str]
) -> dict[str, Any]:
    loader = find_loader()
    traced = trace_all(loader, (one.path for one in binaries.native if one.elf.needed)) if loader else {}
    unmet = {found for said in traced.values() for found in said.unmet}
    damaged = {**binaries.damaged, **{path: said.failed for path, said in traced.items() if said.failed}}
    counts = _count_gpu_code(binaries, installed, damaged)
    return {
        "elf": {
            "files": len(binaries.native),
            "asked": len(traced),
            "foreign": len(binaries.foreign),
            "unresolved": [
                {"file": show(one.file), "needs": show(one.needs), "beside": show(one.beside) or None}
                for one in find_unresolved(loader, binaries.native, traced, str(request["prefix"]))
            ],
            "unmet": [
                {"file": show(file), "library": show(library), "version": show(version)}
                for library, version, file in sorted(unmet)
            ],
            "damaged": [{"file": show(path), "error": show(error)} for path, error in sorted(damaged.items())],
        },
        "unreadable": [show(path) for path in sorted({*unreadable, *binaries.unreadable})],
        "libraries": _describe_libraries(binaries, installed, loader),
        "architectures": {owner: _usual(found) for owner, found in sorted(counts.items())},
        "kernels": {owner: dict(sorted(found.items())) for owner, found in sorted(counts.items())},
        "symbols": _shown_symbols(read_symbols(binaries.native, traced)),
    }


def _describe_libraries(binaries: Binaries, installed: Installed, loader: str) -> list[dict[str, Any]]:
    libraries = find_libraries(binaries.native)
    answers = ask_versions(start_of("ask"), libraries, installed.owners) if libraries else []
    for one in answers if loader else ():
        if not one["error"] and (undefined := find_undefined(loader, one["path"])):
            one["error"] = f"{len(undefined)} symbols are nowhere to be found, such as {undefined[0]}"
    texts = ("soname", "path", "version", "error")
    return [{**one, **{name: show(one[name]) for name in texts if one[name]}} for one in answers]


def _count_gpu_code(binaries: Binaries, installed: Installed, damaged: dict[str, str]) -> dict[str, Counter[str]]:
    """Return how many compiled sources each distribution has for each architecture."""
    counts: dict[str, Counter[str]] = {}
    for one in binaries.native:
        try:
            found = read_gpu_code(one.path)
        except (DamagedError, OSError) as error:
            damaged[one.path] = str(error)
            continue
        if found:
            counts.setdefault(installed.owners.get(one.path, show(one.path)), Counter()).update(found)
    return counts


def _usual(found: Counter[str]) -> list[str]:
    """Return the architectures that most of a distribution is compiled for: some have a few more kernels for others."""
    most = max(found.values(), default=0)
    return sorted((name for name, count in found.items() if count * _FEW >= most), key=_rank)


def _rank(name: str) -> tuple[bool, int, str]:
    kind, _, number = name.partition("_")
    return kind == "compute", int(number.rstrip("af")), number


def _shown_symbols(symbols: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: {**one, "by": show(one["by"]) if one["by"] else None} for name, one in symbols.items()}


def _describe_packages(installed: Installed, entries: Mapping[str, Entry]) -> dict[str, Any]:
    return {
        "packages": {show(name): show(version) for name, version in sorted(installed.versions.items())},
        "records": {
            **{kind: [show(path) for path in sorted(paths)] for kind, paths in compare(installed, entries).items()},
            "faults": [{"file": show(path), "error": show(error)} for path, error in sorted(installed.faults.items())],
        },
    }


def _describe_hygiene(entries: Mapping[str, Entry], installed: Installed, root: str) -> dict[str, Any]:
    all_of_them = list(entries.values())
    left = find_leftovers(entries, installed.owners.__contains__, os.environ, root)
    return {
        "setuid": _shown(find_privileged(all_of_them)),
        "world_writable": _shown(find_world_writable(all_of_them, root)),
        "capabilities": _shown(find_capabilities(all_of_them)),
        "listening": _shown(find_listening(all_of_them)),
        "leftovers": [{"path": show(one.path), "what": one.what} for one in left],
    }


def _shown(paths: Iterable[str]) -> list[str]:
    return [show(path) for path in sorted(paths)]


def _cut(document: dict[str, Any]) -> dict[str, Any]:
    """Cut long lists, and say how long each was."""
    lengths: dict[str, int] = {}
    tables = [("", document), *((f"{name}.", document[name]) for name in ("elf", "records"))]
    for where, table in tables:
        for name, value in table.items():
            if isinstance(value, list) and len(value) > _MOST_LISTED:
                lengths[where + name] = len(value)
                table[name] = list(islice(value, _MOST_LISTED))
    return {**document, "cut": lengths}
