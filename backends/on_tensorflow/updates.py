"""TensorFlow rules: ONNX's optimizer operators."""

from __future__ import annotations

import functools

import tensorflow as tf

from ..registry import rule
from ..updating import Functions, adagrad, adam, momentum

_FUNCTIONS = Functions(tf.sqrt, tf.math.expm1, tf.where, lambda value, like: tf.cast(value, like.dtype))

for _op, _update in {"Adagrad": adagrad, "Adam": adam, "Momentum": momentum}.items():
    rule(_op, "tensorflow")(functools.partial(_update, functions=_FUNCTIONS))
