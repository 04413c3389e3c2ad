"""PyTorch rules: losses of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from ..nodes import optional
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

# What the framework takes for a label that marks nothing as ignored.
_NO_LABEL = -100


@rule("SoftmaxCrossEntropyLoss", "torch")
def _cross_entropy(inputs: Inputs, attributes: Attributes) -> tuple[Any, Any]:
    log_probabilities = functional.log_softmax(inputs[0], dim=1)
    return _loss(log_probabilities, inputs[1].long(), optional(inputs, 2), attributes), log_probabilities


@rule("NegativeLogLikelihoodLoss", "torch")
def _negative_log_likelihood(inputs: Inputs, attributes: Attributes) -> Any:
    return _loss(inputs[0], inputs[1].long(), optional(inputs, 2), attributes)


def _loss(log_probabilities: Any, labels: Any, weights: Any, attributes: Attributes) -> Any:
    ignored, reduction = attributes.get("ignore_index", _NO_LABEL), attributes.get("reduction", "mean")
    if weights is None:
        return functional.nll_loss(log_probabilities, labels, ignore_index=ignored, reduction=reduction)
    losses = functional.nll_loss(log_probabilities, labels, ignore_index=ignored, reduction="none")
    # The framework's own weighting has no gradient with respect to the weights.
    shares = torch.where(labels == ignored, 0.0, weights[torch.where(labels == ignored, 0, labels)])
    return _reduced(losses * shares, shares, reduction)


def _reduced(losses: Any, shares: Any, reduction: str) -> Any:
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / shares.sum()
