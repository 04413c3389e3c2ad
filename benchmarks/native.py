"""A training step of ours, against the same model written by hand in each framework, and in Keras 3.

For each framework and model, one process per contender and mode: our session, the hand-written model in every mode that
may be best for it, and Keras in its own; then further processes of each in its best mode, since where a process finds
its memory alone moves a step by two per cent. All are pinned to one core with one thread and make their steps in turn;
a figure is the least CPU time per step over rounds and processes, and ratios are between the best modes. The time to
the first step is the CPU time, child processes included, from the model in memory to the first loss, with empty
compiler caches, against the hand-written model in the same mode. First losses must agree to 1e-4, so that it is the
same work.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from figures import finish

from stackproof.backends.models.build import build_program
from stackproof.backends.program import dump
from stackproof.backends.reading import read_spec
from stackproof.compat.pins import read_backend
from stackproof.containers.uv import find_uv, settings
from stackproof.containers.venv import cache_folder

if TYPE_CHECKING:
    from stackproof.backends.spec import Spec

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
FRAMEWORKS = ("torch", "jax", "tensorflow")
ADAMW = {"kind": "adamw", "lr": 3e-4, "weight_decay": 0.01}
# Enough steps for every round, so that the rates never start again.
TRAIN = {"steps": 10000}
MODELS: dict[str, dict[str, Any]] = {
    "gpt": {
        "model": {"kind": "gpt", "layers": 4, "width": 256, "heads": 8, "context": 128, "vocabulary": 2048},
        "data": {"batch": 4},
        "optimizer": ADAMW,
    },
    "resnet": {
        "model": {
            "kind": "resnet",
            "image": [3, 32, 32],
            "channels": [16, 32, 64],
            "blocks": [1, 1, 1],
            "outputs": 10,
        },
        "data": {"batch": 32},
        "optimizer": {"kind": "sgd", "lr": 0.05, "momentum": 0.9},
    },
    "mlp": {
        "model": {"kind": "mlp", "inputs": 784, "hidden": [1024, 1024], "outputs": 10},
        "data": {"batch": 128},
        "optimizer": ADAMW,
    },
}
# Which modes each contender has for a model without images.
CONTENDERS: dict[str, dict[str, tuple[str, ...]]] = {
    "torch": {"ours": ("eager", "compiled"), "native": ("eager", "compiled"), "keras": ("eager",)},
    "jax": {"ours": ("compiled",), "native": ("compiled",), "keras": ("compiled",)},
    "tensorflow": {
        "ours": ("graph", "compiled"),
        "native": ("graph", "compiled"),
        "keras": ("graph", "compiled"),
    },
}
# Those with images, where they are others; TensorFlow's hand-written model and Keras are always channels last.
WITH_IMAGES: dict[str, dict[str, tuple[str, ...]]] = {
    "torch": {"ours": ("eager-last", "compiled-last"), "native": ("eager", "eager-last", "compiled", "compiled-last")},
    "jax": {"ours": ("compiled-last",), "native": ("compiled", "compiled-last")},
    "tensorflow": {"ours": ("graph-last", "compiled")},
}
LARGEST_RATIO, LARGEST_FIRST, LOSS_TOLERANCE = 1.02, 1.1, 1e-4
SECONDS_PER_TURN = 0.4
KERAS = "keras==3.15.1"


@dataclass
class Contender:
    """One process under measurement.

    Attributes:
        kind: `ours`, `native` or `keras`.
        mode: How it executes.
        process: The process.
        log: What it says beside its answers.
        first: Its first answer: loss, CPU and wall seconds of the first step.
        times: CPU seconds per step of each round.
    """

    kind: str
    mode: str
    process: subprocess.Popen[str]
    log: Path
    first: dict[str, float] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """Return the least CPU seconds per step."""
        return min(self.times)

    def hear(self) -> Any:  # noqa: ANN401 - JSON
        """Return the next answer.

        Raises:
            SystemExit: The process ended instead.
        """
        line = self.process.stdout.readline() if self.process.stdout else ""
        if not line:
            said = "".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)[-20:])
            raise SystemExit(f"{said}{self.kind} in mode {self.mode} ended with status {self.process.wait()}")
        return json.loads(line)

    def turn(self, count: int) -> None:
        """Time some steps."""
        if self.process.stdin is not None:
            print(count, file=self.process.stdin, flush=True)
        self.times.append(self.hear())


def main() -> int:
    """Measure, print, and say whether the figures hold."""
    options = read_options()
    if options.quick and not options.json:
        print("--quick: PyTorch's mlp only, three rounds")
    pattern = "torch/mlp" if options.quick and not options.only else options.only
    if options.quick:
        options.rounds, options.processes = 3, 1
    figures: dict[str, float] = {}
    rows = [["framework", "model", "contender", "mode", "ms/step", "first step s", "first loss"]]
    for framework in FRAMEWORKS:
        kinds = [kind for kind in MODELS if re.search(pattern, f"{framework}/{kind}")]
        python = find_python(framework, options.python) if kinds else ""
        for kind in kinds:
            contenders = measure(python, framework, kind, options)
            rows.extend(table(framework, kind, contenders))
            figures.update(compare(f"{framework}_{kind}", contenders))
    return finish("native", figures, required(figures), as_json=options.json, rows=rows)


def read_options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="PyTorch's mlp only, three rounds")
    parser.add_argument("--only", default="", metavar="REGEX", help="which pairs, as in tensorflow/resnet")
    parser.add_argument("--rounds", type=int, default=12, help="default: %(default)s")
    parser.add_argument(
        "--processes", type=int, default=3, help="processes of each contender in its best mode; default: %(default)s"
    )
    parser.add_argument(
        "--norms", action="store_true", help="let our steps give the gradients' norm, as evidence needs it"
    )
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="default: %(default)s")
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="FRAMEWORK=PATH",
        help="an interpreter that has the framework and Keras; one is made where none is given",
    )
    return parser.parse_args()


def find_python(framework: str, given: list[str]) -> str:
    """Return the interpreter to use: a given one, or that of an environment made with pinned versions."""
    chosen = dict(entry.split("=", 1) for entry in given)
    if framework in chosen:
        return chosen[framework]
    stack = read_backend(framework, f"{sys.version_info.major}.{sys.version_info.minor}")
    folder, uv = cache_folder() / "native" / framework, find_uv()
    python, variables = folder / "bin" / "python", {**os.environ, **settings(os.environ)}
    if not python.exists():
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)], check=True, env=variables)
    install = [uv, "pip", "install", "--quiet", "--python", str(python), *stack.requirements, KERAS]
    subprocess.run(install, check=True, env=variables)
    return str(python)


def modes(framework: str, model: str) -> list[tuple[str, str]]:
    """Return every contender with each of its modes."""
    names = {**CONTENDERS[framework], **(WITH_IMAGES[framework] if model == "resnet" else {})}
    return [(kind, mode) for kind, listed in names.items() for mode in listed]


def measure(python: str, framework: str, model: str, options: argparse.Namespace) -> list[Contender]:
    """Measure every contender of a pair in each of its modes, then each in its best mode in further processes."""
    with tempfile.TemporaryDirectory() as name:
        group = Group(python, framework, model, options, write_work(Path(name), model))
        contenders = group.timed(modes(framework, model))
        best = [(c.kind, c.mode.partition("+")[0]) for c in fastest(contenders).values()]
        for _ in range(options.processes - 1):
            for again in group.timed(best):
                same = next(c for c in contenders if (c.kind, c.mode) == (again.kind, again.mode))
                same.times.extend(again.times)
                same.first = min(same.first, again.first, key=lambda first: first["cpu"])
    return contenders


@dataclass(frozen=True)
class Group:
    """What the contenders of a pair have in common."""

    python: str
    framework: str
    model: str
    options: argparse.Namespace
    folder: Path

    def timed(self, wanted: list[tuple[str, str]]) -> list[Contender]:
        """Start a process for each contender and mode, one after the other, then let them make steps in turn."""
        contenders: list[Contender] = []
        try:
            for kind, mode in wanted:
                asked = f"{mode}+norms" if kind == "ours" and self.options.norms else mode
                arguments = [kind, self.framework, asked, str(self.folder), str(self.options.core)]
                contenders.append(start(self.python, arguments, self.folder))
                contenders[-1].first = contenders[-1].hear()
            take_turns(contenders, self.options.rounds)
        finally:
            for contender in contenders:
                contender.process.kill()
                contender.process.wait()
        return contenders


def fastest(contenders: list[Contender]) -> dict[str, Contender]:
    """Return each kind's contender in its best mode."""
    kinds = ("ours", "native", "keras")
    return {kind: min((c for c in contenders if c.kind == kind), key=lambda c: c.best) for kind in kinds}


def write_work(folder: Path, model: str) -> Path:
    """Write what every contender reads: the spec, and the program with the initial weights."""
    spec: Spec = read_spec({**MODELS[model], "train": TRAIN}, model, model)
    (folder / "spec.json").write_text(json.dumps(spec.to_dict()), encoding="utf-8")
    (folder / "program.npz").write_bytes(dump(build_program(spec)))
    return folder


def start(python: str, arguments: list[str], folder: Path) -> Contender:
    """Start a contender with caches of its own, so that it compiles everything itself."""
    cache = Path(tempfile.mkdtemp(dir=folder))
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    variables = {
        **os.environ,
        **threads,
        "PYTHONPATH": str(ROOT),
        "KERAS_BACKEND": arguments[1],
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
        "NPROC": "1",
        "TORCHINDUCTOR_CACHE_DIR": str(cache),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "STACKPROOF_CACHE": str(cache),
    }
    command = [python, str(HERE / "native_models" / "worker.py"), *arguments]
    log = cache / "stderr.txt"
    with log.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        )
    return Contender(arguments[0], arguments[2], process, log)


def take_turns(contenders: list[Contender], rounds: int) -> None:
    """Let every contender make steps in turn, the first turn being for warming up."""
    for contender in contenders:
        contender.turn(3)
    counts = [max(3, round(SECONDS_PER_TURN / contender.best)) for contender in contenders]
    for contender in contenders:
        contender.times.clear()
    for _ in range(rounds):
        for contender, count in zip(contenders, counts, strict=True):
            contender.turn(count)


def table(framework: str, model: str, contenders: list[Contender]) -> list[list[str]]:
    """Return a pair's lines of the table."""
    return [
        [
            framework,
            model,
            c.kind,
            c.mode,
            f"{1000 * c.best:.2f}",
            f"{c.first['cpu']:.2f}",
            f"{c.first['loss']:.6f}",
        ]
        for c in contenders
    ]


def compare(pair: str, contenders: list[Contender]) -> dict[str, float]:
    """Return a pair's figures.

    Raises:
        SystemExit: The first losses differ: it is not the same work.
    """
    ours, native, keras = fastest(contenders).values()
    for contender in contenders:
        if abs(contender.first["loss"] / ours.first["loss"] - 1.0) > LOSS_TOLERANCE:
            found = f"{contender.first['loss']} in mode {contender.mode}, ours {ours.first['loss']}"
            raise SystemExit(f"{pair}: the first loss of {contender.kind} is {found}")
    path = ours.mode.partition("+")[0].partition("-")[0]
    same = [c for c in contenders if c.kind == "native" and c.mode.partition("-")[0] == path]
    return {
        f"{pair}_over_native": ours.best / native.best,
        f"{pair}_over_keras": ours.best / keras.best,
        f"{pair}_first_step_over_native": ours.first["cpu"] / max(c.first["cpu"] for c in same),
    }


def required(figures: dict[str, float]) -> dict[str, dict[str, float]]:
    """Return what each figure has to reach."""
    limits = {"_first_step_over_native": LARGEST_FIRST, "_over_native": LARGEST_RATIO, "_over_keras": 1.0}
    return {
        name: {"at_most": next(limit for ending, limit in limits.items() if name.endswith(ending))} for name in figures
    }


if __name__ == "__main__":
    sys.exit(main())
