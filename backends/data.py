"""Deterministic synthetic data with something to learn, the same bits everywhere.

* `tokens`: each next token is `(5 * token + 3) mod vocabulary`, but for a share of `noise` tokens drawn at random.
* `vectors`, `images`: one prototype per class, uniform over [-1, 1), plus uniform noise; targets of losses
  without labels are one vector per class, and labels may be left out; see `targets.py`.
* `masked-tokens`, `pixels`: see `synthetic.py`.
* `prototypes`: for a model from a file; see `prototypes.py`.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from .accumulating import SHARE, stacked
from .draws import integers, uniform
from .program import tensors_digest
from .prototypes import batch_of
from .seeded_dropout import is_step, with_step
from .spec import Bert, Cnn, Gpt, Llama, Moe, Onnx, Resnet, Unet, Vit
from .synthetic import key_of, masked_tokens, pixels, stream
from .targets import goals, kept, left_out, share_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .graph import Input
    from .spec import Decoder, Mlp, Spec


def batch(spec: Spec, step: int, inputs: Sequence[Input] = ()) -> dict[str, np.ndarray]:
    """Make one step's batch.

    Args:
        spec: The run.
        step: Counting from 0.
        inputs: What the program takes; it counts for a model from a file, and for one that drops.

    Returns:
        For gpt, llama and moe `tokens` and `targets`, int64 of shape (batch, context); for bert and unet see
        `synthetic.py`. For the others `features`, float32 of shape
        (batch, ...), with `labels`, int64 of shape (batch,), or for losses without labels `targets`, float32 of
        shape (batch, outputs). For a model from a file, what its inputs ask for. Where the inputs have
        `seeded_dropout.STEP`, the number of the step, int64 of shape (1,). With `train.accumulate` above 1 each
        array has a leading axis of that size: its micro-batch `i` is what step `step * accumulate + i` has without
        it; and where labels weigh differently, `accumulate.share` is what each micro-batch counts, float64.
    """
    count = spec.train.accumulate
    if count == 1:
        return _single(spec, step, inputs)
    made = stacked([_single(spec, step * count + place, inputs) for place in range(count)])
    shares = (
        share_of(spec, made["labels" if "labels" in made else "targets"])
        if spec.train.loss == "cross-entropy"
        else None
    )
    return made if shares is None else {**made, SHARE: shares}


def _single(spec: Spec, number: int, inputs: Sequence[Input]) -> dict[str, np.ndarray]:
    """Make one micro-batch; `number` counts them over the whole run."""
    made = _made(spec, number, [entry for entry in inputs if not is_step(entry)])
    return with_step(made, inputs, number)


def _made(spec: Spec, number: int, inputs: Sequence[Input]) -> dict[str, np.ndarray]:
    if isinstance(spec.model, Onnx):
        return batch_of(spec, inputs, number)
    if isinstance(spec.model, (Gpt, Llama, Moe)):
        return _tokens(spec, spec.model, number)
    if isinstance(spec.model, Bert):
        return masked_tokens(spec, spec.model, number)
    if isinstance(spec.model, Unet):
        return pixels(spec, spec.model, number)
    return _labelled(spec, spec.model, number)


def batches(spec: Spec, inputs: Sequence[Input] = ()) -> list[dict[str, np.ndarray]]:
    """Make the batches of every step of a run; `inputs` as for `batch`."""
    return [batch(spec, step, inputs) for step in range(spec.train.steps)]


def batches_digest(made: Sequence[Mapping[str, np.ndarray]]) -> str:
    """Return the SHA-256 over batches in their order, in hexadecimal."""
    return hashlib.sha256("".join(tensors_digest(entry) for entry in made).encode()).hexdigest()


def _tokens(spec: Spec, model: Decoder, step: int) -> dict[str, np.ndarray]:
    drawn = stream(spec, step, (spec.data.batch, model.context + 1), model.vocabulary)
    targets = left_out(spec.train, key_of(spec, f"ignored/{step}"), np.ascontiguousarray(drawn[:, 1:]))
    return {"tokens": np.ascontiguousarray(drawn[:, :-1]), "targets": kept(spec, targets, step)}


def _labelled(spec: Spec, model: Mlp | Cnn | Resnet | Vit, step: int) -> dict[str, np.ndarray]:
    shape = model.image if isinstance(model, (Cnn, Resnet, Vit)) else (model.inputs,)
    classes = max(2, model.outputs)
    prototypes = uniform(key_of(spec, "prototypes"), (classes, *shape)) * 2.0 - 1.0
    labels = integers(key_of(spec, f"labels/{step}"), classes, (spec.data.batch,))
    shake = (uniform(key_of(spec, f"shake/{step}"), (spec.data.batch, *shape)) * 2.0 - 1.0) * spec.data.noise
    features = (prototypes[labels] + shake).astype(np.float32)
    if spec.train.loss == "cross-entropy":
        shown = left_out(spec.train, key_of(spec, f"ignored/{step}"), labels)
        return {"features": features, "labels": kept(spec, shown, step)}
    wanted = goals(spec.train.loss, key_of(spec, "goals"), (classes, model.outputs))
    return {"features": features, "targets": wanted[labels].astype(np.float32)}
