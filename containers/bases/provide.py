"""From a pin to a base that an engine has: found there, or made or pulled, and asked what it is."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from ...compat.errors import Fault, InputError, OutsideError
from ..diagnose import disk_error
from ..engine.build import BuildRequest, build_image
from ..engine.images import find_image, import_base, pull_image
from .ask import ask_base
from .base import Base
from .debian import archive_of, digest_of, find_made, make_debian
from .installing import install_dockerfile

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from pathlib import Path

    from ..engine.connect import Engine
    from .debian import Made
    from .pins import Pin

_UPDATE: Final = "stackproof images update"


class _Found(NamedTuple):
    """A base in an engine: what `FROM` takes, the digest of what it holds, its day, and the image's id."""

    reference: str
    digest: str
    date: str
    image: str


@dataclass(frozen=True)
class _Work:
    engine: Engine
    pin: Pin
    folder: Path
    tell: Callable[[str], None]
    cancel: threading.Event | None


def provide_base(
    engine: Engine,
    pin: Pin,
    cache: Path,
    tell: Callable[[str], None] = lambda _: None,
    cancel: threading.Event | None = None,
) -> Base:
    """Return a base that an engine has, made or pulled where it is not there yet.

    What a base is, its own Python says: full version, C library and machine are not taken from the pin.

    Args:
        engine: The engine.
        pin: What it is to be.
        cache: Folder for what can be made again.
        tell: Is told of each step, a line at a time.
        cancel: Stops it when set.

    Raises:
        InputError: The pin is of a base of a registry and has no digest.
        OutsideError: It could not be made or pulled, is another one than was pinned, or has no Python that fits.
        StoppedError: `cancel` was set.
    """
    work = _Work(engine, pin, cache.absolute() / "bases", tell, cancel)
    try:
        work.folder.mkdir(parents=True, exist_ok=True)
        found = _of_debian(work) if pin.kind == "debian" else _of_registry(work)
        facts = ask_base(engine, pin, found.image, work.folder, cancel)
    except OSError as error:
        raise disk_error(f"providing the base {pin.name}", error) from error
    return Base(
        name=pin.name,
        reference=found.reference,
        digest=found.digest,
        python=facts.python,
        glibc=facts.libc_version,
        interpreter=pin.interpreter,
        machine=facts.machine,
        source=pin.source,
        date=found.date,
        packages=pin.packages,
    )


def _of_debian(work: _Work) -> _Found:
    """Find or make a base of Debian. The digest of its archive is that of its one layer, which the engine tells."""
    pin = work.pin
    if pin.digest and (found := _in_engine(work, pin.digest, pin.date)):
        return found
    made = find_made(pin, work.folder) or make_debian(pin, work.folder, work.tell, work.cancel)
    _require_pinned(pin, made.digest)
    return _in_engine(work, made.digest, made.date) or _import(work, made)


def _in_engine(work: _Work, digest: str, date: str) -> _Found | None:
    reference = _local(work.pin.suite, digest)
    image = find_image(work.engine, reference)
    return _Found(reference, digest, date, image.id) if image and image.layers == (digest,) else None


def _import(work: _Work, made: Made) -> _Found:
    pin, archive = work.pin, archive_of(work.pin, work.folder)
    if not archive.exists() or digest_of(archive) != made.digest:
        made = make_debian(pin, work.folder, work.tell, work.cancel)
        _require_pinned(pin, made.digest)
    reference = _local(pin.suite, made.digest)
    work.tell(f"importing {pin.name} as {reference}")
    image = import_base(work.engine, archive, reference, {"stackproof.base": pin.name})
    if image.layers != (made.digest,):
        raise OutsideError(
            f"importing {pin.name}: {work.engine.kind} has {', '.join(image.layers)} after importing {made.digest}.\n"
            f"Its storage is not sound: look into its log, remove {reference} and try again."
        )
    return _Found(reference, made.digest, made.date, image.id)


def _of_registry(work: _Work) -> _Found:
    pin = work.pin
    if not pin.digest:
        what = f"{pin.name} has a tag but no digest, and a tag may move: write its digest with `{_UPDATE} {pin.name}`"
        raise InputError("bases.toml", [Fault("", what)])
    reference = f"{pin.repository}@{pin.digest}"
    image = find_image(work.engine, reference)
    if image is None:
        work.tell(f"pulling {reference}")
        image = pull_image(work.engine, pin.repository, pin.digest, work.tell)
    return _with_packages(work, reference) if pin.packages else _Found(reference, pin.digest, pin.date, image.id)


def _with_packages(work: _Work, parent: str) -> _Found:
    """Find or make a base of a registry with further system packages; its digest is that of its layers."""
    pin = work.pin
    dockerfile = install_dockerfile(parent, pin.packages)
    name = re.sub(r"[^a-z0-9]+", "-", pin.repository.rpartition("/")[2])
    reference = _local(name, hashlib.sha256(dockerfile.encode()).hexdigest())
    image = find_image(work.engine, reference)
    if image is None:
        work.tell(f"installing {', '.join(pin.packages)} in {pin.name}")
        build_image(work.engine, BuildRequest(dockerfile, {}, reference, network=True), work.tell, work.cancel)
        image = find_image(work.engine, reference)
    if image is None:
        raise OutsideError(f"{reference} was built and is gone. Let nothing remove images meanwhile, and try again.")
    digest = hashlib.sha256(json.dumps(image.layers).encode()).hexdigest()
    return _Found(reference, f"sha256:{digest}", pin.date, image.id)


def _require_pinned(pin: Pin, digest: str) -> None:
    if pin.digest and pin.digest != digest:
        raise OutsideError(
            f"the base {pin.name} has moved.\n  pinned: {pin.digest}\n  the packages of its mirror now give: {digest}\n"
            f"Take what is there now with `{_UPDATE} {pin.name}`, or give the pin a mirror that keeps the packages of"
            " its day (a snapshot)."
        )


def _local(name: str, digest: str) -> str:
    return f"stackproof/base:{name}-{digest.removeprefix('sha256:')[:12]}"
