from __future__ import annotations

import warnings

import jax.numpy as jnp
import numpy as np
import pytest
from moving_cases import ints, moving_cases, scattering_cases, together
from moving_contract import MovingContract

from stackproof.backends.lower import Lowered
from stackproof.backends.on_jax import evaluate


class TestMoving(MovingContract):
    module = evaluate


@pytest.mark.parametrize(
    "op", ["Gather", "GatherND", "ScatterElements", "TopK", "NonZero", "ReverseSequence", "OneHot"]
)
def test_narrow_numbers_are_made_in_silence(op: str) -> None:
    """As in a session of float32, where JAX has no integers of 64 bits."""
    cases = [
        case for case in (*moving_cases(), *scattering_cases()) if case.op == op and case.name.endswith("-float32")
    ]
    assert cases
    program, fed = together(cases)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = Lowered(program, "jax")({}, {name: jnp.asarray(value) for name, value in fed.items()})
    assert {str(made[name].dtype) for name in program.outputs} <= {"float32", "int32"}


def test_wide_numbers_stay_wide() -> None:
    (case, *_) = [case for case in moving_cases() if case.name == "TopK-least-float64"]
    program, fed = together([case])
    values, indices = evaluate.Evaluation(program).run(fed).values()
    assert (values.dtype, indices.dtype) == (np.float64, ints().dtype)
