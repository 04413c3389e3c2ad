"""What packages declare of each other, held against a description."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from packaging.markers import UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from .build_tags import read_build
from .facts import load_table
from .known import Holds, Known, parse_known, points
from .names import is_windows, normalise
from .releases import package_rows, whole_releases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .described import Description
    from .facts import Row

_LINUX: Final = {
    "os_name": "posix",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "implementation_name": "cpython",
}
_WINDOWS: Final = {"os_name": "nt", "sys_platform": "win32", "platform_system": "Windows", "platform_machine": "AMD64"}
_MACOS: Final = {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64"}
_PYTHON: Final = "3.11"
STATED_COMPONENTS: Final = ("cudnn", "glibc", "nccl")  # components that error texts say are required
STATED: Final = "the description"  # what demands what a description itself says is required
# What each CUDA build of torch pins in its own way.
_OF_THE_BUILD: Final = ("nvidia-", "cuda-")


@dataclass(frozen=True, slots=True)
class Demand:
    """What one package declares of another.

    Attributes:
        package: The package that declares it.
        release: Its release; the oldest one where several are possible.
        on: The package it is about.
        condition: The specifiers, such as `>=2.1,<3`.
        row: The fact; None for a requirement that the description itself states.
        extra: The extra that asks for it, if one does.
    """

    package: str
    release: str
    on: str
    condition: str
    row: Row | None
    extra: str = ""

    @property
    def text(self) -> str:
        """Return the demand for a reader: `torchvision 0.20.1 requires torch==2.5.1`."""
        asked = f"{self.package}[{self.extra}]" if self.extra else self.package
        return f"{asked} {self.release} requires {self.on}{self.condition}".replace("  ", " ")


@dataclass(frozen=True, slots=True)
class Unmet:
    """A demand that what is described does not meet."""

    demand: Demand
    found: Known


def rows_meant(name: str, known: Known) -> tuple[Row, ...]:
    """Return the facts of the releases that a description of a package may mean, oldest first."""
    rows = package_rows(name)
    if known.version is not None:
        return tuple(row for row in rows if str(known.version) in row["versions"])
    if known.allowed is None:
        return ()
    allowed = known.allowed
    return tuple(row for row in rows if any(allowed.contains(release, prereleases=True) for release in row["versions"]))


@lru_cache(maxsize=16)
def find_unmet(description: Description) -> tuple[Unmet, ...]:
    """Return the demands that are certainly not met: by no release that the description may mean."""
    environment = platform_of(description)
    found: dict[tuple[str, str], Unmet] = {}
    for name in sorted(filter(package_rows, description.packages)):
        known = description.known[name][0]
        rows = rows_meant(name, known)
        unmet = [list(_unmet_of(name, row, known, description, environment)) for row in rows]
        for entry in unmet[-1] if unmet else ():
            if all(any(other.demand.on == entry.demand.on for other in others) for others in unmet):
                found.setdefault((name, entry.demand.on), entry)
    return (*found.values(), *_unmet_statements(description))


def _unmet_statements(description: Description) -> Iterator[Unmet]:
    """Yield what the description itself says is required, such as in pip's words on conflicts, and is not there."""
    for demand in _stated(description):
        component = demand.on in STATED_COMPONENTS
        for known in description.known.get(demand.on, ()) if component or demand.on in description.packages else ():
            if (component or known.is_exact) and known.holds(demand.condition) is Holds.NEVER:
                yield Unmet(demand, known)


def _unmet_of(name: str, row: Row, known: Known, description: Description, environment: Platform) -> Iterator[Unmet]:
    for demand in demands_of(name, row, known, description.extras.get(name, frozenset()), environment):
        described = description.known.get(demand.on, ()) if demand.on in description.packages else ()
        if described and described[0].holds(demand.condition, whole_releases(demand.on)) is Holds.NEVER:
            yield Unmet(demand, described[0])


@lru_cache(maxsize=16)
def find_exclusive(description: Description) -> tuple[tuple[Demand, Demand], ...]:
    """Return pairs of demands on one package, not itself described exactly, that no release meets both of."""
    by_package: dict[str, list[Demand]] = {}
    for demand in _all_demands(description):
        by_package.setdefault(demand.on, []).append(demand)
    found: list[tuple[Demand, Demand]] = []
    for on, demands in sorted(by_package.items()):
        described = description.known.get(on, ())
        if described and described[0].is_exact:
            continue
        for index, first in enumerate(demands):
            found.extend(
                (first, second)
                for second in demands[index + 1 :]
                if first.package != second.package and exclude_each_other(first.condition, second.condition)
            )
    return tuple(found)


@lru_cache(maxsize=4096)
def exclude_each_other(first: str, second: str) -> bool:
    """Return whether no version satisfies both conditions."""
    both = SpecifierSet(f"{first},{second}".strip(","))
    return not any(both.contains(point, prereleases=True) for point in points(first, second))


def _all_demands(description: Description) -> Iterator[Demand]:
    environment = platform_of(description)
    for name in sorted(filter(package_rows, description.packages)):
        known = description.known[name][0]
        rows = rows_meant(name, known)
        if len(rows) == 1:
            yield from demands_of(name, rows[0], known, description.extras.get(name, frozenset()), environment)
    yield from _stated(description)


def _stated(description: Description) -> Iterator[Demand]:
    for line in description.required:
        parsed = parse_requirement(line)
        if parsed is not None and parsed.specifier:
            yield Demand(STATED, "", normalise(parsed.name), str(parsed.specifier), None)


def demands_of(name: str, row: Row, known: Known, extras: frozenset[str], environment: Platform) -> Iterator[Demand]:
    """Return what a release declares of others, in an environment and with the extras asked for."""
    release = str(known.version) if known.version is not None else row["versions"][0]
    lists: list[tuple[str, list[str]]] = [("", row.get("requires") or [])]
    lists += [(extra, _extra_lines(row, extra)) for extra in sorted(extras)]
    other = _is_other_build(name, release, known)
    for extra, lines in lists:
        for line in lines:
            parsed = parse_requirement(line)
            if parsed is None or (other and parsed.name.startswith(_OF_THE_BUILD)):
                continue
            if parsed.specifier and _applies(line, environment, extra):
                yield Demand(name, release, normalise(parsed.name), _condition(line), row, extra)


@lru_cache(maxsize=65536)
def _condition(line: str) -> str:
    parsed = parse_requirement(line)
    return str(parsed.specifier) if parsed is not None else ""


def _is_other_build(name: str, release: str, known: Known) -> bool:
    """Return whether this is not the package index's build, whose metadata the facts are from."""
    tag = read_build(known.build)
    if name != "torch" or not (tag.cuda or tag.cpu or tag.rocm):
        return False
    rows = [row for row in load_table("torch").rows if row["torch"] == release and row["default"]]
    return not any(row["cuda"] == tag.cuda for row in rows)


def _extra_lines(row: Row, extra: str) -> list[str]:
    extras: dict[str, list[str]] = row.get("extras") or {}
    return next((lines for name, lines in extras.items() if normalise(name) == normalise(extra)), [])


@lru_cache(maxsize=65536)
def parse_requirement(line: str) -> Requirement | None:
    """Return a requirement; None for a text that is none."""
    try:
        return Requirement(line)
    except (InvalidRequirement, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class Platform:
    """Where packages are installed, as far as requirement markers ask.

    Attributes:
        system: `linux`, `windows` or `macos`.
        machine: `x86_64`, `aarch64` or `arm64`.
        python: Python with its patch.
    """

    system: str
    machine: str
    python: str


def platform_of(description: Description) -> Platform:
    """Return the described platform; Linux on x86_64 and Python 3.11 where it says nothing."""
    text = _text(description, "os").lower()
    macos = text.startswith(("mac", "darwin"))
    system = "windows" if is_windows(text) else ("macos" if macos else "linux")
    arm = _text(description, "machine").lower() in {"aarch64", "arm64"} or (macos and not _text(description, "machine"))
    return Platform(system, ("arm64" if macos else "aarch64") if arm else "x86_64", _python(description))


@lru_cache(maxsize=1024)
def marker_environment(platform: Platform) -> dict[str, str]:
    """Return the marker variables (PEP 508) of a platform."""
    return {
        **_LINUX,
        **{"windows": _WINDOWS, "macos": _MACOS}.get(platform.system, {}),
        **({"platform_machine": platform.machine} if platform.system != "windows" else {}),
        "python_version": ".".join(platform.python.split(".")[:2]),
        "python_full_version": platform.python,
        "implementation_version": platform.python,
        "platform_release": "",
        "platform_version": "",
    }


@lru_cache(maxsize=65536)
def _applies(line: str, platform: Platform, extra: str) -> bool:
    requirement = parse_requirement(line)
    if requirement is None or requirement.marker is None:
        return requirement is not None
    context: dict[str, Any] = {**marker_environment(platform), "extra": extra}
    try:
        return requirement.marker.evaluate(context)
    except UndefinedEnvironmentName:
        return True


def _python(description: Description) -> str:
    found = description.known.get("python", ())
    text = found[0].text.removesuffix(".*") if found else _PYTHON
    known = parse_known(text)
    if known is None or known.text[:1] in {"<", ">", "*", "=", "~", "!"}:
        return f"{_PYTHON}.0"
    release = Version(text).release if known.version is not None or text.replace(".", "").isdigit() else (3, 11)
    return ".".join(map(str, (*release, 0, 0)[:3]))


def _text(description: Description, name: str) -> str:
    found = description.known.get(name, ())
    return found[0].text if found else ""
