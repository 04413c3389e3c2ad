"""Models of three frameworks, exported, imported and trained on all three, against the framework's own training loop.

Everything is real: each exporter and each loop of a framework run in an environment of its own, and so do the sessions
of stackproof. Runs are in float64; weights and literals of an export are float32.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import stackproof
from stackproof.backends.program import dump
from stackproof.compat.cell import Stack
from stackproof.containers.interpreter import find_python
from stackproof.containers.resolve import resolve
from stackproof.containers.venv import build_venv
from stackproof.matrix.importing.prepare import Imported, Wishes, import_model

if TYPE_CHECKING:
    from collections.abc import Mapping

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SCRIPTS = Path(__file__).parents[1] / "support" / "bring"
STACKS = {
    "torch": Stack("torch", "2.13.0", PYTHON, (("onnx", "1.23.2"), ("onnxscript", "0.7.2"))),
    "jax": Stack("jax", "0.10.2", PYTHON, (("jax2onnx", "0.17.1"), ("onnx", "1.23.2"), ("optax", "0.2.8"))),
    "tensorflow": Stack("tensorflow-cpu", "2.21.0", PYTHON, (("onnx", "1.23.2"), ("tf2onnx", "1.17.0"))),
}
EXPORTS = (
    ("torch", "torch_model.py", ["careful"]),
    ("torch", "torch_model.py", ["plain"]),
    ("jax", "jax_model.py", []),
    ("tensorflow", "keras_model.py", []),
)
# JAX's exporter and Keras's write their literals in float32: sqrt(2 / pi) of a GELU, the epsilon of a norm.
CLOSE = {"words": 1e-9, "pictures": 1e-9, "plain": 1e-9, "function": 1e-6, "layers": 1e-6}


@dataclass(frozen=True)
class Brought:
    """A model's own training, what its import made of it, and how that trains on each framework."""

    own: list[float]
    parameters: list[str]
    imported: Imported
    losses: Mapping[str, list[float]]


@pytest.fixture(scope="module")
def pythons(cache: Path) -> dict[str, Path]:
    """The Python of each framework's environment."""
    interpreter = find_python(PYTHON)
    locks = {target: resolve(stack, interpreter) for target, stack in STACKS.items()}
    return {target: build_venv(lock, interpreter, cache).python for target, lock in locks.items()}


@pytest.fixture(scope="module")
def brought(pythons: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Brought]:
    folder = tmp_path_factory.mktemp("brought")
    for target, script, further in EXPORTS:
        _run(pythons[target], [SCRIPTS / script, folder, *further], folder)
    imported = {path.stem: import_model(path, Wishes(loss="own", output=_loss(path))) for path in folder.glob("*.onnx")}
    for kind, made in imported.items():
        (folder / f"{kind}.program").write_bytes(dump(made.program))
    for target, python in pythons.items():
        _run(python, [SCRIPTS / "train_programs.py", target, folder], folder)
    return {kind: _brought(folder, kind, made) for kind, made in imported.items()}


def _run(python: Path, arguments: list[str | Path], folder: Path) -> None:
    """Run a script with a framework's own Python, which finds stackproof beside its own packages, and nothing else."""
    site = folder / "site"
    if not site.exists():
        site.mkdir()
        (site / "stackproof").symlink_to(Path(str(stackproof.__file__)).parent)
    quiet = {
        "OMP_NUM_THREADS": "1",
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    variables = {**os.environ, **quiet, "PYTHONPATH": str(site)}
    ended = subprocess.run([python, *arguments], env=variables, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]


def _loss(path: Path) -> str:
    return "output" if path.stem in {"function", "layers"} else ""


def _brought(folder: Path, kind: str, imported: Imported) -> Brought:
    story = json.loads((folder / f"{kind}.json").read_text())
    losses = {target: json.loads((folder / f"{kind}.{target}.json").read_text()) for target in STACKS}
    return Brought(story["losses"], story["parameters"], imported, losses)


@pytest.mark.parametrize("target", list(STACKS))
@pytest.mark.parametrize("kind", list(CLOSE))
def test_a_model_trains_as_in_its_own_framework(brought: dict[str, Brought], kind: str, target: str) -> None:
    one = brought[kind]
    assert len(one.own) == 10
    assert min(one.own) < one.own[0] - 0.1
    assert max(abs(a - b) for a, b in zip(one.losses[target], one.own, strict=True)) < CLOSE[kind]


@pytest.mark.parametrize("kind", ["words", "pictures", "function", "layers"])
def test_what_is_trained_is_what_the_framework_trains(brought: dict[str, Brought], kind: str) -> None:
    assert sorted(brought[kind].imported.program.parameters) == sorted(brought[kind].parameters)
    assert {trap.severity for trap in brought[kind].imported.traps} <= {"noted"}


def test_what_pytorchs_own_optimizer_did_is_mended(brought: dict[str, Brought]) -> None:
    """Only the tied weight has another of its two names."""
    one = brought["plain"]
    mended = {trap.name for trap in one.imported.traps if trap.severity == "mended"}
    assert mended == {"name-lost", "parameters-merged", "tied-duplicated"}
    names = {"embedding.weight" if name == "head.weight" else name for name in one.imported.program.parameters}
    assert names == set(one.parameters)


@pytest.mark.parametrize(
    ("kind", "states"),
    [
        ("pictures", ["bn1.running_mean", "bn1.running_var", "bn2.running_mean", "bn2.running_var"]),
        ("layers", ["norm1/moving_mean", "norm1/moving_variance", "norm2/moving_mean", "norm2/moving_variance"]),
    ],
)
def test_running_statistics_are_state(brought: dict[str, Brought], kind: str, states: list[str]) -> None:
    assert sorted(brought[kind].imported.program.updates) == states
