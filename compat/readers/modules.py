"""Environment modules of clusters: `module load cuda/11.8` and the list of what is loaded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .patterns import Lazy

if TYPE_CHECKING:
    from .reading import Reading

_LINE: Final = Lazy(r".*\b(?:module|ml)\s+(?:load|add|swap)?\s*\S.*|\s*\d+\)\s+\S+/\S.*")
_MODULE: Final = Lazy(r"(?:^|[\s/])(cuda|cudatoolkit|cudnn|nccl|python)/(\d+(?:\.\d+){1,3})", re.IGNORECASE)
_COMPONENTS: Final = {"cuda": "cuda", "cudatoolkit": "cuda", "cudnn": "cudnn", "nccl": "nccl", "python": "python"}


def read_line(reading: Reading, line: str, where: str) -> bool:
    """Read a line that loads or lists modules; return whether it names one that matters."""
    if "/" not in line or not _LINE.fullmatch(line):
        return False
    found = _MODULE.groups(line)
    for name, version in found:
        reading.add(_COMPONENTS[name.lower()], version, where)
    return bool(found)
