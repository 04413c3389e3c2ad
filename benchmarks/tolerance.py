"""Where the envelope's SAFETY comes from: how far real float32 runs go, in multiples of what rounding noise spreads.

For specs of every kind, on PyTorch, TensorFlow and JAX, float32 runs are held against the float64 consensus, and their
largest difference is divided by the spread of the noise runs alone (SAFETY = 1). The largest such ratio over everything
says how much SAFETY has to allow.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from figures import finish

from stackproof.backends.reading import read_spec
from stackproof.compat.cell import Cell
from stackproof.compat.errors import StackproofError
from stackproof.compat.pins import backend_names, read_backend
from stackproof.containers.venv import cache_folder
from stackproof.matrix.config import Matrix, ThroughputSettings
from stackproof.matrix.judge.envelope import SAFETY, find_departure, measure_envelope
from stackproof.matrix.judge.spec import judge_spec
from stackproof.matrix.lanes import run_lanes
from stackproof.matrix.progress import choose_reporter
from stackproof.matrix.site import Settings, open_site
from stackproof.matrix.store import Store, sole_use

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackproof.backends.spec import Spec
    from stackproof.matrix.judge.evidence import Tracks
    from stackproof.matrix.judge.reference import Reference

GPT = {"kind": "gpt", "layers": 2, "width": 64, "heads": 4, "context": 32, "vocabulary": 64}
PLAIN = {"norm": "layernorm", "activation": "gelu", "position": "learned", "tied": False, "bias": True}
ADAMW = {"kind": "adamw", "lr": 3e-3, "weight_decay": 0.01}
SGD = {"kind": "sgd", "lr": 0.05, "momentum": 0.9, "nesterov": True}
KINDS: dict[str, dict[str, Any]] = {
    "gpt": {"model": GPT, "data": {"batch": 8}, "optimizer": ADAMW, "train": {"clip_norm": 1.0}},
    "gpt-biased": {"model": {**GPT, **PLAIN}, "data": {"batch": 8}, "optimizer": ADAMW, "train": {}},
    "gpt-sgd": {"model": GPT, "data": {"batch": 8}, "optimizer": {**SGD, "lr": 0.3}, "train": {}},
    "mlp": {"model": {"kind": "mlp"}, "data": {"batch": 32}, "optimizer": SGD, "train": {}},
    "mlp-mse": {
        "model": {"kind": "mlp", "activation": "tanh"},
        "data": {"batch": 32},
        "optimizer": ADAMW,
        "train": {"loss": "mean-squared-error"},
    },
    "cnn": {"model": {"kind": "cnn"}, "data": {"batch": 16}, "optimizer": ADAMW, "train": {}},
    "cnn-sgd": {"model": {"kind": "cnn"}, "data": {"batch": 16}, "optimizer": SGD, "train": {}},
}
SEEDS = (0, 1, 2)


def main() -> int:
    """Measure, print, and say whether the figures hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="two kinds of spec, one seed, nothing compiled")
    options = parser.parse_args()
    specs = list(make_specs(quick=options.quick))
    rows, ratios = measure(specs)
    figures = {
        "largest_excursion": max(ratios),
        "median_excursion": float(np.median(ratios)),
        "safety": SAFETY,
        "runs": len(ratios),
        "safety_over_largest": SAFETY / max(ratios),
    }
    required = {"safety_over_largest": {"at_least": 2.0}}
    if options.quick and not options.json:
        print("--quick: a smaller sample")
    return finish("tolerance", figures, required, as_json=options.json, rows=rows)


def make_specs(*, quick: bool) -> Iterator[Spec]:
    """Yield the specs: every kind compiled, and with further seeds as it is."""
    for name, tables in list(KINDS.items())[3:5] if quick else KINDS.items():
        for seed in SEEDS[:1] if quick else SEEDS:
            compiled = seed == 0 and not quick
            train = {**tables["train"], "seed": seed, "compile": compiled, "steps": 30}
            yield read_spec({**tables, "train": train}, name, f"{name}-{seed}")


def measure(specs: list[Spec]) -> tuple[list[list[str]], list[float]]:
    """Run every spec on the three frameworks; return the table and every run's largest excursion."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    cells = [Cell(read_backend(name, python), spec.name) for name in backend_names() for spec in specs]
    matrix = Matrix("tolerance", "tolerance", tuple(specs), {"python": (python,)}, throughput=ThroughputSettings(0))
    folder = cache_folder() / "tolerance"
    rows, ratios = [["spec", "cell", "excursion", "where"]], []
    with sole_use(folder), Store(folder) as store:
        site = open_site(folder, store, matrix, Settings(reporter=choose_reporter(quiet=False, verbose=False)))
        with site.reporter:
            site.reporter.plan(2 * len(backend_names()) + len(cells))
            records = run_lanes(site, cells, dict.fromkeys(cells))
        for spec in specs:
            judge = judge_spec(spec, {}, records, store.blob)
            if judge.standard is None:
                raise SystemExit(f"no cell of {spec.name} ran")
            for cell, tracks in judge.tracks.items():
                excursion, where = excursion_of(tracks, judge.standard.reference, list(judge.tracks.values()))
                rows.append([spec.name, cell, f"{excursion:.2f}", where])
                ratios.append(excursion)
    return rows, ratios


def excursion_of(tracks: Tracks, reference: Reference, cells: list[Tracks]) -> tuple[float, str]:
    """Return a measured run's largest difference in multiples of the noise runs' spread, and where it is."""
    allowed = measure_envelope(reference, cells, "float32")
    departure = find_departure(tracks.measured, reference, allowed)
    return departure.excess * SAFETY, departure.where.partition(" (")[0]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except StackproofError as error:
        sys.exit(str(error))
