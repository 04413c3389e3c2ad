"""Names and versions that a matrix may hold: what passes here is safe as a requirement, a file name and an argument."""

from __future__ import annotations

import difflib
import json
import re
from typing import Final

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from ..backends.readers import Refusal, show, text
from ..compat.cell import FRAMEWORK_PACKAGES

PYTHONS: Final = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")

# Axes of the design that this version can neither vary nor pin yet.
NOT_BUILT: Final = frozenset({"cuda", "cudnn", "nccl", "gpu"})

# What a matrix says elsewhere, with the mend.
_ELSEWHERE: Final = {
    "driver": "is no axis: list the drivers that images are asked about under `image.drivers`",
    "glibc": 'is no axis: the C library follows from `os`, such as os = ["debian:bookworm"]',
    "libc": 'is no axis: the C library follows from `os`, such as os = ["debian:bookworm"]',
    "spec": "is no axis: specs are listed under the top-level key `specs`",
    "specs": "is no axis: specs are listed under the top-level key `specs`",
    "extras": "is no axis: a stack has `extras` in an [[include]]",
    "framework": "is no axis: an [[include]] of several frameworks says by `framework` which one its specs run on",
}

MEANT: Final = {
    "pytorch": "torch",
    "py-torch": "torch",
    "tf": "tensorflow",
    "tensorflow-gpu": "tensorflow",
    "tf-cpu": "tensorflow-cpu",
    "tensor-flow": "tensorflow",
    "google-jax": "jax",
    "py": "python",
    "python3": "python",
    "python-version": "python",
    "operating-system": "os",
}

# Distributions whose names are near to a framework's by intention.
_REAL_NEIGHBOURS: Final = frozenset({"torchx"})
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST = 64


def axis_fault(name: str) -> str:
    """Return why a name cannot be an axis, with the mend; empty where it can."""
    plain = canonicalize_name(name)
    if plain in NOT_BUILT:
        return "this axis is not built yet: a stack varies base image, Python and Python packages so far, remove it"
    if plain in MEANT:
        return f"is no axis: write {MEANT[plain]}"
    if plain in _ELSEWHERE:
        return _ELSEWHERE[plain]
    if not _NAME.fullmatch(plain) or len(plain) > _LONGEST:
        return "is no name of a Python distribution: write it as the package index does, such as numpy"
    if plain != name:
        return f"is not in normalised form: write {plain}"
    near = _misspelled(name)
    return f"is no framework: did you mean {near!r}?" if near else ""


def _misspelled(name: str) -> str:
    known = [*FRAMEWORK_PACKAGES, "python"]
    if name in known or name in _REAL_NEIGHBOURS:
        return ""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
    return close[0] if close and abs(len(close[0]) - len(name)) <= 1 else ""


def version(value: object) -> str:
    """Read an exact version in its normal form."""
    given = quoted(value)
    try:
        normal = str(Version(given)) if len(given) <= _LONGEST else ""
    except InvalidVersion:
        normal = ""
    if not normal:
        raise Refusal(f'{show(given)} is no exact version: write one version without operators, such as "2.13.0"')
    if normal != given:
        raise Refusal(f"{show(given)} is not in normal form: write {json.dumps(normal)}")
    return given


def python(value: object) -> str:
    """Read a Python version as major.minor."""
    given = quoted(value)
    if given in PYTHONS:
        return given
    short = ".".join(given.split(".")[:2])
    mend = f": write {json.dumps(short)}" if short in PYTHONS else f": known are {PYTHONS[0]} to {PYTHONS[-1]}"
    raise Refusal(f"{show(given)} is no Python that a stack may have{mend}")


def extra(value: object) -> str:
    """Read the name of an extra in its normal form."""
    given = text(value)
    plain = canonicalize_name(given)
    if not _NAME.fullmatch(plain) or len(plain) > _LONGEST:
        raise Refusal(f'{show(given)} is no name of an extra: write it as the package does, such as "cuda12"')
    if plain != given:
        raise Refusal(f"{show(given)} is not in normalised form: write {json.dumps(plain)}")
    return given


def quoted(value: object) -> str:
    """Read a version as text, of whatever form."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        lost = ", for a bare 3.10 is read as 3.1" if isinstance(value, float) else ""
        raise Refusal(f'versions are text{lost}: put it in quotes, as "{show(value)}"')
    raise Refusal(f"must be a version in quotes, not {show(value)}")
