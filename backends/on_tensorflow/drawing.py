"""TensorFlow rules: random numbers; `backends/drawing.py` says how they are seeded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy as np
import tensorflow as tf

from ..drawing import Draw, drawn
from ..errors import UnsupportedError
from ..registry import rule
from .casting import dtype_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


def _drawn(op: str, shape: Sequence[int], kind: str, seed: int | None) -> tf.Tensor:
    """Draw with mean 0 and standard deviation 1, or from 0 to 1."""
    if seed is None and not tf.executing_eagerly():
        plain = tf.random.normal if "Normal" in op else tf.random.uniform
        return _unseeded(lambda: plain(shape, dtype=kind))
    function = tf.random.stateless_normal if "Normal" in op else tf.random.stateless_uniform
    return function(shape, _pair(seed), dtype=kind)


def _unseeded(function: Callable[[], tf.Tensor]) -> tf.Tensor:
    """Draw with the generator of the compiled program, which draws anew at each run.

    Raises:
        UnsupportedError: The framework is to be deterministic, which has no such generator.
    """
    try:
        return function()
    except RuntimeError as error:
        raise UnsupportedError(
            "a random operator without a seed has no rule on tensorflow in a compiled program that is to be "
            "deterministic: give it the attribute seed"
        ) from error


def _pair(seed: int | None) -> tf.Tensor:
    return tf.constant((int(np.random.default_rng().integers(2**32)) if seed is None else seed, 0), tf.int64)


def _values(op: str, shape: Sequence[int], draw: Draw) -> tf.Tensor:
    made = _drawn(op, shape, draw.wide, draw.seed)
    return tf.cast(made * draw.scale + draw.shift, draw.dtype)


def _register(op: str) -> None:
    @rule(op, "tensorflow")
    def apply(_inputs: Inputs, attributes: Attributes) -> tf.Tensor:
        return _values(op, attributes["shape"], drawn(op, attributes))

    @rule(f"{op}Like", "tensorflow")
    def apply_like(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
        data = inputs[0]
        return _values(op, data.shape, drawn(op, attributes, dtype_name(data)))


_register("RandomNormal")
_register("RandomUniform")


@rule("Bernoulli", "tensorflow")
def _bernoulli(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data = inputs[0]
    draw = drawn("Bernoulli", attributes, dtype_name(data))
    chances = data if data.dtype == tf.float64 else tf.cast(data, tf.float32)
    return tf.cast(_drawn("Bernoulli", data.shape, chances.dtype.name, draw.seed) < chances, draw.dtype)


@rule("Multinomial", "tensorflow")
def _multinomial(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, draw, count = inputs[0], drawn("Multinomial", attributes), attributes.get("sample_size", 1)
    weights = data if data.dtype == tf.float64 else tf.cast(data, tf.float32)
    if draw.seed is None and not tf.executing_eagerly():
        return _unseeded(lambda: tf.random.categorical(weights, count, draw.dtype))
    return tf.random.stateless_categorical(weights, count, _pair(draw.seed), draw.dtype)
