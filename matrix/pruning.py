"""Which stacks of a matrix cannot work on this machine, by the rules of `compat`, said before anything is tried.

A matrix pins some packages, and the resolver chooses the rest: a rule that finds a package missing has no say here.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from packaging.requirements import Requirement
from packaging.version import Version

from ..compat.build_tags import tag_of
from ..compat.builds import JAX_PLUGINS, torch_rows
from ..compat.check import Checker
from ..compat.doctor.asking import Deadline
from ..compat.doctor.driver import AskedDriver
from ..compat.gather import Gathered
from ..compat.releases import row_of
from .bases import base_name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..compat.cell import Stack
    from ..compat.described import Description
    from ..compat.finding import Finding
    from ..containers.bases.pins import Pins
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


def find_impossible(
    stacks: Iterable[Stack],
    run: RunSettings,
    machine: Machine,
    bases: Pins | None = None,
    *,
    forward_compat: bool = False,
) -> Mapping[Stack, tuple[Finding, ...]]:
    """Find the stacks that the rules call incompatible.

    Python, pinned packages and the system are judged, and this machine's driver and GPUs where a stack would run on
    them. Only errors prune: what warns, and what the rules leave open, is tried.

    Args:
        stacks: The stacks, in any order.
        run: How cells are run; without `prune` nothing is asked.
        machine: This machine.
        bases: Where stacks become images, what is known of base images: their systems are judged in place of this
            machine's. None where they become venvs.
        forward_compat: Whether images bring a driver library of their own, so that the driver here decides nothing.

    Returns:
        For each impossible stack the errors, by code; the others are not among the keys.
    """
    asked = dict.fromkeys(stacks) if run.prune else {}
    if not asked:
        return {}
    gpu = _read_gpu(machine) if any(_wants_gpu(stack, run) for stack in asked) else []
    if forward_compat and bases is not None:
        gpu = [part for part in gpu if part.name == "gpu"]
    judge = _Judge(run, _read_system(machine), gpu, bases)
    found = {stack: judge.find_errors(stack) for stack in asked}
    return {stack: errors for stack, errors in found.items() if errors}


@dataclass(frozen=True)
class _Judge:
    """Asks the rules about stacks on this machine."""

    run: RunSettings
    system: Sequence[_Part]
    gpu: Sequence[_Part]
    bases: Pins | None = None
    checker: Checker = field(default_factory=Checker)

    def find_errors(self, stack: Stack) -> tuple[Finding, ...]:
        """Return why a stack is impossible: without a look at the GPU, else with every build that may be taken."""
        builds = _builds(stack, self.run)
        system = self.system if self.bases is None else _read_base(stack, self.bases)
        errors = self._errors(stack, builds[0], system)
        if errors or not self.gpu or not _wants_gpu(stack, self.run):
            return errors
        said = (self._errors(stack, build, [*system, *self.gpu]) for build in builds)
        errors = next(said)
        return errors if all(said) else ()

    def _errors(self, stack: Stack, build: str, machine: Sequence[_Part]) -> tuple[Finding, ...]:
        variables = _loader_path() if self.bases is None else {}
        findings = self.checker.check(_describe(stack, build, machine, variables)).findings
        return tuple(entry for entry in findings if entry.severity == "error" and entry.code != _MISSING)


def _describe(
    stack: Stack, build: str, machine: Sequence[_Part], variables: Mapping[str, str] | None = None
) -> Description:
    gathered = Gathered(origins={"pip"}, env_vars=dict(variables or {}))
    gathered.add_component("python", stack.python, _MATRIX)
    extras = {stack.package: stack.extras}
    for name, version in (*_plugins(stack), (stack.package, stack.version), *stack.packages):
        known = f"{version}{build}" if name == "torch" else version
        gathered.add_package(name, known, _MATRIX, extras.get(name, ()))
    for part in machine:
        gathered.add_component(part.name, part.text, part.where)
    return gathered.describe()


def _plugins(stack: Stack) -> Iterator[tuple[str, str]]:
    """Yield the JAX plugins that extras bring in the release of JAX: a driver and a GPU are held against them."""
    row = row_of(stack.package, stack.version)
    brought = row.get("extras", {}) if row is not None else {}
    for extra in stack.extras:
        for wanted in map(Requirement, brought.get(extra, ())):
            fits = wanted.name in JAX_PLUGINS and wanted.specifier.contains(stack.version)
            if fits and wanted.name not in dict(stack.packages):
                yield wanted.name, stack.version


def _loader_path() -> dict[str, str]:
    """Return the variable that workers keep and that may bring another driver library."""
    path = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": path} if path else {}


def _read_system(machine: Machine) -> list[_Part]:
    parts = [_Part("os", machine.os), _Part("machine", platform.machine())]
    library, version = platform.libc_ver()
    return [*parts, _Part("glibc", version)] if library == "glibc" and version else parts


def _read_base(stack: Stack, bases: Pins) -> list[_Part]:
    """Return system, machine and C library of the image that a stack's own is built on, as far as they are known."""
    name = base_name_of(stack, bases)
    where = f"the base image {name}"
    parts = [_Part("machine", platform.machine()), *([_Part("os", name, where)] if name else [])]
    glibc = bases.find(name).glibc if name else ""
    return [*parts, _Part("glibc", glibc, where)] if glibc else parts


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

    Under `auto` TensorFlow and JAX train on the CPU unless their GPU code is asked for, by packages pinned beside them
    or by an extra.
    """
    if run.device == "cpu":
        return False
    names = {stack.package, *dict(stack.packages)}
    if any(name.startswith("jax-cuda") for name in names) or any("cuda" in extra for extra in stack.extras):
        return True
    if "torch" in names:
        return not _backend(run).startswith(_WITHOUT_CUDA)
    return run.device == "cuda"


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
