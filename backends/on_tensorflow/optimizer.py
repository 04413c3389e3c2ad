"""The update rules on TensorFlow. Formulas: `docs/training.md`; they are the same on every target.

Variables travel as dictionaries by parameter name; the optimizer's state is such a dictionary per quantity.
TensorFlow's own kernels are used: with what is handed to them, their formulas are these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

if TYPE_CHECKING:
    from ..spec import Optimizer

    Tensors = dict[str, tf.Tensor]
    Variables = dict[str, tf.Variable]


def state_names(optimizer: Optimizer) -> tuple[str, ...]:
    """Return the quantities that an optimizer keeps per parameter; each begins at zero."""
    if optimizer.kind == "adamw":
        return ("first", "second")
    return ("velocity",) if optimizer.momentum > 0.0 else ()


def global_norm(gradients: Tensors) -> tf.Tensor:
    """Return the square root of the sum of all squared elements."""
    return tf.sqrt(tf.add_n([tf.reduce_sum(gradient * gradient) for gradient in gradients.values()]))


def clipped(gradients: Tensors, norm: tf.Tensor, largest: float) -> Tensors:
    """Return gradients scaled by `min(1, largest / norm)`, or as they are where `largest` is 0."""
    if largest == 0.0:
        return gradients
    scale = tf.minimum(tf.ones_like(norm), largest / norm)
    return {name: gradient * scale for name, gradient in gradients.items()}


def update(
    optimizer: Optimizer, parameters: Variables, gradients: Tensors, state: dict[str, Variables], rates: tf.Tensor
) -> None:
    """Change parameters and state in place.

    Args:
        optimizer: The rule.
        parameters: Variables to change.
        gradients: Their gradients, clipped and dense.
        state: The optimizer's variables, one mapping per name in `state_names`.
        rates: Shape (3,): learning rate and AdamW's two bias corrections.
    """
    rule = _adamw if optimizer.kind == "adamw" else _sgd
    rule(optimizer, parameters, gradients, state, rates)


def _adamw(
    optimizer: Optimizer, parameters: Variables, gradients: Tensors, state: dict[str, Variables], rates: tf.Tensor
) -> None:
    """AdamW (Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019, algorithm 2).

    The kernel adds epsilon to the root before its bias correction: scaled by the correction, it is the paper's. The
    corrections are in rate and epsilon, so that powers of 0 tell the kernel of none.
    """
    (first, second), (rate, correct_first, correct_second) = optimizer.betas, tf.unstack(rates)
    none, root = tf.zeros_like(rate), tf.sqrt(correct_second)
    scaled, epsilon = rate * root / correct_first, optimizer.eps * root
    beta1, beta2 = (tf.constant(beta, rates.dtype) for beta in (first, second))
    kept = 1.0 - rate * optimizer.weight_decay
    for name, gradient in gradients.items():
        parameter = parameters[name]
        if optimizer.weight_decay:
            parameter.assign(parameter * kept)
        tf.raw_ops.ResourceApplyAdam(
            var=parameter.handle,
            m=state["first"][name].handle,
            v=state["second"][name].handle,
            beta1_power=none,
            beta2_power=none,
            lr=scaled,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            grad=gradient,
        )


def _sgd(
    optimizer: Optimizer, parameters: Variables, gradients: Tensors, state: dict[str, Variables], rates: tf.Tensor
) -> None:
    """SGD with coupled decay and momentum (Sutskever et al., On the importance of initialization, 2013)."""
    rate, momentum = rates[0], tf.constant(optimizer.momentum, rates.dtype)
    for name, gradient in gradients.items():
        parameter = parameters[name]
        slope = gradient + optimizer.weight_decay * parameter if optimizer.weight_decay else gradient
        if optimizer.momentum > 0.0:
            tf.raw_ops.ResourceApplyMomentum(
                var=parameter.handle,
                accum=state["velocity"][name].handle,
                lr=rate,
                grad=slope,
                momentum=momentum,
                use_nesterov=optimizer.nesterov,
            )
        else:
            tf.raw_ops.ResourceApplyGradientDescent(var=parameter.handle, alpha=rate, delta=slope)
