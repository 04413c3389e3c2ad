"""The control side of `onnx_suite.py`: environments, cases on disk, and a worker that is started anew when it dies."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from suite_cases import prepared

from stackproof.compat.errors import OutsideError
from stackproof.compat.pins import read_backend
from stackproof.containers.interpreter import find_python
from stackproof.containers.resolve import resolve
from stackproof.containers.venv import build_venv

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent
SUPPORT = ROOT / "tests" / "support"
_WORKER = Path(__file__).with_name("suite_worker.py")
# Of so many cases torch.compile is asked one: it takes seconds for each.
COMPILED_STEP = 24


@dataclass(frozen=True)
class Choice:
    """What is run: the cases by name, each framework with its Python, and whether the cases are all that count."""

    cases: Mapping[str, Any]
    pythons: Mapping[str, str]
    whole: bool


@dataclass(frozen=True)
class Worker:
    """How to evaluate on a framework: the target, its Python, the folder of prepared cases and further words."""

    target: str
    python: str
    folder: Path
    words: tuple[str, ...] = ()


def make_python(backend: str) -> str:
    """Return the Python of an environment with a backend at its pin, made once and kept in the cache folder."""
    stack = read_backend(backend, f"{sys.version_info.major}.{sys.version_info.minor}")
    interpreter = find_python(stack.python)
    return str(build_venv(resolve(stack, interpreter), interpreter).python)


def run_all(choice: Choice, *, compiled: bool) -> dict[str, dict[str, str]]:
    """Return by framework why each case fails, or an empty string."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        refused = prepare_all(folder, choice.cases, static=compiled)
        outcomes = {}
        for target, python in choice.pythons.items():
            names = [case for case in choice.cases if case not in refused]
            if compiled and target == "torch" and choice.whole:
                names = names[::COMPILED_STEP]
            worker = Worker(target, python, folder, ("--compile",) if compiled else ())
            outcomes[target] = {**refused, **dict(evaluate(worker, names))}
            print(f"{target}: {len(outcomes[target])} cases ran", file=sys.stderr)
        return outcomes


def prepare_all(folder: Path, cases: Mapping[str, Any], *, static: bool) -> dict[str, str]:
    """Write every case as workers read it; return why some cannot be."""
    made, refused = {}, {}
    for name, case in cases.items():
        try:
            made[name] = prepared(case, static=static)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong is the outcome
            refused[name] = f"import: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
    write_cases(folder, made)
    return refused


def write_cases(folder: Path, cases: Mapping[str, Any]) -> None:
    """Write what workers read."""
    for name, case in cases.items():
        (folder / f"{name}.case").write_bytes(pickle.dumps(case))


def evaluate(worker: Worker, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield each case's name with what the worker says of it; a case at which it dies is named, and the rest goes on.

    Raises:
        OutsideError: The framework cannot be imported.
    """
    waiting = list(names)
    while waiting:
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
            code = yield from _lifetime(worker, waiting, said)
            if waiting:
                said.seek(0)
                yield waiting.pop(0), f"the worker died ({code}): {' '.join(said.read().split())[-200:]}"


def _lifetime(worker: Worker, waiting: list[str], said: IO[str]) -> Iterator[tuple[str, Any]]:
    """Run one process until it ends, taking what it answers from those that wait; return its exit code."""
    command = [worker.python, str(_WORKER), worker.target, str(worker.folder), *worker.words]
    path = os.pathsep.join([str(ROOT), str(SUPPORT)])
    env = {**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONHASHSEED": "0"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": said}
    with subprocess.Popen(command, env=env, text=True, **pipes) as process:
        process.stdin.write("\n".join(waiting))
        process.stdin.close()
        ready = process.stdout.readline()
        for line in process.stdout:
            answer = json.loads(line)
            waiting.remove(answer["name"])
            yield answer["name"], answer["why"]
    if not ready:
        said.seek(0)
        raise OutsideError(f"{worker.target} cannot be imported by {worker.python}: {said.read()[-2000:]}")
    return process.returncode
