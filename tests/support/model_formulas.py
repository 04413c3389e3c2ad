"""What built-in models compute, written down once more in numpy: parameters and a batch in, the output out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stackproof.backends.spec import Bert, Llama, Moe, Resnet, Unet, Vit

    Tensors = Mapping[str, np.ndarray]

NORM_EPSILON = float(np.float32(1e-5))


def llama_logits(model: Llama, parameters: Tensors, fed: Tensors) -> np.ndarray:
    stream = parameters["embedding"][fed["tokens"]]
    for index in range(model.layers):
        stream = stream + _grouped(model, parameters, f"block{index}.attention", stream)
        source = rms(parameters, f"block{index}.feed", stream)
        up, gate = (linear(parameters, f"block{index}.feed.{part}", source) for part in ("up", "gate"))
        stream = stream + linear(parameters, f"block{index}.feed.down", swish(gate) * up)
    return _head(model, parameters, stream)


def moe_logits(model: Moe, parameters: Tensors, fed: Tensors) -> tuple[np.ndarray, float]:
    """Return logits and balance loss, with each token sent to its experts one by one."""
    stream, balance = parameters["embedding"][fed["tokens"]], 0.0
    for index in range(model.layers):
        stream = stream + _grouped(model, parameters, f"block{index}.attention", stream)
        name = f"block{index}.feed"
        source = rms(parameters, name, stream).reshape(-1, model.width)
        shares = softmax(source @ parameters[f"{name}.router.weight"])
        made, counts = np.zeros_like(source), np.zeros(model.experts)
        for token, row in enumerate(source):
            chosen = np.argsort(-shares[token])[: model.active]
            total = shares[token][chosen].sum() if model.active > 1 else 1.0
            for expert in chosen:
                weights = (parameters[f"{name}.{part}.weight"][expert] for part in ("up", "gate", "down"))
                up, gate, down = weights
                made[token] += shares[token][expert] / total * ((swish(row @ gate) * (row @ up)) @ down)
                counts[expert] += 1
        part = counts / counts.sum()
        balance += model.balance * model.experts * float(part @ shares.mean(axis=0))
        stream = stream + made.reshape(stream.shape)
    return _head(model, parameters, stream), balance


def bert_logits(model: Bert, parameters: Tensors, fed: Tensors) -> np.ndarray:
    embedded = parameters["embedding"][fed["tokens"]] + parameters["segment_embedding"][fed["segments"]]
    stream = layer(parameters, "embedding", embedded + parameters["positions"], 1e-12)
    for index in range(model.layers):
        mixed = _full(model.heads, parameters, f"block{index}.attention", stream)
        stream = layer(parameters, f"block{index}.attention", stream + mixed, 1e-12)
        active = gelu(linear(parameters, f"block{index}.feed.up", stream))
        stream = layer(
            parameters, f"block{index}.feed", stream + linear(parameters, f"block{index}.feed.down", active), 1e-12
        )
    source = layer(parameters, "head", gelu(linear(parameters, "head.transform", stream)), 1e-12)
    return source @ parameters["embedding"].T + parameters["head.bias"]


def vit_logits(model: Vit, parameters: Tensors, fed: Tensors) -> np.ndarray:
    side, (depth, height, width) = model.patch, model.image
    images = fed["features"].astype(np.float64)
    cut = images.reshape(len(images), depth, height // side, side, width // side, side)
    patches = cut.transpose(0, 2, 4, 1, 3, 5).reshape(len(images), -1, depth * side * side)
    embedded = patches @ parameters["patches.weight"].reshape(model.width, -1).T + parameters["patches.bias"]
    first = np.broadcast_to(parameters["class_token"], (len(images), 1, model.width))
    stream = np.concatenate([first, embedded], axis=1) + parameters["positions"]
    for index in range(model.layers):
        source = layer(parameters, f"block{index}.attention", stream, 1e-6)
        stream = stream + _full(model.heads, parameters, f"block{index}.attention", source)
        source = layer(parameters, f"block{index}.feed", stream, 1e-6)
        active = gelu(linear(parameters, f"block{index}.feed.up", source))
        stream = stream + linear(parameters, f"block{index}.feed.down", active)
    return linear(parameters, "head", layer(parameters, "final", stream, 1e-6)[:, 0])


def bottleneck_logits(model: Resnet, parameters: Tensors, fed: Tensors) -> np.ndarray:
    """Return the formula of a residual network of bottlenecks behind the stem of ImageNet's."""
    current = np.maximum(normed(parameters, "stem", "stem.norm", fed["features"].astype(np.float64), 2), 0.0)
    current = pooled(np.pad(current, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf), 3)
    for stage, count in enumerate(model.blocks):
        for index in range(count):
            name, stride = f"stage{stage}.block{index}", 2 if stage and not index else 1
            inner = np.maximum(normed(parameters, f"{name}.conv0", f"{name}.norm0", current, 1), 0.0)
            inner = np.maximum(normed(parameters, f"{name}.conv1", f"{name}.norm1", inner, stride), 0.0)
            inner = normed(parameters, f"{name}.conv2", f"{name}.norm2", inner, 1)
            shortcut = f"{name}.shortcut"
            beside = current if index else normed(parameters, shortcut, f"{shortcut}.norm", current, stride)
            current = np.maximum(inner + beside, 0.0)
    return linear(parameters, "head", current.mean(axis=(2, 3)))


def unet_logits(model: Unet, parameters: Tensors, fed: Tensors) -> np.ndarray:
    current, beside = fed["features"].astype(np.float64), []
    for level in range(len(model.channels)):
        if level:
            beside.append(current)
            current = pooled(current, 2)
        current = _pair(model, parameters, f"down{level}", current)
    for level in reversed(range(len(beside))):
        weight = parameters[f"up{level}.rise.weight"]
        risen = np.einsum("bihw,ioyx->bohywx", current, weight)
        samples, channels, height, _, width, _ = risen.shape
        risen = risen.reshape(samples, channels, 2 * height, 2 * width)
        risen = risen + parameters[f"up{level}.rise.bias"][:, None, None]
        current = _pair(model, parameters, f"up{level}", np.concatenate([beside[level], risen], axis=1))
    return convolved(parameters, "head", current, 1)


def _pair(model: Unet, parameters: Tensors, name: str, current: np.ndarray) -> np.ndarray:
    for part in ("conv0", "conv1"):
        if model.norm == "batchnorm":
            current = normed(parameters, f"{name}.{part}", f"{name}.{part}.norm", current, 1)
        else:
            current = convolved(parameters, f"{name}.{part}", current, 1)
        current = np.maximum(current, 0.0)
    return current


def _grouped(model: Llama | Moe, parameters: Tensors, name: str, stream: np.ndarray) -> np.ndarray:
    """Return causal attention whose keys and values serve several heads of queries each."""
    source, size = rms(parameters, name, stream), model.width // model.heads
    query, key, value = (
        linear(parameters, f"{name}.{part}", source).reshape(*stream.shape[:2], -1, size).swapaxes(1, 2)
        for part in ("query", "key", "value")
    )
    query, key = rotated(query, model.rope_base), rotated(key, model.rope_base)
    key, value = (np.repeat(heads, model.heads // model.key_heads, axis=1) for heads in (key, value))
    scores = np.where(np.tri(model.context, dtype=bool), query @ key.swapaxes(2, 3) / math.sqrt(size), -np.inf)
    return linear(parameters, f"{name}.out", (softmax(scores) @ value).swapaxes(1, 2).reshape(stream.shape))


def _full(heads: int, parameters: Tensors, name: str, source: np.ndarray) -> np.ndarray:
    """Return attention in which each token sees every other."""
    query, key, value = (
        linear(parameters, f"{name}.{part}", source).reshape(*source.shape[:2], heads, -1).swapaxes(1, 2)
        for part in ("query", "key", "value")
    )
    mixed = softmax(query @ key.swapaxes(2, 3) / math.sqrt(source.shape[2] / heads)) @ value
    return linear(parameters, f"{name}.out", mixed.swapaxes(1, 2).reshape(source.shape))


def _head(model: Llama | Moe, parameters: Tensors, stream: np.ndarray) -> np.ndarray:
    head = parameters["embedding"].T if model.tied else parameters["head.weight"]
    return np.asarray(rms(parameters, "final", stream) @ head)


def rotated(heads: np.ndarray, base: float) -> np.ndarray:
    """Turn element i and its partner half a head further by `position / base ** (2 i / size)`, as complex numbers."""
    half = heads.shape[-1] // 2
    angle = np.arange(heads.shape[2])[:, None] * base ** (-np.arange(half) / half)
    turned = (heads[..., :half] + 1j * heads[..., half:]) * np.exp(1j * angle)
    return np.concatenate([turned.real, turned.imag], axis=-1)


def rms(parameters: Tensors, name: str, source: np.ndarray) -> np.ndarray:
    size = np.sqrt(np.mean(source**2, axis=-1, keepdims=True) + NORM_EPSILON)
    return np.asarray(source / size * parameters[f"{name}.norm.scale"])


def layer(parameters: Tensors, name: str, source: np.ndarray, epsilon: float) -> np.ndarray:
    centred = source - source.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt(source.var(axis=-1, keepdims=True) + epsilon)
    return np.asarray(scaled * parameters[f"{name}.norm.scale"] + parameters[f"{name}.norm.bias"])


def linear(parameters: Tensors, name: str, source: np.ndarray) -> np.ndarray:
    return np.asarray(source @ parameters[f"{name}.weight"] + parameters.get(f"{name}.bias", 0.0))


def convolved(parameters: Tensors, name: str, data: np.ndarray, stride: int) -> np.ndarray:
    """Convolve with the same padding on every side."""
    weight = parameters[f"{name}.weight"]
    side = weight.shape[-1] // 2
    padded = np.pad(data, ((0, 0), (0, 0), (side, side), (side, side)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axis=(2, 3))
    made = np.einsum("bchwij,ocij->bohw", windows[:, :, ::stride, ::stride], weight)
    return np.asarray(made + np.reshape(parameters.get(f"{name}.bias", np.zeros(1)), (-1, 1, 1)))


def normed(parameters: Tensors, name: str, norm: str, data: np.ndarray, stride: int) -> np.ndarray:
    """Convolve, and normalise over the batch."""
    made = convolved(parameters, name, data, stride)
    mean, variance = made.mean(axis=(0, 2, 3), keepdims=True), made.var(axis=(0, 2, 3), keepdims=True)
    scale, bias = (parameters[f"{norm}.{key}"][:, None, None] for key in ("scale", "bias"))
    return np.asarray(scale * (made - mean) / np.sqrt(variance + NORM_EPSILON) + bias)


def pooled(data: np.ndarray, side: int) -> np.ndarray:
    """Return the largest of each window, in steps of two."""
    windows = np.lib.stride_tricks.sliding_window_view(data, (side, side), axis=(2, 3))
    return np.asarray(windows[:, :, ::2, ::2].max(axis=(4, 5)))


def softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def swish(values: np.ndarray) -> np.ndarray:
    return np.asarray(values / (1.0 + np.exp(-values)))


def gelu(values: np.ndarray) -> np.ndarray:
    return np.asarray(values * 0.5 * (1.0 + np.vectorize(math.erf)(values / math.sqrt(2.0))))
