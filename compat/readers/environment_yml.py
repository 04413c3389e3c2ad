"""conda's environment.yml: the small part of YAML that such files are written in, and nothing beyond it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .conda import read_spec
from .patterns import Lazy
from .reading import MOST_TRIES
from .requirement import add_requirement, parse_requirement, split_comment
from .requirements import read_option

if TYPE_CHECKING:
    from .reading import Reading

_TOP: Final = Lazy(r"(name|channels|dependencies|prefix|variables|platforms|channel_priority|nodefaults)\s*:\s*(.*)")
_FIRST: Final = frozenset("ncdpv")  # of the keys
_ITEM: Final = Lazy(r"(\s*)-\s+(\S.*)")
_PIP: Final = Lazy(r"pip\s*:")
_VARIABLE: Final = Lazy(r"\s+([A-Za-z_]\w*)\s*:\s*(\S.*)")


def read_block(reading: Reading, lines: list[str], index: int) -> int:
    """Read an environment.yml that starts at a line; return the index after it."""
    if ":" not in lines[index][:24] or lines[index][:1] not in _FIRST or reading.tries >= MOST_TRIES:
        return index
    if not _starts(lines, index):
        reading.tries += 1
        return index
    section, pip_indent = "", -1
    while index < len(lines):
        line = lines[index]
        body, _ = split_comment(line)
        if not body or line.strip() in {"---", "..."}:
            index += 1
            continue
        if (top := _TOP.fullmatch(body)) is not None and not line[:1].isspace():
            section, pip_indent = top[1], -1
        elif (item := _ITEM.match(line)) is not None and section:
            pip_indent = _read_item(reading, section, (len(item[1]), split_comment(item[2])[0]), (pip_indent, index))
        elif section == "variables" and (variable := _VARIABLE.fullmatch(line)) is not None:
            reading.gathered.env_vars[variable[1]] = variable[2].strip().strip("\"'")
        else:
            break
        index += 1
    return index


def _starts(lines: list[str], index: int) -> bool:
    """Return whether an environment file starts here: `dependencies:` with items, perhaps after its other keys."""
    if _TOP.fullmatch(lines[index].split(" #")[0].rstrip()) is None:
        return False
    for line in lines[index : index + 200]:
        if line.startswith("dependencies:"):
            return True
        if line.strip() and not line[:1].isspace() and not line.startswith(("-", "#")) and not _TOP.match(line):
            return False
    return False


def _read_item(reading: Reading, section: str, item: tuple[int, str], at: tuple[int, int]) -> int:
    """Read one list item; return the indent of the `pip:` list that goes on, or -1."""
    (indent, text), (pip_indent, index) = item, at
    plain = text.strip().strip("\"'")
    if section != "dependencies":
        return -1
    if _PIP.fullmatch(plain):
        return indent
    where = reading.where(index)
    if pip_indent >= 0 and indent > pip_indent:
        _read_pip(reading, plain, where)
        return pip_indent
    if not read_spec(reading, plain, where):
        reading.skip(f"{where}: {plain}")
    return -1


def _read_pip(reading: Reading, text: str, where: str) -> None:
    if read_option(reading, text, where):
        return
    found = parse_requirement(text)
    if found is None:
        reading.skip(f"{where}: {text}")
        return
    add_requirement(reading, found, where)
    if found.version == "*" and not found.url:
        reading.float(found.name)
