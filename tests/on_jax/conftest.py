from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTRACTS = ("operator_cases", "operator_contract", "optimizer_contract", "session_contract", "suite_contract")
pytest.register_assert_rewrite(
    *CONTRACTS, "control_contract", "gradient_contract", "loss_contract", "model_contract", "recurrent_contract"
)

from stackproof.backends.on_jax.session import prepare  # noqa: E402 - the contracts are rewritten first

prepare(threads=1, device="cpu")


@pytest.fixture
def quick_compiler() -> Iterator[None]:
    """Have XLA compile quickly, for thousands of small programs that run once each."""
    jax.config.update("jax_disable_most_optimizations", val=True)
    yield
    jax.config.update("jax_disable_most_optimizations", val=False)
