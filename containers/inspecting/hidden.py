"""Look below the folder that a container gets from the engine and that so hides the image's own."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from ..engine.archives import open_archive
from ..engine.faults import telling
from ..engine.leftovers import labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..engine.connect import Engine

_FOLDER: Final = "/tmp"  # noqa: S108 - a folder of the image
_MOST: Final = 500


def find_hidden(engine: Engine, image: str) -> list[dict[str, str]]:
    """Return the files that an image has in `/tmp`, as leftovers of an inspection.

    Args:
        engine: The engine that has the image.
        image: The image.

    Raises:
        OutsideError: The engine failed.
    """
    with telling(engine, f"looking into {_FOLDER} of {image}"):
        made = engine.client.api.create_container(image, command=["true"], entrypoint=[], labels=labels())["Id"]
        try:
            return [{"path": path, "what": "temporary file"} for path in _list(engine, made)]
        finally:
            engine.client.api.remove_container(made, v=True, force=True)


def _list(engine: Engine, container: str) -> Iterator[str]:
    import docker.errors  # noqa: PLC0415 - the command line must start without it

    try:
        pieces, _ = engine.client.api.get_archive(container, _FOLDER)
    except docker.errors.NotFound:
        return
    with open_archive(pieces) as archive:
        for name in islice((member.name for member in archive if not member.isdir()), _MOST):
            yield "/" + "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in name)
