from __future__ import annotations

import pytest

CONTRACTS = ("operator_cases", "operator_contract", "optimizer_contract", "session_contract", "suite_contract")
pytest.register_assert_rewrite(
    *CONTRACTS, "control_contract", "gradient_contract", "loss_contract", "model_contract", "recurrent_contract"
)

from stackproof.backends.on_torch.session import prepare  # noqa: E402 - the contracts are rewritten first

prepare(threads=1, device="cpu")


def pytest_configure(config: pytest.Config) -> None:
    # Inductor itself still uses what it deprecates.
    config.addinivalue_line("filterwarnings", "ignore:`torch.jit.script:DeprecationWarning")
