"""TensorFlow rules: from one dtype to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..casting import bit_cast_type
from ..narrow import FORMATS, NARROW_INTEGERS, SCALE_FORMAT, Floats, rounded, wrapped
from ..nodes import cast_type
from ..registry import rule
from ..values import CARRIERS, Narrow
from .arithmetic import where

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

# Dtypes whose numbers float32 does not hold exactly.
_LARGE = (tf.float64, tf.int32, tf.int64, tf.uint32, tf.uint64)


def _power(value: tf.Tensor) -> tf.Tensor:
    kind, mask = (tf.int64, 0x7FF << 52) if value.dtype == tf.float64 else (tf.int32, 0xFF << 23)
    return tf.bitcast(tf.bitwise.bitwise_and(tf.bitcast(value, kind), tf.constant(mask, kind)), value.dtype)


_FLOATS = Floats(_power, tf.round, tf.math.is_nan, where)


def dtype_name(value: Any) -> str:
    """Return the name of a tensor's dtype as `nodes.DTYPES` has it."""
    return value.dtype if isinstance(value, Narrow) else str(value.dtype.name)


def cast(value: Any, name: str, attributes: Attributes) -> Any:
    """Return a tensor, narrow or not, in the dtype of that name.

    Args:
        value: What to convert.
        name: As `nodes.DTYPES` has it.
        attributes: Those of a `Cast` node that say how to round to a narrow dtype.
    """
    source = tf.convert_to_tensor(value.values if isinstance(value, Narrow) else value)
    if name in NARROW_INTEGERS:
        return Narrow(tf.cast(wrapped(tf.cast(source, tf.int32), name), CARRIERS[name]), name)
    if name in FORMATS or name == SCALE_FORMAT:
        wide = tf.cast(source, tf.float64 if source.dtype in _LARGE else tf.float32)
        return Narrow(tf.cast(rounded(wide, name, _FLOATS, dict(attributes)), tf.float32), name)
    return tf.cast(source, name)


@rule("Cast", "tensorflow")
def _cast(inputs: Inputs, attributes: Attributes) -> Any:
    return cast(inputs[0], cast_type(attributes, "tensorflow"), attributes)


@rule("CastLike", "tensorflow")
def _cast_like(inputs: Inputs, attributes: Attributes) -> Any:
    return cast(inputs[0], dtype_name(inputs[1]), attributes)


@rule("BitCast", "tensorflow")
def _bit_cast(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    """Read the bits anew; truth values have one bit that counts."""
    data, name = inputs[0], bit_cast_type(dtype_name(inputs[0]), attributes, "tensorflow")
    if data.dtype == tf.bool:
        data = tf.cast(data, tf.uint8)
    return tf.cast(data, tf.bool) if name == "bool" else tf.bitcast(data, name)
