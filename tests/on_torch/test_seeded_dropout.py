from __future__ import annotations

import torch
from seeded_contract import SeededContract

from stackproof.backends.on_torch import evaluate, session


class TestSeededDropout(SeededContract):
    module, sessions = evaluate, session
    executions = ("compiled",)

    def forget(self) -> None:
        torch.compiler.reset()
