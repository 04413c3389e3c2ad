"""Images only: the stacks of a matrix are locked and built, or written down as folders to build by hand."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..compat.errors import OutsideError, StackproofError, UnsolvableError
from ..containers.diagnose import disk_error
from ..containers.image import Image
from .bases import check_engine
from .expand import expand, select
from .locking import describe_failure, lock_stack, make_environment
from .site import Settings, open_site
from .store import Store, sole_use

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ..compat.cell import Stack
    from ..compat.lock import Lock
    from .config import Matrix
    from .records import Failure, Made
    from .site import Site

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Order:
    """Images to be made.

    Attributes:
        matrix: The matrix whose stacks they are of.
        folder: The output folder, where locks are kept; the same as that of `certify`.
        cells: Pattern of cell ids; empty for all.
        write: A folder that build folders are written to, in place of building; None to build.
        settings: Progress and the engine.
        reproduce: Whether each image is built once more from nothing, and held against the first.
    """

    matrix: Matrix
    folder: Path
    cells: str = ""
    write: Path | None = None
    settings: Settings = field(default_factory=Settings)
    reproduce: bool = False


def build_images(order: Order) -> dict[str, Any]:
    """Make the image of every stack of a matrix.

    Returns:
        JSON-ready tables: for each stack its image, or its build folder, or why there is none.

    Raises:
        InputError: The matrix has no such cells, or no base has a stack's Python.
        OutsideError: The output folder or the engine cannot be used.
        StoppedError: Interrupted.
    """
    cells = select(expand(order.matrix), order.cells) if order.cells else expand(order.matrix)
    check_engine(order.matrix, cells, order.settings.engine)
    stacks = dict.fromkeys(cell.stack for cell in cells)
    folder = order.folder.absolute()
    with sole_use(folder), Store(folder) as store:
        site = open_site(folder, store, order.matrix, order.settings)
        with site.reporter:
            site.reporter.plan(2 * len(stacks))
            entries = [_entry(site, stack, order) for stack in stacks]
    return {"schema_version": SCHEMA_VERSION, "engine": order.settings.engine, "images": entries}


def _entry(site: Site, stack: Stack, order: Order) -> dict[str, Any]:
    lock = lock_stack(site, stack)
    if lock.value is None:
        site.reporter.skip(1)
        return _failed(stack, lock.failure)
    if order.write is not None:
        return _write(site, stack, lock.value, order.write)
    made = make_environment(site, stack, lock.value)
    if made.value is None:
        return _failed(stack, made.failure)
    entry = _built(stack, made)
    return {**entry, **_rebuild(site, stack, lock.value)} if order.reproduce else entry


def _built(stack: Stack, made: Made[Any]) -> dict[str, Any]:
    image = made.value
    if not isinstance(image, Image):
        raise StackproofError("images need an engine: give --engine docker or --engine podman")
    return {
        "stack": stack.id,
        "built": True,
        "reused": made.reused,
        "seconds": round(made.seconds, 3),
        **image.as_json(),
    }


def _rebuild(site: Site, stack: Stack, lock: Lock) -> dict[str, Any]:
    if site.images is None:
        return {}
    try:
        return {"differences": site.images.rebuild(stack, lock)}
    except (UnsolvableError, OutsideError) as error:
        return {**_why(describe_failure(error)), "outside": True}


def _write(site: Site, stack: Stack, lock: Lock, folder: Path) -> dict[str, Any]:
    if site.images is None:
        raise StackproofError("images need an engine: give --engine docker or --engine podman")
    site.reporter.skip(1)
    target = folder / stack.id
    try:
        _lay_out(site.images.files(stack, lock), target)
    except (UnsolvableError, OutsideError) as error:
        return _failed(stack, describe_failure(error))
    except OSError as error:
        return _failed(stack, describe_failure(disk_error(f"writing {target}", error)))
    return {"stack": stack.id, "built": False, "folder": str(target), "lock_digest": lock.digest}


def _lay_out(files: Mapping[str, Path | bytes], target: Path) -> None:
    for name, content in files.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            shutil.copy(content, path)


def _failed(stack: Stack, failure: Failure | None) -> dict[str, Any]:
    return {"stack": stack.id, "built": False, **_why(failure), "outside": bool(failure and failure.outside)}


def _why(failure: Failure | None) -> dict[str, Any]:
    """Return the sentence that says why, and the lines that go on from it."""
    if failure is None:
        return {"why": "nothing was made", "log": []}
    return {"why": failure.reason, "log": list(failure.log)}
