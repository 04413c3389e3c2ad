"""From a Dockerfile and files to an image, through an engine's own builder: BuildKit in Docker, Buildah in Podman.

The context is the body of the one request; no client program is needed. BuildKit keeps it in its cache, where nothing
finds it again: its records are removed after the build.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from ...compat.errors import Fault, InputError, StoppedError
from .building import BuildLog
from .context import entries_of, pack
from .context_cache import without_context
from .faults import gone
from .following import follow
from .references import require_reference
from .stopping import MARK, stopping
from .wire import call

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator
    from pathlib import Path

    from . import sdk
    from .connect import Engine

Tell = Callable[[str], None]

_DOCKERFILE: Final = "Dockerfile"


@dataclass(frozen=True)
class BuildRequest:
    """What to build.

    Attributes:
        dockerfile: Text of the Dockerfile.
        files: Name in the context -> a file on this machine, or the content itself.
        tag: Name and tag that the image gets.
        network: Whether its steps may use the network.
        cached: Whether steps that were made before are taken again; Podman makes them anew always.
        timestamp: Seconds since 1970 that Buildah gives the image and all files of its layer, so that the same steps
            give the same layer; BuildKit keeps the files' own.
    """

    dockerfile: str
    files: Mapping[str, Path | bytes]
    tag: str
    network: bool = False
    cached: bool = True
    timestamp: int = 1_700_000_000


def _silent(_: str) -> None:
    """Tell nobody."""


def build_image(
    engine: Engine, request: BuildRequest, tell: Tell = _silent, cancel: threading.Event | None = None
) -> str:
    """Build an image.

    Args:
        engine: The engine that builds.
        request: What to build.
        tell: Gets a line for each step and each line that a step writes.
        cancel: Stops the build, in the engine as well, when set.

    Returns:
        The image's id, `sha256:…`.

    Raises:
        InputError: The tag, or the name of a file, is none.
        OutsideError: A step failed (with its last lines), or the engine did.
        StoppedError: `cancel` was set.
    """
    require_reference(request.tag)
    if _DOCKERFILE in request.files:
        raise InputError("build context", [Fault(_DOCKERFILE, "is the name of the Dockerfile itself: rename the file")])
    entries = entries_of({**request.files, _DOCKERFILE: request.dockerfile.encode()})
    log, build = BuildLog(engine, request.tag, tell), uuid4().hex

    def start() -> sdk.Response:
        body = _heeding(pack(entries), cancel, log.doing)
        headers = {"Content-Type": "application/x-tar"}
        return call(
            engine, "POST", "/build", params=_query(engine, request, build), data=body, headers=headers, timeout=None
        )

    with without_context(engine), stopping(engine, build):
        for line in follow(engine, log.doing, start, cancel):
            log.take(line)
    if not log.image:
        raise gone(engine, log.doing)
    return log.image


def _query(engine: Engine, request: BuildRequest, build: str) -> dict[str, str]:
    query = {"dockerfile": _DOCKERFILE, "t": request.tag, "rm": "1", "forcerm": "1"}
    if engine.kind == "podman":
        # Buildah's cache does not look at what a step binds, so that it would take the layer of other files.
        mark = json.dumps({MARK: build})
        query |= {"nocache": "1", "layers": "0", "buildargs": mark, "timestamp": str(request.timestamp)}
        # What Docker calls `none` is no word of Buildah's, which would take its default: a network.
        return query if request.network else {**query, "networkmode": "NetworkDisabled"}
    query |= {"version": "2", "buildid": build}
    if not request.cached:
        query["nocache"] = "1"
    return query if request.network else {**query, "networkmode": "none"}


def _heeding(pieces: Iterator[bytes], cancel: threading.Event | None, doing: str) -> Iterator[bytes]:
    for piece in pieces:
        if cancel is not None and cancel.is_set():
            raise StoppedError(f"{doing} was stopped while its files were sent.")
        yield piece
