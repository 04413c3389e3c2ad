"""TensorFlow tensors for rules that move values: dtypes that kernels lack, constants, indices."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable

import numpy as np
import tensorflow as tf

from ..errors import UnsupportedError
from ..kit import computed
from ..static import unknown_values
from ..values import Narrow
from . import casting, products

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..registry import Rule

# Kernels that select and copy lack some unsigned integers: their bits travel as signed ones.
_SIGNED = {tf.uint16: tf.int16, tf.uint32: tf.int32, tf.uint64: tf.int64}


def signed_bits(rule: Rule) -> Rule:
    """Return a rule that only moves values as one for the wide unsigned integers as well."""

    @functools.wraps(rule)
    def moved(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
        wide = next((value.dtype for value in inputs if tf.is_tensor(value) and value.dtype in _SIGNED), None)
        if wide is None:
            return rule(inputs, attributes)
        made = rule([_viewed(value, wide, _SIGNED[wide]) for value in inputs], attributes)
        if isinstance(made, tuple):
            return tuple(_viewed(value, _SIGNED[wide], wide) for value in made)
        return _viewed(made, _SIGNED[wide], wide)

    return moved


def _viewed(value: Any, dtype: tf.DType, other: tf.DType) -> Any:
    return tf.bitcast(value, other) if tf.is_tensor(value) and value.dtype == dtype else value


def tensor_of(value: Any, beside: Any = None) -> Any:
    """Return a constant as a tensor; narrow ones stay carried."""
    if isinstance(value, Narrow):
        carrier = tf.convert_to_tensor(value.values)
        return tf.cast(carrier, tf.bfloat16) if value.dtype == "bfloat16" else Narrow(carrier, value.dtype)
    return tf.convert_to_tensor(value)


def indices_of(value: Any, length: int) -> Any:
    """Return indices counted from 0."""
    indices = tf.convert_to_tensor(value)
    return tf.where(indices < 0, indices + length, indices)


def number(value: float, beside: Any) -> Any:
    """Return a number as a tensor of shape () with the dtype of the tensor beside it."""
    return tf.constant(np.array(value, beside.dtype.as_numpy_dtype))


def steps(count: int, beside: Any) -> Any:
    """Return 0, 1, 2, … as an int64 vector."""
    return tf.range(count, dtype=tf.int64)


def table(function: Callable[..., np.ndarray], *arguments: Any, beside: Any) -> Any:
    """Return what a function of shapes and attributes gives, computed once and never traced."""
    return tf.constant(computed(function, arguments))


def dtype_of(tensor: Any) -> str:
    """Return a dtype's numpy name, or `bfloat16`."""
    return str(tensor.dtype.name)


def cast(tensor: Any, dtype: str) -> Any:
    """Return a tensor as another dtype."""
    return tf.cast(tensor, dtype)


def refuse_compiled(_op: str) -> None:
    """Do nothing: only what becomes a tensor is traced here."""


def host(tensor: Any, what: str) -> np.ndarray:
    """Return a tensor's values.

    Raises:
        UnsupportedError: They are not known while a program is compiled.
    """
    if not hasattr(tensor, "numpy"):
        raise UnsupportedError(unknown_values(what, "tensorflow"))
    return np.asarray((tf.cast(tensor, tf.float32) if tensor.dtype == tf.bfloat16 else tensor).numpy())


def quotient(left: Any, right: Any) -> Any:
    """Return quotients, exactly rounded but under XLA, which multiplies by the reciprocal of a single divisor."""
    return left / right


def take(tensor: Any, indices: Any, axis: int) -> Any:
    """Return the slices along an axis at int64 indices from 0, of any shape, which takes the axis' place."""
    return tf.gather(tensor, indices, axis=axis)


def turned(tensor: Any, order: Sequence[int]) -> Any:
    """Return a tensor with its axes in another order."""
    return tf.transpose(tensor, tuple(order))


def total(tensor: Any, axes: Sequence[int]) -> Any:
    """Return the sum over axes."""
    return tf.reduce_sum(tensor, tuple(axes))


def highest(tensor: Any, axes: Sequence[int]) -> Any:
    """Return the largest element over axes."""
    return tf.reduce_max(tensor, tuple(axes))


def along(tensor: Any, matrix: np.ndarray, axis: int) -> Any:
    """Return `matrix @ slice` for each slice along an axis."""
    weights = tf.cast(matrix, tensor.dtype)
    rank = len(tensor.shape)
    last = [*(place for place in range(rank) if place != axis), axis]
    moved = tensor if axis == rank - 1 else tf.transpose(tensor, last)
    made = tf.tensordot(moved, weights, axes=((rank - 1,), (1,)))
    return made if axis == rank - 1 else tf.transpose(made, [last.index(place) for place in range(rank)])


def gathered_sums(tensor: Any, places: np.ndarray, size: int) -> Any:
    """Return sums over the last axis' elements that have the same place among `size` ones."""
    rank = len(tensor.shape)
    first = tf.transpose(tensor, [rank - 1, *range(rank - 1)])
    return tf.transpose(tf.math.unsorted_segment_sum(first, places, size), [*range(1, rank), 0])


def scattered(rows: Any, places: Any, updates: Any, reduction: str) -> Any:
    """Return rows of which those at int64 places are replaced by, or combined with, updates."""
    if reduction == "mul":
        return rows * tf.math.unsorted_segment_prod(updates, places, rows.shape[0])
    scatter = tf.tensor_scatter_nd_update if reduction == "none" else getattr(tf, f"tensor_scatter_nd_{reduction}")
    return scatter(rows, places[:, None], updates)


def search(keys: Any, tensor: Any) -> Any:
    """Return for each element the first place in sorted keys that is not smaller, as int64."""
    return tf.reshape(tf.searchsorted(keys, tf.reshape(tensor, [-1]), out_type=tf.int64), tensor.shape)


def shifted_right(tensor: Any, count: int) -> Any:
    """Return int32 bits moved down by 1 to 31 places, with zeros above; TensorFlow repeats the sign of signed ones."""
    moved = tf.bitwise.right_shift(tf.bitcast(tensor, tf.uint32), tf.constant(count, tf.uint32))
    return tf.bitcast(moved, tf.int32)


def settled(tensor: Any) -> Any:
    """Return a vector as it is: XLA works it out once."""
    return tensor


exclusive, shifted_left = tf.bitwise.bitwise_xor, tf.bitwise.left_shift


select, shaped, joined, stacked, padded = tf.where, tf.reshape, tf.concat, tf.stack, tf.pad
floor, rint, exp, smaller, larger = tf.floor, tf.math.rint, tf.exp, tf.minimum, tf.maximum
converted, matmul = casting.cast, products.matmul
sqrt, sign = tf.sqrt, tf.sign
