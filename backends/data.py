"""Deterministic synthetic data with something to learn, the same bits everywhere.

* `tokens`: each next token is `(5 * token + 3) mod vocabulary`, but for a share of `noise` tokens drawn at random.
* `vectors`, `images`: one prototype per class, uniform over [-1, 1), plus uniform noise; regression targets are one
  uniform vector per class.
* `prototypes`: for a model from a file; see `prototypes.py`.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from .draws import integers, uniform
from .program import tensors_digest
from .prototypes import batch_of
from .spec import Cnn, Gpt, Onnx, Resnet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .graph import Input
    from .spec import Mlp, Spec


def batch(spec: Spec, step: int, inputs: Sequence[Input] = ()) -> dict[str, np.ndarray]:
    """Make one step's batch.

    Args:
        spec: The run.
        step: Counting from 0.
        inputs: What the program takes; it counts for a model from a file only.

    Returns:
        For gpt `tokens` and `targets`, int64 of shape (batch, context). For the others `features`, float32 of shape
        (batch, ...), with `labels`, int64 of shape (batch,), or for mean-squared-error `targets`, float32 of shape
        (batch, outputs). For a model from a file, what its inputs ask for.
    """
    if isinstance(spec.model, Onnx):
        return batch_of(spec, inputs, step)
    if isinstance(spec.model, Gpt):
        return _tokens(spec, spec.model, step)
    return _labelled(spec, spec.model, step)


def batches(spec: Spec, inputs: Sequence[Input] = ()) -> list[dict[str, np.ndarray]]:
    """Make the batches of every step of a run; `inputs` as for `batch`."""
    return [batch(spec, step, inputs) for step in range(spec.train.steps)]


def batches_digest(made: Sequence[Mapping[str, np.ndarray]]) -> str:
    """Return the SHA-256 over batches in their order, in hexadecimal."""
    return hashlib.sha256("".join(tensors_digest(entry) for entry in made).encode()).hexdigest()


def _tokens(spec: Spec, model: Gpt, step: int) -> dict[str, np.ndarray]:
    shape = (spec.data.batch, model.context + 1)
    stray = uniform(_key(spec, f"stray/{step}"), shape) < spec.data.noise
    drawn = integers(_key(spec, f"tokens/{step}"), model.vocabulary, shape)
    for column in range(1, shape[1]):
        follow = (5 * drawn[:, column - 1] + 3) % model.vocabulary
        drawn[:, column] = np.where(stray[:, column], drawn[:, column], follow)
    return {"tokens": np.ascontiguousarray(drawn[:, :-1]), "targets": np.ascontiguousarray(drawn[:, 1:])}


def _labelled(spec: Spec, model: Mlp | Cnn | Resnet, step: int) -> dict[str, np.ndarray]:
    shape = model.image if isinstance(model, (Cnn, Resnet)) else (model.inputs,)
    classes = max(2, model.outputs)
    prototypes = uniform(_key(spec, "prototypes"), (classes, *shape)) * 2.0 - 1.0
    labels = integers(_key(spec, f"labels/{step}"), classes, (spec.data.batch,))
    shake = (uniform(_key(spec, f"shake/{step}"), (spec.data.batch, *shape)) * 2.0 - 1.0) * spec.data.noise
    features = (prototypes[labels] + shake).astype(np.float32)
    if spec.train.loss == "cross-entropy":
        return {"features": features, "labels": labels}
    goals = uniform(_key(spec, "goals"), (classes, model.outputs)) * 2.0 - 1.0
    return {"features": features, "targets": goals[labels].astype(np.float32)}


def _key(spec: Spec, purpose: str) -> int:
    digest = hashlib.sha256(f"{spec.train.seed}/data/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "little")
