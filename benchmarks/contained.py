"""What a container costs training: the time of a step in an image, against that in a venv of the same lock.

The worker is served three times side by side: in the image, in the venv, and in the venv once more as a control, which
shows what this machine can tell apart. They make short blocks of the same number of steps in turn, in an order that
changes from round to round, so that whatever slows the machine meets neighbouring blocks alike. A start's ratio is the
median over its rounds; the figure is the median over starts, for two processes of one program differ by where their
memory lies; the interval is that of the sign test over starts.

The venv is made with the full version of Python that the image has, where this machine has it.
--quick takes one spec, 3 starts and fewer rounds, which cannot show 2 %: required is then that the interval reaches
down to it. Image and venv stay in the engine and the cache, as those of `certify` do.

    python benchmarks/contained.py [--json] [--quick] [--engine podman] [--backend torch]
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from figures import finish

from stackproof.backends import program as programs
from stackproof.backends.archive import write_bundle
from stackproof.backends.models.build import build_program
from stackproof.compat.errors import StackproofError
from stackproof.compat.pins import read_backend
from stackproof.containers.bases.pins import load_pins
from stackproof.containers.bases.provide import provide_base
from stackproof.containers.chain import ImageRequest, Workshop, build_stack_image
from stackproof.containers.engine.connect import connect
from stackproof.containers.interpreter import Interpreter, find_python, interpreter_of
from stackproof.containers.resolve import resolve
from stackproof.containers.uv import run_uv
from stackproof.containers.venv import build_venv, cache_folder
from stackproof.matrix.config import RunSettings
from stackproof.matrix.inside import PROGRAM, TENSORS
from stackproof.matrix.jobs import Program, make_job, plan_measured
from stackproof.matrix.judge.throughput import interval
from stackproof.matrix.launch import Request, Server
from stackproof.matrix.spec_file import load_spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stackproof.backends.spec import Spec
    from stackproof.containers.image import Image
    from stackproof.containers.venv import Environment
    from stackproof.matrix.launch import Steps

EXAMPLES: Final = Path(__file__).resolve().parent.parent / "examples"
_BASE: Final = "debian:bookworm"
_SETTINGS: Final = RunSettings(device="cpu")
_BLOCK_SECONDS: Final = 0.05
_TRIAL_STEPS: Final = 8
_FEWEST_STEPS: Final = 2
_MOST: Final = 1.02


@dataclass(frozen=True)
class Sample:
    """How much is measured."""

    specs: tuple[str, ...]
    starts: int
    rounds: int

    def __str__(self) -> str:
        return f"{' and '.join(self.specs)}, {self.starts} starts, {self.rounds} rounds each"


_FULL: Final = Sample(("mlp", "gpt"), starts=11, rounds=100)
_QUICK: Final = Sample(("mlp",), starts=3, rounds=30)


@dataclass(frozen=True)
class Homes:
    """A lock, made real twice."""

    framework: str
    venv: Environment
    image: Image
    pythons: tuple[str, str]


@dataclass(frozen=True)
class Start:
    """Medians over the rounds of one start: image over venv, and the control over the venv."""

    wall: float
    cpu: float
    control: float
    control_cpu: float


def main() -> int:
    """Measure, print, and say whether the figures hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help=f"{_QUICK}; says so")
    parser.add_argument("--engine", choices=("docker", "podman"), default="docker", help="default: %(default)s")
    parser.add_argument("--backend", default="jax", help="default: %(default)s")
    options = parser.parse_args()
    sample = _QUICK if options.quick else _FULL
    homes = make_homes(options.engine, options.backend)
    figures, rows = measure_all(homes, sample)
    if not options.json:
        print(f"{'--quick: ' if options.quick else ''}{sample}")
        print(f"{options.backend}; Python {homes.pythons[0]} in the image, {homes.pythons[1]} in the venv")
    bound = "low" if options.quick else "ratio"
    required = {f"{name}_wall_{bound}": {"at_most": _MOST} for name in sample.specs}
    return finish("contained", figures, required, as_json=options.json, rows=rows)


def measure_all(homes: Homes, sample: Sample) -> tuple[dict[str, float], list[list[str]]]:
    """Measure every spec; return the figures and the table."""
    figures: dict[str, float] = {}
    rows = [["spec", "measured", "ratio", "interval"]]
    for name in sample.specs:
        spec = load_spec(EXAMPLES / f"{name}_tiny.toml")
        starts = [measure(homes, spec, sample.rounds) for _ in range(sample.starts)]
        for measured in ("wall", "cpu", "control", "control_cpu"):
            found = summarise([getattr(start, measured) for start in starts])
            words = [f"{name}_{measured}_{word}" for word in ("ratio", "low", "high")]
            figures |= dict(zip(words, found, strict=True))
            rows.append([name, measured, f"{found[0]:.4f}", f"{found[1]:.4f} to {found[2]:.4f}"])
    return figures, rows


def make_homes(kind: str, backend: str) -> Homes:
    """Lock a backend for the base, and make the lock real as an image and as a venv of the same wheels."""
    engine, cache = connect(kind), cache_folder()
    base = provide_base(engine, load_pins().find(_BASE), cache, _tell)
    stack = read_backend(backend, ".".join(base.python.split(".")[:2]))
    inside = interpreter_of(base.python, base.glibc, base.machine)
    lock = resolve(stack, inside, base=f"{base.name}@{base.digest}")
    python = find_same(base.python)
    venv = build_venv(lock, python, cache)
    image = build_stack_image(Workshop(engine, cache, _tell), ImageRequest(lock, base))
    return Homes(stack.framework, venv, image, (base.python, python.version))


def find_same(version: str) -> Interpreter:
    """Find a Python of this machine with the full version given, or else with its minor version."""
    minor = version.rpartition(".")[0]
    found = run_uv(["python", "find", "--no-project", f"cpython=={version}"], time_limit=60.0)
    if found.code != 0:
        return find_python(minor)
    return Interpreter(Path(found.stdout.strip()), version, find_python(minor).platform)


def measure(homes: Homes, spec: Spec, rounds: int) -> Start:
    """Start the three workers anew and time their blocks of steps."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        places = {"venv": None, "image": homes.image, "control": None}
        requests = [prepare(Path(name) / place, homes, spec, image) for place, image in places.items()]
        servers = [stack.enter_context(Server(request)) for request in requests]
        for server in servers:
            server.ready()
        trials = [server.steps(_TRIAL_STEPS).seconds / _TRIAL_STEPS for server in servers]
        steps = max(_FEWEST_STEPS, math.ceil(_BLOCK_SECONDS / max(trials)))
        for server in servers:
            server.steps(steps)
        taken = [_time_round(servers, steps, index) for index in range(rounds)]
    return Start(
        wall=statistics.median(image.seconds / venv.seconds for venv, image, _ in taken),
        cpu=statistics.median(image.cpu_seconds / venv.cpu_seconds for venv, image, _ in taken),
        control=statistics.median(control.seconds / venv.seconds for venv, _, control in taken),
        control_cpu=statistics.median(control.cpu_seconds / venv.cpu_seconds for venv, _, control in taken),
    )


def prepare(folder: Path, homes: Homes, spec: Spec, image: Image | None) -> Request:
    """Write a worker's job, and return how to serve it in the venv or in the image."""
    folder.mkdir()
    made, path = build_program(spec), folder / "program.npz"
    path.write_bytes(programs.dump(made))
    program = Program(spec, made.digest, "", path)
    job = make_job(program, homes.framework, _SETTINGS, [plan_measured(spec)], folder / "tensors")
    if image is not None:
        job |= {"program": str(PROGRAM), "tensors": str(TENSORS)}
    (folder / "job.json").write_text(json.dumps({**job, "serve": True}), encoding="utf-8")
    return Request(
        python=homes.venv.python if image is None else image.python,
        bundle=write_bundle(folder),
        job=folder / "job.json",
        evidence=folder / "evidence.json",
        folder=folder,
        device=_SETTINGS.device,
        image=image,
        program=path,
    )


def summarise(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the median of ratios, and its interval."""
    return (statistics.median(values), *interval(np.array(values)))


def _time_round(servers: Sequence[Server], steps: int, index: int) -> list[Steps]:
    """Time a block of each; who is first changes from round to round, and so does the direction."""
    places = [(index + place) % len(servers) for place in range(len(servers))]
    if index % 2:
        places.reverse()
    taken = {place: servers[place].steps(steps) for place in places}
    return [taken[place] for place in range(len(servers))]


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except StackproofError as error:
        sys.exit(str(error))
