"""All kinds of input but the plainest: one reader each, in the order in which they are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import (
    collect_env,
    conda,
    dockerfile,
    documents,
    environment_yml,
    framework_reports,
    install,
    messages,
    modules,
    pip_output,
    requirements,
    smi,
    system_packages,
    toml_documents,
)
from .forms import join_answer
from .known_lines import is_known
from .lines import read_line
from .names import is_well_known
from .patterns import Lazy
from .reading import LONGEST_FACT, LONGEST_LINE, MOST_OTHERS, MOST_PROSE, Weak
from .text import is_ornament

if TYPE_CHECKING:
    from collections.abc import Callable

    from .reading import Reading

    # Takes lines from an index on, and returns the index of the first that it leaves: the same if it takes none.
    Block = Callable[[Reading, list[str], int], int]
    # Takes a line and its place, and returns whether it took it.
    Line = Callable[[Reading, str, str], bool]

# Readers of what takes several lines, in the order tried.
_BLOCKS: Final[tuple[Block, ...]] = (
    documents.read_json,
    toml_documents.read_block,
    environment_yml.read_block,
    smi.read_block,
    conda.read_block,
    pip_output.read_block,
    messages.read_block,
    framework_reports.read_block,
    dockerfile.read_instruction,
)
# Readers of single lines, in the order tried.
_LINES: Final[tuple[Line, ...]] = (
    install.read_command,
    requirements.read_option,
    requirements.read_bounded,
    collect_env.read_line,
    collect_env.read_loader_path,
    pip_output.read_line,
)
# Readers of what stands somewhere in a line that is not too long.
_FACTS: Final[tuple[Line, ...]] = (
    conda.read_line,
    system_packages.read_line,
    framework_reports.read_line,
    modules.read_line,
    messages.read_line,
    read_line,
)

_TABLE_ROW: Final = Lazy(r"([A-Za-z][\w.\-]*)(\s+\|\s+|\s+)v?(\d[\w.+!\-]*)")
_WIDEST: Final = 8
_SPACES: Final = Lazy(r"[ \t]{9,}")
# What decorates a line: quote marks of code, a diff's plus before a bullet, signs before the name in a list.
_DRESS: Final = Lazy(r"^\+(?=[-*] )|^([-*])\s{2,}|^([-*] )[^\w\s`'\"*<\[(./~$-]+\s?(?=\w)")
# Python's own spelling of a report: {'PyTorch': '1.9.1', ...} and OrderedDict([('PyTorch', '2.0.1'), ...]).
_PAIR: Final = Lazy(r"'([^'\n]{1,40})'(?:: |, )'((?:[^'\\\n]|\\.)*)'")
_MOST_PAIRS: Final = 200
_DOTS: Final = Lazy(r"\s*\.{4,}\s*")


def read_other(reading: Reading, lines: list[str], index: int) -> int:
    """Read what starts at a line that is no pin; return the index after it."""
    reading.others += 1
    if reading.others > MOST_OTHERS:
        reading.skip(lines[index])
        return index + 1
    for block in _BLOCKS:
        if (after := block(reading, lines, index)) > index:
            return after
    if is_ornament(lines[index]):
        return index + 1
    return _read_line(reading, lines, index)


def finish(reading: Reading) -> None:
    """Note what could be told only when the whole input was read."""
    dockerfile.replay(reading)
    if (toolkit := conda.settle_toolkits(reading.toolkits)) is not None:
        reading.add("cuda", *toolkit)


def _read_line(reading: Reading, lines: list[str], index: int) -> int:
    if reading.prose >= MOST_PROSE:
        reading.skip(lines[index])
        return index + 1
    if (answered := join_answer(lines, index)) is not None:
        joined, after = answered
        _read_one(reading, joined, reading.where(after - 1))
        return after
    whole, after = requirements.join_continued(lines, index)
    _read_one(reading, whole, reading.where(index))
    return after


def _read_one(reading: Reading, whole: str, where: str) -> None:
    line = _undress(whole[:LONGEST_LINE])
    if line.startswith(("{'", "'", "OrderedDict([(")) and _read_pairs(reading, line, where):
        return
    if any(read(reading, line, where) for read in _LINES):
        return
    line = line[:LONGEST_FACT]
    if "...." in line:
        line = _DOTS.sub(": ", line)
    if any(read(reading, line, where) for read in _FACTS):
        return
    if line.startswith("#") or requirements.read_requirement(reading, line, where):
        return
    row = _TABLE_ROW.fullmatch(line)
    if row is not None and (len(row[2]) > 1 or "\t" in row[2] or is_well_known(row[1])):
        reading.add_package(row[1], row[3], where)
    elif row is not None:
        reading.weak.append(Weak(row[1], row[3], where, line))
    elif not is_known(line):
        reading.prose += 1
        reading.skip(line)


def _undress(text: str) -> str:
    """Return a line without what only decorates it: frames, marks of code and bold type, wide gaps."""
    line = _SPACES.sub(" " * _WIDEST, text.strip("| \t`"))
    if line[:1] in "-*+":
        line = _DRESS.sub(lambda match: f"{match[1]} " if match[1] else match[2] or "", line, count=1)
    return line.replace("**", "")


def _read_pairs(reading: Reading, text: str, where: str) -> bool:
    """Read names and values in Python's own spelling, each as the line that it would be elsewhere."""
    pairs = _PAIR.groups(text)[:_MOST_PAIRS]
    for name, value in pairs:
        if name == "PyTorch compiling details":
            texts = [piece.strip().removeprefix("- ") for piece in value.split("\\n")]
            framework_reports.note_torch_build(reading, texts, where)
        else:
            _read_one(reading, f"{name}: {value}", where)
    return bool(pairs)
