from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from operator_cases import Target
from operator_contract import OperatorContract

from stackproof.backends.on_jax.gates import wide_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _pullback(function: Callable[[list[Any]], Any], tensors: list[Any], weights: jax.Array) -> list[Any]:
    (gradients,) = jax.vjp(function, tensors)[1](weights)
    return list(gradients)


@pytest.fixture(autouse=True)
def _wide() -> Iterator[None]:
    with wide_numbers(enabled=True):
        yield


class TestRules(OperatorContract):
    target = Target("jax", jnp.asarray, np.asarray, _pullback)
