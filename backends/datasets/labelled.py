"""Samples with labels or targets, from .npz, a folder of .npy, or made by another reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .faults import listed, wrong
from .npy import read_npy, read_npz

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("features", "labels", "targets")
_FEATURES = ("float16", "float32", "float64", "uint8")
_LOOKED_AT = 1 << 22
_BYTE = np.float32(255.0)
_FEWEST_AXES = 2  # samples, and what each one holds


@dataclass(frozen=True)
class Labelled:
    """Samples as they lie in memory or in a mapped file.

    Attributes:
        source: The file or folder, for messages.
        features: Of shape (n, ...), floating-point, or uint8 that stand for 255ths.
        labels: The class of each sample, integers of shape (n,), or None.
        targets: What is to be predicted of each sample, floating-point of shape (n, outputs), or None.
        names: The file of each sample, where each has one.
    """

    source: Path
    features: np.ndarray
    labels: np.ndarray | None = None
    targets: np.ndarray | None = None
    names: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Return the number of samples."""
        return len(self.features)

    def take(self, samples: np.ndarray) -> dict[str, np.ndarray]:
        """Return `features`, float32, with `labels`, int64, or `targets`, float32."""
        made = {"features": as_float(self.features[samples])}
        if self.labels is not None:
            made["labels"] = self.labels[samples].astype(np.int64)
        if self.targets is not None:
            made["targets"] = self.targets[samples].astype(np.float32)
        return made

    def name_of(self, sample: int) -> str:
        """Return what to call a sample in a message."""
        return self.names[sample] if self.names else f"sample {sample}"


def as_float(features: np.ndarray) -> np.ndarray:
    """Return features as float32, bytes divided by 255."""
    made = features.astype(np.float32)
    return made / _BYTE if features.dtype == np.uint8 else made


def read_arrays(path: Path) -> Labelled:
    """Read a .npz file, or a folder with `features.npy` and `labels.npy` or `targets.npy`, which are mapped.

    Raises:
        InputError: A file is broken, an array is missing or has a wrong dtype or shape, or there are no samples.
    """
    if path.is_dir():
        found = {place.stem: read_npy(place) for place in listed(path, (".npy",)) if place.stem in NAMES}
    elif path.is_file():
        found = read_npz(path, NAMES)
    else:
        raise wrong(path, "is not there: correct data.path")
    if "features" not in found or len(found) != len(NAMES) - 1:
        held = ", ".join(found) or "none of them"
        raise wrong(path, f"must hold features and either labels or targets, and holds {held}: write what is missing")
    made = Labelled(path, found["features"], found.get("labels"), found.get("targets"))
    _check_shapes(made)
    return made


def check_labels(data: Labelled, classes: int) -> None:
    """Hold labels against the number of classes.

    Raises:
        InputError: A label is below 0 or not below `classes`, or all samples are of one class.
    """
    if data.labels is None:
        raise wrong(data.source, "has targets and no labels: add labels, or choose a loss of targets")
    out = np.flatnonzero((data.labels < 0) | (data.labels >= classes))
    if out.size:
        what = f"{data.name_of(int(out[0]))} has label {int(data.labels[out[0]])}, and labels go from 0 to "
        raise wrong(data.source, f"{what}{classes - 1}: correct the labels, or raise model.outputs")
    if data.labels.min() == data.labels.max():
        what = f"all {data.count} samples are of class {int(data.labels[0])}: bring samples of another class"
        raise wrong(data.source, f"{what}, for there is nothing to tell apart")


def check_finite(data: Labelled) -> None:
    """Look for features and targets that are no numbers.

    Raises:
        InputError: With the first sample that has one.
    """
    bad = np.flatnonzero(~finite(data))
    if bad.size:
        what = f"{data.name_of(int(bad[0]))} and {bad.size - 1} others hold inf or nan"
        raise wrong(data.source, f"{what}: mend them, or have the cleaning drop them")


def finite(data: Labelled) -> np.ndarray:
    """Return which samples have finite features and targets, booleans of shape (n,)."""
    good = np.ones(data.count, dtype=bool)
    for array in (data.features, data.targets):
        if array is not None and array.dtype.kind == "f":
            rows = max(1, _LOOKED_AT // max(1, array[0].size))
            for start in range(0, data.count, rows):
                part = array[start : start + rows].reshape(len(array[start : start + rows]), -1)
                good[start : start + rows] &= np.isfinite(part).all(axis=1)
    return good


def _check_shapes(data: Labelled) -> None:
    features, labels, targets = data.features, data.labels, data.targets
    if features.ndim < _FEWEST_AXES or features.dtype.name not in _FEATURES:
        what = f"features are {features.dtype} of shape {features.shape}: write {', '.join(_FEATURES[:-1])} or "
        raise wrong(data.source, f"{what}{_FEATURES[-1]}, one sample along the first axis")
    if features.size == 0:
        raise wrong(data.source, f"features of shape {features.shape} are empty: bring samples")
    if labels is not None and (labels.shape != features.shape[:1] or labels.dtype.kind not in "iu"):
        what = f"labels are {labels.dtype} of shape {labels.shape}: write one integer for each of {data.count} samples"
        raise wrong(data.source, what)
    if targets is not None and (targets.ndim < 1 or len(targets) != data.count or targets.dtype.kind != "f"):
        what = f"targets are {targets.dtype} of shape {targets.shape}: write floating-point numbers, one row for each"
        raise wrong(data.source, f"{what} of {data.count} samples")
