"""Dropout by counter: the operator `SeededDropout`, of stackproof's own, with the same mask on every framework.

Inputs are the data and the number of the step, int64 of shape (1,). Attributes: `ratio`, the share that is dropped;
`seed` and `stream`, the key; `rows`, 1 where whole samples are dropped and not single elements. The formula is in
`docs/training.md`.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from . import threefry
from .errors import UnsupportedError
from .graph import Input
from .kit import shared
from .values import Narrow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .graph import Attribute
    from .kit import Kit

OPERATOR = "SeededDropout"
STEP = "step"
"""The program's input that counts steps, int64 of shape (1,)."""

_BITS = 24
_UNUSED_BITS = 8


def attributes_of(name: str, ratio: float, seed: int, *, rows: bool = False) -> dict[str, Attribute]:
    """Return the attributes of a node.

    Args:
        name: The node's, which decides its stream of numbers.
        ratio: The share that is dropped, above 0 and below 1.
        seed: From 0 to 2**32 - 1.
        rows: Whether whole samples are dropped.
    """
    stream = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
    return {"ratio": float(ratio), "seed": seed, "stream": stream, "rows": int(rows)}


def step_input() -> Input:
    """Return the input of a program that drops."""
    return Input(STEP, "int64", (1,))


def is_step(entry: Input) -> bool:
    """Say whether an input is the number of the step, and no integer input of that name, which has a bound."""
    return entry == step_input()


def with_step(batch: Mapping[str, np.ndarray], inputs: Sequence[Input], step: int) -> dict[str, np.ndarray]:
    """Return a batch with the number of its step, where the program's inputs have that."""
    count = {STEP: np.array([step], np.int64)} if any(map(is_step, inputs)) else {}
    return {**batch, **count}


def mask(shape: Sequence[int], attributes: Mapping[str, Any], step: int) -> np.ndarray:
    """Return by numpy alone what a node keeps: booleans of the data's shape, or with `rows` of (samples, 1, …)."""
    count = _count(shape, attributes)
    blocks = np.arange(-(-count // 2), dtype=np.uint32)
    pair = threefry.words(_key(attributes), (blocks, np.full_like(blocks, step % 2**32)))
    kept = (np.stack(pair, axis=-1).reshape(-1)[:count] >> _UNUSED_BITS) >= _threshold(attributes)
    return np.asarray(kept.reshape(_mask_shape(shape, attributes)))


@shared(OPERATOR)
def _seeded_dropout(kit: Kit, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    data, step = inputs
    if isinstance(data, Narrow):
        raise UnsupportedError(f"{OPERATOR} has no rule for {data.dtype}: it takes floating-point numbers")
    kept = _kept(kit, tuple(data.shape), attributes, step)
    scale = kit.number(1.0 / (1.0 - attributes["ratio"]), data)
    return kit.select(kept, data * scale, kit.number(0.0, data))


def _kept(kit: Kit, shape: Sequence[int], attributes: Mapping[str, Any], step: Any) -> Any:
    count = _count(shape, attributes)
    blocks = kit.cast(kit.steps(-(-count // 2), step), "int32")
    steps = kit.cast(kit.shaped(step, (1,)), "int32") + blocks * 0
    pair = threefry.draw(kit, _key(attributes), (blocks, steps))
    words = kit.shaped(kit.stacked(pair, 1), (-1,))[:count]
    kept = kit.shifted_right(words, _UNUSED_BITS) >= _threshold(attributes)
    return kit.shaped(kept, _mask_shape(shape, attributes))


def _count(shape: Sequence[int], attributes: Mapping[str, Any]) -> int:
    return int(shape[0]) if attributes["rows"] else math.prod(shape)


def _mask_shape(shape: Sequence[int], attributes: Mapping[str, Any]) -> tuple[int, ...]:
    return (shape[0], *(1,) * (len(shape) - 1)) if attributes["rows"] else tuple(shape)


def _key(attributes: Mapping[str, Any]) -> tuple[int, int]:
    return attributes["seed"], attributes["stream"]


def _threshold(attributes: Mapping[str, Any]) -> int:
    """Return the least of the 2**24 values of a word's upper bits that keeps its element."""
    return math.ceil(attributes["ratio"] * 2**_BITS)
