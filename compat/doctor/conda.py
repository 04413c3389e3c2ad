"""Read a conda environment's own list of packages, where there is one."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from ..known import parse_known
from ..readers.names import package_name
from .installed import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..gather import Gathered

_MOST_BYTES: Final = 64 * 1024 * 1024
_COMPONENTS: Final = {"cudatoolkit": "cuda", "cudnn": "cudnn", "nccl": "nccl"}
_BUILD: Final = re.compile(r"cuda[_-]?(\d+)\.?(\d)|(?<![a-z])cuda(\d{3})|cpu")


def read_conda(prefix: Path, installed: frozenset[str], gathered: Gathered) -> None:
    """Note what conda installed; a package whose own metadata was read already is not told twice.

    Args:
        prefix: The environment's folder.
        installed: Packages that are known from their own metadata.
        gathered: Gets packages, the components among them, origins, and what was not understood.
    """
    for path, record in _records(prefix, gathered):
        name, version = str(record.get("name", "")), str(record.get("version", ""))
        gathered.origins.add("conda")
        tag = _build_tag(str(record.get("build", "")))
        known_as = package_name(name)
        if name in _COMPONENTS:
            gathered.add_component(_COMPONENTS[name], version, str(path))
        elif known_as == "torch" and tag:
            gathered.add_package(known_as, f"{version}+{tag}", str(path))
        elif known_as not in installed and not name.startswith("_") and parse_known(version) is not None:
            gathered.add_package(known_as, version, str(path))


def _records(prefix: Path, gathered: Gathered) -> Iterator[tuple[Path, dict[str, Any]]]:
    try:
        paths = sorted((prefix / "conda-meta").glob("*.json"))
    except OSError:
        return
    for path in paths:
        try:
            record = json.loads(read_text(path, _MOST_BYTES))
        except (json.JSONDecodeError, RecursionError):
            record = None
        if isinstance(record, dict) and record.get("name") and record.get("version"):
            yield path, record
        else:
            gathered.skip(f"{path}: no record of a package")


def _build_tag(build: str) -> str | None:
    """Return `cu121` of a build such as `py3.11_cuda12.1_cudnn8.9.2_0`, or `cpu`; None where it says neither."""
    match = _BUILD.search(build)
    if match is None:
        return None
    return "cpu" if match[0] == "cpu" else f"cu{match[1]}{match[2]}" if match[1] else f"cu{match[3]}"
