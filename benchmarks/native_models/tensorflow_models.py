"""The models in TensorFlow: variables in one `tf.function`, channels last, with TensorFlow's own update kernels."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from contender import Stepping

if TYPE_CHECKING:
    from collections.abc import Callable

    from contender import Work

    from stackproof.backends.spec import Optimizer

    Loss = Callable[..., tf.Tensor]


def cross_entropy(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Return the mean loss."""
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


class Model(tf.Module):
    """A model whose variables go by the names of our programs.

    Args:
        work: What to train.
    """

    def __init__(self, work: Work) -> None:
        super().__init__()
        self.spec, self.constants = work.spec, work.program.constants
        self.weights = {name: tf.Variable(in_order(value)) for name, value in work.program.parameters.items()}
        state = getattr(work.program, "state", {})
        self.running = {name: tf.Variable(value, trainable=False) for name, value in state.items()}

    def loss(self, first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
        """Return the loss of a batch."""
        return {"gpt": gpt_loss, "mlp": mlp_loss, "resnet": resnet_loss}[self.spec.model.kind](self, first, second)


def in_order(value: Any) -> Any:
    """Return a kernel of a convolution in TensorFlow's order; anything else as it is."""
    return value.transpose(2, 3, 1, 0) if value.ndim == 4 else value


def mlp_loss(model: Model, features: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Return the loss of the fully connected network."""
    weights = model.weights
    for index in range(len(model.spec.model.hidden)):
        product = tf.matmul(features, weights[f"layer{index}.weight"])
        features = tf.nn.relu(tf.nn.bias_add(product, weights[f"layer{index}.bias"]))
    return cross_entropy(tf.nn.bias_add(tf.matmul(features, weights["head.weight"]), weights["head.bias"]), labels)


def rms_norm(data: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    """Divide by the root of the mean square."""
    return data * tf.math.rsqrt(tf.reduce_mean(tf.square(data), axis=-1, keepdims=True) + 1e-5) * scale


def linear(data: tf.Tensor, weight: tf.Tensor) -> tf.Tensor:
    """Multiply the last axis, as one product of two matrices."""
    flat = tf.matmul(tf.reshape(data, (-1, data.shape[-1])), weight)
    return tf.reshape(flat, (*data.shape[:-1], weight.shape[-1]))


def attend(model: Model, name: str, stream: tf.Tensor) -> tf.Tensor:
    """Return causal attention with rotary positions."""
    heads, length = model.spec.model.heads, stream.shape[1]
    cos, sin = (tf.constant(model.constants[f"rope.{part}"])[None, None] for part in ("cos", "sin"))

    def split(part: str) -> tf.Tensor:
        made = linear(stream, model.weights[f"{name}.{part}.weight"])
        return tf.transpose(tf.reshape(made, (*stream.shape[:2], heads, -1)), (0, 2, 1, 3))

    def turn(data: tf.Tensor) -> tf.Tensor:
        first, second = tf.split(data, 2, axis=-1)
        return tf.concat((first * cos - second * sin, first * sin + second * cos), axis=-1)

    query, key, value = turn(split("query")), turn(split("key")), split("value")
    scores = tf.matmul(query, key, transpose_b=True) * query.shape[-1] ** -0.5
    seen = tf.linalg.band_part(tf.ones((length, length), tf.bool), -1, 0)
    mixed = tf.matmul(tf.nn.softmax(tf.where(seen, scores, -1e9)), value)
    together = tf.reshape(tf.transpose(mixed, (0, 2, 1, 3)), stream.shape)
    return linear(together, model.weights[f"{name}.out.weight"])


def feed(model: Model, name: str, stream: tf.Tensor) -> tf.Tensor:
    """Return the gated feed-forward layer."""
    gate, up = (linear(stream, model.weights[f"{name}.{part}.weight"]) for part in ("gate", "up"))
    return linear(tf.nn.silu(gate) * up, model.weights[f"{name}.down.weight"])


def gpt_loss(model: Model, tokens: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
    """Return the loss of the transformer."""
    table = tf.convert_to_tensor(model.weights["embedding"])
    stream = tf.gather(table, tokens)
    for index in range(model.spec.model.layers):
        for part, function in (("attention", attend), ("feed", feed)):
            name = f"block{index}.{part}"
            stream = stream + function(model, name, rms_norm(stream, model.weights[f"{name}.norm.scale"]))
    final = tf.reshape(rms_norm(stream, model.weights["final.norm.scale"]), (-1, table.shape[1]))
    return cross_entropy(tf.matmul(final, table, transpose_b=True), tf.reshape(targets, (-1,)))


def convolve(data: tf.Tensor, weight: tf.Tensor, stride: int) -> tf.Tensor:
    """Convolve with the same padding on both sides, as PyTorch does: SAME where that is the same."""
    side = (weight.shape[0] - 1) // 2
    padding: Any = "SAME" if stride == 1 else [[0, 0], [side, side], [side, side], [0, 0]]
    return tf.nn.conv2d(data, weight, stride, padding if side else "VALID")


def normed(model: Model, name: str, data: tf.Tensor) -> tf.Tensor:
    """Normalise over the batch, and move the running statistics."""
    scale, bias = model.weights[f"{name}.scale"], model.weights[f"{name}.bias"]
    made, mean, variance = tf.compat.v1.nn.fused_batch_norm(data, scale, bias, epsilon=1e-5)
    for key, value in (("mean", mean), ("variance", variance)):
        running = model.running[f"{name}.{key}"]
        running.assign(0.9 * running + 0.1 * value)
    return made


def block(model: Model, name: str, data: tf.Tensor, stride: int) -> tf.Tensor:
    """Return two convolutions beside a shortcut."""
    made = tf.nn.relu(normed(model, f"{name}.norm0", convolve(data, model.weights[f"{name}.conv0.weight"], stride)))
    made = normed(model, f"{name}.norm1", convolve(made, model.weights[f"{name}.conv1.weight"], 1))
    if f"{name}.shortcut.weight" in model.weights:
        beside = convolve(data, model.weights[f"{name}.shortcut.weight"], stride)
        data = normed(model, f"{name}.shortcut.norm", beside)
    return tf.nn.relu(made + data)


def resnet_loss(model: Model, features: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Return the loss of the residual network."""
    made = tf.nn.relu(normed(model, "stem.norm", convolve(features, model.weights["stem.weight"], 1)))
    for stage, count in enumerate(model.spec.model.blocks):
        for index in range(count):
            made = block(model, f"stage{stage}.block{index}", made, 2 if stage and not index else 1)
    pooled = tf.reduce_mean(made, (1, 2))
    head = tf.nn.bias_add(tf.matmul(pooled, model.weights["head.weight"]), model.weights["head.bias"])
    return cross_entropy(head, labels)


def adamw(optimizer: Optimizer, weights: list[tf.Variable]) -> Callable[[list[tf.Tensor]], None]:
    """Return AdamW by TensorFlow's own kernel."""
    means, squares = ([tf.Variable(tf.zeros_like(weight)) for weight in weights] for _ in range(2))
    powers = [tf.Variable(decay) for decay in optimizer.betas]
    settings = dict(zip(("beta1", "beta2"), optimizer.betas, strict=True))

    def update(slopes: list[tf.Tensor]) -> None:
        for weight, mean, square, slope in zip(weights, means, squares, slopes, strict=True):
            weight.assign_sub(optimizer.lr * optimizer.weight_decay * weight)
            tf.raw_ops.ResourceApplyAdam(
                var=weight.handle,
                m=mean.handle,
                v=square.handle,
                beta1_power=powers[0],
                beta2_power=powers[1],
                lr=optimizer.lr,
                epsilon=optimizer.eps,
                grad=slope,
                **settings,
            )
        for power, decay in zip(powers, optimizer.betas, strict=True):
            power.assign(power * decay)

    return update


def momentum(optimizer: Optimizer, weights: list[tf.Variable]) -> Callable[[list[tf.Tensor]], None]:
    """Return SGD with momentum by TensorFlow's own kernel."""
    kept = [tf.Variable(tf.zeros_like(weight)) for weight in weights]

    def update(slopes: list[tf.Tensor]) -> None:
        for weight, velocity, slope in zip(weights, kept, slopes, strict=True):
            tf.raw_ops.ResourceApplyMomentum(
                var=weight.handle, accum=velocity.handle, lr=optimizer.lr, grad=slope, momentum=optimizer.momentum
            )

    return update


class Native(Stepping):
    """The model, its loss and its optimizer."""

    def __init__(self, work: Work) -> None:
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        model, optimizer = Model(work), work.spec.optimizer
        weights = list(model.weights.values())
        update = (adamw if optimizer.kind == "adamw" else momentum)(optimizer, weights)

        @partial(tf.function, jit_compile=work.execution == "compiled")
        def advance(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss = model.loss(first, second)
            update([tf.convert_to_tensor(slope) for slope in tape.gradient(loss, weights)])
            return loss

        self._advance = advance
        super().__init__([[self._place(value) for value in batch.values()] for batch in work.batches])

    @staticmethod
    def _place(value: Any) -> tf.Tensor:
        return tf.constant(value.transpose(0, 2, 3, 1) if value.ndim == 4 else value)

    def step(self, placed: list[tf.Tensor]) -> tf.Tensor:
        """Make one step and return its loss."""
        return self._advance(*placed)
