"""The models in Keras 3, on the backend that KERAS_BACKEND names, trained by `fit`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import keras
from keras import layers, ops

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contender import Work

    from stackproof.backends.spec import Gpt, Mlp, Optimizer, Resnet


def dotless(name: str) -> str:
    """Return a name that PyTorch takes for a module."""
    return name.replace(".", "__")


def linear(name: str, width: int) -> layers.Dense:
    """Return a linear layer without bias."""
    return layers.Dense(width, use_bias=False, name=dotless(name))


def rms(name: str) -> layers.RMSNormalization:
    """Return a norm."""
    return layers.RMSNormalization(epsilon=1e-5, name=dotless(name))


class Attention(layers.Layer):
    """Causal attention with rotary positions."""

    def __init__(self, name: str, width: int, heads: int, tables: Any) -> None:
        super().__init__(name=dotless(name))
        self.heads, self.tables = heads, [ops.convert_to_tensor(table) for table in tables]
        parts = ("query", "key", "value", "out")
        self.query, self.key, self.value, self.out = (linear(f"{name}.{part}", width) for part in parts)

    def turn(self, data: Any) -> Any:
        """Turn `(batch, length, heads, size)`."""
        # Keras traces with PyTorch's meta tensors, where the tables have to be such as well.
        cos, sin = (ops.convert_to_tensor(table) for table in self.tables)
        first, second = ops.split(data, 2, axis=-1)
        return ops.concatenate((first * cos - second * sin, first * sin + second * cos), axis=-1)

    def call(self, stream: Any) -> Any:
        """Attend over `(batch, length, width)`."""
        _, length, width = stream.shape
        shape = (-1, length, self.heads, width // self.heads)
        query, key, value = (ops.reshape(part(stream), shape) for part in (self.query, self.key, self.value))
        mixed = ops.dot_product_attention(self.turn(query), self.turn(key), value, is_causal=True)
        return self.out(ops.reshape(mixed, (-1, length, width)))


class TiedHead(layers.Layer):
    """The output layer that is the embedding."""

    def __init__(self, embedding: layers.Embedding) -> None:
        super().__init__()
        self.embedding = embedding

    def call(self, stream: Any) -> Any:
        """Return the logits."""
        return ops.matmul(stream, ops.transpose(self.embedding.embeddings))


def gpt_model(model: Gpt, tables: Any) -> keras.Model:
    """Return the transformer."""
    tokens = keras.Input((model.context,), dtype="int32")
    embedding = layers.Embedding(model.vocabulary, model.width, name="embedding")
    stream, hidden = embedding(tokens), model.hidden or 4 * model.width
    for index in range(model.layers):
        name = f"block{index}.attention"
        mixed = Attention(name, model.width, model.heads, tables)(rms(f"{name}.norm")(stream))
        stream, name = layers.add((stream, mixed)), f"block{index}.feed"
        normal = rms(f"{name}.norm")(stream)
        up, gate = (linear(f"{name}.{part}", hidden)(normal) for part in ("up", "gate"))
        active = layers.multiply((layers.Activation("silu")(gate), up))
        stream = layers.add((stream, linear(f"{name}.down", model.width)(active)))
    final = rms("final.norm")(stream)
    return keras.Model(tokens, TiedHead(embedding)(final))


def mlp_model(model: Mlp) -> keras.Model:
    """Return the fully connected network."""
    hidden = [layers.Dense(size, "relu", name=f"layer{index}") for index, size in enumerate(model.hidden)]
    return keras.Sequential([keras.Input((model.inputs,)), *hidden, layers.Dense(model.outputs, name="head")])


def convolution(data: Any, name: str, channels: int, size: int, stride: int) -> Any:
    """Convolve with the same padding on both sides, and normalise over the batch."""
    if stride != 1 and size != 1:
        data = layers.ZeroPadding2D(size // 2)(data)
    padding = "same" if stride == 1 else "valid"
    made = layers.Conv2D(channels, size, stride, padding, use_bias=False, name=dotless(name))(data)
    before, dot, conv = name.rpartition(".")
    norm = f"{before}{dot}{conv.replace('conv', 'norm')}" if conv.startswith("conv") else f"{name}.norm"
    return layers.BatchNormalization(momentum=0.9, epsilon=1e-5, name=dotless(norm))(made)


def resnet_model(model: Resnet) -> keras.Model:
    """Return the residual network, channels last."""
    depth, height, width = model.image
    image = keras.Input((height, width, depth))
    made, depth = layers.ReLU()(convolution(image, "stem", model.channels[0], 3, 1)), model.channels[0]
    for stage, (count, channels) in enumerate(zip(model.blocks, model.channels, strict=True)):
        for index in range(count):
            name, stride, beside = f"stage{stage}.block{index}", 2 if stage and not index else 1, made
            inner = layers.ReLU()(convolution(made, f"{name}.conv0", channels, 3, stride))
            inner = convolution(inner, f"{name}.conv1", channels, 3, 1)
            if stride != 1 or depth != channels:
                beside = convolution(beside, f"{name}.shortcut", channels, 1, stride)
            made, depth = layers.ReLU()(layers.add((inner, beside))), channels
    pooled = layers.GlobalAveragePooling2D()(made)
    return keras.Model(image, layers.Dense(model.outputs, name="head")(pooled))


def make_model(work: Work) -> keras.Model:
    """Return the model with its initial weights."""
    model = work.spec.model
    if model.kind == "gpt":
        tables = [work.program.constants[f"rope.{name}"][None, :, None, :] for name in ("cos", "sin")]
        made = gpt_model(model, tables)
    else:
        made = mlp_model(model) if model.kind == "mlp" else resnet_model(model)
    for variable in made.trainable_variables:
        value = work.weights[our_name(variable.path)]
        variable.assign(value.transpose(2, 3, 1, 0) if value.ndim == 4 else value)
    return made


def our_name(path: str) -> str:
    """Return a variable's name in our programs."""
    layer, kind = path.replace("__", ".").split("/")[-2:]
    if kind == "embeddings":
        return layer
    return f"{layer}.{ {'kernel': 'weight', 'gamma': 'scale', 'beta': 'bias'}.get(kind, kind) }"


def make_optimizer(optimizer: Optimizer) -> keras.optimizers.Optimizer:
    """Return Keras's own optimizer."""
    if optimizer.kind == "adamw":
        first, second = optimizer.betas
        return keras.optimizers.AdamW(
            optimizer.lr, optimizer.weight_decay, beta_1=first, beta_2=second, epsilon=optimizer.eps
        )
    return keras.optimizers.SGD(optimizer.lr, optimizer.momentum)


class Watch(keras.callbacks.Callback):
    """Takes the process's CPU time at the end of each step, and the first step's loss."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []
        self.loss = 0.0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Note the time."""
        if not self.times and not batch:
            self.loss = float(logs["loss"])
        self.times.append(time.process_time())


class Native:
    """The model, trained by `fit`."""

    def __init__(self, work: Work) -> None:
        if keras.backend.backend() == "torch":
            import torch  # noqa: PLC0415 - only where it is the backend

            torch.set_num_threads(1)
        if keras.backend.backend() == "tensorflow":
            import tensorflow as tf  # noqa: PLC0415 - as above

            tf.config.threading.set_intra_op_parallelism_threads(1)
            tf.config.threading.set_inter_op_parallelism_threads(1)
        self._model = make_model(work)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        compiled = work.execution == "compiled"
        self._model.compile(make_optimizer(work.spec.optimizer), loss, jit_compile=compiled)
        last = keras.config.image_data_format() == "channels_last"
        self._batches = [self._place(batch, last=last) for batch in work.batches]

    @staticmethod
    def _place(batch: Any, *, last: bool) -> Any:
        values = [v.transpose(0, 2, 3, 1).copy() if v.ndim == 4 and last else v for v in batch.values()]
        return tuple(ops.convert_to_tensor(v.astype("int32") if v.dtype.kind == "i" else v) for v in values)

    def _fit(self, count: int) -> Watch:
        watch = Watch()

        def feed() -> Iterator[Any]:
            for index in range(count):
                yield self._batches[index % len(self._batches)]

        self._model.fit(feed(), steps_per_epoch=count, epochs=1, verbose=0, callbacks=[watch], shuffle=False)
        return watch

    def first(self) -> float:
        """Make the first step, and return its loss."""
        return self._fit(1).loss

    def run(self, count: int) -> float:
        """Make steps, and return the process's CPU seconds for each, without what `fit` does before the second."""
        times = self._fit(count + 1).times
        return (times[-1] - times[0]) / count
