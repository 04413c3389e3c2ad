"""What two builds of one image differ in, file by file."""

from __future__ import annotations

import hashlib
import stat
from typing import TYPE_CHECKING, Final, NamedTuple

from .engine.images import walk_layers

if TYPE_CHECKING:
    import tarfile
    from typing import IO

    from .engine.connect import Engine

_BLOCK: Final = 1 << 20


class _Entry(NamedTuple):
    """One entry of a layer, as far as it is part of what an image holds."""

    kind: str
    mode: str
    owner: str
    time: float
    link: str
    size: int
    content: str


def find_differences(engine: Engine, first: str, second: str, most: int = 20) -> list[str]:
    """Name what two images hold differently, layer by layer.

    Args:
        engine: The engine that has both.
        first: Name or id of one.
        second: Name or id of the other.
        most: How many differences are named.

    Returns:
        A line for each file that only one has, or of which kind, mode, owner, time, link, size or content differ.

    Raises:
        OutsideError: The engine or the disk failed.
    """
    left, right = _entries(engine, first), _entries(engine, second)
    found: list[str] = []
    for place in sorted(left.keys() | right.keys()):
        if (words := _compare(left.get(place), right.get(place))) and len(found) < most:
            found.append(f"layer {place[0]}: {place[1]}: {words}")
    return found


def _compare(left: _Entry | None, right: _Entry | None) -> str:
    if left is None or right is None:
        return "only in the second" if left is None else "only in the first"
    pairs = zip(_Entry._fields, left, right, strict=True)
    return ", ".join(f"{name} {_shown(one)} and {_shown(other)}" for name, one, other in pairs if one != other)


def _shown(value: object) -> str:
    return str(value)[:19] or "none"


def _entries(engine: Engine, image: str) -> dict[tuple[int, str], _Entry]:
    return {(layer, info.name): _entry(info, content) for layer, info, content in walk_layers(engine, image)}


def _entry(info: tarfile.TarInfo, content: IO[bytes] | None) -> _Entry:
    return _Entry(
        kind=info.type.decode("ascii", "replace"),
        mode=oct(stat.S_IMODE(info.mode)),
        owner=f"{info.uid}:{info.gid}",
        time=info.mtime,
        link=info.linkname,
        size=info.size,
        content=_digest(content) if content is not None else "",
    )


def _digest(content: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while block := content.read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()
