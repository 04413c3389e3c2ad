"""BuildKit's progress, as it comes through Docker's API: protocol buffers in base64, read without a library.

The message is `StatusResponse` of `moby.buildkit.v1` (control.proto). Fields that are not named here are passed over.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERTEXES: Final = 1
_LOGS: Final = 3
_DIGEST: Final = 1  # of Vertex, as all up to _ERROR
_NAME: Final = 3
_CACHED: Final = 4
_STARTED: Final = 5
_COMPLETED: Final = 6
_ERROR: Final = 7
_VERTEX: Final = 1  # of VertexLog
_MSG: Final = 4
_VARINT: Final = 0
_FIXED_64: Final = 1
_LENGTH: Final = 2
_FIXED_32: Final = 5
_LONGEST_VARINT: Final = 10  # bytes of seven bits for 64
_MORE: Final = 0x80


@dataclass(frozen=True)
class Step:
    """What is known of a build step.

    Attributes:
        id: Its digest.
        name: What it does, such as `[2/2] RUN make`.
        started: Whether it began.
        done: Whether it ended, well or not.
        cached: Whether an earlier result was taken.
        error: Why it failed; empty where it did not.
    """

    id: str
    name: str
    started: bool = False
    done: bool = False
    cached: bool = False
    error: str = ""


@dataclass(frozen=True)
class Output:
    """What a build step wrote.

    Attributes:
        step: The step's digest.
        text: A piece of its standard output or standard error.
    """

    step: str
    text: bytes


def decode_trace(aux: object) -> tuple[Step | Output, ...]:
    """Return the events in one piece of progress; what cannot be read is left out, and never raises.

    Args:
        aux: The value of `aux` in a line with the id `moby.buildkit.trace`.
    """
    if not isinstance(aux, str):
        return ()
    try:
        message = base64.b64decode(aux)
    except (binascii.Error, ValueError):
        return ()
    return tuple(_events(message))


def _events(message: bytes) -> Iterator[Step | Output]:
    for number, value in _fields(message):
        if number == _VERTEXES and isinstance(value, bytes):
            yield _step(value)
        elif number == _LOGS and isinstance(value, bytes):
            held = dict(_fields(value))
            yield Output(_text(held.get(_VERTEX)), _bytes(held.get(_MSG)))


def _step(message: bytes) -> Step:
    held = dict(_fields(message))
    return Step(
        id=_text(held.get(_DIGEST)),
        name=_text(held.get(_NAME)),
        started=_STARTED in held,
        done=_COMPLETED in held,
        cached=bool(held.get(_CACHED)),
        error=_text(held.get(_ERROR)),
    )


def _text(value: int | bytes | None) -> str:
    return _bytes(value).decode("utf-8", errors="replace")


def _bytes(value: int | bytes | None) -> bytes:
    return value if isinstance(value, bytes) else b""


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field, up to the first byte that makes no sense."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        kind, number = tag & 7, tag >> 3
        size = {_FIXED_64: 8, _FIXED_32: 4}.get(kind, 0)
        if kind == _VARINT:
            value, place = _varint(message, place)
            if place <= len(message):
                yield number, value
            continue
        if kind == _LENGTH:
            size, place = _varint(message, place)
        if not number or not (size or kind == _LENGTH) or place + size > len(message):
            return
        yield number, message[place : place + size]
        place += size


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """Return a number and the place behind it; a place behind the end where it is cut off."""
    value = 0
    for shift in range(_LONGEST_VARINT):
        if place + shift >= len(message):
            break
        byte = message[place + shift]
        value |= (byte & ~_MORE) << (7 * shift)
        if not byte & _MORE:
            return value, place + shift + 1
    return value, len(message) + 1
