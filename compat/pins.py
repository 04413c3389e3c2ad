"""The stack that a backend's name stands for."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import Final

from .cell import FRAMEWORK_PACKAGES, Stack
from .errors import Fault, InputError, did_you_mean

_ASKED: Final = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(==(?P<version>[0-9][0-9A-Za-z.+!]*))?")


def backend_names() -> tuple[str, ...]:
    """Return the backends that need no version: `torch`, `tensorflow` and `jax`."""
    return tuple(_pins())


def read_backend(asked: str, python: str) -> Stack:
    """Return the stack that a user's words for a backend mean.

    Args:
        asked: A backend (`torch`), or a distribution that brings one with a version (`tensorflow-cpu==2.20.0`).
        python: Python as major.minor.

    Raises:
        InputError: The words name no backend.
    """
    pins, match = _pins(), _ASKED.fullmatch(asked.strip())
    if match is None:
        raise InputError(
            "--backend", [Fault("", f"{asked!r} is no backend: give a name such as torch or torch==2.13.0")]
        )
    name, version = match["name"].lower(), match["version"]
    if version is None and name in pins:
        return Stack(pins[name]["package"], pins[name]["version"], python)
    package = pins[name]["package"] if name in pins else name
    if package not in FRAMEWORK_PACKAGES:
        known = {*pins, *FRAMEWORK_PACKAGES}
        raise InputError("--backend", [Fault("", f"{name!r} is no backend: {did_you_mean(name, known)}")])
    if version is None:
        raise InputError("--backend", [Fault("", f"{name} needs a version, such as {name}==2.21.0")])
    return Stack(package, version, python)


def _pins() -> dict[str, dict[str, str]]:
    text = files(__package__).joinpath("data/pins.toml").read_text(encoding="utf-8")
    return {name: table for name, table in tomllib.loads(text).items() if isinstance(table, dict)}
