"""A training loop of one's own that stackproof can run: logistic regression by gradient descent, in plain Python.

It makes STACKPROOF_STEPS steps from STACKPROOF_SEED, and reports each as a line of JSON to the file descriptor that
STACKPROOF_STEPS_FD names. Run it with `stackproof train examples/own_loop.toml --backend torch`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import sys

FEATURES, SAMPLES = 8, 64


def make_batch(source: random.Random, truth: list[float]) -> list[tuple[list[float], float]]:
    """Draw points; the label says on which side of the plane `truth` each lies."""
    points = [[source.gauss(0.0, 1.0) for _ in range(FEATURES)] for _ in range(SAMPLES)]
    return [(point, float(sum(map(float.__mul__, point, truth)) > 0.0)) for point in points]


def descend(weights: list[float], batch: list[tuple[list[float], float]], rate: float) -> tuple[float, float]:
    """Make one step of gradient descent in place, and return loss and gradient norm before it."""
    loss, gradient = 0.0, [0.0] * FEATURES
    for point, label in batch:
        score = sum(map(float.__mul__, point, weights))
        chance = 1.0 / (1.0 + math.exp(-score))
        loss -= math.log(chance if label else 1.0 - chance) / SAMPLES
        for index, value in enumerate(point):
            gradient[index] += (chance - label) * value / SAMPLES
    for index, slope in enumerate(gradient):
        weights[index] -= rate * slope
    return loss, math.sqrt(sum(slope * slope for slope in gradient))


def main() -> int:
    """Train, and report every step."""
    steps, rate = int(os.environ["STACKPROOF_STEPS"]), float(sys.argv[1])
    source = random.Random(int(os.environ["STACKPROOF_SEED"]))  # noqa: S311 - data, no secret
    truth, weights = [source.gauss(0.0, 1.0) for _ in range(FEATURES)], [0.0] * FEATURES
    # buffering=1: each line goes out as soon as it ends.
    with os.fdopen(int(os.environ["STACKPROOF_STEPS_FD"]), "w", buffering=1) as report:
        for step in range(1, steps + 1):
            loss, norm = descend(weights, make_batch(source, truth), rate)
            report.write(json.dumps({"step": step, "loss": loss, "grad_norm": norm, "samples": SAMPLES}) + "\n")
        digest = hashlib.sha256(json.dumps(weights).encode()).hexdigest()
        report.write(json.dumps({"final": {"parameters_digest": digest}}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
