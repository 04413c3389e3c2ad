"""`stackproof images`: bases and their pins, and images on their way to and from registries."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ...compat.errors import Fault, InputError, OutsideError
from ...containers.bases.pins import load_pins, own_pins
from ...containers.bases.provide import provide_base
from ...containers.bases.renew import look_again
from ...containers.bases.write import renew_text
from ...containers.engine.connect import connect
from ...containers.engine.images import pull_image, push_image
from ...containers.rendering.safe import check_hash, check_reference, check_repository, check_tag
from ...containers.venv import cache_folder
from ..report.wording import clean
from .output import standard_output

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from ...containers.bases.pins import Pin
    from ...containers.bases.renew import Renewal
    from ...containers.engine.connect import Engine

_FILE: Final = Path("bases.toml")
_TWO: Final = 2


def run(options: argparse.Namespace) -> int:
    """Do what `images` is asked for."""
    _require_fitting(options)
    return _ACTIONS[options.action](options)


def _require_fitting(options: argparse.Namespace) -> None:
    """Refuse options that the action has no use for."""
    if options.check and options.action != "update":
        raise InputError("--check", [Fault("", "goes with update: remove it, or write images update --check")])
    if options.include and options.action != "base":
        raise InputError("--include", [Fault("", "goes with base: remove it, or write images base NAME --include ...")])


def _base(options: argparse.Namespace) -> int:
    if not options.names:
        raise InputError("images base", [Fault("", "no base is named: give one such as debian:bookworm")])
    pins = load_pins(_pins_file(options))
    found = [pins.find(name).with_packages(tuple(options.include)) for name in options.names]
    with _engine(options) as engine:
        bases = [provide_base(engine, pin, cache_folder(), _teller(options)) for pin in found]
    lines = [
        f"{base.name}  {base.reference}  {base.digest}  Python {base.python}  glibc {base.glibc}  {base.machine}"
        for base in bases
    ]
    return _show(options, {"bases": [asdict(base) for base in bases]}, lines)


def _list(options: argparse.Namespace) -> int:
    if options.names:
        raise InputError("images list", [Fault("", "takes no names: it shows all pins")])
    pins = load_pins(_pins_file(options))
    lines = []
    for pin in pins.values():
        where = f"{pin.repository}:{pin.tag}" if pin.tag else pin.repository or f"Debian {pin.suite}, made here"
        lines += [
            f"{pin.name}  Python {pin.python}  glibc {pin.glibc or 'not said'}",
            f"    {where}  {pin.digest or 'not pinned'}",
            f"    {pin.source or 'no source'} ({pin.date or 'no date'})",
        ]
    return _show(options, {"pins": [asdict(pin) for pin in pins.values()]}, lines)


def _update(options: argparse.Namespace) -> int:
    file = options.pins or _FILE
    own = own_pins(file) if options.pins or file.is_file() else {}
    pins = load_pins(file if own else None)
    named = [pins.find(name) for name in options.names] or list(own.values())
    if not named:
        what = f"there is no {_FILE} here, and no base is named: name one such as debian:bookworm to begin the file"
        raise InputError("images update", [Fault("", what)])
    renewals = [_look(options, pin) for pin in named]
    moved = [renewal for renewal in renewals if renewal.moved]
    if not options.check:
        _write(file, moved)
    document = [
        {"name": new.pin.name, "old": new.pin.digest, "new": new.digest, "moved": new.moved} for new in renewals
    ]
    _show(options, {"pins": document, "written": not options.check}, [_words(renewal) for renewal in renewals])
    return 1 if options.check and moved else 0


def _look(options: argparse.Namespace, pin: Pin) -> Renewal:
    return look_again(lambda: _engine(options), pin, cache_folder(), _teller(options))


def _words(renewal: Renewal) -> str:
    if not renewal.moved:
        return f"same   {renewal.pin.name}  {renewal.digest}"
    return f"moved  {renewal.pin.name}\n    old {renewal.pin.digest or 'not pinned'}\n    new {renewal.digest}"


def _write(file: Path, moved: Sequence[Renewal]) -> None:
    if not moved:
        return
    try:
        text = file.read_text(encoding="utf-8-sig") if file.exists() else ""
        for renewal in moved:
            text = renew_text(text, renewal)
        fresh = file.with_suffix(".new")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(file)
    except OSError as error:
        raise OutsideError(
            f"{file} cannot be written: {error.strerror or error}. Make room or the right there."
        ) from error


def _push(options: argparse.Namespace) -> int:
    if len(options.names) != _TWO:
        what = "takes an image and where it goes: images push IMAGE registry.example/team/stack:TAG"
        raise InputError("images push", [Fault("", what)])
    image, goal = options.names
    repository, tag = _goal(goal)
    check_reference(image, "IMAGE")
    with _engine(options) as engine:
        digest = push_image(engine, image, repository, tag, _teller(options))
    return _show(options, {"reference": f"{repository}@{digest}", "tag": tag}, [f"{repository}@{digest}"])


def _goal(goal: str) -> tuple[str, str]:
    head, colon, tail = goal.rpartition(":")
    repository, tag = (head, tail) if colon and "/" not in tail else (goal, "latest")
    return check_repository(repository, "REPOSITORY"), check_tag(tag, "TAG")


def _pull(options: argparse.Namespace) -> int:
    repository, _, digest = (options.names or [""])[0].partition("@")
    if len(options.names) != 1 or not digest:
        what = "takes one image by its digest: images pull registry.example/team/stack@sha256:..."
        raise InputError("images pull", [Fault("", what)])
    check_repository(repository, "REPOSITORY")
    check_hash(digest, "DIGEST")
    with _engine(options) as engine:
        image = pull_image(engine, repository, digest, _teller(options))
    document = {"reference": f"{repository}@{digest}", "id": image.id, "size": image.size, "labels": dict(image.labels)}
    return _show(options, document, [f"{repository}@{digest}  {image.id}"])


def _pins_file(options: argparse.Namespace) -> Path | None:
    given: Path | None = options.pins
    return given or (_FILE if _FILE.is_file() else None)


@contextmanager
def _engine(options: argparse.Namespace) -> Iterator[Engine]:
    """Reach the engine, and close what leads there."""
    engine = connect(options.engine)
    try:
        yield engine
    finally:
        engine.client.close()


def _teller(options: argparse.Namespace) -> Callable[[str], None]:
    def tell(line: str) -> None:
        if not options.quiet:
            sys.stderr.write(f"{clean(line)}\n")

    return tell


def _show(options: argparse.Namespace, document: dict[str, Any], lines: Sequence[str]) -> int:
    with standard_output() as stream:
        if options.json:
            stream.write(json.dumps({"schema_version": 1, **document}, indent=1) + "\n")
        else:
            stream.writelines(f"{line}\n" for line in lines)
    return 0


_ACTIONS: Final = {
    "base": _base,
    "list": _list,
    "update": _update,
    "push": _push,
    "pull": _pull,
}
