"""The built-in models of a spec, and the model from a file. Formulas and sources: `docs/training.md`.

Every field is also a key of the TOML file. Sizes count elements.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Union

from .recipe import later

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Gpt:
    """A decoder-only transformer over tokens.

    Attributes:
        layers: Number of blocks.
        width: Model width; a multiple of `heads` (and of twice `heads` with rotary positions).
        heads: Attention heads.
        context: Sequence length in tokens.
        vocabulary: Number of distinct tokens.
        hidden: Width of the feed-forward layer; 0 stands for four times `width`.
        norm: `rmsnorm` or `layernorm`, applied before attention and before the feed-forward layer.
        activation: `gelu` (exact), `gelu-tanh` (its approximation) or `swiglu`.
        position: `rope` (rotary) or `learned`.
        tied: Whether the output layer is the token embedding.
        bias: Whether linear layers carry a bias.
        key_heads: Heads of keys and values, which divide `heads`; 0 stands for `heads`.
        rope_base: Base of the rotary frequencies.
        dropout: Share that is dropped of the embeddings and of what each sublayer adds.
    """

    kind: str = "gpt"
    layers: int = 2
    width: int = 64
    heads: int = 4
    context: int = 32
    vocabulary: int = 64
    hidden: int = 0
    norm: str = "rmsnorm"
    activation: str = "swiglu"
    position: str = "rope"
    tied: bool = True
    bias: bool = False
    key_heads: int = later(0)
    rope_base: float = later(10000.0)
    dropout: float = later(0.0)


@dataclass(frozen=True)
class Llama:
    """A decoder-only transformer as Llama has it: RMSNorm, SwiGLU, rotary positions, no bias.

    Attributes:
        layers: Number of blocks.
        width: Model width; a multiple of twice `heads`.
        heads: Attention heads.
        key_heads: Heads of keys and values, which divide `heads`.
        context: Sequence length in tokens.
        vocabulary: Number of distinct tokens.
        hidden: Width of the feed-forward layer.
        rope_base: Base of the rotary frequencies.
        tied: Whether the output layer is the token embedding.
    """

    kind: str = "llama"
    layers: int = 2
    width: int = 64
    heads: int = 4
    key_heads: int = 2
    context: int = 32
    vocabulary: int = 64
    hidden: int = 176
    rope_base: float = 10000.0
    tied: bool = False


@dataclass(frozen=True)
class Moe:
    """A llama whose feed-forward layers are mixtures of experts.

    Attributes:
        layers: Number of blocks.
        width: Model width; a multiple of twice `heads`.
        heads: Attention heads.
        key_heads: Heads of keys and values, which divide `heads`.
        context: Sequence length in tokens.
        vocabulary: Number of distinct tokens.
        hidden: Width of an expert.
        experts: Experts of each block.
        active: Experts that each token goes to.
        balance: Weight of the loss that spreads tokens over experts; 0 for none.
        rope_base: Base of the rotary frequencies.
        tied: Whether the output layer is the token embedding.
    """

    kind: str = "moe"
    layers: int = 2
    width: int = 64
    heads: int = 4
    key_heads: int = 2
    context: int = 32
    vocabulary: int = 64
    hidden: int = 88
    experts: int = 4
    active: int = 2
    balance: float = 0.01
    rope_base: float = 10000.0
    tied: bool = False


@dataclass(frozen=True)
class Bert:
    """An encoder that fills in masked tokens.

    Attributes:
        layers: Number of blocks.
        width: Model width; a multiple of `heads`.
        heads: Attention heads.
        context: Sequence length in tokens.
        vocabulary: Number of distinct tokens; the last one is the mask.
        segments: Number of distinct segments.
        hidden: Width of the feed-forward layer; 0 stands for four times `width`.
        dropout: Share that is dropped of the embeddings and of what each sublayer adds.
    """

    kind: str = "bert"
    layers: int = 2
    width: int = 64
    heads: int = 4
    context: int = 32
    vocabulary: int = 64
    segments: int = 2
    hidden: int = 0
    dropout: float = 0.0


@dataclass(frozen=True)
class Vit:
    """A vision transformer: patches of an image as tokens, and a class token that is classified.

    Attributes:
        image: Channels, height and width; height and width are multiples of `patch`.
        patch: Height and width of a patch.
        layers: Number of blocks.
        width: Model width; a multiple of `heads`.
        heads: Attention heads.
        hidden: Width of the feed-forward layer; 0 stands for four times `width`.
        outputs: Classes (cross-entropy) or regression targets (mean-squared-error).
        dropout: Share that is dropped of the embeddings and of what each sublayer adds.
    """

    kind: str = "vit"
    image: tuple[int, ...] = (3, 16, 16)
    patch: int = 4
    layers: int = 2
    width: int = 64
    heads: int = 4
    hidden: int = 0
    outputs: int = 4
    dropout: float = 0.0


@dataclass(frozen=True)
class Mlp:
    """A fully connected network.

    Attributes:
        inputs: Features per sample.
        hidden: Width of each hidden layer, first to last.
        outputs: Classes (cross-entropy) or regression targets (mean-squared-error).
        activation: `relu`, `gelu` (exact) or `tanh`.
        dropout: Share that is dropped after each hidden layer.
    """

    kind: str = "mlp"
    inputs: int = 16
    hidden: tuple[int, ...] = (64, 64)
    outputs: int = 4
    activation: str = "relu"
    dropout: float = later(0.0)


@dataclass(frozen=True)
class Cnn:
    """A small convolutional classifier: (3x3 convolution, ReLU, 2x2 max pooling) per entry of `channels`, then a mean.

    Attributes:
        image: Channels, height and width; height and width divisible by two once per entry of `channels`.
        channels: Output channels of each convolution.
        outputs: Classes (cross-entropy) or regression targets (mean-squared-error).
    """

    kind: str = "cnn"
    image: tuple[int, ...] = (1, 16, 16)
    channels: tuple[int, ...] = (8, 16)
    outputs: int = 4


@dataclass(frozen=True)
class Resnet:
    """A residual network with batch normalisation: a stem, stages of blocks, then a mean.

    Attributes:
        image: Channels, height and width.
        channels: Channels of the 3x3 convolutions of each stage; each stage but the first halves height and width.
        blocks: Blocks of each stage, as many entries as `channels`.
        outputs: Classes (cross-entropy) or regression targets (mean-squared-error).
        block: `basic` (two 3x3 convolutions) or `bottleneck` (1x1, 3x3, and 1x1 to four times the channels).
        stem: `plain` (a 3x3 convolution) or `imagenet` (a 7x7 convolution and max pooling, each of stride 2).
        stochastic_depth: How often the last block's residual branch is dropped, per sample; earlier ones less often.
    """

    kind: str = "resnet"
    image: tuple[int, ...] = (3, 16, 16)
    channels: tuple[int, ...] = (8, 16)
    blocks: tuple[int, ...] = (1, 1)
    outputs: int = 4
    block: str = later("basic")
    stem: str = later("plain")
    stochastic_depth: float = later(0.0)


@dataclass(frozen=True)
class Unet:
    """A U-shaped network that gives each pixel a class.

    Attributes:
        image: Channels, height and width; height and width divisible by two once per entry of `channels` but one.
        channels: Channels of each level, from the widest image to the narrowest.
        norm: `batchnorm` after each 3x3 convolution, or `none`.
        outputs: Classes of a pixel.
    """

    kind: str = "unet"
    image: tuple[int, ...] = (1, 16, 16)
    channels: tuple[int, ...] = (8, 16)
    norm: str = "batchnorm"
    outputs: int = 3


@dataclass(frozen=True)
class Onnx:
    """A model of the user's own, from an ONNX file.

    Attributes:
        onnx: The file's path, relative to the spec file.
        digest: SHA-256 over the file and those beside it that hold its tensors. Filled in when the spec file is read;
            where it is given, it must be the file's.
        output: The output that the loss is of; empty for the only one.
        shapes: Sizes of inputs whose sizes are open in the file, by input; an open first size is the batch.
        bounds: What integers of an input are drawn below, by input, where the graph does not say.
        train: Patterns of names of initial tensors that are trained in any case.
        freeze: Patterns of names of initial tensors that are not trained in any case.
        training: Whether batch norms and dropout work as in training, whatever the file says.
    """

    kind: str = "onnx"
    onnx: str = ""
    digest: str = ""
    output: str = ""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    bounds: Mapping[str, int] = field(default_factory=dict)
    train: tuple[str, ...] = ()
    freeze: tuple[str, ...] = ()
    training: bool = False


Decoder = Union[Gpt, Llama, Moe]
Model = Union[Gpt, Llama, Moe, Bert, Vit, Mlp, Cnn, Resnet, Unet, Onnx]


def as_gpt(model: Decoder) -> Gpt:
    """Return a decoder-only transformer as the gpt that it is; of a mixture of experts all but its experts."""
    if isinstance(model, Gpt):
        return model
    return Gpt(
        layers=model.layers,
        width=model.width,
        heads=model.heads,
        context=model.context,
        vocabulary=model.vocabulary,
        hidden=model.hidden,
        tied=model.tied,
        key_heads=model.key_heads,
        rope_base=model.rope_base,
    )
