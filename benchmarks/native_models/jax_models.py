"""The models in JAX: plain functions of a dictionary of arrays, under one `jax.jit` with donated buffers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from contender import Stepping
from jax import lax

if TYPE_CHECKING:
    from collections.abc import Callable

    from contender import Work
    from jax import Array

    from stackproof.backends.spec import Optimizer

    Weights = dict[str, Array]


def cross_entropy(logits: Array, labels: Array) -> Array:
    """Return the mean of the negative logarithms of the labels' shares."""
    shares = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.take_along_axis(shares, labels[:, None], axis=1))


def mlp_loss(work: Work) -> Callable[..., Array]:
    """Return the loss of the fully connected network."""
    depth = len(work.spec.model.hidden)

    def loss(weights: Weights, features: Array, labels: Array) -> Array:
        for index in range(depth):
            features = jax.nn.relu(features @ weights[f"layer{index}.weight"] + weights[f"layer{index}.bias"])
        return cross_entropy(features @ weights["head.weight"] + weights["head.bias"], labels)

    return loss


def rms_norm(data: Array, scale: Array) -> Array:
    """Divide by the root of the mean square."""
    return data * lax.rsqrt(jnp.mean(data * data, axis=-1, keepdims=True) + 1e-5) * scale


def gpt_loss(work: Work) -> Callable[..., Array]:
    """Return the loss of the transformer."""
    model = work.spec.model
    cos, sin = (jnp.asarray(work.program.constants[f"rope.{name}"])[:, None, :] for name in ("cos", "sin"))

    def turn(heads: Array) -> Array:
        first, second = jnp.split(heads, 2, axis=-1)
        return jnp.concatenate((first * cos - second * sin, first * sin + second * cos), axis=-1)

    def attend(weights: Weights, name: str, stream: Array) -> Array:
        shape = (*stream.shape[:2], model.heads, -1)
        query, key, value = (
            (stream @ weights[f"{name}.{part}.weight"]).reshape(shape) for part in ("query", "key", "value")
        )
        mixed = jax.nn.dot_product_attention(turn(query), turn(key), value, is_causal=True)
        return mixed.reshape(stream.shape) @ weights[f"{name}.out.weight"]

    def feed(weights: Weights, name: str, stream: Array) -> Array:
        gate, up = (stream @ weights[f"{name}.{part}.weight"] for part in ("gate", "up"))
        return (jax.nn.silu(gate) * up) @ weights[f"{name}.down.weight"]

    def loss(weights: Weights, tokens: Array, targets: Array) -> Array:
        stream = weights["embedding"][tokens]
        for index in range(model.layers):
            for part, function in (("attention", attend), ("feed", feed)):
                name = f"block{index}.{part}"
                stream = stream + function(weights, name, rms_norm(stream, weights[f"{name}.norm.scale"]))
        logits = rms_norm(stream, weights["final.norm.scale"]) @ weights["embedding"].T
        return cross_entropy(logits.reshape(-1, model.vocabulary), targets.reshape(-1))

    return loss


def resnet_loss(work: Work) -> Callable[..., Any]:
    """Return the loss of the residual network, with the new running statistics beside it."""
    last, model = work.last, work.spec.model
    axes, spread = ((0, 1, 2), (1, 1, 1, -1)) if last else ((0, 2, 3), (1, -1, 1, 1))
    form = ("NHWC", "HWIO", "NHWC") if last else ("NCHW", "OIHW", "NCHW")

    def convolve(data: Array, weight: Array, stride: int, pad: int) -> Array:
        return lax.conv_general_dilated(data, weight, (stride, stride), ((pad, pad),) * 2, dimension_numbers=form)

    def norm(weights: Weights, state: Weights, changed: Weights, name: str, data: Array) -> Array:
        mean, variance = jnp.mean(data, axes), jnp.var(data, axes)
        for key, value in (("mean", mean), ("variance", variance)):
            changed[f"{name}.{key}"] = 0.9 * state[f"{name}.{key}"] + 0.1 * value
        scale = weights[f"{name}.scale"] * lax.rsqrt(variance + 1e-5)
        shift = weights[f"{name}.bias"] - mean * scale
        return data * scale.reshape(spread) + shift.reshape(spread)

    def block(weights: Weights, normed: Callable[..., Array], name: str, data: Array, stride: int) -> Array:
        made = convolve(data, weights[f"{name}.conv0.weight"], stride, 1)
        made = jax.nn.relu(normed(f"{name}.norm0", made))
        made = normed(f"{name}.norm1", convolve(made, weights[f"{name}.conv1.weight"], 1, 1))
        if f"{name}.shortcut.weight" in weights:
            data = normed(f"{name}.shortcut.norm", convolve(data, weights[f"{name}.shortcut.weight"], stride, 0))
        return jax.nn.relu(made + data)

    def loss(weights: Weights, state: Weights, features: Array, labels: Array) -> tuple[Array, Weights]:
        changed: Weights = {}
        normed = partial(norm, weights, state, changed)
        made = jax.nn.relu(normed("stem.norm", convolve(features, weights["stem.weight"], 1, 1)))
        for stage, count in enumerate(model.blocks):
            for index in range(count):
                stride = 2 if stage and not index else 1
                made = block(weights, normed, f"stage{stage}.block{index}", made, stride)
        pooled = jnp.mean(made, axes[1:])
        return cross_entropy(pooled @ weights["head.weight"] + weights["head.bias"], labels), changed

    return loss


def adamw(optimizer: Optimizer, weights: Weights, slopes: Weights, kept: Any) -> tuple[Weights, Any]:
    """Make one update of AdamW."""
    (first, second), (means, squares, count) = optimizer.betas, kept
    count = count + 1
    means = jax.tree.map(lambda m, g: first * m + (1 - first) * g, means, slopes)
    squares = jax.tree.map(lambda v, g: second * v + (1 - second) * g * g, squares, slopes)
    rate, root = optimizer.lr / (1 - first**count), jnp.sqrt(1 - second**count)

    def change(weight: Array, mean: Array, square: Array) -> Array:
        step = rate * mean / (jnp.sqrt(square) / root + optimizer.eps)
        return weight * (1 - optimizer.lr * optimizer.weight_decay) - step

    return jax.tree.map(change, weights, means, squares), (means, squares, count)


def momentum(optimizer: Optimizer, weights: Weights, slopes: Weights, kept: Weights) -> tuple[Weights, Weights]:
    """Make one update of SGD with momentum."""
    kept = jax.tree.map(lambda v, g: optimizer.momentum * v + g, kept, slopes)
    return jax.tree.map(lambda w, v: w - optimizer.lr * v, weights, kept), kept


class Native(Stepping):
    """The model, its loss and its optimizer."""

    def __init__(self, work: Work) -> None:
        kind, optimizer = work.spec.model.kind, work.spec.optimizer
        self._weights, self._running = placed_weights(work)
        zeros = partial(jax.tree.map, jnp.zeros_like)
        self._kept: Any = zeros(self._weights)
        if optimizer.kind == "adamw":
            self._kept = (zeros(self._weights), zeros(self._weights), jnp.zeros((), jnp.int32))
        loss = {"gpt": gpt_loss, "mlp": mlp_loss, "resnet": resnet_loss}[kind](work)
        rule = adamw if optimizer.kind == "adamw" else momentum

        @partial(jax.jit, donate_argnums=(0, 1, 2))
        def advance(weights: Weights, kept: Any, running: Weights, *batch: Array) -> Any:
            if running:
                graded = jax.value_and_grad(loss, has_aux=True)
                (value, running), slopes = graded(weights, running, *batch)
            else:
                value, slopes = jax.value_and_grad(loss)(weights, *batch)
            weights, kept = rule(optimizer, weights, slopes, kept)
            return weights, kept, running, value

        self._advance = advance
        super().__init__([placed_batch(batch, last=work.last) for batch in work.batches])

    def step(self, placed: list[Array]) -> Array:
        """Make one step and return its loss."""
        self._weights, self._kept, self._running, loss = self._advance(
            self._weights, self._kept, self._running, *placed
        )
        return loss


def placed_weights(work: Work) -> tuple[Weights, Weights]:
    """Return parameters and running statistics on the device; kernels of convolutions in the layout's order."""
    made = {}
    for name, value in work.weights.items():
        turned = value.transpose(2, 3, 1, 0) if value.ndim == 4 and work.last else value
        made[name] = jnp.asarray(turned)
    running = {name: made.pop(name) for name in list(made) if name not in work.program.parameters}
    return made, running


def placed_batch(batch: Any, *, last: bool) -> list[Array]:
    """Return a batch on the device, images in the layout's order."""
    arrays = [jnp.asarray(value) for value in batch.values()]
    return [a.transpose(0, 2, 3, 1) if last and a.ndim == 4 else a for a in arrays]
