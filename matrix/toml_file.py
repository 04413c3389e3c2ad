"""Reading a TOML file that a user wrote."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

from ..compat.errors import Fault, InputError

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_BYTES = 2**20
_PLACE = re.compile(r"(?P<what>.*) \(at (?P<where>line \d+, column \d+|end of document)\)", re.DOTALL)


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file.

    Raises:
        InputError: There is no such file, it cannot be read, is no text, is too large or is no TOML; a syntax error is
            named with its line and column.
    """
    text = _decoded(path, _content(path))
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError(
            str(path), [Fault("", "brackets are nested too deeply: a list or table was not closed")]
        ) from None
    except ValueError as error:
        raise InputError(str(path), [_syntax_fault(str(error))]) from None


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except FileNotFoundError:
        raise InputError(str(path), [Fault("", "no such file: check the path")]) from None
    except IsADirectoryError:
        raise InputError(str(path), [Fault("", "is a folder: name a TOML file in it")]) from None
    except PermissionError:
        raise InputError(str(path), [Fault("", "may not be read: give this user the right to read it")]) from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(str(path), [Fault("", f"cannot be read ({why}): check the path")]) from None
    if len(content) > LARGEST_BYTES:
        what = f"is larger than {LARGEST_BYTES // 2**20} MiB, and so no file of this kind: check the path"
        raise InputError(str(path), [Fault("", what)])
    return content


def _decoded(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        where = f"line {before.count(10) + 1}, column {error.start - before.rfind(10)}"
        what = f"the byte 0x{content[error.start]:02x} is no UTF-8 text: save the file as UTF-8"
        raise InputError(str(path), [Fault(where, what)]) from None


def _syntax_fault(message: str) -> Fault:
    found = _PLACE.fullmatch(message)
    where, what = (found["where"], found["what"]) if found else ("", message)
    mend = ": text needs quotes, true and false are lower case" if what == "Invalid value" else ""
    return Fault(where, f"no valid TOML, {what[:1].lower()}{what[1:]}{mend}")
