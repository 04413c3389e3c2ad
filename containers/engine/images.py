"""Images of an engine: found, made of a file system, named, removed, moved to and from registries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ...compat.errors import Fault, InputError, OutsideError
from . import sdk
from .faults import gone, read_fault, telling
from .layers import walk_layers
from .record import ImageRecord, find_image
from .references import require_reference, split_tag
from .transfer import pull_image, push_image, resolve_tag
from .wire import call, read_lines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from .connect import Engine

__all__ = [
    "ImageRecord",
    "find_image",
    "import_base",
    "layer_sizes",
    "pull_image",
    "push_image",
    "remove_image",
    "resolve_tag",
    "tag_image",
    "walk_layers",
]

_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?")
_SPECIAL: Final = frozenset("\"'\\$`")


def import_base(engine: Engine, tar: Path, tag: str, labels: Mapping[str, str]) -> ImageRecord:
    """Make an image of one layer from a tar of a root file system.

    Args:
        engine: The engine.
        tar: The file.
        tag: Name and tag that it gets.
        labels: Labels that it gets.

    Raises:
        InputError: The tag or a label is none.
        OutsideError: The file cannot be read, or the engine failed.
    """
    require_reference(tag)
    changes, doing, made = _label_changes(labels), f"importing {tag}", ""
    query: dict[str, str | list[str]] = {"fromSrc": "-", "changes": changes}
    try:
        # Not by name: Podman 4 takes the name without its tag.
        with tar.open("rb") as file, telling(engine, doing):
            headers = {"Content-Type": "application/x-tar"}
            for line in read_lines(
                call(engine, "POST", "/images/create", params=query, data=file, headers=headers, timeout=None)
            ):
                if "error" in line:
                    raise read_fault(engine, doing, str(line["error"]))
                made = str(line.get("id") or line.get("status") or made)
    except OSError as error:
        raise OutsideError(f"{doing}: {tar}: {error.strerror or error}. Name a file that can be read.") from error
    if not made.startswith("sha256:"):
        raise gone(engine, doing)
    tag_image(engine, made, tag)
    found = find_image(engine, tag)
    if found is None:
        raise gone(engine, doing)
    return found


def tag_image(engine: Engine, reference: str, tag: str) -> None:
    """Give an image a further name.

    Args:
        engine: The engine.
        reference: The image.
        tag: Name and tag.

    Raises:
        InputError: One of them is no name.
        OutsideError: There is no such image, or the engine failed.
    """
    require_reference(reference)
    require_reference(tag)
    with telling(engine, f"naming {reference} {tag}"):
        engine.client.api.tag(reference, *split_tag(tag), force=True)


def remove_image(engine: Engine, reference: str) -> None:
    """Remove a name of an image, and with its last name the image; nothing happens where there is none.

    Raises:
        InputError: The reference is none.
        OutsideError: The image is in use, or the engine failed.
    """
    require_reference(reference)
    with telling(engine, f"removing {reference}"):
        try:
            engine.client.api.remove_image(reference)
        except sdk.docker().errors.NotFound:
            return


def layer_sizes(engine: Engine, reference: str) -> tuple[tuple[str, int], ...]:
    """Return what made each layer of an image, and its bytes; the base's first, steps without files included.

    Raises:
        InputError: The reference is none.
        OutsideError: There is no such image, or the engine failed.
    """
    require_reference(reference)
    with telling(engine, f"looking at the layers of {reference}"):
        rows = engine.client.api.history(reference)
    return tuple((str(row.get("CreatedBy") or ""), int(row.get("Size") or 0)) for row in reversed(rows))


def _label_changes(labels: Mapping[str, str]) -> list[str]:
    """Return labels as the instructions that an import takes; what could end a quotation is refused."""
    faults = [
        Fault(
            f"labels.{name!r}",
            "is no label: use a name of a-z, 0-9, `.`, `_` and `-`, and printable text without quotes",
        )
        for name, value in labels.items()
        if not _LABEL.fullmatch(name) or not value.isprintable() or _SPECIAL & set(value)
    ]
    if faults:
        raise InputError("image", faults)
    return [f'LABEL {name}="{value}"' for name, value in sorted(labels.items())]
