"""Shared rules that look values up: thresholds, labels, n-grams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import UnsupportedError
from .kit import missing, shared

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .kit import Kit

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

# The suffixes of LabelEncoder's attributes for keys and values, with the dtype of a number among them.
_LABELS = {"floats": "float32", "int64s": "int64", "tensor": ""}
_DEFAULTS = {"floats": ("default_float", -0.0), "int64s": ("default_int64", -1), "tensor": ("default_tensor", 0)}


@shared("Binarizer")
def binarizer(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Return 1 for what is above a threshold and 0 for the rest."""
    return kit.cast(inputs[0] > attributes.get("threshold", 0.0), kit.dtype_of(inputs[0]))


@shared("LabelEncoder")
def label_encoder(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Replace each key by its value, and what is no key by a default."""
    kit.refuse_compiled("LabelEncoder")
    data = inputs[0]
    keys, _ = _labels(attributes, "keys")
    values, kind = _labels(attributes, "values")
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order].astype(kit.dtype_of(data)), values[order]
    name, default = _DEFAULTS[kind]
    other = np.asarray(attributes.get(name, default), values.dtype).reshape(())
    places = kit.smaller(kit.search(kit.tensor_of(keys, data), data), kit.tensor_of(np.array(len(keys) - 1), data))
    found = kit.take(kit.tensor_of(keys, data), places, 0) == data
    if np.issubdtype(keys.dtype, np.floating) and np.isnan(keys[-1]):
        found = found | (missing(data) & (places == len(keys) - 1))
    return kit.select(found, kit.take(kit.tensor_of(values, data), places, 0), kit.tensor_of(other, data))


def _labels(attributes: Attributes, side: str) -> tuple[np.ndarray, str]:
    for kind, dtype in _LABELS.items():
        if f"{side}_{kind}" in attributes:
            given = np.asarray(attributes[f"{side}_{kind}"])
            return (given.astype(dtype) if dtype else given).reshape(-1), kind
    raise UnsupportedError(f"LabelEncoder with {side}_strings has no rule: a tensor holds numbers, not text")


@shared("TfIdfVectorizer")
def tf_idf_vectorizer(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Count, for each row, the n-grams of a pool, with up to so many elements skipped between their parts."""
    if "pool_int64s" not in attributes:
        raise UnsupportedError("TfIdfVectorizer with pool_strings has no rule: a tensor holds numbers, not text")
    data = inputs[0]
    rows = kit.cast(kit.shaped(data, (-1, int(data.shape[-1]) if len(data.shape) else 1)), "int64")
    places = attributes["ngram_indexes"]
    size, grams = max(places) + 1, _grams(attributes)
    counts = [_hits(kit, rows, gram, attributes) for gram in grams]
    columns = kit.cast(kit.stacked(counts, 1), "float32")
    where = np.zeros((size, len(grams)), np.float32)
    for gram, place in enumerate(grams.values()):
        where[places[place], gram] = 1
    weighed = _weighed(kit, kit.along(columns, where, 1), attributes)
    return weighed if len(data.shape) > 1 else kit.shaped(weighed, (size,))


def _grams(attributes: Attributes) -> dict[tuple[int, ...], int]:
    """Return the pool's n-grams of the lengths asked for, with their numbers; one that is there twice has the last."""
    pool, starts = attributes["pool_int64s"], (*attributes["ngram_counts"], len(attributes["pool_int64s"]))
    grams: dict[tuple[int, ...], int] = {}
    number = 0
    for length, (start, end) in enumerate(zip(starts, starts[1:]), 1):
        for place in range(start, end - length + 1, length):
            if attributes["min_gram_length"] <= length <= attributes["max_gram_length"]:
                grams[tuple(pool[place : place + length])] = number
            number += 1
    return grams


def _hits(kit: Kit, rows: Any, gram: Sequence[int], attributes: Attributes) -> Any:
    length, width = len(gram), int(rows.shape[1])
    found = kit.total(rows * 0, (1,))
    for step in range(1, attributes["max_skip_count"] + 2 if length > 1 else 2):
        starts = np.arange(width - (length - 1) * step)
        if starts.size:
            windows = kit.take(rows, starts[:, None] + np.arange(length) * step, 1)
            same = kit.cast(windows == kit.tensor_of(np.array(gram, np.int64), rows), "int64")
            found = found + kit.total(kit.cast(kit.total(same, (2,)) == length, "int64"), (1,))
    return found


def _weighed(kit: Kit, counts: Any, attributes: Attributes) -> Any:
    if attributes["mode"] == "TF":
        return counts
    size = int(counts.shape[1])
    weights = np.asarray(attributes.get("weights") or (1.0,) * size, np.float32)[:size]
    held = kit.smaller(counts, counts * 0 + 1) if attributes["mode"] == "IDF" else counts
    return held * kit.tensor_of(weights, counts)
