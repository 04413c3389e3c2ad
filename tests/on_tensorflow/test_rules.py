from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf
from operator_cases import Target
from operator_contract import OperatorContract

if TYPE_CHECKING:
    from collections.abc import Callable


def _pullback(function: Callable[[list[Any]], Any], tensors: list[Any], weights: tf.Tensor) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        result = function(tensors)
    return [tf.convert_to_tensor(gradient) for gradient in tape.gradient(result, tensors, weights)]


class TestRules(OperatorContract):
    target = Target("tensorflow", tf.constant, np.asarray, _pullback)
