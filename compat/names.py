"""Names as they are compared: of packages, and of systems."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_WINDOWS: Final = re.compile(r"windows|\bwin ?(?:\d|x64|x86)", re.IGNORECASE)


@lru_cache(maxsize=65536)
def normalise(name: str) -> str:
    """Return a package's name in its canonical form (PEP 503): `Flash_Attn` is `flash-attn`."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


@lru_cache(maxsize=1024)
def is_windows(system: str) -> bool:
    """Return whether an operating system's name, such as `Windows 11` or `win10`, is native Windows: WSL is Linux."""
    return _WINDOWS.search(system) is not None and "wsl" not in system.lower()
