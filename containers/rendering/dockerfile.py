"""Dockerfiles: of one layer, of the image itself, and of everything at once. Pure: the same input, the same text."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from .configuration import configure
from .layers import plan_layers
from .safe import check_reference

if TYPE_CHECKING:
    from ...compat.lock import Lock
    from ..bases.base import Base
    from .layers import Layer
    from .settings import ImageSettings

_LONGEST_STACK: Final = 100


def render_layer(layer: Layer, parent: str = "") -> str:
    """Return the Dockerfile of one layer.

    Args:
        layer: The layer.
        parent: What `FROM` takes; the layer's own parent if not given.

    Raises:
        InputError: The parent is no reference.
    """
    return f"FROM {check_reference(parent or layer.parent, 'parent')}\n{layer.body}"


def render_image(lock: Lock, base: Base, settings: ImageSettings) -> str:
    """Return the Dockerfile of an image itself, which only configures the last of its layers.

    Args:
        lock: What is installed.
        base: What the lowest layer is built from.
        settings: How images are made.

    Raises:
        InputError: A name, version, label or path is none.
    """
    last = plan_layers(lock, base, settings)[-1]
    return f"FROM {last.tag}\n{configure(lock, base, settings, last.key)}"


def render_whole(lock: Lock, base: Base, settings: ImageSettings) -> str:
    """Return one Dockerfile that makes an image from its base, a stage a layer.

    It is for building by hand, from a folder with what `context_files` names for all layers.

    Args:
        lock: What is installed.
        base: What the lowest layer is built from.
        settings: How images are made.

    Raises:
        InputError: A name, version, label or path is none.
    """
    layers = plan_layers(lock, base, settings)
    parents = (layers[0].parent, *(layer.name for layer in layers))
    stages = [f"FROM {parent} AS {layer.name}\n{layer.body}\n" for parent, layer in zip(parents, layers, strict=False)]
    return f"{''.join(stages)}FROM {parents[-1]}\n{configure(lock, base, settings, layers[-1].key)}"


def image_tag(lock: Lock, dockerfile: str) -> str:
    """Return the name that an image has in the engine: its stack, and a digest of the Dockerfile that made it.

    Args:
        lock: What is installed.
        dockerfile: What `render_image` returned.
    """
    stack = re.sub(r"[^A-Za-z0-9_.-]", "_", lock.stack)[:_LONGEST_STACK]
    return f"stackproof/image:{stack}-{hashlib.sha256(dockerfile.encode()).hexdigest()[:12]}"
