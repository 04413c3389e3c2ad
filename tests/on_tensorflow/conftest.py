from __future__ import annotations

import os
import tempfile

import pytest

CONTRACTS = ("operator_cases", "operator_contract", "optimizer_contract", "session_contract", "suite_contract")
pytest.register_assert_rewrite(
    *CONTRACTS, "control_contract", "gradient_contract", "loss_contract", "model_contract", "recurrent_contract"
)

# XLA leaves one text per program that it compiles here: the only public sign of a compilation.
DUMPS = pytest.StashKey[tempfile.TemporaryDirectory]()


def pytest_configure(config: pytest.Config) -> None:
    folder = config.stash[DUMPS] = tempfile.TemporaryDirectory()
    os.environ["XLA_FLAGS"] = f"--xla_dump_to={folder.name} --xla_dump_hlo_as_text"
    os.environ["XLA_DUMPS"] = folder.name
    from stackproof.backends.on_tensorflow.session import prepare  # noqa: PLC0415 - after the flags are set

    prepare(threads=1, device="cpu")


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[DUMPS].cleanup()
