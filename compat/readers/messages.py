"""What frameworks print of themselves in several lines, and lists of packages within one line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..known import parse_known
from .names import is_well_known, package_name
from .patterns import Lazy
from .reading import Weak, cuda_build

if TYPE_CHECKING:
    from .reading import Reading

_BUILT_FOR: Final = Lazy(r"\s*PyTorch (\d[\w.+]*) with CUDA (\S+) \(you have (?:PyTorch )?(\d[\w.+]*)\)", re.IGNORECASE)
_BUILT_PYTHON: Final = Lazy(r"\s*Python\s+(\d[\w.]*) \(you have (?:Python )?(\d[\w.]*)\)", re.IGNORECASE)
_BUILT_ONLY: Final = Lazy(
    r"PyTorch (\d[\w.+]*) with CUDA (\S+)(?: \(you have (\d[\w.+]*)\))?(?:\s+Python\s+(\d[\w.]*))?"
)
_NAMED: Final = Lazy(
    r"(?:[-*]\s*)?`?([A-Za-z][\w.\-]{0,40})`?(?:[ _.]version)?(?:\s*\([^)]{0,40}\))?(?:\s*[:=]\s*|(?<=version)\s+)"
    r"v?(\d[\w.+!\-]*)(?:\s*\(.*\))?,?",
    re.IGNORECASE,
)
_LISTED: Final = Lazy(r"`?([A-Za-z][\w.\-]{0,40})`?\s*(?:==|[:=]|\s)\s*v?(\d[\w.+!]*)`?")
_LIST_SPLIT: Final = Lazy(r"\s*[,;]\s*|\s+and\s+")
_BUILD_INFO: Final = Lazy(r"build\.(cuda_version|python_version|torch_version):\s*(\S+)")
_CUDNN_PART: Final = Lazy(r"#define CUDNN_(MAJOR|MINOR|PATCHLEVEL)\s+(\d+)")
_COMPILED_WITH: Final = Lazy(r"(\w[\w-]*) wheel compiled w\.\s*:?\s*torch (\d[\w.]*), cuda (\d+\.\d+)")
_LEGACY: Final = Lazy(r"([A-Za-z][\w.\-]*) \((\d[\w.+!]*)(?:, [^()]*)?\)")  # pip list before pip 18
_MANY: Final = 400


def read_block(reading: Reading, lines: list[str], index: int) -> int:
    """Read a message of several lines that starts at a line; return the index after it."""
    line = lines[index]
    if "xFormers" in line and "was built for" in line:
        return _read_xformers(reading, lines, index)
    if "#define CUDNN_MAJOR" in line:
        return _read_cudnn_header(reading, lines, index)
    return index


def read_line(reading: Reading, line: str, where: str) -> bool:
    """Read a line that names packages with their versions, or what one was built with; return whether it does."""
    if not any(mark in line for mark in ("(", ":", "=", ",", ";", " and ", "ersion ")):
        return False
    if match := _BUILD_INFO.fullmatch(line):
        _note_built(reading, "xformers", {match[1].removesuffix("_version"): match[2]})
        return True
    if match := _COMPILED_WITH.search(line):
        _note_built(reading, package_name(match[1]), {"torch": match[2], "cuda": match[3]})
        return True
    if match := _LEGACY.fullmatch(line):
        return _add_listed(reading, match, line, where)
    return _read_named(reading, line, where)


def _read_named(reading: Reading, line: str, where: str) -> bool:
    if match := _NAMED.fullmatch(line):
        return _add_named(reading, [(match[1], match[2])], where)
    if len(line) < _MANY and ("," in line or " and " in line or ";" in line):
        items = [_LISTED.fullmatch(item) for item in _LIST_SPLIT.split(line.strip(" .`"))]
        named = [(item[1], item[2]) for item in items if item is not None]
        return len(named) == len(items) and _add_named(reading, named, where)
    return False


def _add_listed(reading: Reading, match: re.Match[str], line: str, where: str) -> bool:
    if is_well_known(match[1]):
        return _add_named(reading, [(match[1], match[2])], where)
    reading.weak.append(Weak(match[1], match[2], where, line))
    return True


def _add_named(reading: Reading, named: list[tuple[str, str]], where: str) -> bool:
    if not all(is_well_known(name) and parse_known(version) is not None for name, version in named):
        return False
    reading.reports = True
    for name, version in named:
        reading.add_package(name, version, where)
    return True


def _read_xformers(reading: Reading, lines: list[str], index: int) -> int:
    """Read `xFormers was built for: PyTorch 2.1.2+cu121 ... (you have 2.0.1+cu118)`, in one line or three."""
    where = reading.where(index)
    text = " ".join(line.strip() for line in lines[index : index + 3])
    reading.reports = True
    reading.add_package("xformers", "*", where)
    if (match := _BUILT_ONLY.search(text)) is not None:
        _note_built(reading, "xformers", {"torch": match[1], "cuda": match[2]})
        if match[3]:
            reading.add_package("torch", match[3], where)
    after = index + 1
    for at in range(index + 1, min(index + 3, len(lines))):
        python = _BUILT_PYTHON.match(lines[at])
        if python is not None:
            _note_built(reading, "xformers", {"python": python[1]})
            reading.add("python", python[2], reading.where(at))
        elif not _BUILT_FOR.match(lines[at]):
            break
        after = at + 1
    return after


def _note_built(reading: Reading, package: str, parts: dict[str, str]) -> None:
    reading.reports = True
    for component, text in parts.items():
        version = _cuda(text) if component == "cuda" else text
        if version and version[0].isdigit() and version != "0.0":  # 0.0: built without one
            reading.gathered.built_against.append((package, component, version))


def _cuda(text: str) -> str | None:
    """Return 1201 as 12.1."""
    if re.fullmatch(r"\d{4}", text):
        return f"{int(text) // 100}.{int(text) % 100}"
    return text if cuda_build(text) else None


def _read_cudnn_header(reading: Reading, lines: list[str], index: int) -> int:
    parts: list[str] = []
    after = index
    while after < len(lines) and (match := _CUDNN_PART.match(lines[after].strip())) is not None:
        parts.append(match[2])
        after += 1
    if not parts:
        return index + 1
    reading.add("cudnn", ".".join(parts), reading.where(index))
    return after
