"""Write the reports into a folder, each file whole or not at all."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING, Any, Final

from ...compat.errors import OutsideError
from .html import render_html
from .junit import render_junit
from .markdown import render_markdown
from .model import finite

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MENDS: Final[dict[int, str]] = {
    errno.ENOSPC: "free some space there, or choose a folder on another disk with --out",
    errno.EDQUOT: "free some of your quota there, or choose a folder on another disk with --out",
    errno.EROFS: "the disk is mounted read-only: choose another folder with --out",
    errno.EACCES: "it must be writable for you: change its permissions, or choose another folder with --out",
    errno.EPERM: "it must be writable for you: change its permissions, or choose another folder with --out",
    errno.ENOTDIR: "a file of that name is in the way: move it, or choose another folder with --out",
    errno.EEXIST: "a file of that name is in the way: move it, or choose another folder with --out",
}


def render_json(report: Mapping[str, Any]) -> str:
    """Return the report as strict JSON in the order of the contract; numbers that are not finite become null."""
    return json.dumps(finite(report), indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def write_reports(report: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write `report.json`, `report.md`, `junit.xml` and `report.html`.

    Every file is rendered before the first is written, and each replaces its predecessor in one step.

    Args:
        report: The report dict (`model.Report`).
        folder: Where to write; made where it does not exist.

    Returns:
        The files, in the order above.

    Raises:
        OutsideError: The folder cannot be written; names folder and mend.
    """
    texts = {
        "report.json": render_json(report),
        "report.md": render_markdown(report),
        "junit.xml": render_junit(report),
        "report.html": render_html(report),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_replace(folder / name, text) for name, text in texts.items()]
    except OSError as error:
        mend = _MENDS.get(error.errno or 0, "see that it can be written, or choose another folder with --out")
        raise OutsideError(
            f"The reports could not be written to {folder}: {error.strerror or error}; {mend}."
        ) from error


def _replace(path: Path, text: str) -> Path:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("w", encoding="utf-8", errors="replace", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path
