"""What a cell's processes are asked to do, and the keys that their results are kept under."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from ..backends.mixed import PRECISIONS
from ..backends.noise import FLOAT32_UNIT, NARROW_UNITS
from ..compat.cell import FRAMEWORK_PACKAGES
from ..containers.resolve import has_driver
from .store import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ..backends.spec import Spec
    from ..compat.cell import Stack
    from ..compat.lock import Lock
    from .config import RunSettings, ThroughputSettings
    from .machine import Machine

SCHEMA_VERSION: Final = 1
# How many noise runs each cell makes, and how large their noise is: so large that what happens at a branch near which
# the run passes (a ReLU about to change its side) happens in some of them.
NOISE_DRAWS: Final = 8
NOISE_UNIT: Final = 16.0 * FLOAT32_UNIT

# Whether a framework's float64 reference is compiled. It only has to be right; this is what is quickest for each.
_REFERENCE_COMPILED: Final = {"torch": False, "tensorflow": False, "jax": True}

# Variables that choose where packages come from; see `containers.uv`.
_INDEX_SETTINGS: Final = (
    *("UV_INDEX", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX", "UV_FIND_LINKS", "UV_NO_INDEX", "UV_TORCH_BACKEND"),
    *("UV_EXCLUDE_NEWER", "UV_PRERELEASE", "UV_RESOLUTION", "UV_CONSTRAINT", "UV_OVERRIDE"),
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"),
)


@dataclass(frozen=True)
class Program:
    """A compiled spec, ready to be handed to workers: its digest and the file it is in.

    Of a spec that has a command of its own it is the zip of that command's files, and there is no data.
    """

    spec: Spec
    digest: str
    data_digest: str
    path: Path


def plan_runs(spec: Spec, stack: Stack) -> list[dict[str, Any]]:
    """Return the runs of a cell's evidence: the float64 reference, its noise draws, and the run that is judged.

    The judged run comes first: a framework that cannot make it at all is told so soonest. A command of the spec's own
    has only that one.
    """
    if spec.workload is not None:
        return [plan_measured(spec)]
    wide = {"precision": "float64", "compile": _REFERENCE_COMPILED[stack.framework]}
    runs = [plan_measured(spec), {"name": "reference", **wide, "noise": None}]
    if spec.train.precision == "float64":
        return runs
    # Each stack has draws of its own, so that the cells of a spec try different ones.
    first = int.from_bytes(hashlib.sha256(stack.id.encode()).digest()[:4], "little")
    dtype = PRECISIONS.get(spec.train.precision)
    narrow = {"narrow": NOISE_UNIT / FLOAT32_UNIT * NARROW_UNITS[dtype]} if dtype else {}
    draws = [{"seed": first + draw, "unit": NOISE_UNIT, **narrow} for draw in range(NOISE_DRAWS)]
    return [*runs, *({"name": f"noise{place}", **wide, "noise": draw} for place, draw in enumerate(draws))]


def plan_measured(spec: Spec, execution: str = "") -> dict[str, Any]:
    """Return the run that is judged: as the spec asks.

    Args:
        spec: The spec.
        execution: The execution that an earlier run of it chose, to be kept to; as the spec asks where left out.
    """
    if spec.workload is not None:
        return {"name": "measured"}
    train = spec.train
    asked = {"precision": train.precision, "compile": train.compile, "execution": execution or train.mode}
    return {"name": "measured", **asked, "noise": None}


def make_job(
    program: Program, framework: str, settings: RunSettings, runs: list[dict[str, Any]], tensors: Path
) -> dict[str, Any]:
    """Return a job for the worker.

    Args:
        program: What to train.
        framework: On which target.
        settings: Device and threads.
        runs: What to run.
        tensors: Folder for final parameters.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "target": framework,
        "device": settings.device,
        "threads": settings.threads,
        "program": str(program.path),
        "spec": program.spec.to_dict(),
        "tensors": str(tensors),
        "runs": runs,
        "serve": False,
        **({"folder": program.spec.folder} if program.spec.workload is not None else {}),
    }


def lock_key(stack: Stack, python: str, platform: str, torch_backend: str, environ: Mapping[str, str]) -> str:
    """Return what a lock is made from: what is asked, for which Python, and what chooses an index and a build.

    Which of several frameworks specs run on is part of it, for a lock says of which build that one is.
    """
    settings = {name: value for name, value in environ.items() if name.startswith(_INDEX_SETTINGS)}
    asked: dict[str, Any] = {
        "requirements": list(stack.requirements),
        "torch_backend": torch_backend,
        "settings": settings,
    }
    if not FRAMEWORK_PACKAGES.keys().isdisjoint(name for name, _ in stack.packages):
        asked["framework"] = stack.package
    if torch_backend == "auto":
        asked["driver"] = has_driver()
    return digest_of({"python": python, "platform": platform, **asked})


def run_key(lock: Lock, worker: str, program: Program, job: dict[str, Any], machine: Machine) -> str:
    """Return what a run's evidence is made from: environment, code, work and hardware; no paths and no names."""
    work = {name: job[name] for name in ("target", "device", "threads", "runs")}
    spec = {"spec": program.spec.digest, "program": program.digest, "data": program.data_digest}
    hardware = {name: value for name, value in asdict(machine).items() if name != "python"}
    return digest_of({"lock": lock.digest, "worker": worker, "work": work, "machine": hardware, **spec})


def failure_key(key: str, settings: RunSettings) -> str:
    """Return what a failed run is made from: as a run, and its limits, so that other limits mean another try."""
    return digest_of({"run": key, "time_limit": settings.time_limit, "memory_limit": settings.memory_limit})


def measure_key(keys: list[str], settings: ThroughputSettings) -> str:
    """Return what a measurement in alternation is made from: the runs of its cells, and how it is measured."""
    return digest_of({"runs": keys, "rounds": settings.rounds, "seconds": settings.seconds})
