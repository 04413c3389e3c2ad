"""From a lock to a venv: made once, checked by hashes, shared by every run on this machine."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..compat.errors import Fault, InputError
from .diagnose import diagnose, disk_error
from .holding import hold
from .uv import Finished, run_uv

if TYPE_CHECKING:
    import threading

    from ..compat.lock import Lock
    from .interpreter import Interpreter

# Written last: an environment without it is half-made.
_MARKER: Final = "stackproof-environment.json"
_INSTALL: Final = (
    *("pip", "install", "--require-hashes", "--no-deps", "--only-binary", ":all:", "--no-compile-bytecode"),
    *("--requirements", "-"),
)


@dataclass(frozen=True)
class Environment:
    """A lock made real as a venv, or a venv of the user's own.

    Attributes:
        path: Folder of the venv.
        python: Its interpreter.
        lock_digest: Digest of the lock it was made from; None for a venv of the user's own.
        reused: Whether it was there already.
    """

    path: Path
    python: Path
    lock_digest: str | None
    reused: bool = False


@dataclass(frozen=True)
class _Work:
    lock: Lock
    interpreter: Interpreter
    folder: Path
    held: int
    cancel: threading.Event | None

    @property
    def doing(self) -> str:
        return f"making the environment of {self.lock.stack}"


def cache_folder() -> Path:
    """Return the folder for what can be made again: STACKPROOF_CACHE, or the user's cache folder."""
    if given := os.environ.get("STACKPROOF_CACHE"):
        return Path(given).expanduser().absolute()
    from platformdirs import user_cache_path  # noqa: PLC0415 - the command line must start without it

    return user_cache_path("stackproof")


def build_venv(
    lock: Lock, interpreter: Interpreter, cache: Path | None = None, cancel: threading.Event | None = None
) -> Environment:
    """Make the venv of a lock, or find it where it is made already.

    Processes that want the same one wait for each other. One that died half-way leaves a folder without a marker, which
    the next wipes; a `uv` that outlived its parent still holds the lock until it has ended.

    Args:
        lock: What to install.
        interpreter: The Python that the lock was resolved for.
        cache: Folder to make it in; `cache_folder()` if not given.
        cancel: Stops it when set.

    Raises:
        UnsolvableError: The indexes no longer have what the lock names.
        OutsideError: The index, the network or the disk failed.
        StoppedError: `cancel` was set.
    """
    folder = (cache or cache_folder()).absolute() / "envs" / lock.digest[:16]
    doing = f"making the environment of {lock.stack}"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if _is_complete(folder, lock.digest):
            return Environment(folder, _python_of(folder), lock.digest, reused=True)
        with hold(folder.with_suffix(".lock"), doing, cancel) as held:
            if _is_complete(folder, lock.digest):
                return Environment(folder, _python_of(folder), lock.digest, reused=True)
            _build(_Work(lock, interpreter, folder, held, cancel))
    except OSError as error:
        raise disk_error(doing, error) from error
    return Environment(folder, _python_of(folder), lock.digest)


def environment_of(path: Path | str) -> Environment:
    """Return a venv of the user's own, given by its folder or its interpreter.

    Raises:
        InputError: There is no interpreter.
    """
    given = Path(path).expanduser().absolute()
    python = given if given.is_file() else _python_of(given)
    if not os.access(python, os.X_OK):
        raise InputError(
            str(path), [Fault("", f"is no venv: there is no Python at {python}. Make one with `uv venv`.")]
        )
    return Environment(python.parent.parent, python, None)


def _build(work: _Work) -> None:
    if work.folder.exists():
        shutil.rmtree(work.folder)
    try:
        python = str(work.interpreter.path or work.interpreter.version)
        made = _run(work, ["venv", "--no-project", "--python", python, str(work.folder)])
        _require(work, made)
        _install(work)
        _mark(work)
    except BaseException:
        shutil.rmtree(work.folder, ignore_errors=True)
        raise


def _install(work: _Work) -> None:
    """Install as configured; where that lacks a locked local version, from the index of that build of PyTorch."""
    target = ["--python", str(_python_of(work.folder))]
    finished = _run(work, [*_INSTALL, *target], work.lock.to_requirements())
    local = (work.lock.version("torch") or "").partition("+")[2]
    if finished.code != 0 and local and diagnose(finished.stderr).kind == "unsolvable":
        finished = _run(work, [*_INSTALL, *target, "--torch-backend", local], work.lock.to_requirements())
    _require(work, finished)


def _run(work: _Work, arguments: list[str], stdin: str = "") -> Finished:
    return run_uv(arguments, stdin=stdin, keep_open=[work.held], cancel=work.cancel)


def _require(work: _Work, finished: Finished) -> None:
    if finished.code != 0:
        raise diagnose(finished.stderr).error(work.doing)


def _mark(work: _Work) -> None:
    marker = work.folder / _MARKER
    written = marker.with_suffix(".new")
    facts = {"lock_digest": work.lock.digest, "stack": work.lock.stack, "python": work.lock.python}
    with written.open("w", encoding="utf-8") as file:
        json.dump(facts, file)
        file.flush()
        os.fsync(file.fileno())
    written.replace(marker)


def _is_complete(folder: Path, digest: str) -> bool:
    try:
        facts = json.loads((folder / _MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(facts, dict) and facts.get("lock_digest") == digest and os.access(_python_of(folder), os.X_OK)


def _python_of(folder: Path) -> Path:
    return folder / "bin" / "python"
