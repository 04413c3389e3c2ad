"""The stage that looks into an image: what it holds, and what its CUDA runtime says to the drivers of the matrix."""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING, Any

from ..compat.builds import level_of
from ..compat.driver_facts import branch_row
from ..compat.driver_levels import parse_level
from ..compat.errors import OutsideError
from ..compat.gpu_names import capability_of
from ..containers.image import Image
from ..containers.inspecting.archive import pack_inspector
from ..containers.inspecting.drivers import ask_drivers
from ..containers.inspecting.inspect import inspect_image
from ..containers.rendering.layers import split_packages
from .records import Made
from .running import read_failure
from .store import canonical, digest_of

if TYPE_CHECKING:
    from ..compat.cell import Stack
    from ..compat.driver_levels import Level
    from ..compat.lock import Lock
    from .imaging import Images
    from .records import Home
    from .site import Site


def find_inspection(site: Site, stack: Stack, lock: Lock) -> Made[dict[str, Any]] | None:
    """Return what was found in a stack's image before; None where it is to be looked into."""
    if site.images is None:
        return Made()
    key = _key(site, site.images, stack, lock)
    document = None if site.fresh else site.store.get("inspect", key)
    if document is None:
        return None
    site.reporter.finish("inspect", stack.id, 0.0, reused=True)
    return Made(document, reused=True, evidence=site.store.digest("inspect", key))


def is_of(made: Made[dict[str, Any]], home: Home) -> bool:
    """Say whether what was found is of this very image; of a venv there is nothing to find."""
    if made.value is None or not isinstance(home, Image):
        return True
    return bool(made.value["image"]["content_digest"] == home.content_digest)


def make_inspection(site: Site, stack: Stack, lock: Lock, home: Home) -> Made[dict[str, Any]]:
    """Look into a stack's image, and keep what was found.

    Raises:
        StoppedError: The site was cancelled.
    """
    if site.images is None or not isinstance(home, Image):
        return Made()
    start = time.monotonic()
    site.reporter.start("inspect", stack.id)
    try:
        # In the order that the store gives it back, so that a report says the same each time.
        document = json.loads(canonical(_look(site, site.images, stack, lock, home)))
    except OutsideError as error:
        site.reporter.fail("inspect", stack.id, str(error))
        return Made(failure=read_failure(error), seconds=time.monotonic() - start)
    seconds = time.monotonic() - start
    kept = site.store.put("inspect", _key(site, site.images, stack, lock), stack.id, document, seconds)
    site.reporter.finish("inspect", stack.id, seconds, reused=False)
    return Made(document, seconds=seconds, evidence=kept)


def _key(site: Site, images: Images, stack: Stack, lock: Lock) -> str:
    """Return what an inspection is made from: the image, what looks into it, and what it is asked."""
    return digest_of(
        {
            "image": images.key(stack, lock),
            "engine": images.engine.kind,
            "inspector": hashlib.sha256(pack_inspector()).hexdigest(),
            "drivers": list(images.settings.drivers),
            "gpu": _gpu(site, images),
        }
    )


def _look(site: Site, images: Images, stack: Stack, lock: Lock, image: Image) -> dict[str, Any]:
    found = inspect_image(images.engine, image.id, cancel=site.cancel)
    held = {package.name for _, packages in split_packages(lock, images.settings) for package in packages}
    levels = [(name, level) for name in images.settings.drivers if (level := _level_of(name)) is not None]
    said = ask_drivers(images.engine, image.id, str(image.python), found, levels, images.cache, cancel=site.cancel)
    return {
        "image": {**image.as_json(), "base": images.base(stack).pinned},
        "inspection": found,
        "drivers": said,
        "omitted": [package.name for package in lock.packages if package.name not in held],
        "gpu": _gpu(site, images),
    }


def _gpu(site: Site, images: Images) -> str:
    """Return the GPU that an image must have code for: the one that the matrix names, or that of this machine."""
    named = images.settings.gpu or (site.machine.gpu or "").split(", ")[0]
    return named if capability_of(named) else ""


def _level_of(driver: str) -> Level | None:
    """Return the CUDA level of a driver of the matrix: its own version, or the level itself."""
    branch = driver.partition(".")[0]
    row = branch_row(int(branch)) if len(branch) > len("12") else None
    return level_of(row["cuda"]) if row is not None else parse_level(driver)
