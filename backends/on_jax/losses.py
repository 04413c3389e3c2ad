"""JAX rules: losses of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from ..nodes import optional
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("SoftmaxCrossEntropyLoss", "jax")
def _cross_entropy(inputs: Inputs, attributes: Attributes) -> tuple[Array, Array]:
    log_probabilities = jax.nn.log_softmax(inputs[0], axis=1)
    return _loss(log_probabilities, jnp.asarray(inputs[1]), optional(inputs, 2), attributes), log_probabilities


@rule("NegativeLogLikelihoodLoss", "jax")
def _negative_log_likelihood(inputs: Inputs, attributes: Attributes) -> Array:
    return _loss(inputs[0], jnp.asarray(inputs[1]), optional(inputs, 2), attributes)


def _loss(log_probabilities: Array, labels: Array, weights: Array | None, attributes: Attributes) -> Array:
    kept = labels != attributes["ignore_index"] if "ignore_index" in attributes else None
    safe = labels if kept is None else jnp.where(kept, labels, 0)
    picked = jnp.take_along_axis(log_probabilities, jnp.expand_dims(safe, 1), axis=1)
    losses, shares = -jnp.squeeze(picked, 1), None if weights is None else weights[safe]
    if kept is not None:
        losses = jnp.where(kept, losses, 0.0)
        shares = kept.astype(losses.dtype) if shares is None else jnp.where(kept, shares, 0.0)
    return _reduced(losses, shares, attributes.get("reduction", "mean"))


def _reduced(losses: Array, shares: Array | None, reduction: str) -> Array:
    weighted = losses if shares is None else losses * shares
    if reduction == "none":
        return weighted
    if reduction == "sum":
        return jnp.sum(weighted)
    return jnp.mean(weighted) if shares is None else jnp.sum(weighted) / jnp.sum(shares)
