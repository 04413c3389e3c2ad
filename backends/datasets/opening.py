"""From the files that a spec names to batches: read, check, clean, put in order."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from .balance import Balance
from .cleaning import Cleaning, Report, clean_documents, clean_labelled
from .faults import wrong, wrong_key
from .feed import Feed
from .labelled import Labelled, check_finite, check_labels, read_arrays
from .near_text import Documents
from .order import Order
from .pictures import read_folder
from .tokens import Tokens, Windows, open_tokens

if TYPE_CHECKING:
    from pathlib import Path

    from ..spec_data import Files
    from .augment import Augment

Shape = tuple[int, ...]
_OF_IMAGES = ("crop", "flip", "brightness", "contrast", "cutmix")
_IMAGE_AXES = 4


@dataclass(frozen=True)
class Wanted:
    """What a model asks of its data.

    Attributes:
        batch: Samples of one worker's step.
        seed: What orders and changes are drawn from.
        context: Tokens of a sample, for tokens.
        vocabulary: Number of tokens, for tokens.
        shape: Shape of a sample's features, for the others.
        classes: Number of classes; 0 where targets are wanted.
        outputs: Number of targets; 0 where labels are wanted.
        rank: Which worker this is, counting from 0.
        world: Number of workers.
    """

    batch: int
    seed: int = 0
    context: int = 0
    vocabulary: int = 0
    shape: Shape = ()
    classes: int = 0
    outputs: int = 0
    rank: int = 0
    world: int = 1


@dataclass(frozen=True)
class Opened:
    """Batches, and what cleaning left out of them."""

    feed: Feed
    report: Report


def open_files(path: Path, files: Files, wanted: Wanted) -> Opened:
    """Open the files of a spec.

    Args:
        path: The file or folder, as a path that leads there.
        files: The keys of the spec.
        wanted: What the model asks for.

    Raises:
        InputError: The files cannot be used, or do not fit the model.
    """
    if files.kind == "tokens":
        return _open_tokens(path, files, wanted)
    data = read_folder(path)[0] if files.kind == "images-folder" else read_arrays(path)
    _check_fit(data, files.augment, wanted)
    if not files.clean.nonfinite:
        check_finite(data)
    report = clean_labelled(data, files.clean)
    kept = report.kept
    if data.labels is not None and np.unique(data.labels[kept]).size == 1:
        raise wrong(data.source, "cleaning left one class only: loosen its limits, or bring samples of another class")
    balance = None
    if files.balance and data.labels is not None:
        weights = files.weights or (1.0,) * wanted.classes
        balance = Balance(data.labels[kept], weights, seed=wanted.seed)
    return Opened(Feed(data, _order(len(kept), files, wanted, balance), kept, files.augment, wanted.classes), report)


def _open_tokens(path: Path, files: Files, wanted: Wanted) -> Opened:
    tokens = open_tokens(path, Windows(wanted.context, files.stride, wanted.vocabulary, files.dtype))
    report = Report(tokens.count)
    if files.clean != Cleaning() and files.separator is not None:
        documents = Documents.split(np.concatenate(tokens.shards), files.separator)
        report = clean_documents(documents, files.clean, path)
        joined = documents.joined(report.kept)
        tokens = Tokens([path], [joined], Windows(wanted.context, files.stride, wanted.vocabulary))
    order = _order(tokens.count, files, wanted, None)
    return Opened(Feed(tokens, order, np.arange(tokens.count)), report)


def _order(count: int, files: Files, wanted: Wanted, balance: Balance | None) -> Order:
    return Order(count, wanted.batch, wanted.seed, files.shuffle, wanted.rank, wanted.world, balance)


def _check_fit(data: Labelled, augment: Augment, wanted: Wanted) -> None:
    if data.features.shape[1:] != wanted.shape:
        what = f"a sample has shape {data.features.shape[1:]}, and the model takes {wanted.shape}: make them equal"
        raise wrong(data.source, what)
    if wanted.classes:
        check_labels(data, wanted.classes)
    elif data.targets is None or data.targets.shape != (data.count, wanted.outputs):
        held = "none" if data.targets is None else str(data.targets.shape)
        raise wrong(data.source, f"the loss takes targets of shape {(data.count, wanted.outputs)}, not {held}")
    given = [f.name for f in fields(augment) if f.name in _OF_IMAGES and getattr(augment, f.name) != f.default]
    if given and data.features.ndim != _IMAGE_AXES:
        raise wrong_key(f"data.augment.{given[0]}", "changes images, and these samples are none: remove it")
