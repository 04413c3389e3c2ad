"""The worker, packed: this folder as one zip, the same bytes wherever and whenever it is made.

Runs on the control side. An environment under test runs the zip with its own Python:
`python -I worker-<hash>.zip JOB.json EVIDENCE.json`.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOP = '"""stackproof, as much of it as runs inside an environment under test."""\n'
_MAIN = """import sys

from stackproof.backends.worker import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip can state
_UNIX = 3
_FILE_MODE = 0o100644 << 16


def bundle(source: Path | None = None) -> bytes:
    """Return the worker's zip.

    Entries are sorted and stored as they are: compressed bytes would depend on the compressor's version.

    Args:
        source: The folder to pack as `stackproof/backends`; this one if not given.
    """
    folder = Path(__file__).resolve().parent if source is None else source
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(_entries(folder)):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = _UNIX
            entry.external_attr = _FILE_MODE
            archive.writestr(entry, content)
    return buffer.getvalue()


def write_bundle(folder: Path, source: Path | None = None) -> Path:
    """Write the worker's zip, named by its content, where it is not there yet.

    Args:
        folder: Where to write it; made if it is not there.
        source: As for `bundle`.

    Returns:
        The file, `worker-<first 16 digits of its SHA-256>.zip`.

    Raises:
        OSError: The folder cannot be written.
    """
    content = bundle(source)
    path = folder / f"worker-{hashlib.sha256(content).hexdigest()[:16]}.zip"
    if path.is_file() and path.read_bytes() == content:
        return path
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, prefix=path.stem, suffix=".new")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def _entries(folder: Path) -> Iterator[tuple[str, bytes]]:
    yield "__main__.py", _MAIN.encode()
    yield "stackproof/__init__.py", _TOP.encode()
    for path in folder.rglob("*.py"):
        yield f"stackproof/backends/{path.relative_to(folder).as_posix()}", path.read_bytes()
