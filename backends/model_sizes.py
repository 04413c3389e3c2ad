"""How many elements the tensors of a built-in model have, from its keys alone: nothing is built."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .spec import Bert, Cnn, Gpt, Llama, Mlp, Moe, Onnx, Resnet, Unet, Vit, as_gpt

if TYPE_CHECKING:
    from collections.abc import Callable

    from .spec import Decoder, Model

    # How often a tensor is there, and its elements.
    Tensors = list[tuple[int, int]]

# How many times the channels of its 3x3 convolution a bottleneck gives out.
EXPANSION = 4


def elements(model: Model) -> int:
    """Return the number of elements of a model's parameters; 0 for a model from a file, which has its own."""
    return sum(times * size for times, size in _TENSORS[type(model)](model))


def largest_tensor(model: Model) -> int:
    """Return the number of elements of the largest parameter; 0 for a model from a file."""
    return max((size for times, size in _TENSORS[type(model)](model) if times), default=0)


def sample_elements(model: Model) -> int:
    """Return the elements of the largest of a sample, its output and what lies between; 0 for a model from a file."""
    return _SAMPLES[type(model)](model)


def _decoder(model: Decoder) -> Tensors:
    gpt = as_gpt(model)
    width, hidden = gpt.width, gpt.hidden or 4 * gpt.width
    narrow = width // gpt.heads * (gpt.key_heads or gpt.heads)
    norm = 2 if gpt.norm == "layernorm" else 1
    up = 2 if gpt.activation == "swiglu" else 1
    feed = _experts(model) if isinstance(model, Moe) else _feed(width, hidden, up, bias=gpt.bias)
    block = [*_attention(width, narrow, bias=gpt.bias), *feed, (2 * norm, width)]
    ends = [(1 if gpt.tied else 2, gpt.vocabulary * width), (norm, width)]
    positions = [(1, gpt.context * width)] if gpt.position == "learned" else []
    return _times(gpt.layers, block) + ends + positions


def _experts(model: Moe) -> Tensors:
    return [(1, model.width * model.experts), (3, model.experts * model.width * model.hidden)]


def _bert(model: Bert) -> Tensors:
    width = model.width
    embeddings = [(1, rows * width) for rows in (model.vocabulary, model.context, model.segments)]
    head = [(1, width * width), (1, width), (1, model.vocabulary)]
    return _times(model.layers, _encoder(width, model.hidden)) + embeddings + head + [(4, width)]


def _vit(model: Vit) -> Tensors:
    width = model.width
    patches = [(1, width * model.image[0] * model.patch**2), (1, width)]
    ends = [(1, width), (1, tokens(model) * width), (2, width), (1, width * model.outputs), (1, model.outputs)]
    return _times(model.layers, _encoder(width, model.hidden)) + patches + ends


def _encoder(width: int, hidden: int) -> Tensors:
    return [*_attention(width, width, bias=True), *_feed(width, hidden or 4 * width, 1, bias=True), (4, width)]


def _attention(width: int, narrow: int, *, bias: bool) -> Tensors:
    biases = [(2, width), (2, narrow)] if bias else []
    return [(2, width * width), (2, width * narrow), *biases]


def _feed(width: int, hidden: int, up: int, *, bias: bool) -> Tensors:
    biases = [(up, hidden), (1, width)] if bias else []
    return [(up + 1, width * hidden), *biases]


def tokens(model: Vit) -> int:
    """Return how many tokens a vision transformer reads: its patches and the class."""
    return (model.image[1] // model.patch) * (model.image[2] // model.patch) + 1


def _mlp(model: Mlp) -> Tensors:
    sizes = (model.inputs, *model.hidden, model.outputs)
    return [layer for wide, size in zip(sizes, sizes[1:]) for layer in ((1, wide * size), (1, size))]


def _cnn(model: Cnn) -> Tensors:
    depths = (model.image[0], *model.channels)
    layers = [layer for depth, size in zip(depths, depths[1:]) for layer in ((1, 9 * depth * size), (1, size))]
    return [*layers, (1, depths[-1] * model.outputs), (1, model.outputs)]


def _resnet(model: Resnet) -> Tensors:
    depth, wider = model.channels[0], EXPANSION if model.block == "bottleneck" else 1
    kernel = 49 if model.stem == "imagenet" else 9
    made = [(1, kernel * model.image[0] * depth), (2, depth)]
    for stage, (count, channels) in enumerate(zip(model.blocks, model.channels)):
        made += _block(model.block, depth, channels) + _times(
            count - 1, _block(model.block, wider * channels, channels)
        )
        if stage or depth != wider * channels:
            made += [(1, depth * wider * channels), (2, wider * channels)]
        depth = wider * channels
    return [*made, (1, depth * model.outputs), (1, model.outputs)]


def _block(block: str, depth: int, channels: int) -> Tensors:
    if block == "basic":
        return [(1, 9 * depth * channels), (1, 9 * channels * channels), (4, channels)]
    wide = EXPANSION * channels
    return [(1, depth * channels), (1, 9 * channels**2), (1, channels * wide), (4, channels), (2, wide)]


def _unet(model: Unet) -> Tensors:
    more, made = (2 if model.norm == "batchnorm" else 1), []
    pairs = [*zip((model.image[0], *model.channels), model.channels)]
    rising = [*zip(model.channels, model.channels[1:])]
    for depth, size in pairs + [(2 * size, size) for size, _ in rising]:
        made += [(1, 9 * depth * size), (1, 9 * size * size), (2 * more, size)]
    for size, below in rising:
        made += [(1, 4 * below * size), (1, size)]
    return [*made, (1, model.channels[0] * model.outputs), (1, model.outputs)]


def _times(count: int, listed: Tensors) -> Tensors:
    return [(count * times, size) for times, size in listed]


def _decoder_sample(model: Decoder) -> int:
    experts = model.experts * model.hidden if isinstance(model, Moe) else 0
    return model.context * max(model.vocabulary, model.width, experts)


def _bert_sample(model: Bert) -> int:
    return model.context * max(model.vocabulary, model.width)


def _vit_sample(model: Vit) -> int:
    return max(math.prod(model.image), tokens(model) * (model.hidden or 4 * model.width), model.outputs)


def _mlp_sample(model: Mlp) -> int:
    return max(model.inputs, *model.hidden, model.outputs)


def _cnn_sample(model: Cnn) -> int:
    return max(math.prod(model.image), model.image[1] * model.image[2] * model.channels[0], model.outputs)


def _resnet_sample(model: Resnet) -> int:
    """Return the largest of image, stages and output; a stem of ImageNet's halves the image twice before the stages."""
    wider = EXPANSION if model.block == "bottleneck" else 1
    halved = 2 if model.stem == "imagenet" else 0
    stem = model.channels[0] * _area(model.image, halved // 2)
    stages = [wider * size * _area(model.image, stage + halved) for stage, size in enumerate(model.channels)]
    return max(math.prod(model.image), stem, *stages, model.outputs)


def _unet_sample(model: Unet) -> int:
    """Return the largest of image, levels and output; on its way up a level is joined to one of its size."""
    levels = [2 * size * _area(model.image, level) for level, size in enumerate(model.channels)]
    return max(math.prod(model.image), *levels, model.outputs * _area(model.image, 0))


def _area(image: tuple[int, ...], halved: int) -> int:
    """Return the elements of one channel after an image was halved so many times, rounding up."""
    return -(-image[1] // (1 << halved)) * -(-image[2] // (1 << halved))


_TENSORS: dict[type[Model], Callable[[Any], Tensors]] = {
    Gpt: _decoder,
    Llama: _decoder,
    Moe: _decoder,
    Bert: _bert,
    Vit: _vit,
    Mlp: _mlp,
    Cnn: _cnn,
    Resnet: _resnet,
    Unet: _unet,
    Onnx: lambda _: [],
}
_SAMPLES: dict[type[Model], Callable[[Any], int]] = {
    Gpt: _decoder_sample,
    Llama: _decoder_sample,
    Moe: _decoder_sample,
    Bert: _bert_sample,
    Vit: _vit_sample,
    Mlp: _mlp_sample,
    Cnn: _cnn_sample,
    Resnet: _resnet_sample,
    Unet: _unet_sample,
    Onnx: lambda _: 0,
}
