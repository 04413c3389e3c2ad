"""What certify costs for one cell, against the same work done by hand.

By hand is: `uv venv` and `uv pip install` from the cell's lock, then the worker's processes started bare, one after the
other. `ratio` compares certify with all of that; `ratio_one_run` compares it with an installation and one bare training
run, which shows what the float64 reference, the noise runs and the repeated run cost on top. The package cache is warm
for both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from figures import finish

from stackproof.backends import program as programs
from stackproof.backends.archive import write_bundle
from stackproof.backends.models.build import build_program
from stackproof.compat.pins import read_backend
from stackproof.containers.uv import find_uv, settings
from stackproof.matrix.config import RunSettings
from stackproof.matrix.jobs import Program, make_job, plan_measured, plan_runs
from stackproof.matrix.spec_file import load_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stackproof.backends.spec import Spec
    from stackproof.compat.cell import Stack

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def main() -> int:
    """Measure, print, and say whether the figures hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="one round instead of five")
    parser.add_argument("--backend", default="jax", help="default: %(default)s")
    options = parser.parse_args()
    if options.quick and not options.json:
        print("--quick: one round")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    stack, spec = read_backend(options.backend, python), load_spec(EXAMPLES / "gpt_tiny.toml")
    taken = [measure_round(stack, spec) for _ in range(1 if options.quick else 5)]
    figures = {
        name: statistics.median(each[name] for each in taken)
        for name in ("certify_s", "by_hand_s", "one_run_s", "ratio", "ratio_one_run")
    }
    return finish("overhead", figures, {"ratio": {"at_most": 1.15}}, as_json=options.json)


def measure_round(stack: Stack, spec: Spec) -> dict[str, float]:
    """Certify a cell and do its work by hand, in empty folders, and return seconds and ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        certify = seconds(lambda: certify_cell(folder, stack))
        install = seconds(lambda: install_lock(folder))
        runs = seconds(lambda: run_worker(folder, stack, spec, plan_runs(spec, stack)))
        once = seconds(lambda: run_worker(folder, stack, spec, [plan_measured(spec)]))
    by_hand = install + runs + once
    return {
        "certify_s": certify,
        "by_hand_s": by_hand,
        "one_run_s": install + once,
        "ratio": certify / by_hand,
        "ratio_one_run": certify / (install + once),
    }


def seconds(work: Callable[[], Any]) -> float:
    """Return the wall seconds that some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def certify_cell(folder: Path, stack: Stack) -> None:
    """Certify one cell with the command line, with an empty store and no environment made yet."""
    matrix = folder / "one.toml"
    matrix.write_text(
        f'specs = ["{EXAMPLES / "gpt_tiny.toml"}"]\n[axes]\n{stack.package} = ["{stack.version}"]\n'
        "[throughput]\nrounds = 0\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "stackproof", "certify", str(matrix), "--out", str(folder / "out"), "--quiet"]
    subprocess.run(
        command, env={**os.environ, "STACKPROOF_CACHE": str(folder / "cache")}, check=True, stdout=subprocess.DEVNULL
    )


def install_lock(folder: Path) -> None:
    """Make a venv and install the cell's lock, as a user would by hand."""
    (lock,) = (folder / "out" / "locks").glob("*.txt")
    variables: Mapping[str, str] = {**os.environ, **settings(os.environ)}
    uv, venv = str(find_uv()), str(folder / "venv")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, venv], check=True, env=variables)
    install = [uv, "pip", "install", "--quiet", "--require-hashes", "--python", venv, "--requirements", str(lock)]
    subprocess.run(install, check=True, env=variables)


def run_worker(folder: Path, stack: Stack, spec: Spec, runs: list[dict[str, Any]]) -> None:
    """Start the worker bare, with nothing watching it."""
    path, made = folder / "program.npz", build_program(spec)
    path.write_bytes(programs.dump(made))
    job = make_job(Program(spec, made.digest, "", path), stack.framework, RunSettings(), runs, folder / "tensors")
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    command = [str(folder / "venv" / "bin" / "python"), "-I", str(write_bundle(folder)), str(folder / "job.json")]
    with subprocess.Popen([*command, str(folder / "evidence.json")], stdin=subprocess.PIPE) as child:
        while child.poll() is None:
            time.sleep(0.02)
    if child.returncode != 0:
        raise SystemExit(f"the worker failed with status {child.returncode}")


if __name__ == "__main__":
    sys.exit(main())
