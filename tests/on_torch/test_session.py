from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import torch
from required import need
from session_contract import GPT, MLP, SessionContract
from torch._dynamo.utils import counters

from stackproof.backends.models.build import build_program
from stackproof.backends.on_torch import gates, session
from stackproof.backends.session import Options

if TYPE_CHECKING:
    import pytest


def _compiled() -> int:
    return int(counters["stats"]["unique_graphs"])


class TestSession(SessionContract):
    module = session
    executions = ("eager", "eager-last", "compiled", "compiled-last")
    compilations = _compiled
    distributions = {"torch": "torch"}
    compiled_mode = "inductor"

    def test_modes(self) -> None:
        need("compiler", gates.missing_compiler("cpu"))
        super().test_modes()

    def test_convolutions_agree_compiled_and_eager(self) -> None:
        need("compiler", gates.missing_compiler("cpu"))
        super().test_convolutions_agree_compiled_and_eager()


def test_a_missing_compiler_means_eager_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    made = session.open_session(build_program(GPT), GPT, Options("float32", compile=True))
    assert made.mode == "eager"
    assert "g++" in made.why


def test_missing_headers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates.sysconfig, "get_paths", lambda: {"include": "/nowhere"})
    assert "python3-dev" in gates.missing_compiler("cpu")


def test_threads_are_set() -> None:
    assert torch.get_num_threads() == 1


def test_an_eager_session_does_not_wait_for_the_compiler() -> None:
    code = (
        "import sys; from stackproof.backends.on_torch import session; session.prepare(1, 'cpu'); import torch; "
        "print(torch.are_deterministic_algorithms_enabled(), 'torch._dynamo' in sys.modules)"
    )
    made = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert made.stdout.split() == ["True", "False"]


def test_weights_of_linear_layers_lie_by_columns_and_are_given_by_rows() -> None:
    program = build_program(MLP)
    made = session.TorchSession(program, MLP, Options("float32", compile=False))
    assert made._parameters["head.weight"].t().is_contiguous()
    given = made.parameters()["head.weight"]
    assert given.flags.c_contiguous
    assert (given == program.parameters["head.weight"]).all()
