"""Put the driver question to the CUDA runtimes of this system, once for each driver, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_PATIENCE: Final = 30.0
_SHOWN: Final = 300
_AT_ONCE: Final = 4


def ask_drivers(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what each runtime answers on each driver.

    Args:
        request: `question`: a program that takes the stand-in driver and a runtime. `twin`: the stand-in's library.
            `runtimes`: paths. `drivers`: each with a `name` and the `variables` under which the stand-in is that one.
    """
    pairs = [(runtime, driver) for runtime in request["runtimes"] for driver in request["drivers"]]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda pair: _ask(request, *pair), pairs))


def _ask(request: Mapping[str, Any], runtime: str, driver: Mapping[str, Any]) -> dict[str, Any]:
    folders = [request["twin"].rpartition("/")[0], *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    answer: dict[str, Any] = {"driver": driver["name"], "runtime": runtime, "code": None, "error": None}
    try:
        ended = subprocess.run(
            [sys.executable, "-I", "-S", request["question"], request["twin"], runtime],
            env={**os.environ, **driver["variables"], "LD_LIBRARY_PATH": ":".join(folders)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {**answer, "error": str(error)[:_SHOWN]}
    try:
        said = json.loads(ended.stdout)
    except ValueError:
        return {**answer, "error": f"exit code {ended.returncode}: {os.fsdecode(ended.stderr)[-_SHOWN:]}"}
    if "unusable" in said:
        return {**answer, "error": str(said["unusable"])[:_SHOWN]}
    if not said["asked"]:  # without a driver it answers 35 as well
        return {**answer, "error": f"it answered {said['code']} without asking the stand-in driver"}
    return {**answer, "code": said["code"], "name": said["name"], "version": said["version"]}
