"""What the archive does when an image's own Python runs it: `python -I ARCHIVE MODE [REQUEST.json]`.

Modes: `inspect` and `drivers` read a request and write a document to standard output, as JSON in ASCII. `ask` is
started by `inspect` itself: libraries are loaded there, apart from it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ...compat.doctor import ask_libraries
from .drivers import ask_drivers
from .examination import examine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_MODES: Final[dict[str, Callable[[Mapping[str, Any]], Any]]] = {"inspect": examine, "drivers": ask_drivers}


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments ask for, and return the exit code."""
    mode = arguments[0]
    if mode == "ask":
        ask_libraries.main()
        return 0
    document = _MODES[mode](json.loads(Path(arguments[1]).read_text(encoding="utf-8")))
    left = memoryview(json.dumps(document).encode("ascii"))
    while left:
        left = left[os.write(1, left) :]
    return 0
