"""From a stack to its lock: `uv pip compile`, with hashes, wheels only."""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..compat.errors import Fault, InputError, OutsideError, UnsolvableError
from ..compat.lock import Lock, Package
from .diagnose import diagnose
from .uv import Finished, run_uv

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..compat.cell import Stack
    from .interpreter import Interpreter

_COMPILE: Final = (
    *("pip", "compile", "--generate-hashes", "--only-binary", ":all:"),
    *("--no-annotate", "--no-header"),
)
_PIN: Final = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^]]*])?==(?P<version>[^\s;\\]+)")
_HASH: Final = re.compile(r"--hash=(\S+)")
_RUNTIME: Final = re.compile(r"nvidia-cuda-runtime(-cu\d+)?")
# uv only warns, and locks the package without it.
_NO_EXTRA: Final = re.compile(r"package `(?P<package>[^`]+)` does not have an extra named `(?P<extra>[^`]+)`")
_MANYLINUX: Final = re.compile(r"manylinux_2_(?P<minor>[0-9]+)_(?P<machine>x86_64|aarch64)")
# The newest C library that uv has a platform for; wheels for newer ones are not known to exist.
_NEWEST_GLIBC: Final = 40
_PLUGIN: Final = re.compile(r"jax-(cuda\d*|rocm\d*|metal)-?(plugin|pjrt)?|libtpu")

# Torch backends whose index did not answer, or lacks what is asked, cost a wait each time: asked once a process.
_unreachable: set[str] = set()
_asking = threading.Lock()


@dataclass(frozen=True)
class _Question:
    stack: Stack
    interpreter: Interpreter
    base: str
    cancel: threading.Event | None

    @property
    def doing(self) -> str:
        return f"resolving {self.stack.id}"


def resolve(
    stack: Stack,
    interpreter: Interpreter,
    torch_backend: str = "auto",
    cancel: threading.Event | None = None,
    *,
    base: str = "",
) -> Lock:
    """Resolve a stack to its exact packages, with hashes.

    Args:
        stack: The stack.
        interpreter: The Python that the packages are for.
        torch_backend: Which build of PyTorch to take. `default`: what the configured indexes give. A name of uv's
            `--torch-backend`: that build or none. `auto`: what suits this machine (on one without an NVIDIA driver, the
            CPU build), and the default build where the index of such builds cannot be reached or lacks the version.
            Where UV_TORCH_BACKEND is set, `auto` and `default` leave the choice to it.
        cancel: Stops it when set.
        base: The image to build on, with its digest; empty for a venv.

    Raises:
        InputError: uv knows no such torch backend.
        UnsolvableError: No set of packages satisfies the stack.
        OutsideError: The index, the network or the disk failed.
        StoppedError: `cancel` was set.
    """
    question = _Question(stack, interpreter, base, cancel)
    if not _has_torch(stack) or (torch_backend in {"auto", "default"} and os.environ.get("UV_TORCH_BACKEND")):
        return _lock(question, _compile_or_raise(question, ()))
    if torch_backend == "auto":
        return _lock(question, _compile_for_machine(question))
    chosen = () if torch_backend == "default" else ("--torch-backend", torch_backend)
    return _lock(question, _compile_or_raise(question, chosen))


def parse_packages(requirements: str) -> tuple[Package, ...]:
    """Read the requirements that `uv pip compile --generate-hashes` writes, sorted by name."""
    packages = []
    for entry in requirements.replace("\\\n", " ").splitlines():
        if pin := _PIN.match(entry.strip()):
            name = re.sub(r"[-_.]+", "-", pin["name"]).lower()
            packages.append(Package(name, pin["version"], tuple(sorted(_HASH.findall(entry)))))
    return tuple(sorted(packages, key=lambda package: package.name))


def find_build(framework: str, packages: Sequence[Package]) -> tuple[str, str]:
    """Tell which build of a framework a set of packages holds, and how that is known.

    Args:
        framework: The distribution that brings the framework, such as `torch`.
        packages: The whole set.

    Returns:
        The build, such as `cpu`, `cu132` or `default`, and its source.
    """
    versions = {package.name: package.version for package in packages}
    local = versions.get(framework, "").partition("+")[2]
    if local:
        return local, "local version"
    if runtime := next((name for name in versions if _RUNTIME.fullmatch(name)), ""):
        major, minor = versions[runtime].split(".")[:2]
        return f"cu{major}{minor}", f"dependency {runtime} {versions[runtime]}"
    if framework == "tensorflow-cpu":
        return "cpu", "package tensorflow-cpu"
    if framework == "jax" and not any(_PLUGIN.fullmatch(name) for name in versions):
        return "cpu", "no accelerator plugin"
    return "default", "not stated"


def has_driver() -> bool:
    """Say whether this machine has an NVIDIA driver."""
    return Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None


def _has_torch(stack: Stack) -> bool:
    return "torch" in {stack.package, *(name for name, _ in stack.packages)}


def _compile_for_machine(question: _Question) -> str:
    """Compile with the torch build that suits this machine, and with the default build where there is none."""
    if has_driver():
        suiting = _try_backend(question, "auto")
        return suiting if suiting is not None else _compile_or_raise(question, ())
    plain = _compile(question, ())
    if plain.code == 0:
        build, _ = find_build("torch", parse_packages(plain.stdout))
        suiting = None if build == "cpu" else _try_backend(question, "cpu")
    elif diagnose(plain.stderr).kind == "unsolvable":
        suiting = _try_backend(question, "cpu")
    else:
        suiting = None
    return suiting if suiting is not None else _require(question, plain)


def _try_backend(question: _Question, backend: str) -> str | None:
    """Compile with a torch backend; None where its index cannot be reached or lacks what is asked."""
    with _asking:
        if backend in _unreachable:
            return None
        # Retries would make an index that cannot be reached cost eight seconds.
        finished = _compile(question, ("--torch-backend", backend), {"UV_HTTP_RETRIES": "0"})
        if finished.code == 0:
            return finished.stdout
        failure = diagnose(finished.stderr)
        if failure.kind in {"unreachable", "refused", "offline"}:
            _unreachable.add(backend)
        elif failure.kind != "unsolvable":
            raise failure.error(question.doing)
        return None


def _compile(question: _Question, chosen: Sequence[str], variables: Mapping[str, str] | None = None) -> Finished:
    finished = run_uv(
        [*_COMPILE, *_target(question.interpreter), *chosen, "-"],
        stdin="\n".join(question.stack.requirements),
        variables=variables,
        time_limit=600.0,
        cancel=question.cancel,
    )
    if unknown := _NO_EXTRA.search(finished.stderr):
        what = f"{unknown['package']} has no extra named {unknown['extra']}"
        raise UnsolvableError(f"{question.doing}: {what}.\nMend the extra, or remove it.")
    return finished


def _target(interpreter: Interpreter) -> tuple[str, ...]:
    """Return what tells uv for which Python and platform to resolve."""
    if interpreter.path is not None:
        return ("--python", str(interpreter.path))
    match = _MANYLINUX.fullmatch(interpreter.platform)
    if match is None:
        raise InputError("platform", [Fault("", f"{interpreter.platform} is no platform of images with glibc")])
    minor = min(int(match["minor"]), _NEWEST_GLIBC)
    platform = f"{match['machine']}-manylinux_2_{minor}"
    return ("--python", sys.executable, "--python-version", interpreter.version, "--python-platform", platform)


def _compile_or_raise(question: _Question, chosen: Sequence[str]) -> str:
    return _require(question, _compile(question, chosen))


def _require(question: _Question, finished: Finished) -> str:
    if finished.code == 0:
        return finished.stdout
    if "'--torch-backend" in finished.stderr:
        what = " ".join(finished.stderr.split("\n\n")[0].split()).removeprefix("error: ")
        raise InputError("torch_backend", [Fault("", what)])
    raise diagnose(finished.stderr).error(question.doing)


def _lock(question: _Question, requirements: str) -> Lock:
    stack = question.stack
    packages = parse_packages(requirements)
    if not packages or any(not package.hashes for package in packages):
        raise OutsideError(
            f"{question.doing}: uv gave packages without hashes, so the lock could not be checked later.\nThe index may"
            " not state hashes: use one that does."
        )
    build, source = find_build(stack.package, packages)
    python = question.interpreter
    return Lock(stack.id, python.version, python.platform, packages, build, source, question.base)
