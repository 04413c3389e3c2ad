"""Every file of every layer of an image, as the engine gives it away."""

from __future__ import annotations

import contextlib
import json
import tarfile
import tempfile
from typing import IO, TYPE_CHECKING, Any, Final

from ...compat.errors import OutsideError, StackproofError
from .faults import telling
from .references import require_reference
from .wire import call

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .connect import Engine

_CHUNK: Final = 1024 * 1024
_MOST_BYTES: Final = 16 * 1024 * 1024  # of a manifest


def walk_layers(
    engine: Engine, reference: str, folder: Path | None = None
) -> Iterator[tuple[int, tarfile.TarInfo, IO[bytes] | None]]:
    """Yield the entries of an image's layers, the base's first.

    The image is written to a temporary file first. Both forms of saved images are read: Docker's own, and OCI layouts.

    Args:
        engine: The engine.
        reference: The image.
        folder: Where the temporary file is written; the system's folder for such files if not given.

    Yields:
        Number of the layer from 0, the entry, and its content for a file (until the next entry is asked for).

    Raises:
        InputError: The reference is none.
        OutsideError: There is no such image, the disk is full, or the engine failed.
    """
    require_reference(reference)
    with tempfile.TemporaryFile(dir=folder, prefix="stackproof-") as file:
        _save(engine, reference, file)
        file.seek(0)
        try:
            with tarfile.open(fileobj=file, mode="r:") as archive:
                for number, layer in enumerate(_layers(archive)):
                    yield from _entries(archive, number, layer)
        except (tarfile.TarError, LookupError, ValueError, TypeError) as error:
            raise _broken(reference, error) from error


def _save(engine: Engine, reference: str, file: IO[bytes]) -> None:
    with telling(engine, f"reading {reference}"):
        saved = call(engine, "GET", f"/images/{reference}/get", timeout=None)
        with contextlib.closing(saved):
            for piece in saved.iter_content(_CHUNK):
                _write(reference, file, piece)


def _write(reference: str, file: IO[bytes], piece: bytes) -> None:
    try:
        file.write(piece)
    except OSError as error:
        raise OutsideError(
            f"reading {reference}: its layers cannot be written to a temporary file: {error.strerror or error}. Free"
            " some space there, or set TMPDIR to another folder."
        ) from error


def _layers(archive: tarfile.TarFile) -> list[str]:
    """Return the names of the layers in a saved image."""
    names = set(archive.getnames())
    if "manifest.json" in names:
        return [str(layer) for layer in _document(archive, "manifest.json")[0]["Layers"]]
    manifest = _document(archive, _blob(_document(archive, "index.json")["manifests"][0]["digest"]))
    while "manifests" in manifest:
        manifest = _document(archive, _blob(manifest["manifests"][0]["digest"]))
    return [_blob(layer["digest"]) for layer in manifest["layers"]]


def _blob(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/', 1)}"


def _document(archive: tarfile.TarFile, name: str) -> Any:
    file = archive.extractfile(name)
    if file is None:
        raise KeyError(name)
    return json.loads(file.read(_MOST_BYTES))


def _entries(
    archive: tarfile.TarFile, number: int, layer: str
) -> Iterator[tuple[int, tarfile.TarInfo, IO[bytes] | None]]:
    packed = archive.extractfile(layer)
    if packed is None:
        raise KeyError(layer)
    with packed, tarfile.open(fileobj=packed, mode="r|*") as files:
        for member in files:
            yield number, member, files.extractfile(member) if member.isreg() else None


def _broken(reference: str, error: Exception) -> StackproofError:
    return OutsideError(
        f"reading {reference}: what the engine saved is no image in a known form ({type(error).__name__}: {error})."
        " Update the engine."
    )
