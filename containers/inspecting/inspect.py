"""Look at what an image really holds: with its own Python, its own loader, and nothing of what it says of itself."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from ..rendering.settings import PYTHON
from .document import read_document
from .hidden import find_hidden
from .running import run_inspector

if TYPE_CHECKING:
    import threading

    from ..engine.connect import Engine


def inspect_image(
    engine: Engine, image: str, python: str = PYTHON, cancel: threading.Event | None = None
) -> dict[str, Any]:
    """Return what an image holds, as a JSON-ready document (see docs/images.md).

    It runs as root without network, on a read-only root, with the one capability to read files of any owner. Only
    headers of binaries are read; CUDA's libraries are loaded, each in a process of its own.

    Args:
        engine: The engine that has the image.
        image: Its name or id.
        python: The Python of its environment.
        cancel: Stops it when set.

    Raises:
        OutsideError: The engine failed, or the image has no such Python.
        StoppedError: `cancel` was set.
    """
    request = {"root": "/", "prefix": str(PurePosixPath(python).parent.parent), "sites": []}
    found = run_inspector(engine, image, (python, "inspect"), request, cancel=cancel)
    document = read_document(image, found)
    return {**document, "leftovers": [*document["leftovers"], *find_hidden(engine, image)]}
