"""Dockerfiles read back as an engine reads them: continued lines joined, quotes and backslashes undone."""

from __future__ import annotations

import json
import re


def instructions(text: str) -> list[tuple[str, str]]:
    """Return each instruction with its arguments, as BuildKit's parser splits a Dockerfile."""
    joined: list[str] = []
    going_on = False
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            continue
        continued = re.search(r"\\[ \t]*$", line)
        part = line[: continued.start()] if continued else line
        if going_on:
            joined[-1] += part
        elif part.strip():
            joined.append(part)
        going_on = continued is not None
    return [(word.upper(), rest.strip()) for word, _, rest in (line.strip().partition(" ") for line in joined)]


def pairs(arguments: str) -> dict[str, str]:
    """Return the names and values of an `ENV` or `LABEL`, as BuildKit's shell lexer reads words in double quotes.

    A `$` that is not escaped would be expanded: it fails.
    """
    found = {}
    position = 0
    while position < len(arguments):
        name, position = _word(arguments, position, "=")
        value, position = _word(arguments, position + 1, " ")
        found[name] = value
        position += 1
    return found


def _word(text: str, position: int, end: str) -> tuple[str, int]:
    read, quoted = "", False
    while position < len(text) and (quoted or text[position] != end):
        mark = text[position]
        assert mark != "$", f"{text!r} would be expanded"
        if mark == '"':
            quoted = not quoted
        elif mark == "\\" and text[position + 1] in '"\\$':
            position += 1
            read += text[position]
        else:
            read += mark
        position += 1
    assert not quoted, f"{text!r} does not end its quotes"
    return read, position


def script_of(arguments: str) -> tuple[list[str], str]:
    """Return the options of a `RUN` and the script that its JSON form gives to the shell."""
    options, _, words = arguments.partition("[")
    program, flags, script = json.loads(f"[{words}")
    assert (program, flags) == ("/bin/sh", "-euc")
    return options.split(), script
