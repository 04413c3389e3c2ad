"""Package names as package indexes compare them."""

from __future__ import annotations

import re
from functools import lru_cache


@lru_cache(maxsize=65536)
def normalise(name: str) -> str:
    """Return a package's name in its canonical form (PEP 503): `Flash_Attn` is `flash-attn`."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
