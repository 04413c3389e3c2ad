"""An image that stackproof built, and the digest of what it holds."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..compat.errors import Fault, InputError
from .engine.images import find_image, layer_sizes
from .rendering.settings import PYTHON
from .resolve import has_driver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .engine.connect import Engine
    from .engine.images import ImageRecord

_LOCK_LABEL: Final = "stackproof.lock-digest"


@dataclass(frozen=True)
class Image:
    """A lock made real as an image.

    Attributes:
        reference: Its name in the engine, such as `stackproof/torch2.15.0-py313:0a1b2c3d4e5f`.
        id: Digest of its configuration, which holds when it was built.
        content_digest: SHA-256 over what it holds: the digests of its layers, and how it starts. The same for each
            build of a lock.
        lock_digest: Digest of the lock it was made from.
        size: Bytes of all its layers.
        layers: The base and each layer upon it, with their bytes.
        engine: Where it is.
        reused: Whether it was there already.
    """

    reference: str
    id: str
    content_digest: str
    lock_digest: str
    size: int
    layers: tuple[tuple[str, int], ...]
    engine: Engine = field(compare=False, repr=False)
    reused: bool = False

    @property
    def python(self) -> Path:
        """Return its interpreter, a path in the image."""
        return Path(PYTHON)

    def as_json(self) -> dict[str, Any]:
        """Return what reports say of it."""
        return {
            "engine": self.engine.kind,
            "reference": self.reference,
            "id": self.id,
            "content_digest": self.content_digest,
            "lock_digest": self.lock_digest,
            "size": self.size,
            "layers": [list(layer) for layer in self.layers],
        }

    @property
    def gpus(self) -> bool:
        """Say whether this machine has GPUs to hand to it."""
        return has_driver()


def image_of(engine: Engine, reference: str) -> Image:
    """Return an image that stackproof built, here or elsewhere.

    Args:
        engine: The engine that has it.
        reference: Its name, digest or id.

    Raises:
        InputError: The engine has no such image, or it was not built by stackproof.
        OutsideError: The engine failed.
    """
    record = find_image(engine, reference)
    if record is None:
        what = f"{engine.kind} has no such image: pull it with `stackproof images pull`, or build it"
        raise InputError(reference, [Fault("", what)])
    if _LOCK_LABEL not in record.labels:
        what = "was not built by stackproof, which looks for its Python in /opt/stack: give one that was"
        raise InputError(reference, [Fault("", what)])
    sizes = layer_sizes(engine, reference)
    lock = record.labels[_LOCK_LABEL]
    return Image(reference, record.id, content_digest(record), lock, record.size, sizes, engine, reused=True)


def content_digest(record: ImageRecord) -> str:
    """Return the digest of what an image holds, the same for every build that made the same files.

    It is the SHA-256 of a JSON document with the digests of its uncompressed layers (OCI image specification,
    `rootfs.diff_ids`), which cover names, content, owners, modes and times of all files, and with what its
    configuration says of how it starts. When it was built, and by which engine, is left out.

    Args:
        record: The image, as its engine describes it.
    """
    tables: Mapping[str, object] = {
        "layers": list(record.layers),
        "labels": dict(record.labels),
        "env": sorted(record.env),
        "user": record.user,
        "command": list(record.command),
        "workdir": record.workdir,
        "architecture": record.architecture,
        "os": record.os,
    }
    return hashlib.sha256(json.dumps(tables, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
