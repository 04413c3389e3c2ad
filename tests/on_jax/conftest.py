from __future__ import annotations

import pytest

pytest.register_assert_rewrite("operator_cases", "operator_contract", "optimizer_contract", "session_contract")

from stackproof.backends.on_jax.session import prepare  # noqa: E402 - the contracts are rewritten first

prepare(threads=1, device="cpu")
