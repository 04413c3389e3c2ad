"""Synthetic data of models that fill in masked tokens, and of those that give each pixel a class.

* `masked-tokens`: the stream of `tokens`, without the last token, which is the mask. Of each sample 15 % of the
  places, at least one, are chosen: eight of ten hold the mask, one a token drawn at random, one what it held.
* `pixels`: each square of four by four pixels has a class; a class has one colour, uniform over [-1, 1), plus uniform
  noise.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from .draws import integers, uniform
from .targets import goals, kept, left_out

if TYPE_CHECKING:
    from .spec import Bert, Spec, Unet

# Devlin et al., BERT, 2019, section 3.1.
_CHOSEN = 0.15
_MASKED, _REPLACED = 0.8, 0.9
_SQUARE = 4


def key_of(spec: Spec, purpose: str) -> int:
    """Return the seed of a stream of numbers that depends on the run's seed and on its purpose only."""
    digest = hashlib.sha256(f"{spec.train.seed}/data/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def stream(spec: Spec, number: int, shape: tuple[int, int], words: int) -> np.ndarray:
    """Draw tokens of which each follows from the one before it, but for a share of `data.noise`.

    Args:
        spec: The run.
        number: Which batch of the run it is, counting from 0.
        shape: (batch, positions).
        words: Tokens are below this number.

    Returns:
        Int64 of that shape.
    """
    stray = uniform(key_of(spec, f"stray/{number}"), shape) < spec.data.noise
    drawn = integers(key_of(spec, f"tokens/{number}"), words, shape)
    for column in range(1, shape[1]):
        follow = (5 * drawn[:, column - 1] + 3) % words
        drawn[:, column] = np.where(stray[:, column], drawn[:, column], follow)
    return drawn


def masked_tokens(spec: Spec, model: Bert, number: int) -> dict[str, np.ndarray]:
    """Make a batch of masked tokens.

    Args:
        spec: The run.
        model: Its model; the last token of its vocabulary is the mask.
        number: Which batch of the run it is, counting from 0.

    Returns:
        `tokens`, `segments` and `targets`, int64 of shape (batch, context); targets are `train.ignore_label` where
        a place is not chosen.
    """
    shape, mask = (spec.data.batch, model.context), model.vocabulary - 1
    whole = stream(spec, number, shape, mask)
    chosen = _chosen(key_of(spec, f"chosen/{number}"), shape)
    fate = uniform(key_of(spec, f"fate/{number}"), shape)
    drawn = integers(key_of(spec, f"replaced/{number}"), mask, shape)
    shown = np.where(fate < _MASKED, mask, np.where(fate < _REPLACED, drawn, whole))
    segments = np.arange(model.context) * model.segments // model.context
    targets = whole if spec.train.ignore_label is None else np.where(chosen, whole, spec.train.ignore_label)
    return {
        "tokens": np.where(chosen, shown, whole),
        "segments": np.ascontiguousarray(np.broadcast_to(segments, shape)),
        "targets": kept(spec, targets, number),
    }


def _chosen(key: int, shape: tuple[int, int]) -> np.ndarray:
    """Return which places are chosen: those of the smallest numbers drawn, as many in each row."""
    count = max(1, round(_CHOSEN * shape[1]))
    drawn = uniform(key, shape)
    return np.asarray(drawn <= np.sort(drawn, axis=1)[:, count - 1 : count])


def pixels(spec: Spec, model: Unet, number: int) -> dict[str, np.ndarray]:
    """Make a batch of images with a class for each pixel.

    Args:
        spec: The run.
        model: Its model.
        number: Which batch of the run it is, counting from 0.

    Returns:
        `features`, float32 of shape (batch, channels, height, width), and `labels`, int64 of shape (batch, height,
        width); for losses without labels `targets`, float32 of shape (batch, outputs, height, width).
    """
    depth, height, width = model.image
    batch, classes = spec.data.batch, max(2, model.outputs)
    rows, columns = -(-height // _SQUARE), -(-width // _SQUARE)
    coarse = integers(key_of(spec, f"labels/{number}"), classes, (batch, rows, columns))
    labels = np.repeat(np.repeat(coarse, _SQUARE, 1), _SQUARE, 2)[:, :height, :width]
    colours = uniform(key_of(spec, "prototypes"), (classes, depth)) * 2.0 - 1.0
    noise = (uniform(key_of(spec, f"shake/{number}"), (batch, *model.image)) * 2.0 - 1.0) * spec.data.noise
    features = (np.moveaxis(colours[labels], -1, 1) + noise).astype(np.float32)
    if spec.train.loss == "cross-entropy":
        shown = left_out(spec.train, key_of(spec, f"ignored/{number}"), np.ascontiguousarray(labels))
        return {"features": features, "labels": kept(spec, shown, number)}
    wanted = goals(spec.train.loss, key_of(spec, "goals"), (classes, model.outputs))
    targets = np.moveaxis(wanted[labels], -1, 1).astype(np.float32)
    return {"features": features, "targets": np.ascontiguousarray(targets)}
