"""Deterministic data for any inputs: each sample is of one kind, and each input has a prototype for every kind.

* Floating-point inputs are the kind's prototype, uniform over [-1, 1), plus uniform noise; booleans are the prototype's
  sign.
* Integers are the kind's prototype below the input's bound, but for a share of `noise` that is drawn anew.
* `labels` are the kind itself, or a map of labels per kind. Where they have the shape of an integer input, that input
  is a sequence in which each next token is `(5 * token + 3) mod bound`, and the labels are its next tokens.
* `targets` are one tensor per kind; labels may be left out; see `targets.py`.
* An input whose first size is not the batch is the same at every step.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from .draws import integers, uniform
from .targets import goals, kept, left_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .graph import Input
    from .spec import Spec

# Kinds of samples, unless there are fewer labels.
MOST_KINDS = 16
LABELS = "labels"
TARGETS = "targets"
_FOLLOWING = 2


def batch_of(spec: Spec, inputs: Sequence[Input], step: int) -> dict[str, np.ndarray]:
    """Make one step's batch for a program's inputs.

    Args:
        spec: The run.
        inputs: What the program takes; the bound of each integer input is known.
        step: Counting from 0.
    """
    return _Batch(spec, inputs, step).make()


class _Batch:
    """One batch on the way."""

    def __init__(self, spec: Spec, inputs: Sequence[Input], step: int) -> None:
        self._spec, self._inputs, self._step = spec, inputs, step
        own = spec.train.loss == "own"
        self._labels = None if own else next((entry for entry in inputs if entry.name == LABELS), None)
        self._kinds = min(MOST_KINDS, self._labels.bound if self._labels is not None else MOST_KINDS)
        self._drawn = integers(self._key("kinds", step), self._kinds, (spec.data.batch,))

    def make(self) -> dict[str, np.ndarray]:
        made = self._sequence()
        for entry in self._inputs:
            if entry.name not in made:
                made[entry.name] = self._one(entry)
        if self._labels is not None:
            shown = left_out(self._spec.train, self._key(f"{LABELS}/ignored", self._step), made[LABELS])
            made[LABELS] = kept(self._spec, shown, self._step)
        return {entry.name: np.asarray(made[entry.name], order="C") for entry in self._inputs}

    def _sequence(self) -> dict[str, np.ndarray]:
        """Return a sequence and its next tokens, where the labels are of that kind."""
        labels = self._labels
        if labels is None or len(labels.shape) < _FOLLOWING:
            return {}
        places = [e for e in self._inputs if e.shape == labels.shape and e.bound and e.name != LABELS]
        if not places:
            return {}
        source, bound = places[0], min(places[0].bound, labels.bound)
        shape = (*labels.shape[:-1], labels.shape[-1] + 1)
        stray = uniform(self._key("stray", self._step), shape) < self._spec.data.noise
        drawn = integers(self._key("tokens", self._step), bound, shape)
        for place in range(1, shape[-1]):
            drawn[..., place] = np.where(stray[..., place], drawn[..., place], (5 * drawn[..., place - 1] + 3) % bound)
        return {source.name: drawn[..., :-1].astype(source.dtype), LABELS: drawn[..., 1:]}

    def _one(self, entry: Input) -> np.ndarray:
        each = bool(entry.shape) and entry.shape[0] == self._spec.data.batch
        shape = entry.shape[1:] if each else entry.shape
        if entry is self._labels and not shape:
            return self._drawn
        dtype = np.dtype(entry.dtype)
        if dtype.kind in "iu":
            return self._whole(entry, shape, each=each).astype(dtype)
        loss = self._spec.train.loss if entry.name == TARGETS else "own"
        prototypes = goals(loss, self._key(entry.name), (self._kinds, *shape))
        made: np.ndarray = prototypes[self._drawn] if each else prototypes[0]
        if dtype.kind == "b":
            made = made > 0
        elif each and entry.name != TARGETS:
            made = made + (uniform(self._key(entry.name, self._step), made.shape) * 2.0 - 1.0) * self._spec.data.noise
        return made.astype(dtype)

    def _whole(self, entry: Input, shape: tuple[int, ...], *, each: bool) -> np.ndarray:
        prototypes = integers(self._key(entry.name), entry.bound, (self._kinds, *shape))
        made: np.ndarray = prototypes[self._drawn] if each else prototypes[0]
        if not each or entry is self._labels:
            return made
        stray = uniform(self._key(f"{entry.name}/stray", self._step), made.shape) < self._spec.data.noise
        return np.where(stray, integers(self._key(entry.name, self._step), entry.bound, made.shape), made)

    def _key(self, purpose: str, step: int | None = None) -> int:
        """Return the key of one stream of numbers, which depends on the seed and on what it is for."""
        text = f"{self._spec.train.seed}/prototypes/{purpose}{'' if step is None else f'/{step}'}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
