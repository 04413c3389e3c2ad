"""Presets: names for the keys of a model, of published sizes among them. What is written beside one wins.

Sources of the sizes are in `docs/spec.md`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .readers import choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .tables import Table

TINY = "tiny"
_GPT2 = {"vocabulary": 50257, "context": 1024, "norm": "layernorm", "activation": "gelu-tanh", "position": "learned"}
_GPT2_TIED = {**_GPT2, "tied": True, "bias": True}
_LLAMA3 = {"vocabulary": 128256, "context": 8192, "rope_base": 500000.0}
_IMAGENET = {"image": (3, 224, 224), "outputs": 1000}
_RESNET = {**_IMAGENET, "channels": (64, 128, 256, 512), "stem": "imagenet"}
_VIT_B = {**_IMAGENET, "layers": 12, "width": 768, "heads": 12, "hidden": 3072}
_VIT_L = {**_IMAGENET, "layers": 24, "width": 1024, "heads": 16, "hidden": 4096}
_BERT = {"vocabulary": 30522, "context": 512, "segments": 2}

PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "gpt": {
        TINY: {},
        "gpt2": {**_GPT2_TIED, "layers": 12, "width": 768, "heads": 12},
        "gpt2-medium": {**_GPT2_TIED, "layers": 24, "width": 1024, "heads": 16},
        "gpt2-large": {**_GPT2_TIED, "layers": 36, "width": 1280, "heads": 20},
        "gpt2-xl": {**_GPT2_TIED, "layers": 48, "width": 1600, "heads": 25},
    },
    "llama": {
        TINY: {},
        "tinyllama-1.1b": {
            "vocabulary": 32000,
            "context": 2048,
            "layers": 22,
            "width": 2048,
            "heads": 32,
            "key_heads": 4,
            "hidden": 5632,
        },
        "llama-2-7b": {
            "vocabulary": 32000,
            "context": 4096,
            "layers": 32,
            "width": 4096,
            "heads": 32,
            "key_heads": 32,
            "hidden": 11008,
        },
        "llama-3-8b": {**_LLAMA3, "layers": 32, "width": 4096, "heads": 32, "key_heads": 8, "hidden": 14336},
    },
    "moe": {
        TINY: {},
        "mixtral-8x7b": {
            "vocabulary": 32000,
            "context": 4096,
            "layers": 32,
            "width": 4096,
            "heads": 32,
            "key_heads": 8,
            "hidden": 14336,
            "experts": 8,
            "active": 2,
            "rope_base": 1e6,
            "balance": 0.02,
        },
    },
    "bert": {
        TINY: {},
        "bert-base-uncased": {**_BERT, "layers": 12, "width": 768, "heads": 12, "hidden": 3072},
        "bert-large-uncased": {**_BERT, "layers": 24, "width": 1024, "heads": 16, "hidden": 4096},
    },
    "vit": {
        TINY: {},
        "vit-b/16": {**_VIT_B, "patch": 16},
        "vit-b/32": {**_VIT_B, "patch": 32},
        "vit-l/16": {**_VIT_L, "patch": 16},
    },
    "mlp": {TINY: {}},
    "cnn": {TINY: {}},
    "resnet": {
        TINY: {},
        "resnet-18": {**_RESNET, "blocks": (2, 2, 2, 2), "block": "basic"},
        "resnet-34": {**_RESNET, "blocks": (3, 4, 6, 3), "block": "basic"},
        "resnet-50": {**_RESNET, "blocks": (3, 4, 6, 3), "block": "bottleneck"},
        "resnet-101": {**_RESNET, "blocks": (3, 4, 23, 3), "block": "bottleneck"},
        "resnet-152": {**_RESNET, "blocks": (3, 8, 36, 3), "block": "bottleneck"},
    },
    "unet": {
        TINY: {},
        "unet-2015": {"image": (1, 512, 512), "channels": (64, 128, 256, 512, 1024), "norm": "none", "outputs": 2},
    },
}


def kind_of_preset(name: object) -> str:
    """Return the kind of the model that has a preset of that name; empty where none or several have it."""
    kinds = [kind for kind, presets in PRESETS.items() if isinstance(name, str) and name in presets]
    return kinds[0] if len(kinds) == 1 else ""


def with_preset(table: Table, kind: str) -> Table:
    """Return the table `[model]` with the keys of its preset, where it names one of its kind.

    Args:
        table: As the user wrote it.
        kind: The model's kind, empty where that is faulty.
    """
    presets: Mapping[str, Mapping[str, Any]] = PRESETS.get(kind, {})
    if not presets:
        return table
    name = table.one("preset", "", choice(*presets))
    return replace(table, content={**presets.get(name, {}), **table.content})
