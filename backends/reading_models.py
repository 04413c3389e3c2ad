"""Reads the table `[model]` of a spec, one reader per kind."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Union

from .own_model import read_onnx
from .readers import Bounds, choice, flag, integer
from .reading_recipe import COUNT, DECAY, LARGEST, NOT_NEGATIVE, POSITIVE, SIZE
from .spec import Bert, Cnn, Gpt, Llama, Mlp, Moe, Onnx, Resnet, Unet, Vit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .spec import Model
    from .tables import Table


class Several(NamedTuple):
    """A key that holds a list: the reader of an entry, and the smallest and largest number of entries."""

    read: Callable[[object], Any]
    lengths: tuple[int, int]


Readers = dict[str, Union[Callable[[object], Any], Several]]

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


_IMAGE, _STAGES = Several(SIZE, (3, 3)), Several(SIZE, (1, _MOST_STAGES))
_TRANSFORMER: Readers = {"layers": _LAYERS, "width": SIZE, "heads": SIZE}
_DECODER: Readers = {
    **_TRANSFORMER,
    "key_heads": SIZE,
    "context": SIZE,
    "vocabulary": _WORDS,
    "hidden": SIZE,
    "rope_base": POSITIVE,
    "tied": flag,
}
# The reader of each key, by kind.
_READERS: Mapping[str, Readers] = {
    "gpt": {
        **_DECODER,
        "key_heads": COUNT,
        "hidden": COUNT,
        "norm": choice("rmsnorm", "layernorm"),
        "activation": choice("swiglu", "gelu", "gelu-tanh"),
        "position": choice("rope", "learned"),
        "bias": flag,
        "dropout": DECAY,
    },
    "llama": _DECODER,
    "moe": {**_DECODER, "experts": integer(Bounds(least=2, most=10_000)), "active": SIZE, "balance": NOT_NEGATIVE},
    "bert": {
        **_TRANSFORMER,
        "context": SIZE,
        "vocabulary": _MASKED_WORDS,
        "segments": SIZE,
        "hidden": COUNT,
        "dropout": DECAY,
    },
    "vit": {**_TRANSFORMER, "image": _IMAGE, "patch": SIZE, "hidden": COUNT, "outputs": SIZE, "dropout": DECAY},
    "mlp": {
        "inputs": SIZE,
        "hidden": Several(SIZE, (0, 1000)),
        "outputs": SIZE,
        "activation": choice("relu", "gelu", "tanh"),
        "dropout": DECAY,
    },
    "cnn": {"image": _IMAGE, "channels": _STAGES, "outputs": SIZE},
    "resnet": {
        "image": _IMAGE,
        "channels": _STAGES,
        "blocks": Several(_LAYERS, (1, _MOST_STAGES)),
        "outputs": SIZE,
        "block": choice("basic", "bottleneck"),
        "stem": choice("plain", "imagenet"),
        "stochastic_depth": DECAY,
    },
    "unet": {
        "image": _IMAGE,
        "channels": Several(SIZE, (2, _MOST_STAGES)),
        "norm": choice("batchnorm", "none"),
        "outputs": SIZE,
    },
}


def read_model(table: Table, kind: str) -> Model:
    """Read the table `[model]` of a known kind."""
    if kind == Onnx.kind:
        return read_onnx(table)
    record: Callable[..., Model] = MODELS[kind]
    usual = record()
    given: dict[str, Any] = {}
    for key in MODEL_KEYS[kind]:
        reader, default = _READERS[kind][key], getattr(usual, key)
        if isinstance(reader, Several):
            given[key] = table.many(key, default, reader.read, reader.lengths)
        else:
            given[key] = table.one(key, default, reader)
    return record(**given)
