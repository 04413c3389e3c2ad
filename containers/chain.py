"""From a lock to an image: a chain of layers, each built once and shared by every image that begins like it."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..compat.errors import OutsideError
from .diagnose import disk_error
from .difference import find_differences
from .engine.build import BuildRequest, build_image
from .engine.images import find_image, layer_sizes, remove_image
from .holding import hold
from .image import Image, content_digest
from .rendering.dockerfile import image_tag, render_image, render_layer, render_whole
from .rendering.layers import context_files, plan_layers
from .rendering.settings import ImageSettings
from .uv import find_uv
from .wheels import fetch_wheels

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from ..compat.lock import Lock
    from .bases.base import Base
    from .engine.connect import Engine
    from .engine.images import ImageRecord
    from .rendering.layers import Layer


@dataclass(frozen=True)
class ImageRequest:
    """An image to be made.

    Attributes:
        lock: What to install.
        base: What to build on.
        settings: How.
        cached: Whether layers that are there already are taken.
    """

    lock: Lock
    base: Base
    settings: ImageSettings = field(default_factory=ImageSettings)
    cached: bool = True

    @property
    def doing(self) -> str:
        """Return what is being done, for messages."""
        return f"building the image of {self.lock.stack}"


@dataclass(frozen=True)
class Workshop:
    """Where images are made.

    Attributes:
        engine: The engine.
        cache: Folder for wheels.
        tell: Is told of each step, a line at a time.
        cancel: Stops the work when set.
    """

    engine: Engine
    cache: Path
    tell: Callable[[str], None] = lambda _: None
    cancel: threading.Event | None = None


def build_stack_image(workshop: Workshop, request: ImageRequest) -> Image:
    """Build the image of a lock, or find it where it is built already.

    Each layer is built on the one before and kept under the digest of all that it is made from, so that images which
    begin alike share layers. The build itself has no network: wheels are fetched before, and checked by their hashes.

    Args:
        workshop: Where.
        request: What.

    Raises:
        InputError: A name or version of the lock cannot stand in a Dockerfile.
        UnsolvableError: The indexes no longer have what the lock names.
        OutsideError: The engine, the index, the network or the disk failed.
        StoppedError: Cancelled.
    """
    text = render_image(request.lock, request.base, request.settings)
    tag = image_tag(request.lock, text)
    held = workshop.cache / "images" / f"{tag.rpartition(':')[2]}.lock"
    try:
        held.parent.mkdir(parents=True, exist_ok=True)
        with hold(held, request.doing, workshop.cancel):
            if request.cached and (found := _find_own(workshop, tag)):
                return replace(_describe(workshop.engine, tag, found, request), reused=True)
            return _describe(workshop.engine, tag, _build(workshop, request, text, tag), request)
    except OSError as error:
        raise disk_error(request.doing, error) from error


def rebuild_stack_image(workshop: Workshop, request: ImageRequest) -> list[str]:
    """Build an image that is there once more from nothing, and name what the new one holds differently.

    The new one takes the names of the first, which is removed.

    Args:
        workshop: Where.
        request: What.

    Returns:
        A line for each difference; none where both hold the same.

    Raises:
        InputError: As `build_stack_image`.
        UnsolvableError: As `build_stack_image`.
        OutsideError: As `build_stack_image`.
        StoppedError: Cancelled.
    """
    engine, text = workshop.engine, render_image(request.lock, request.base, request.settings)
    layers = plan_layers(request.lock, request.base, request.settings)
    names = [image_tag(request.lock, text), *(layer.tag for layer in reversed(layers))]
    before = {name: found for name in names if (found := find_image(engine, name)) is not None}
    again = build_stack_image(workshop, replace(request, cached=False))
    first = before.get(again.reference)
    differences = []
    if first is not None and content_digest(first) != again.content_digest:
        starts = ["how it starts: variables, labels or user"]
        differences = find_differences(engine, first.id, again.id) or starts
    for old in before.values():
        # What somebody else has given a name to, or uses, is theirs.
        if (left := find_image(engine, old.id)) is not None and not left.tags and not left.digests:
            with contextlib.suppress(OutsideError):
                remove_image(engine, old.id)
    return differences


def build_files(workshop: Workshop, request: ImageRequest) -> dict[str, Path | bytes]:
    """Return the files of a folder that an image can be built from by hand, with its Dockerfile.

    Raises:
        InputError: A name or version of the lock cannot stand in a Dockerfile.
        UnsolvableError: The indexes no longer have what the lock names.
        OutsideError: The index, the network or the disk failed.
        StoppedError: Cancelled.
    """
    layers = plan_layers(request.lock, request.base, request.settings)
    packages = [package for layer in layers for package in layer.packages]
    wheels = fetch_wheels(request.lock, packages, workshop.cache, workshop.cancel)
    text = render_whole(request.lock, request.base, request.settings)
    return {"Dockerfile": text.encode(), **context_files(layers, Path(find_uv()), wheels)}


def image_key(request: ImageRequest) -> str:
    """Return the SHA-256 over all that an image is made from: lock, base, settings, and how they are put together.

    Raises:
        InputError: A name or version of the lock cannot stand in a Dockerfile.
    """
    # The text names the last layer by a digest over everything below it.
    return hashlib.sha256(render_image(request.lock, request.base, request.settings).encode()).hexdigest()


def _build(workshop: Workshop, request: ImageRequest, text: str, tag: str) -> ImageRecord:
    for layer in plan_layers(request.lock, request.base, request.settings):
        if not request.cached or _find_own(workshop, layer.tag) is None:
            _build_layer(workshop, request, layer)
    _run(workshop, BuildRequest(dockerfile=text, files={}, tag=tag, cached=request.cached))
    made = find_image(workshop.engine, tag)
    if made is None:
        raise OutsideError(f"{request.doing}: the engine built it, but does not have it.\nTry again.")
    return made


def _build_layer(workshop: Workshop, request: ImageRequest, layer: Layer) -> None:
    workshop.tell(f"{request.lock.stack}: layer {layer.name}, {len(layer.packages)} packages")
    wheels = fetch_wheels(request.lock, layer.packages, workshop.cache, workshop.cancel) if layer.packages else {}
    files = context_files([layer], Path(find_uv()), wheels)
    _run(workshop, BuildRequest(render_layer(layer), files, layer.tag, cached=request.cached))


def _run(workshop: Workshop, request: BuildRequest) -> None:
    made = build_image(workshop.engine, request, workshop.tell, workshop.cancel)
    note = _note(workshop, request.tag)
    note.parent.mkdir(parents=True, exist_ok=True)
    written = note.with_suffix(".new")
    written.write_text(made, encoding="utf-8")
    written.replace(note)


def _find_own(workshop: Workshop, tag: str) -> ImageRecord | None:
    """Return what was built here under a name: a name alone may have been given to anything since."""
    found = find_image(workshop.engine, tag)
    try:
        made = _note(workshop, tag).read_text(encoding="utf-8")
    except OSError:
        return None
    return found if found is not None and found.id == made else None


def _note(workshop: Workshop, tag: str) -> Path:
    """Return the file that keeps the id of what was built under a name, by this engine."""
    place = hashlib.sha256(f"{workshop.engine.kind} {workshop.engine.address}".encode()).hexdigest()[:8]
    return workshop.cache / "images" / f"{tag.rpartition(':')[2]}.{place}.id"


def _describe(engine: Engine, tag: str, record: ImageRecord, request: ImageRequest) -> Image:
    return Image(
        reference=tag,
        id=record.id,
        content_digest=content_digest(record),
        lock_digest=request.lock.digest,
        size=record.size,
        layers=_sizes(engine, request),
        engine=engine,
    )


def _sizes(engine: Engine, request: ImageRequest) -> tuple[tuple[str, int], ...]:
    """Return the bytes of the base and of each layer upon it."""
    layers = plan_layers(request.lock, request.base, request.settings)
    # Those of the last layer: Buildah puts one more on top, with nothing in it but the configuration.
    filled = [count for _, count in layer_sizes(engine, layers[-1].tag) if count]
    below = max(0, len(filled) - len(layers))
    return (("base", sum(filled[:below])), *zip((layer.name for layer in layers), filled[below:], strict=False))
