from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from loss_contract import LossContract
from torch.nn import functional

from stackproof.backends.on_torch import evaluate, session

if TYPE_CHECKING:
    import numpy as np
    from loss_cases import Case


class TestLosses(LossContract):
    module = evaluate
    sessions = session

    def theirs(self, case: Case) -> tuple[float, np.ndarray]:
        output = torch.tensor(case.output, requires_grad=True)
        loss = _loss(case, output)
        loss.backward()
        assert output.grad is not None
        return float(loss.detach()), output.grad.numpy()


def _loss(case: Case, output: torch.Tensor) -> torch.Tensor:
    if case.train.loss == "cross-entropy":
        return _cross_entropy(case, output)
    target = torch.tensor(case.target)
    if case.train.loss == "kl-divergence":
        return functional.kl_div(
            functional.log_softmax(output, 2 if output.dim() == 3 else 1), target, reduction="batchmean"
        )
    if case.train.loss == "binary-cross-entropy":
        return functional.binary_cross_entropy_with_logits(output, target)
    if case.train.loss == "huber":
        return functional.huber_loss(output, target, delta=case.delta)
    return functional.mse_loss(output, target)


def _cross_entropy(case: Case, output: torch.Tensor) -> torch.Tensor:
    scores, labels = case.scores()
    ignored = -100 if case.train.ignore_label is None else case.train.ignore_label
    return functional.cross_entropy(
        output.reshape(scores.shape),
        torch.tensor(labels),
        weight=None if case.weights is None else torch.tensor(case.weights),
        ignore_index=ignored,
        label_smoothing=case.smoothing,
    )
