"""Run the inspector inside an image, with the image's own Python, and read its answer without trusting it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ...compat.errors import OutsideError
from ..diagnose import tidy
from ..engine.container import ContainerRequest, run_container
from .archive import pack_inspector

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping
    from pathlib import Path

    from ..engine.connect import Engine

_ARCHIVE: Final = "/job/inspector.zip"
_REQUEST: Final = "/job/request.json"
_TIME_LIMIT: Final = 600.0
_LINES: Final = 8
# Reading files of any owner is all that the inspector may do beyond its own.
_CAPABILITIES: Final = ("DAC_READ_SEARCH",)


def run_inspector(
    engine: Engine,
    image: str,
    command: tuple[str, str],
    request: Mapping[str, Any],
    files: Mapping[str, Path | bytes] | None = None,
    cancel: threading.Event | None = None,
) -> object:
    """Return what the inspector writes: JSON, whose form its reader has to check.

    Args:
        engine: The engine that has the image.
        image: The image.
        command: The Python in the image, and the inspector's mode.
        request: What the mode takes.
        files: Further files below `/job`.
        cancel: Stops it when set.

    Raises:
        OutsideError: The engine failed, or nothing that can be read came back.
        StoppedError: `cancel` was set.
    """
    python, mode = command
    asked = ContainerRequest(
        image=image,
        command=(python, "-I", _ARCHIVE, mode, _REQUEST),
        files={_ARCHIVE: pack_inspector(), _REQUEST: json.dumps(request).encode(), **(files or {})},
        user="0:0",
        capabilities=_CAPABILITIES,
    )
    ended = run_container(engine, asked, _TIME_LIMIT, cancel)
    if ended.timed_out:
        raise OutsideError(f"inspecting {image} did not end within {_TIME_LIMIT:.0f} s. Try again on an idle machine.")
    if ended.code != 0:
        raise OutsideError(_failed(image, python, ended.code, ended.stderr))
    try:
        return json.loads(ended.stdout)
    except (ValueError, RecursionError) as error:
        raise OutsideError(
            f"inspecting {image} gave no document: {error}. Its Python at {python} is not what it should be: build the"
            " image again."
        ) from error


def _failed(image: str, python: str, code: int, stderr: bytes) -> str:
    said = "\n".join(f"  {line}" for line in tidy(stderr.decode(errors="replace")).splitlines()[-_LINES:])
    return (
        f"inspecting {image} ended with exit code {code}.\n{said or '  It said nothing.'}\n"
        f"The image needs a Python of 3.9 or newer at {python}: build it again, or name the right one."
    )
