from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import tensorflow as tf
from control_contract import ControlContract

from stackproof.backends.lower import Lowered
from stackproof.backends.on_tensorflow.evaluate import Evaluation

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from stackproof.backends.program import Program


class TestControl(ControlContract):
    evaluation = Evaluation
    no_gradient: ClassVar[str] = "maximum_iteration"

    def compiled_gradient(self, program: Program, inputs: Mapping[str, np.ndarray], name: str) -> np.ndarray:
        lowered = Lowered(program, "tensorflow", "stated")

        @tf.function(jit_compile=True, autograph=False)
        def gradient(tensors: Mapping[str, Any]) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(tensors[name])
                total = tf.reduce_sum(lowered(tensors, {})["y"])
            return tape.gradient(total, tensors[name])

        tensors = {key: tf.constant(value) for key, value in {**program.constants, **inputs}.items()}
        found: np.ndarray = gradient(tensors).numpy()
        return found
