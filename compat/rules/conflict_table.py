"""The table of known conflicts held against a description: limits that no metadata declares, bad releases and pairs."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from ..builds import BUILD_NEEDS, torch_builds
from ..facts import Row, load_table
from ..finding import Because, Finding, because
from ..gpu_names import capability_of
from ..known import Holds, Known, parse_known
from ..names import is_windows
from ..releases import whole_releases
from .cudnn import CUDNN_WHEELS
from .platform import system_glibc
from .registry import PACKAGES, SURROUNDINGS, View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_COMPONENTS: Final = (
    "driver",
    "driver_cuda",
    "cuda",
    "cudnn",
    "nccl",
    "glibc",
    "libstdcxx",
    "python",
    "gpu",
    "compute_capability",
)
CONFLICT_NEEDS: Final = (PACKAGES, *BUILD_NEEDS, *_COMPONENTS)


@lru_cache(maxsize=1)
def _by_code() -> dict[str, tuple[Row, ...]]:
    found: dict[str, list[Row]] = {}
    for row in load_table("conflicts").rows:
        found.setdefault(row["code"], []).append(row)
    return {code: tuple(rows) for code, rows in found.items()}


@lru_cache(maxsize=1024)
def _relevant(code: str, names: frozenset[str]) -> tuple[Row, ...]:
    """Return the rows that can apply where these names are described."""
    derived = {*names, *(("compute_capability",) if "gpu" in names else ()), "cudnn"}
    return tuple(row for row in _by_code().get(code, ()) if derived >= set(row["when"]))


def narrow_to_conflicts(code: str, *always: str) -> Callable[[frozenset[str]], tuple[str, ...]]:
    """Return what says which of the described names matter to the rows of a code, beside some that always do."""

    def narrow(names: frozenset[str]) -> tuple[str, ...]:
        found: set[str] = set(always)
        for row in _relevant(code, names):
            found |= {*row["when"], *(row.get("needs") or ()), *(row.get("missing") or ())}
            found |= {"os", "machine"} if row.get("platform") else set()
            found |= {SURROUNDINGS} if row.get("origin") else set()
        found |= {"gpu"} if "compute_capability" in found else set()
        found |= {"os"} if "glibc" in found else set()
        found |= {*BUILD_NEEDS, *CUDNN_WHEELS} if "cudnn" in found else set()
        return tuple(sorted(found))

    return narrow


def say_conflicts(view: View, code: str) -> Iterator[Finding]:
    """Return the findings of the table's rows with one code.

    Where a package is described by a range, a row may apply to some of its releases and another row to the others: what
    goes wrong with each of them is said too.
    """
    rows = _relevant(code, view.names)
    found = [row for row in rows if _applies(view, row)]
    yield from (_finding(view, row) for row in found)
    for name in sorted({name for row in rows for name in row["when"] if name in view.packages}):
        known = view.one(name)
        if not found and known is not None and known.allowed is not None:
            yield from _finding_of_range(view, name, known, rows)


def _finding_of_range(view: View, name: str, known: Known, rows: tuple[Row, ...]) -> Iterator[Finding]:
    """Return a finding where each release of a range has an error on one and the same other package."""
    others: set[str] | None = None
    last: Finding | None = None
    for release in whole_releases(name):
        exact = parse_known(release)
        if exact is None or exact.holds(str(known.allowed)) is not Holds.ALWAYS:
            continue
        inside = replace(view.description, known={**view.description.known, name: (exact,)})
        reading = View(inside, view.declared)
        errors = [row for row in rows if row["severity"] == "error" and name in row["when"] and _applies(reading, row)]
        named = {other for row in errors for other in (row.get("needs") or ())}
        others = named if others is None else others & named
        last = _finding(reading, errors[0]) if errors else None
        if not others:
            return
    if others and last is not None:
        yield last


def _applies(view: View, row: Row) -> bool:
    named = [name for name in row["when"] if name not in _COMPONENTS]
    if any(name not in view.packages for name in named) or not _untagged(view, row.get("untagged") or ()):
        return False
    if not (_on_platform(view, row.get("platform")) and _of_origin(view, row.get("origin"))):
        return False
    if any(not _always(view, name, condition) for name, condition in row["when"].items()):
        return False
    missing = row.get("missing")
    if missing is not None:
        return all(name not in view.packages for name in missing) and bool(view.packages)
    needs: dict[str, str] = row.get("needs") or {}
    if not needs:
        return True
    return any(_never(view, name, condition) for name, condition in needs.items())


def _untagged(view: View, names: Iterable[str]) -> bool:
    """Return whether none of some packages carries a build tag."""
    return all(known.build is None for name in names if name in view.packages for known in view.known(name))


def _always(view: View, name: str, condition: str) -> bool:
    found = known_of(view, name)
    return bool(found) and all(known.holds(condition, whole_releases(name)) is Holds.ALWAYS for known in found)


def _never(view: View, name: str, condition: str) -> bool:
    found = known_of(view, name)
    return bool(found) and any(known.holds(condition, whole_releases(name)) is Holds.NEVER for known in found)


def known_of(view: View, name: str) -> tuple[Known, ...]:
    """Return what is known of a component, also where it follows from another: the cuDNN that torch brings."""
    if name == "compute_capability":
        texts = [capability_of(known.text) for known in view.known("gpu")]
        derived = [known for text in texts if text is not None and (known := parse_known(f"{text}.0")) is not None]
        return (*view.known("compute_capability"), *derived)
    if name == "cudnn":
        return _cudnn(view)
    if name == "glibc":
        glibc, _ = system_glibc(view)
        return (glibc,) if glibc is not None else ()
    if name in _COMPONENTS:
        return view.known(name)
    return view.known(name) if name in view.packages else ()


def _cudnn(view: View) -> tuple[Known, ...]:
    wheels = [
        known for name in sorted(view.packages) if name.startswith("nvidia-cudnn-cu") for known in view.known(name)
    ]
    if wheels or view.has("cudnn"):
        return tuple(wheels) or view.known("cudnn")
    brought = {
        str(build.row["cudnn"]) for build in torch_builds(view) if build.row is not None and build.row.get("cudnn")
    }
    return tuple(known for text in sorted(brought) if (known := parse_known(text)) is not None)


def _on_platform(view: View, platform: str | None) -> bool:
    if platform is None:
        return True
    system, machine = str(view.one("os") or "").lower(), str(view.one("machine") or "").lower()
    windows, macos = is_windows(system), system.startswith(("mac", "darwin"))
    return {
        "windows": windows,
        "macos": macos,
        "linux": not windows and not macos,
        "aarch64": machine in {"aarch64", "arm64"},
    }.get(platform, False)


def _of_origin(view: View, origin: str | None) -> bool:
    return origin is None or origin in view.whole.origins


def _finding(view: View, row: Row) -> Finding:
    names = list(dict.fromkeys([*row["when"], *(row.get("needs") or {}), *(row.get("missing") or ())]))
    shown = ", ".join(f"{name} {found[0]}" for name in names if (found := known_of(view, name)))
    return Finding(
        row["code"],
        row["severity"],
        tuple(names),
        f"{shown}: {row['effect']}",
        (
            because(row, _words(row)),
            *(Because(f"{name} is {claim.text}", claim.where) for name in names for claim in _claims(view, name)),
        ),
        tuple(row.get("fix") or ()),
    )


def _claims(view: View, name: str) -> tuple[Any, ...]:
    return view.claims(name) if name in _COMPONENTS or name in view.packages else ()


def _words(row: Row) -> str:
    when = " with ".join(f"{name}{condition}" for name, condition in row["when"].items())
    needs = " and ".join(f"{name}{condition}" for name, condition in (row.get("needs") or {}).items())
    missing = ", ".join(row.get("missing") or ())
    return when + (f" needs {needs}" if needs else "") + (f" needs {missing}" if missing else "")


def broken_by(view: View, name: str, release: str) -> list[dict[str, str]]:
    """Return which conflicts a release of a package would have with what is described."""
    known = parse_known(release)
    found: list[dict[str, str]] = []
    for rows in _by_code().values():
        for row in rows:
            if known is None or list(row["when"]) != [name] or row["severity"] != "error" or row.get("platform"):
                continue
            if known.holds(row["when"][name]) is not Holds.ALWAYS:
                continue
            found += [
                {"needs_name": other, "effect": row["effect"]}
                for other, condition in (row.get("needs") or {}).items()
                if other in view.packages and _never(view, other, condition)
            ]
    return found
