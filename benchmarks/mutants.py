"""Whether the judge can see: JAX is made wrong on purpose, one rule at a time, and certified beside the two right ones.

Each line says where the mutant's trajectory first left the envelope and by how much. The mutants of the last group
compute the right function with too little precision, in float32 only, so that no float64 run gives them away.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from figures import finish

from stackproof import backends
from stackproof.backends.reading import read_spec
from stackproof.compat.errors import StackproofError
from stackproof.compat.pins import read_backend
from stackproof.matrix.config import Matrix, ThroughputSettings
from stackproof.matrix.pipeline import Request, certify
from stackproof.matrix.progress import choose_reporter
from stackproof.matrix.site import Settings

GPT: dict[str, Any] = {
    "model": {"kind": "gpt"},
    "data": {"batch": 8},
    "optimizer": {"kind": "adamw", "lr": 3e-3, "weight_decay": 0.01},
    "schedule": {"kind": "cosine", "warmup": 5},
    "train": {"clip_norm": 1.0, "compile": False},
}
MLP: dict[str, Any] = {
    "model": {"kind": "mlp", "activation": "gelu"},
    "data": {"batch": 32},
    "optimizer": {"kind": "sgd", "lr": 0.05, "momentum": 0.9, "nesterov": True},
    "train": {"compile": False},
}
MATMUL = '    "MatMul": jnp.matmul,'
BFLOAT = """    "MatMul": lambda left, right: jnp.matmul(*(
        value.astype(jnp.bfloat16).astype(value.dtype) if value.dtype == jnp.float32 else value
        for value in (left, right)
    )),"""
TF32 = """    "MatMul": lambda left, right: jnp.matmul(*(
        jax.lax.reduce_precision(value, 8, 10) if value.dtype == jnp.float32 else value
        for value in (left, right)
    )),"""
# What is wrong, with which spec it shows, and the change to a file of `backends/on_jax`.
MUTANTS: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "AdamW: epsilon inside the square root": (
        GPT,
        "optimizer.py",
        "size = jnp.sqrt(second) / jnp.sqrt(correct_second) + optimizer.eps",
        "size = jnp.sqrt(second / correct_second + optimizer.eps)",
    ),
    "AdamW: epsilon before the correction": (
        GPT,
        "optimizer.py",
        "size = jnp.sqrt(second) / jnp.sqrt(correct_second) + optimizer.eps",
        "size = (jnp.sqrt(second) + optimizer.eps) / jnp.sqrt(correct_second)",
    ),
    "AdamW: decay not scaled by the rate": (
        GPT,
        "optimizer.py",
        "1.0 - rate * optimizer.weight_decay",
        "1.0 - 3e-3 * optimizer.weight_decay",
    ),
    "clipping with 1e-6 beside the norm": (
        GPT,
        "optimizer.py",
        "jnp.minimum(1.0, largest / norm)",
        "jnp.minimum(1.0, largest / (norm + 1e-6))",
    ),
    "GELU: the tanh approximation": (
        MLP,
        "arithmetic.py",
        'attributes.get("approximate", "none") == "tanh"',
        "True",
    ),
    "Nesterov without its look ahead": (
        MLP,
        "optimizer.py",
        "slope = slope + momentum * velocities[name] if optimizer.nesterov else velocities[name]",
        "slope = velocities[name]",
    ),
    "RMSNorm: epsilon of 1e-6": (GPT, "layers.py", 'square + attributes.get("epsilon", _EPSILON)', "square + 1e-6"),
    "float32 only: factors of products rounded to bfloat16": (GPT, "arithmetic.py", MATMUL, BFLOAT),
    "float32 only: factors of products rounded as TensorFloat-32": (GPT, "arithmetic.py", MATMUL, TF32),
}


def main() -> int:
    """Certify every mutant, print, and say whether all were seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="three mutants")
    options = parser.parse_args()
    chosen = list(MUTANTS)[::4] if options.quick else list(MUTANTS)
    if options.quick and not options.json:
        print("--quick: three mutants")
    rows, seen = [["mutant", "verdict", "first outside", "times allowed"]], 0
    for name in chosen:
        verdicts, first, excess = certify_mutant(name)
        seen += verdicts == {"jax": "incorrect", "tensorflow": "certified", "torch": "certified"}
        rows.append([name, verdicts["jax"], first, f"{excess:.3g}"])
    figures = {"mutants": len(chosen), "seen": seen}
    return finish("mutants", figures, {"seen": {"at_least": len(chosen)}}, as_json=options.json, rows=rows)


def certify_mutant(name: str) -> tuple[dict[str, str], str, float]:
    """Certify the three frameworks with JAX made wrong.

    Returns:
        Each framework's verdict, where JAX first left the envelope, and its largest difference as a multiple of what is
        allowed there.
    """
    tables, file, old, new = MUTANTS[name]
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    stacks = tuple(read_backend(backend, python) for backend in ("jax", "tensorflow", "torch"))
    spec = read_spec(tables, name, "mutant")
    matrix = Matrix("mutants", name, (spec,), {"python": (python,)}, include=stacks, throughput=ThroughputSettings(0))
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            reporter=choose_reporter(quiet=False, verbose=False),
            source=patch(Path(folder) / "backends", file, old, new),
        )
        report = certify(Request(matrix, Path(folder) / "out", settings=settings))
    verdicts = {cell["stack"]["framework"]: cell["verdict"] for cell in report["cells"]}
    wrong = next(cell for cell in report["cells"] if cell["stack"]["framework"] == "jax")
    check = next((check for check in wrong["checks"] if check["name"] == "trajectory"), None)
    if check is None:
        raise StackproofError(f"{name}: the JAX cell did not run: {'; '.join(wrong['reasons'])}")
    return verdicts, check["why"].partition("first in ")[2].partition(" (")[0], float(check["measured"])


def patch(folder: Path, file: str, old: str, new: str) -> Path:
    """Copy the compile layer with one place of JAX's rules changed."""
    shutil.copytree(Path(str(backends.__file__)).parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "on_jax" / file
    text = path.read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise StackproofError(f"{path.name} no longer holds {old!r} once: mend the mutant")
    path.write_text(text.replace(old, new), encoding="utf-8")
    return folder


if __name__ == "__main__":
    try:
        sys.exit(main())
    except StackproofError as error:
        sys.exit(str(error))
