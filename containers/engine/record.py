"""Images that an engine has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import sdk
from .faults import garbled, telling
from .references import require_reference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .connect import Engine


@dataclass(frozen=True)
class ImageRecord:
    """An image of an engine.

    Attributes:
        id: Digest of its configuration, `sha256:…`.
        tags: Names and tags that it has there.
        digests: `repository@sha256:…` under which it was pulled or pushed.
        layers: Digests of its layers' contents, the base's first.
        labels: Its labels.
        env: Its environment variables, `NAME=value`.
        user: The user that it runs as; empty for root.
        size: Bytes of its layers.
        architecture: Such as `amd64`.
        os: Such as `linux`.
        command: What it starts: entry point and arguments.
        workdir: Where it starts.
    """

    id: str
    tags: tuple[str, ...]
    digests: tuple[str, ...]
    layers: tuple[str, ...]
    labels: Mapping[str, str]
    env: tuple[str, ...]
    user: str
    size: int
    architecture: str
    os: str
    command: tuple[str, ...] = ()
    workdir: str = ""


def find_image(engine: Engine, reference: str) -> ImageRecord | None:
    """Return an image that an engine has, or None.

    Args:
        engine: The engine.
        reference: `repository:tag`, `repository@sha256:…` or an id.

    Raises:
        InputError: The reference is none.
        OutsideError: The engine failed.
    """
    require_reference(reference)
    doing = f"looking for {reference}"
    with telling(engine, doing):
        try:
            found = engine.client.api.inspect_image(reference)
        except sdk.docker().errors.NotFound:
            return None
    if not isinstance(found, dict) or not isinstance(found.get("Id"), str):
        raise garbled(engine, doing)
    return _read(found)


def _read(found: dict[str, Any]) -> ImageRecord:
    config = found.get("Config") or {}
    number = found["Id"]
    return ImageRecord(
        id=number if number.startswith("sha256:") else f"sha256:{number}",
        tags=tuple(found.get("RepoTags") or ()),
        digests=tuple(found.get("RepoDigests") or ()),
        layers=tuple((found.get("RootFS") or {}).get("Layers") or ()),
        labels=dict(config.get("Labels") or {}),
        env=tuple(config.get("Env") or ()),
        user=str(config.get("User") or ""),
        size=int(found.get("Size") or 0),
        architecture=str(found.get("Architecture") or ""),
        os=str(found.get("Os") or ""),
        command=(*(config.get("Entrypoint") or ()), *(config.get("Cmd") or ())),
        workdir=str(config.get("WorkingDir") or ""),
    )
