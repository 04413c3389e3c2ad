"""The part of a spec that names files of data: what they are, what is left out of them, and how they are handed out."""

from __future__ import annotations

from dataclasses import dataclass, field

from .datasets.augment import Augment
from .datasets.cleaning import Cleaning

__all__ = ["FILE_KINDS", "Augment", "Cleaning", "Files"]

FILE_KINDS = ("tokens", "arrays", "images-folder")


@dataclass(frozen=True)
class Files:
    """Samples from files. What each part does: `docs/data.md`.

    Attributes:
        kind: `tokens`, `arrays` or `images-folder`.
        path: The file or folder, relative to the spec file.
        dtype: Type of the bare numbers in a .bin file without an index (tokens).
        stride: Tokens from one window's beginning to the next; 0 for the context (tokens).
        separator: The token that ends a document; None where there are no documents (tokens).
        shuffle: Whether each epoch has an order of its own.
        balance: Whether classes come equally often, or by `weights` (arrays and images-folder).
        weights: How often each class comes, relative to the others (arrays and images-folder).
        clean: What is left out.
        augment: How samples are changed at random (arrays and images-folder).
    """

    kind: str = "tokens"
    path: str = ""
    dtype: str = "uint16"
    stride: int = 0
    separator: int | None = None
    shuffle: bool = True
    balance: bool = False
    weights: tuple[float, ...] = ()
    clean: Cleaning = field(default_factory=Cleaning)
    augment: Augment = field(default_factory=Augment)
