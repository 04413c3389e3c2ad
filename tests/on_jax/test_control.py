from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from control_contract import ControlContract

from stackproof.backends.lower import Lowered
from stackproof.backends.on_jax.evaluate import Evaluation
from stackproof.backends.on_jax.gates import wide_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stackproof.backends.program import Program


class TestControl(ControlContract):
    evaluation = Evaluation
    no_gradient: ClassVar[str] = "Reverse-mode differentiation does not work"

    def compiled_gradient(self, program: Program, inputs: Mapping[str, np.ndarray], name: str) -> np.ndarray:
        lowered = Lowered(program, "jax", "stated")
        with wide_numbers(enabled=True):
            tensors = {key: jnp.asarray(value) for key, value in {**program.constants, **inputs}.items()}

            def total(given: Mapping[str, Any], moving: Any) -> Any:
                return jnp.sum(lowered({**given, name: moving}, {})["y"])

            return np.asarray(jax.jit(jax.grad(total, argnums=1))(tensors, tensors[name]))
