"""A user's file of pins, changed in its text, so that comments and order stay."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Final

from ...compat.errors import Fault, InputError

if TYPE_CHECKING:
    from .pins import Pin
    from .renew import Renewal

_BLOCK: Final = re.compile(r"^(?=[ \t]*\[\[[ \t]*base[ \t]*\]\])", re.MULTILINE)
_KEYS: Final = (
    *("name", "kind", "suite", "mirror", "repository", "tag", "digest", "python", "glibc", "interpreter", "packages"),
    *("source", "date"),
)


def renew_text(text: str, renewal: Renewal) -> str:
    """Return the text of a file of pins with one pin renewed; a pin that the file lacks comes at its end.

    Args:
        text: The file as it is; empty for a new one.
        renewal: The pin, and what it is to be.

    Raises:
        InputError: The pin is written in a form that is not changed here, such as an inline table.
    """
    pin, keys = renewal.pin, {"digest": renewal.digest, "date": renewal.date}
    if pin.name not in _names(text):
        return f"{text.rstrip()}\n\n{_block(pin, keys)}".lstrip()
    parts = _BLOCK.split(text)
    for number, part in enumerate(parts):
        if _BLOCK.match(part) and _name_in(part) == pin.name:
            parts[number] = _set(part, keys)
    changed = "".join(parts)
    wanted = {**_names(text), pin.name: {**_names(text)[pin.name], **keys}}
    if _names(changed) != wanted:
        what = f"{pin.name} is written in a form that is not changed here: write {keys['digest']} as its digest by hand"
        raise InputError("bases.toml", [Fault("", what)])
    return changed


def _names(text: str) -> dict[str, dict[str, object]]:
    return {str(table.get("name")): table for table in tomllib.loads(text).get("base", [])}


def _name_in(block: str) -> str:
    try:
        return next(iter(_names(block)), "")
    except tomllib.TOMLDecodeError:
        return ""


def _set(block: str, keys: dict[str, str]) -> str:
    for key, value in keys.items():
        line = f"{key} = {json.dumps(value)}"
        block, count = re.subn(rf"^[ \t]*{key}[ \t]*=.*$", line, block, count=1, flags=re.MULTILINE)
        if not count:
            block = re.sub(r"^([ \t]*name[ \t]*=.*)$", rf"\1\n{line}", block, count=1, flags=re.MULTILINE)
    return block


def _block(pin: Pin, keys: dict[str, str]) -> str:
    values = {key: getattr(pin, key) for key in _KEYS} | keys
    lines = [
        f"{key} = {json.dumps(list(value) if isinstance(value, tuple) else value)}"
        for key, value in values.items()
        if value
    ]
    return "\n".join(["[[base]]", *lines, ""])
