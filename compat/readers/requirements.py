"""Requirements files, frozen environments, and the options that stand among requirements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .names import words
from .patterns import Lazy
from .requirement import add_bare, add_requirement, parse_requirement, read_index_build, split_comment

if TYPE_CHECKING:
    import re

    from .reading import Reading

_INDEX_OPTION: Final = Lazy(r"\s*(?:--extra-index-url|--index-url|--find-links|-i|-f)[=\s]")
_OPTION: Final = Lazy(r"(--?[a-z][a-z-]*)(?:[=\s]+(.*))?")
_BOUNDED: Final = Lazy(
    r"[A-Za-z0-9][\w.\-]*\s*(?:\[[^\]]*\]\s*)?\(?(?:[=~!<>]=|[<>](?=\s*\d)|@\s*(?:[\w+.-]+://|file:|git\+|[.~]?/|[A-Za-z]:\\))|git\+|https?://\S+\.(?:whl|"
    r"tar\.gz|zip)"
)
_EDITABLE: Final = Lazy(r"(?:-e|--editable)[=\s]+(.+)")
_FROZEN_EDITABLE: Final = Lazy(r"#\s*Editable.*\(([A-Za-z0-9][\w.\-]*)==([\w.!+\-]+)\)")
_MOST_JOINED: Final = 1000
_FLAGS: Final = words(
    "--extra-index-url --index-url --find-links -i -f --no-index --pre --prefer-binary --only-binary --no-binary "
    "--trusted-host --require-hashes --use-feature --hash --no-deps --no-cache-dir"
)


def note_index(reading: Reading, lines: list[str]) -> None:
    """Note the build that the index of a requirements file gives its untagged packages, wherever the option stands."""
    for line in lines:
        if line.lstrip()[:1] == "-" and _INDEX_OPTION.match(line) and (build := read_index_build(line)):
            reading.index_build = build
            return


def join_continued(lines: list[str], index: int) -> tuple[str, int]:
    """Return a line joined with those that it goes on in, and the index after them."""
    line = lines[index].strip()
    if not line.endswith("\\"):
        return line, index + 1
    pieces: list[str] = []
    last = min(len(lines), index + _MOST_JOINED)
    while index < last:
        piece = lines[index].strip()
        index += 1
        pieces.append(piece.removesuffix("\\").strip())
        if not piece.endswith("\\"):
            break
    return " ".join(pieces), index


def add_pin(reading: Reading, pin: re.Match[str], where: str) -> None:
    """Note a line that is `name==version` and nothing else."""
    name, version = pin.groups()
    reading.gathered.origins.add("pip")
    if reading.index_build:
        version = reading.tag(name.lower(), version)
    reading.gathered.add_package(name, version, where)


def read_option(reading: Reading, line: str, where: str) -> bool:
    """Read an option of a requirements file; return whether the line is one."""
    if frozen := _FROZEN_EDITABLE.match(line):
        reading.add_package(frozen[1], frozen[2], where)
        return True
    if line[:1] != "-" or (match := _OPTION.fullmatch(line)) is None:
        return False
    if editable := _EDITABLE.fullmatch(line):
        _add_editable(reading, editable[1], where)
        return True
    option, value = match[1], (match[2] or "").strip()
    if option in {"-r", "--requirement", "-c", "--constraint"} and value:
        reading.follow(split_comment(value)[0].strip("\"'"), where, limits="-c" in option)
        return True
    return option in _FLAGS


def read_bounded(reading: Reading, line: str, where: str) -> bool:
    """Read a requirement that states a version or a source; return whether the line is one."""
    return _BOUNDED.match(line) is not None and read_requirement(reading, line, where)


def read_requirement(reading: Reading, line: str, where: str) -> bool:
    """Read a requirement; return whether the line is one."""
    found = parse_requirement(line)
    if found is None:
        return False
    if found.version == "*" and not found.url:
        add_bare(reading, found, where, line)
    else:
        add_requirement(reading, found, where)
    return True


def _add_editable(reading: Reading, text: str, where: str) -> None:
    found = parse_requirement(text)
    if found is not None and found.url:
        add_requirement(reading, found, where)
    else:
        reading.skip(f"{where}: -e {text}")
