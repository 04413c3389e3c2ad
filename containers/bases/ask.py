"""What a base is, asked of its own Python."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from ...compat.errors import OutsideError
from ..engine.container import ContainerRequest, run_container
from ..rendering.safe import check_path

if TYPE_CHECKING:
    import threading
    from pathlib import Path

    from ..engine.connect import Engine
    from .pins import Pin

_ASK: Final = (
    "import json, platform, sys; print(json.dumps([platform.python_version(), platform.machine(),"
    " sys.implementation.name, *platform.libc_ver()]))"
)
_TIME_LIMIT: Final = 120.0
_MOST_WORDS: Final = 500


@dataclass(frozen=True)
class Facts:
    """What a base's Python says.

    Attributes:
        python: Its full version, such as `3.11.2`.
        machine: The machine, such as `x86_64`.
        implementation: `cpython`, or another one.
        libc: The C library, `glibc`; empty for one that it does not know.
        libc_version: Its version, such as `2.36`.
    """

    python: str
    machine: str
    implementation: str
    libc: str
    libc_version: str


def ask_base(engine: Engine, pin: Pin, image: str, folder: Path, cancel: threading.Event | None) -> Facts:
    """Ask a base for its Python; an image is asked once.

    Args:
        engine: The engine that has it.
        pin: What it is to be.
        image: Its id.
        folder: Where answers are kept.
        cancel: Stops it when set.

    Raises:
        InputError: The pin's interpreter is no path.
        OutsideError: It has no Python there, or one that does not fit.
        StoppedError: `cancel` was set.
    """
    asked = hashlib.sha256(f"{image} {pin.interpreter}".encode()).hexdigest()[:16]
    kept = folder / f"facts-{asked}.json"
    facts = _read(kept)
    if facts is None:
        facts = _run(engine, pin, image, cancel)
        fresh = kept.with_suffix(".new")
        fresh.write_text(json.dumps(list(asdict(facts).values())), encoding="utf-8")
        fresh.replace(kept)
    _require_fitting(pin, facts)
    return facts


def _read(kept: Path) -> Facts | None:
    with suppress(OSError):
        return _parse(kept.read_bytes())
    return None


def _parse(answer: bytes) -> Facts | None:
    with suppress(ValueError, TypeError):
        facts = Facts(*json.loads(answer))
        return facts if all(isinstance(value, str) for value in asdict(facts).values()) else None
    return None


def _run(engine: Engine, pin: Pin, image: str, cancel: threading.Event | None) -> Facts:
    python = check_path(pin.interpreter, "base: interpreter")
    ran = run_container(engine, ContainerRequest(image, (python, "-I", "-S", "-c", _ASK)), _TIME_LIMIT, cancel)
    facts = _parse(ran.stdout) if ran.code == 0 else None
    if facts is None:
        said = ran.stderr.decode(errors="replace").strip()[-_MOST_WORDS:] or "It said nothing."
        raise OutsideError(
            f"the base {pin.name} has no Python that runs at {python} (exit code {ran.code}).\n  {said}\n"
            "Name the path of its Python as `interpreter` in bases.toml, or what brings one as `packages`."
        )
    return facts


def _require_fitting(pin: Pin, facts: Facts) -> None:
    if (facts.implementation, facts.libc) != ("cpython", "glibc"):
        raise OutsideError(
            f"the base {pin.name} has {facts.implementation} on {facts.libc or 'an unknown C library'}: wheels of the"
            " frameworks need CPython and glibc. Take another base."
        )
    if pin.python and not facts.python.startswith(f"{pin.python}."):
        raise OutsideError(
            f"the base {pin.name} has Python {facts.python}, and its pin says {pin.python}.\nCorrect `python` (or"
            " `interpreter`) of the pin in bases.toml."
        )
