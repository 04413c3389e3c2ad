"""Which stacks of a matrix cannot work on this machine, by the rules of `compat`, said before anything is tried.

A matrix pins some packages, and the resolver chooses the rest: a rule that finds a package missing has no say here.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from packaging.version import Version

from ..compat.build_tags import tag_of
from ..compat.builds import torch_rows
from ..compat.check import Checker
from ..compat.doctor.asking import Deadline
from ..compat.doctor.driver import AskedDriver
from ..compat.gather import Gathered

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..compat.cell import Stack
    from ..compat.described import Description
    from ..compat.finding import Finding
    from .machine import Machine
    from .settings import RunSettings

_MATRIX: Final = "the matrix"
_HERE: Final = "this machine"
_MISSING: Final = "SP510"
_PATIENCE: Final = 6.0
# What `run.torch_backend` leaves to uv, and builds that use no NVIDIA GPU.
_OPEN: Final = frozenset({"auto", "default"})
_WITHOUT_CUDA: Final = ("cpu", "xpu", "rocm")


@dataclass(frozen=True)
class _Part:
    """A component of this machine: its name, its value and where it was read."""

    name: str
    text: str
    where: str = _HERE


def find_impossible(stacks: Iterable[Stack], run: RunSettings, machine: Machine) -> Mapping[Stack, tuple[Finding, ...]]:
    """Find the stacks that the rules call incompatible.

    Python, pinned packages and this machine's system are judged, and its driver and GPUs where a stack would run on
    them. Only errors prune: what warns, and what the rules leave open, is tried.

    Args:
        stacks: The stacks, in any order.
        run: How cells are run; without `prune` nothing is asked.
        machine: This machine.

    Returns:
        For each impossible stack the errors, by code; the others are not among the keys.
    """
    asked = dict.fromkeys(stacks) if run.prune else {}
    if not asked:
        return {}
    gpu = _read_gpu(machine) if any(_wants_gpu(stack, run) for stack in asked) else []
    judge = _Judge(run, _read_system(machine), gpu)
    found = {stack: judge.find_errors(stack) for stack in asked}
    return {stack: errors for stack, errors in found.items() if errors}


@dataclass(frozen=True)
class _Judge:
    """Asks the rules about stacks on this machine."""

    run: RunSettings
    system: Sequence[_Part]
    gpu: Sequence[_Part]
    checker: Checker = field(default_factory=Checker)

    def find_errors(self, stack: Stack) -> tuple[Finding, ...]:
        """Return why a stack is impossible: without a look at the GPU, else with every build that may be taken."""
        builds = _builds(stack, self.run)
        errors = self._errors(stack, builds[0], self.system)
        if errors or not self.gpu or not _wants_gpu(stack, self.run):
            return errors
        said = (self._errors(stack, build, [*self.system, *self.gpu]) for build in builds)
        errors = next(said)
        return errors if all(said) else ()

    def _errors(self, stack: Stack, build: str, machine: Sequence[_Part]) -> tuple[Finding, ...]:
        findings = self.checker.check(_describe(stack, build, machine)).findings
        return tuple(entry for entry in findings if entry.severity == "error" and entry.code != _MISSING)


def _describe(stack: Stack, build: str, machine: Sequence[_Part]) -> Description:
    gathered = Gathered(origins={"pip"}, env_vars=_loader_path())
    gathered.add_component("python", stack.python, _MATRIX)
    for name, version in ((stack.package, stack.version), *stack.packages):
        gathered.add_package(name, f"{version}{build}" if name == "torch" else version, _MATRIX)
    for part in machine:
        gathered.add_component(part.name, part.text, part.where)
    return gathered.describe()


def _loader_path() -> dict[str, str]:
    """Return the variable that workers keep and that may bring another driver library."""
    path = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": path} if path else {}


def _read_system(machine: Machine) -> list[_Part]:
    parts = [_Part("os", machine.os), _Part("machine", platform.machine())]
    library, version = platform.libc_ver()
    return [*parts, _Part("glibc", version)] if library == "glibc" and version else parts


def _read_gpu(machine: Machine) -> list[_Part]:
    """Return driver and GPU. Of GPUs of several kinds it is not known which one a cell runs on: none is named."""
    if machine.gpu is None or machine.driver is None:
        return []
    names = set(machine.gpu.split(", "))
    asked = Gathered()
    AskedDriver(os.environ).note(asked, Deadline(_PATIENCE))
    levels = [_Part("driver_cuda", claim.text, claim.where) for claim in asked.claims.get("driver_cuda", ())]
    return [_Part("driver", machine.driver), *levels, *(_Part("gpu", name) for name in names if len(names) == 1)]


def _wants_gpu(stack: Stack, run: RunSettings) -> bool:
    """Return whether a stack would run on this machine's GPU, if there is one.

    Under `auto` TensorFlow and JAX train on the CPU unless packages with their GPU code are pinned beside them.
    """
    if run.device == "cpu":
        return False
    names = {stack.package, *dict(stack.packages)}
    if "torch" in names:
        return not _backend(run).startswith(_WITHOUT_CUDA)
    return run.device == "cuda" or any(name.startswith("jax-cuda") for name in names)


def _backend(run: RunSettings) -> str:
    """Return the build of PyTorch that is asked for, as `containers.resolve` reads it."""
    return os.environ.get("UV_TORCH_BACKEND") or run.torch_backend if run.torch_backend in _OPEN else run.torch_backend


def _builds(stack: Stack, run: RunSettings) -> list[str]:
    """Return the tags of the builds of PyTorch that may be taken, the package index's own first.

    Which one it is only matters to a driver or GPU. Where uv is to choose, it may be any that exists.
    """
    version = {stack.package: stack.version, **dict(stack.packages)}.get("torch", "")
    if not version or "+" in version:
        return [""]
    backend = _backend(run)
    if backend not in _OPEN:
        return [f"+{backend}"]
    full = Version(version)
    rows = torch_rows(f"{full.major}.{full.minor}.{full.micro}")
    tags = [f"+{tag_of(row['cuda'])}" for row in rows if row["cuda"]]
    return ["", *dict.fromkeys(tags)]
