"""The inspector, packed: what runs inside an image as one zip, the same bytes wherever and whenever it is made."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGES: Final = ("stackproof", "stackproof/compat", "stackproof/compat/doctor", "stackproof/containers")
_DOCTOR: Final = ("elf.py", "ask_libraries.py")
_MAIN: Final = """import sys

from stackproof.containers.inside.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip can state
_UNIX, _FILE_MODE = 3, 0o100644 << 16


def pack_inspector() -> bytes:
    """Return the zip that an image's Python runs."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(_entries()):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = _UNIX
            entry.external_attr = _FILE_MODE
            archive.writestr(entry, content)
    return buffer.getvalue()


def _entries() -> Iterator[tuple[str, bytes]]:
    yield "__main__.py", _MAIN.encode()
    for package in _PACKAGES:
        yield f"{package}/__init__.py", b'"""As much of stackproof as looks at an image from within."""\n'
    top = Path(__file__).resolve().parents[2]
    for name in _DOCTOR:
        yield f"stackproof/compat/doctor/{name}", (top / "compat" / "doctor" / name).read_bytes()
    for path in (top / "containers" / "inside").glob("*.py"):
        yield f"stackproof/containers/inside/{path.name}", path.read_bytes()
