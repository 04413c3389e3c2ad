"""One requirement, as in a requirements file, a frozen environment or an install command."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from ..known import parse_known
from .markers import Choice
from .names import INDEXED, is_well_known, package_name
from .patterns import Lazy
from .reading import Weak, cuda_build

if TYPE_CHECKING:
    from ..gather import Gathered
    from .markers import Surroundings
    from .reading import Reading

# name==version and nothing else: nearly every line of a frozen environment.
PIN: Final = re.compile(r"([A-Za-z0-9][\w.\-]*)==([A-Za-z0-9][\w.!+\-]*)")
_REQUIREMENT: Final = Lazy(r"([A-Za-z0-9](?:[\w.\-]*[A-Za-z0-9])?)[ \t]*(?:\[([^\]]*)\])?[ \t]*(.*)", re.DOTALL)
_SPECIFIER: Final = Lazy(r"(===|==|~=|!=|<=|>=|<|>)\s*([\w.!+*\-]+)")
_MARKER: Final = Lazy(
    r"\b(?:python_version|python_full_version|os_name|sys_platform|platform_\w+|implementation_\w+|extra)\b"
)
_COMMENT: Final = Lazy(r"(?:^|\s)#\s?(.*)", re.DOTALL)
_HASHES: Final = Lazy(r"\s--(?:hash|config-settings?|global-option)(?:=|\s)\S+")
_WHEEL: Final = Lazy(r"([A-Za-z0-9][\w.]*)-(\d[\w.!+]*)(?:-\d\w*)?-[\w.]+-[\w.]+-[\w.]+\.whl")
_UNSET: Final = Lazy(r"[=<>~!]=?=?\s*\$\{?\w{1,60}\}?")
_SDIST: Final = Lazy(r"([A-Za-z0-9][\w.\-]*?)-(\d[\w.!+]*)\.(?:tar\.gz|zip)$")
_EGG: Final = Lazy(r"[#&]egg=([A-Za-z0-9][\w.\-]*)(?:\[([^\]]*)\])?")
_SOURCE: Final = Lazy(r"@\s*(?:[\w+.-]+://|file:|git\+|[.~]?/|[A-Za-z]:\\|[\w.-]+\.whl)")
_GIT_TAG: Final = Lazy(r"^git\+.*@v?(\d+\.\d+[\w.]*)$")
_INDEX: Final = Lazy(r"/whl/(?:nightly/|test/)?(cu\d{2,3}|cpu|rocm\d[\d.]*)(?=[/\s\"'?]|$)")
_TAG_IN_COMMENT: Final = Lazy(r"(?<![\w.])\+?(cu\d{2,3}|rocm\d[\d.]*)(?!\w)(?=\s+(?:build|index|wheel)|\s*$)|\+(cpu)\b")
_CUDA_IN_COMMENT: Final = Lazy(r"cuda used to build(?: pytorch)?:?\s*(\d+\.\d+)", re.IGNORECASE)
_NEEDS: Final = Lazy(
    r"\b(?:requires?|needs?|pins?|wants?)\s+([A-Za-z][\w.\-]*)\s*((?:[<>=!~]=?=?\s*\d[\w.*]*\s*,?\s*)+)"
)
_FLOATS: Final = Lazy(r"\b(?:unpinned|floating|no version|latest|not pinned|any version)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement taken apart.

    Attributes:
        name: As written.
        version: What to claim of the installed package: a release, a prefix, a range or `*`.
        is_range: Whether the version is a range, and so a condition too.
        extras: Extras asked for.
        marker: The environment marker, empty where there is none.
        comment: What stands behind `#`.
        url: Where it comes from, if that is said.
    """

    name: str
    version: str = "*"
    is_range: bool = False
    extras: tuple[str, ...] = ()
    marker: str = ""
    comment: str = ""
    url: str = ""


def parse_requirement(text: str) -> Requirement | None:
    """Return a requirement taken apart; None where a line is none."""
    body, comment = split_comment(text)
    if body.startswith(("git+", "hg+", "http://", "https://", "file:")) or body.endswith(".whl"):
        return _parse_url("", (), body, comment)
    match = _REQUIREMENT.fullmatch(_HASHES.sub("", f" {body}").strip())
    if match is None:
        return None
    name, rest = match[1], match[3].strip()
    extras = tuple(extra.strip() for extra in (match[2] or "").split(",") if extra.strip())
    if rest.startswith("@"):
        if _SOURCE.match(rest) is None:
            return None
        return _parse_url(name, extras, rest[1:].strip(), comment)
    bounds, _, marker = rest.partition(";")
    open_version = _UNSET.fullmatch(bounds.strip()) is not None  # a variable of which no value is known
    version, is_range = ("*", False) if open_version else _parse_bounds(bounds.strip())
    if version is None or (marker and _MARKER.search(marker) is None):
        return None
    return Requirement(name, version, is_range, extras, marker.strip(), comment)


def split_comment(text: str) -> tuple[str, str]:
    """Return what stands before a comment, and the comment."""
    match = _COMMENT.search(text)
    return (text[: match.start()].strip(), match[1].strip()) if match else (text.strip(), "")


def read_index_build(text: str) -> str | None:
    """Return the build that the URL of a PyTorch wheel index stands for, such as `cu124`."""
    match = _INDEX.search(text)
    return match[1] if match else None


def add_requirement(reading: Reading, found: Requirement, where: str, build: str | None = None) -> None:
    """Note a requirement, now or, where it has a marker, when every input is read.

    Args:
        reading: What is being read.
        found: The requirement.
        where: Its place.
        build: The build that the index of an install command gives untagged packages.
    """
    name = package_name(found.name)
    tagged = reading.tag(name, _tag_by_comment(found), build)
    if found.marker:
        reading.later.append(_Conditional(name, tagged, found, where).decide)
        return
    _note(reading.gathered, name, tagged, found, where)


def add_bare(reading: Reading, found: Requirement, where: str, line: str) -> None:
    """Note a name without a version, by what its comment says or else by the lines around it."""
    if _FLOATS.search(found.comment):
        reading.float(found.name)
    if _tag_by_comment(found) != "*" or found.extras or found.comment or found.marker:
        add_requirement(reading, found, where)
    else:
        reading.weak.append(Weak(found.name, "*", where, line))


def settle_weak(reading: Reading) -> None:
    """Decide of an input's bare words whether they are packages, and whether these float."""
    is_list = reading.prose == 0
    for weak in reading.weak:
        if not is_list and not is_well_known(weak.name):
            reading.skip(weak.line)
            continue
        name = package_name(weak.name)
        reading.gathered.add_package(name, reading.tag(name, weak.version), weak.where)
        if is_list and not reading.reports and weak.version == "*":
            reading.gathered.floating.add(name)


def _parse_bounds(text: str) -> tuple[str | None, bool]:
    plain = text[1:-1] if text.startswith("(") and text.endswith(")") else text
    if not plain:
        return "*", False
    bounds: list[tuple[str, str]] = []
    for piece in plain.rstrip(",").split(","):
        match = _SPECIFIER.fullmatch(piece.strip())
        if match is None:
            return None, False
        bounds.append((match[1], match[2]))
    for operator, version in bounds:
        if operator in {"==", "==="}:
            return (version, False) if parse_known(version) is not None else (None, False)
    written = ",".join(operator + version for operator, version in bounds)
    return (written, True) if parse_known(written) is not None else (None, False)


def _parse_url(name: str, extras: tuple[str, ...], text: str, comment: str) -> Requirement | None:
    url, _, marker = text.partition(" ;") if " ;" in text else text.partition("; ")
    plain = unquote(url.strip())
    if egg := _EGG.search(plain):
        name, extras = name or egg[1], extras or tuple(filter(None, (egg[2] or "").split(",")))
    file_name = plain.split("#")[0].rsplit("/", 1)[-1].split("?")[0]
    match = _WHEEL.fullmatch(file_name) or _SDIST.fullmatch(file_name)
    if match is not None and parse_known(match[2]) is not None:
        return Requirement(name or match[1], match[2], extras=extras, marker=marker.strip(), comment=comment, url=plain)
    if not name and plain.startswith("git+"):
        name = re.sub(r"(?:\.git)?(?:@.*|#.*)?$", "", plain.rstrip("/").rsplit("/", 1)[-1])
    tag = _GIT_TAG.search(plain.split("#")[0])
    version = tag[1] if tag is not None and parse_known(tag[1]) is not None else "*"
    if not name:
        return None
    return Requirement(name, version, extras=extras, marker=marker.strip(), comment=comment, url=plain)


def _tag_by_comment(found: Requirement) -> str:
    if "+" in found.version or not found.comment or package_name(found.name) not in INDEXED:
        return found.version
    if match := _CUDA_IN_COMMENT.search(found.comment):
        build = cuda_build(match[1])
        return f"{found.version}+{build}" if build else found.version
    match = _TAG_IN_COMMENT.search(found.comment)
    return f"{found.version}+{match[1] or match[2]}" if match else found.version


def _note(gathered: Gathered, name: str, version: str, found: Requirement, where: str) -> None:
    gathered.add_package(name, version, where, found.extras)
    gathered.origins.add(_origin(found.url))
    if found.is_range:
        gathered.required.append(f"{name}{found.version}")
    for needed, bounds in _NEEDS.groups(found.comment[:300]):
        gathered.required.append(package_name(needed) + re.sub(r"\s", "", bounds).rstrip(","))


def _origin(url: str) -> str:
    if "conda" in url or "/croot/" in url or "feedstock_root" in url:
        return "conda"
    return "source" if url.startswith(("git+", "hg+")) else "pip"


@dataclass(frozen=True, slots=True)
class _Conditional:
    """A requirement with a marker, which can be decided when every input is read."""

    name: str
    version: str
    found: Requirement
    where: str

    def decide(self, gathered: Gathered, surroundings: Surroundings) -> None:
        holds = surroundings.decide(self.found.marker)
        if holds is None:
            surroundings.choose_later(self.name, Choice(self.version, self.where, self.note))
        elif holds:
            self.note(gathered)

    def note(self, gathered: Gathered) -> None:
        _note(gathered, self.name, self.version, self.found, self.where)
