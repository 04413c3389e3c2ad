"""Environment markers, decided by what the whole description says of Python and the system."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from ..known import parse_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from packaging.markers import Marker

    from ..gather import Gathered

_PYTHONS: Final = tuple(f"3.{minor}" for minor in range(7, 16))
_SYSTEMS: Final = {"linux": ("Linux", "posix"), "win32": ("Windows", "nt"), "darwin": ("Darwin", "posix")}
_MACHINES: Final = {"x86_64": {"win32": "AMD64"}, "aarch64": {"darwin": "arm64", "win32": "ARM64"}}
_LONGEST: Final = 4000


class Choice(NamedTuple):
    """A release that is installed if its marker holds: its place, and what notes it."""

    version: str
    where: str
    note: Callable[[Gathered], None]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where packages are installed, as far as the description says it.

    Attributes:
        pythons: Every Python that is possible.
        system: `linux`, `win32` or `darwin`; Linux where nothing is said.
        machines: Every architecture that is possible.
        open_choices: Packages whose marker could not be decided, by name.
    """

    pythons: tuple[str, ...] = _PYTHONS
    system: str = "linux"
    machines: tuple[str, ...] = ("x86_64", "aarch64")
    open_choices: dict[str, list[Choice]] = field(default_factory=dict)

    def choose_later(self, name: str, choice: Choice) -> None:
        """Keep a package of which it is not known whether it is installed, until all of its releases are seen."""
        self.open_choices.setdefault(name, []).append(choice)

    def close_choices(self, gathered: Gathered) -> None:
        """Note packages whose marker is undecided: at their release where there is one, else only as present."""
        for name, choices in self.open_choices.items():
            versions = dict.fromkeys(choice.version for choice in choices)
            if len(versions) == 1:
                choices[0].note(gathered)
            else:
                gathered.add_package(name, "*", choices[0].where)
                gathered.skip(f"{choices[0].where}: {name} is {' or '.join(versions)}: it depends on what is not given")

    def decide(self, marker: str) -> bool | None:
        """Return whether a marker holds; None where that depends on what is not known, or it is no marker."""
        parsed = _parse(marker)
        if parsed is None:
            return None
        answers: set[bool] = set()
        for values in self._environments():
            try:
                answers.add(parsed.evaluate(values))
            except (KeyError, RecursionError, TypeError, ValueError):  # what packaging raises on odd values
                return None
        return answers.pop() if len(answers) == 1 else None

    def _environments(self) -> Iterator[dict[str, str]]:
        name, kind = _SYSTEMS[self.system]
        for python in self.pythons:
            full = python if python.count(".") > 1 else f"{python}.9"
            for machine in self.machines:
                yield {
                    "extra": "",
                    "implementation_name": "cpython",
                    "implementation_version": full,
                    "os_name": kind,
                    "platform_machine": _MACHINES.get(machine, {}).get(self.system, machine),
                    "platform_python_implementation": "CPython",
                    "platform_release": "",
                    "platform_system": name,
                    "platform_version": "",
                    "python_full_version": full,
                    "python_version": ".".join(python.split(".")[:2]),
                    "sys_platform": self.system,
                }


def survey(gathered: Gathered) -> Surroundings:
    """Return what a description says of where its packages are installed."""
    systems = {_system(claim.text) for claim in gathered.claims.get("os", ())}
    machines = {_machine(claim.text) for claim in gathered.claims.get("machine", ())}
    return Surroundings(
        pythons=_pythons(gathered),
        system=systems.pop() if len(systems) == 1 else "linux",
        machines=tuple(sorted(machines)) or ("x86_64", "aarch64"),
    )


def _pythons(gathered: Gathered) -> tuple[str, ...]:
    found: list[str] = []
    for claim in gathered.claims.get("python", ()):
        known = parse_known(claim.text)
        if known is not None and known.version is not None:
            found.append(known.version.base_version)
        elif known is not None and known.allowed is not None:
            found += [python for python in _PYTHONS if known.allowed.contains(f"{python}.9")]
    return tuple(dict.fromkeys(found)) or _PYTHONS


def _system(text: str) -> str:
    lowered = text.lower()
    if "windows" in lowered:
        return "win32"
    return "darwin" if "mac" in lowered or "darwin" in lowered else "linux"


def _machine(text: str) -> str:
    lowered = text.strip().lower()
    return {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}.get(lowered, lowered)


@lru_cache(maxsize=1024)
def _parse(marker: str) -> Marker | None:
    from packaging.markers import InvalidMarker, Marker  # noqa: PLC0415 - costs time, and most inputs have no markers

    if len(marker) > _LONGEST:
        return None
    try:
        return Marker(marker)
    except (InvalidMarker, RecursionError, ValueError):
        return None
