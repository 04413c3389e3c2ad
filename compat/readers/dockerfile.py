"""Dockerfiles: base images, install commands and variables of the stages that end up in the image."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from .images import read_image
from .install import read_command
from .patterns import Lazy
from .requirement import read_index_build

if TYPE_CHECKING:
    import re

    from .reading import Reading

_INSTRUCTION: Final = Lazy(
    r"\s*(?:Step \d+/\d+ : |#\d+ \[[^\]]*\d+/\d+\] )?"
    r"(FROM|RUN|ENV|ARG|COPY|ADD|WORKDIR|USER|CMD|ENTRYPOINT|LABEL|EXPOSE|SHELL|VOLUME|HEALTHCHECK|ONBUILD|"
    r"STOPSIGNAL|MAINTAINER)"
    r"\s+(\S.*)"
)
_FIRST: Final = frozenset("FREACWULSVHOM#")  # of the instructions
_VARIABLE: Final = Lazy(r"\$\{(\w+)(?::?([-+])([^}]*))?\}|\$(\w+)")
_FROM: Final = Lazy(r"(?:--platform=\S+\s+)?(\S+)(?:\s+[Aa][Ss]\s+(\S+))?")
_PAIR: Final = Lazy(r"(\w+)=(\"(?:[^\"\\]|\\.)*\"|'[^']*'|\S*)")
_FLAG: Final = Lazy(r"^(?:--(?:mount|network|security)=\S+\s+)+")
_HEREDOC: Final = Lazy(r"<<-?\s*[\"']?(\w+)[\"']?")
_COPY_FROM: Final = Lazy(r"--from=(\S+)")
_MOST_JOINED: Final = 2000
_MOST_STAGES: Final = 100
_LONGEST_VALUE: Final = 4096
_INDEX_VARIABLES: Final = frozenset(
    {"PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_INDEX", "PIP_FIND_LINKS"}
)


@dataclass(eq=False)
class Stage:
    """One stage: its base image with the name that it goes by, and its instructions with their places."""

    image: str = ""
    name: str = ""
    steps: list[tuple[str, str, str]] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)


def read_instruction(reading: Reading, lines: list[str], index: int) -> int:
    """Take a Dockerfile's instruction that starts at a line; return the index after it."""
    if lines[index].lstrip()[:1] not in _FIRST or _INSTRUCTION.match(lines[index]) is None:
        return index
    text, after = _join(lines, index)
    instruction = _INSTRUCTION.match(text)
    if instruction is None:
        return index
    word, body = instruction[1], instruction[2]
    if word == "FROM":
        if not (found := _FROM.fullmatch(body.split(" #")[0].strip())):
            return index
        reading.stages.append(Stage(found[1], found[2] or ""))
        reading.stages[-1].steps.append((word, found[1], reading.where(index)))
        return after
    if not reading.stages:
        reading.stages.append(Stage())
    if word == "COPY" and (source := _COPY_FROM.search(body)):
        reading.stages[-1].copied.append(source[1])
    reading.stages[-1].steps.append((word, body, reading.where(index)))
    return after


def replay(reading: Reading) -> None:
    """Note what the last stage and those that it builds upon say."""
    if not reading.stages:
        return
    by_name = {stage.name.lower(): stage for stage in reading.stages if stage.name}
    by_name |= {str(number): stage for number, stage in enumerate(reading.stages)}
    chain: list[Stage] = [reading.stages[-1]]
    while len(chain) < _MOST_STAGES:
        parent = by_name.get(chain[0].image.lower())
        if parent is None or parent in chain:
            break
        chain.insert(0, parent)
    values = _global_values(reading)
    copied = [by_name[name.lower()] for stage in chain for name in stage.copied if name.lower() in by_name]
    for stage in copied:
        if stage not in chain:
            _run(reading, stage, dict(values), by_name, only_packages=True)
    for stage in chain:
        _run(reading, stage, values, by_name, only_packages=False)
    reading.install_build = None


def _global_values(reading: Reading) -> dict[str, str]:
    values: dict[str, str] = {}
    first = reading.stages[0]
    if not first.image:  # what stands before the first FROM
        for word, body, _ in first.steps:
            if word == "ARG":
                _assign(values, body)
    return values


def _run(
    reading: Reading, stage: Stage, values: dict[str, str], by_name: dict[str, Stage], *, only_packages: bool
) -> None:
    for word, body, where in stage.steps:
        text = _substitute(body, values)
        if word in {"ARG", "ENV"}:
            _assign(values, text)
            if word == "ENV" and not only_packages:
                _note_variables(reading, text, where)
        elif word == "FROM":
            if not only_packages and text.lower() not in by_name:
                _read_base(reading, text, where)
        elif word == "RUN":
            _read_run(reading, _FLAG.sub("", text), where)


def _read_base(reading: Reading, image: str, where: str) -> None:
    if "$" in image:
        reading.skip(f"{where}: FROM {image}: a build argument without a default decides the image")
    else:
        read_image(reading, image, where)


def _read_run(reading: Reading, text: str, where: str) -> None:
    """Read install commands; a command with a variable that is not known stays what was not understood."""
    read_command(reading, text, where)


def _note_variables(reading: Reading, text: str, where: str) -> None:
    for name, value in _pairs(text):
        reading.gathered.env_vars[name] = value
        if name in _INDEX_VARIABLES and (build := read_index_build(value)):
            reading.install_build = build
        if name == "CUDA_VERSION" and value[:1].isdigit():
            reading.add("cuda", value, where)


def _assign(values: dict[str, str], text: str) -> None:
    values.update(_pairs(text))


def _pairs(text: str) -> list[tuple[str, str]]:
    found = [(name, value.strip("\"'")[:_LONGEST_VALUE]) for name, value in _PAIR.groups(text)]
    if found or "=" in text:
        return found
    name, _, value = text.partition(" ")
    return [(name, value.strip()[:_LONGEST_VALUE])] if value else []


def _substitute(text: str, values: dict[str, str]) -> str:
    def replace(match: re.Match[str]) -> str:
        name = match[1] or match[4]
        known = values.get(name)
        if match[2] == "-":
            return known or match[3]
        return known if known is not None else match[0]

    return _VARIABLE.sub(replace, text) if "$" in text else text


def _join(lines: list[str], index: int) -> tuple[str, int]:
    """Return an instruction with the lines that it goes on in and its here-documents, and the index after them."""
    pieces: list[str] = []
    last = min(len(lines), index + _MOST_JOINED)
    while index < last:
        line = lines[index].strip()
        index += 1
        if line.startswith("#") and pieces:
            continue
        pieces.append(line.removesuffix("\\").strip())
        if not line.endswith("\\"):
            break
    text = " ".join(pieces)
    mark = _HEREDOC.search(text)
    if mark is not None and text.startswith(("RUN", "COPY", "ADD")):
        while index < last and lines[index].strip() != mark[1]:
            text += f"\n{lines[index].strip()}"
            index += 1
        index += 1
    return text, min(index, len(lines))
