"""Reads the table `[model]` of a spec, one reader per kind."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from .own_model import read_onnx
from .readers import Bounds, choice, flag, integer
from .reading_recipe import COUNT, DECAY, LARGEST, NOT_NEGATIVE, POSITIVE, SIZE
from .spec import Bert, Cnn, Gpt, Llama, Mlp, Moe, Onnx, Resnet, Unet, Vit

if TYPE_CHECKING:
    from collections.abc import Callable

    from .spec import Model
    from .tables import Table

MODELS: dict[str, type[Model]] = {
    "gpt": Gpt,
    "llama": Llama,
    "moe": Moe,
    "bert": Bert,
    "vit": Vit,
    "mlp": Mlp,
    "cnn": Cnn,
    "resnet": Resnet,
    "unet": Unet,
    "onnx": Onnx,
}
MODEL_KEYS: dict[str, tuple[str, ...]] = {
    kind: tuple(field.name for field in fields(record) if field.name != "kind") for kind, record in MODELS.items()
}
_LAYERS = integer(Bounds(least=1, most=1000))
_WORDS = integer(Bounds(least=2, most=LARGEST))
# One of a masked language model's words is the mask.
_MASKED_WORDS = integer(Bounds(least=3, most=LARGEST))
_MOST_STAGES = 30


def _read_gpt(table: Table) -> Gpt:
    return Gpt(
        layers=table.one("layers", Gpt.layers, _LAYERS),
        width=table.one("width", Gpt.width, SIZE),
        heads=table.one("heads", Gpt.heads, SIZE),
        context=table.one("context", Gpt.context, SIZE),
        vocabulary=table.one("vocabulary", Gpt.vocabulary, _WORDS),
        hidden=table.one("hidden", Gpt.hidden, COUNT),
        norm=table.one("norm", Gpt.norm, choice("rmsnorm", "layernorm")),
        activation=table.one("activation", Gpt.activation, choice("swiglu", "gelu", "gelu-tanh")),
        position=table.one("position", Gpt.position, choice("rope", "learned")),
        tied=table.one("tied", Gpt.tied, flag),
        bias=table.one("bias", Gpt.bias, flag),
        key_heads=table.one("key_heads", Gpt().key_heads, COUNT),
        rope_base=table.one("rope_base", Gpt().rope_base, POSITIVE),
        dropout=table.one("dropout", Gpt().dropout, DECAY),
    )


def _read_llama(table: Table) -> Llama:
    return Llama(
        layers=table.one("layers", Llama.layers, _LAYERS),
        width=table.one("width", Llama.width, SIZE),
        heads=table.one("heads", Llama.heads, SIZE),
        key_heads=table.one("key_heads", Llama.key_heads, SIZE),
        context=table.one("context", Llama.context, SIZE),
        vocabulary=table.one("vocabulary", Llama.vocabulary, _WORDS),
        hidden=table.one("hidden", Llama.hidden, SIZE),
        rope_base=table.one("rope_base", Llama.rope_base, POSITIVE),
        tied=table.one("tied", Llama.tied, flag),
    )


def _read_moe(table: Table) -> Moe:
    return Moe(
        layers=table.one("layers", Moe.layers, _LAYERS),
        width=table.one("width", Moe.width, SIZE),
        heads=table.one("heads", Moe.heads, SIZE),
        key_heads=table.one("key_heads", Moe.key_heads, SIZE),
        context=table.one("context", Moe.context, SIZE),
        vocabulary=table.one("vocabulary", Moe.vocabulary, _WORDS),
        hidden=table.one("hidden", Moe.hidden, SIZE),
        experts=table.one("experts", Moe.experts, integer(Bounds(least=2, most=10_000))),
        active=table.one("active", Moe.active, SIZE),
        balance=table.one("balance", Moe.balance, NOT_NEGATIVE),
        rope_base=table.one("rope_base", Moe.rope_base, POSITIVE),
        tied=table.one("tied", Moe.tied, flag),
    )


def _read_bert(table: Table) -> Bert:
    return Bert(
        layers=table.one("layers", Bert.layers, _LAYERS),
        width=table.one("width", Bert.width, SIZE),
        heads=table.one("heads", Bert.heads, SIZE),
        context=table.one("context", Bert.context, SIZE),
        vocabulary=table.one("vocabulary", Bert.vocabulary, _MASKED_WORDS),
        segments=table.one("segments", Bert.segments, SIZE),
        hidden=table.one("hidden", Bert.hidden, COUNT),
        dropout=table.one("dropout", Bert.dropout, DECAY),
    )


def _read_vit(table: Table) -> Vit:
    return Vit(
        image=table.many("image", Vit.image, SIZE, (3, 3)),
        patch=table.one("patch", Vit.patch, SIZE),
        layers=table.one("layers", Vit.layers, _LAYERS),
        width=table.one("width", Vit.width, SIZE),
        heads=table.one("heads", Vit.heads, SIZE),
        hidden=table.one("hidden", Vit.hidden, COUNT),
        outputs=table.one("outputs", Vit.outputs, SIZE),
        dropout=table.one("dropout", Vit.dropout, DECAY),
    )


def _read_mlp(table: Table) -> Mlp:
    return Mlp(
        inputs=table.one("inputs", Mlp.inputs, SIZE),
        hidden=table.many("hidden", Mlp.hidden, SIZE, (0, 1000)),
        outputs=table.one("outputs", Mlp.outputs, SIZE),
        activation=table.one("activation", Mlp.activation, choice("relu", "gelu", "tanh")),
        dropout=table.one("dropout", Mlp().dropout, DECAY),
    )


def _read_cnn(table: Table) -> Cnn:
    return Cnn(
        image=table.many("image", Cnn.image, SIZE, (3, 3)),
        channels=table.many("channels", Cnn.channels, SIZE, (1, _MOST_STAGES)),
        outputs=table.one("outputs", Cnn.outputs, SIZE),
    )


def _read_resnet(table: Table) -> Resnet:
    return Resnet(
        image=table.many("image", Resnet.image, SIZE, (3, 3)),
        channels=table.many("channels", Resnet.channels, SIZE, (1, _MOST_STAGES)),
        blocks=table.many("blocks", Resnet.blocks, _LAYERS, (1, _MOST_STAGES)),
        outputs=table.one("outputs", Resnet.outputs, SIZE),
        block=table.one("block", Resnet().block, choice("basic", "bottleneck")),
        stem=table.one("stem", Resnet().stem, choice("plain", "imagenet")),
        stochastic_depth=table.one("stochastic_depth", Resnet().stochastic_depth, DECAY),
    )


def _read_unet(table: Table) -> Unet:
    return Unet(
        image=table.many("image", Unet.image, SIZE, (3, 3)),
        channels=table.many("channels", Unet.channels, SIZE, (2, _MOST_STAGES)),
        norm=table.one("norm", Unet.norm, choice("batchnorm", "none")),
        outputs=table.one("outputs", Unet.outputs, SIZE),
    )


MODEL_READERS: dict[str, Callable[[Table], Model]] = {
    "gpt": _read_gpt,
    "llama": _read_llama,
    "moe": _read_moe,
    "bert": _read_bert,
    "vit": _read_vit,
    "mlp": _read_mlp,
    "cnn": _read_cnn,
    "resnet": _read_resnet,
    "unet": _read_unet,
    "onnx": read_onnx,
}
