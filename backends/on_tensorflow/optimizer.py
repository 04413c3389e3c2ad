"""The optimizer on TensorFlow. Formulas: `docs/training.md`; they are the same on every target.

TensorFlow's own kernels are used for Adam, AdamW and SGD: with what is handed to them, their formulas are these. All
else is by the shared rules of `backends/optimizers.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import tensorflow as tf

from ..optimizer_groups import parts
from ..optimizer_rules import Before
from ..optimizers import apply, held_of, state_shapes
from . import arrays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..optimizer_groups import Own
    from ..spec import Optimizer

    Tensors = dict[str, tf.Tensor]
    Variables = dict[str, tf.Variable]
    Orders = Mapping[str, Sequence[int]]

_AS_THEY_ARE: Orders = {}


def new_state(
    optimizer: Optimizer, parameters: Mapping[str, tf.Tensor | tf.Variable], orders: Orders = _AS_THEY_ARE
) -> Variables:
    """Return the optimizer's variables before the first update, by slot and parameter, such as `first/weight`.

    Args:
        optimizer: The rule.
        parameters: Tensors or variables by name.
        orders: For parameters in another order than the program's, its axis at each place.

    Raises:
        UnsupportedError: A group or pattern of the optimizer is of no parameter.
    """
    dtypes = {name: parameter.dtype for name, parameter in parameters.items()}
    shapes = state_shapes(optimizer, parameters, orders)
    return {key: tf.Variable(tf.zeros(shape, dtypes[key.partition("/")[2]])) for key, shape in shapes.items()}


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
    optimizer: Optimizer,
    parameters: Variables,
    gradients: Tensors,
    state: Variables,
    rates: tf.Tensor,
    orders: Orders = _AS_THEY_ARE,
) -> None:
    """Change parameters and state in place.

    Args:
        optimizer: The rule.
        parameters: Variables to change.
        gradients: Their gradients, clipped and dense.
        state: The optimizer's variables.
        rates: Shape (4,): a row of `schedule.rates`.
        orders: For parameters in another order than the program's, its axis at each place.
    """
    for own, names in parts(optimizer, parameters):
        fused = _FUSED.get(own.rule.kind)
        if fused is not None:
            fused(own, {name: parameters[name] for name in names}, gradients, state, rates)
            continue
        for name in names:
            held = held_of(own.rule, name, len(parameters[name].shape), state)
            _shared(own, Before(parameters[name], gradients[name], held), rates, orders.get(name, ()))


def _shared(own: Own, variables: Before, rates: tf.Tensor, order: Sequence[int]) -> None:
    held = {slot: tf.convert_to_tensor(kept) for slot, kept in variables.held.items()}
    before = Before(tf.convert_to_tensor(variables.parameter), variables.gradient, held)
    made, after = apply(arrays, own, before, rates, order)
    variables.parameter.assign(made)
    for slot, kept in variables.held.items():
        kept.assign(after[slot])


def _slope(own: Own, parameter: tf.Variable, gradient: tf.Tensor) -> tf.Tensor:
    return gradient + own.rule.weight_decay * parameter if own.rule.weight_decay else gradient


def _adam(own: Own, parameters: Variables, gradients: Tensors, state: Variables, rates: tf.Tensor) -> None:
    """Adam with its decay in the gradient, or AdamW, which shrinks the parameter.

    The kernel adds epsilon to the root before its bias correction: scaled by the correction, it is the paper's. The
    corrections are in rate and epsilon, so that powers of 0 tell the kernel of none.
    """
    optimizer, decoupled = own.rule, own.rule.kind == "adamw"
    rate, correct_first, correct_second, _ = tf.unstack(rates)
    rate = rate * own.share
    none, root = tf.zeros_like(rate), tf.sqrt(correct_second)
    scaled, epsilon = rate * root / correct_first, optimizer.eps * root
    beta1, beta2 = (tf.constant(beta, rates.dtype) for beta in optimizer.betas)
    for name, parameter in parameters.items():
        if optimizer.weight_decay and decoupled:
            parameter.assign(parameter * (1.0 - rate * optimizer.weight_decay))
        tf.raw_ops.ResourceApplyAdam(
            var=parameter.handle,
            m=state[f"first/{name}"].handle,
            v=state[f"second/{name}"].handle,
            beta1_power=none,
            beta2_power=none,
            lr=scaled,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            grad=gradients[name] if decoupled else _slope(own, parameter, gradients[name]),
        )


def _sgd(own: Own, parameters: Variables, gradients: Tensors, state: Variables, rates: tf.Tensor) -> None:
    optimizer = own.rule
    rate, momentum = rates[0] * own.share, tf.constant(optimizer.momentum, rates.dtype)
    for name, parameter in parameters.items():
        slope: Any = _slope(own, parameter, gradients[name])
        if optimizer.momentum > 0.0:
            tf.raw_ops.ResourceApplyMomentum(
                var=parameter.handle,
                accum=state[f"velocity/{name}"].handle,
                lr=rate,
                grad=slope,
                momentum=momentum,
                use_nesterov=optimizer.nesterov,
            )
        else:
            tf.raw_ops.ResourceApplyGradientDescent(var=parameter.handle, alpha=rate, delta=slope)


_FUSED: Mapping[str, Callable[..., None]] = {"adam": _adam, "adamw": _adam, "sgd": _sgd}
