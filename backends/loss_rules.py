"""Rules of losses: what each asks of the model, and which of their keys count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .model_rules import sound
from .recipe import Train
from .spec import Onnx, Unet

if TYPE_CHECKING:
    from .spec import Model, Spec
    from .tables import Faults

# The keys that count for one loss only.
KEYS_OF_LOSS = {
    "cross-entropy": ("label_smoothing", "ignore_label", "class_weights"),
    "huber": ("huber_delta",),
}
# Losses that compare classes, and what is left to write where there is only one.
_NEED_CLASSES = {"cross-entropy": "mean-squared-error", "kl-divergence": "binary-cross-entropy"}
_FEWEST = 2
# Programs hold numbers as float32, and sums of these and their quotients stay within its range.
_LEAST, _MOST = 1e-12, 1e12


def check_loss(spec: Spec, faults: Faults) -> None:
    """Report where the loss does not fit the model, and keys of a loss that is not the one.

    Args:
        spec: The spec as read.
        faults: The faults found so far; further ones are added to it.
    """
    if not sound(faults, "train.loss"):
        return
    _check_model(spec, faults)
    _check_keys(spec.train, faults)
    if spec.train.loss == "cross-entropy":
        _check_weights(spec, faults)
        _check_ignored(spec, faults)


def check_weights(train: Train, classes: int) -> tuple[tuple[str | int, ...], str] | None:
    """Return what is wrong with class weights, as key path below `train` and text; None where they fit.

    Args:
        train: The keys.
        classes: The number of classes.
    """
    given = train.class_weights
    if not given:
        return None
    for index, weight in enumerate(given):
        if weight and not _LEAST <= weight <= _MOST:
            return ("class_weights", index), f"must be 0, or from {_LEAST:g} to {_MOST:g}, not {weight:g}"
    if len(given) != classes:
        what = f"has {len(given)} entries and the model has {classes} classes: write one weight for each class"
        return ("class_weights",), what
    if not any(weight for label, weight in enumerate(given) if label != train.ignore_label):
        what = "leaves every class out, and the mean over none is no number: give a class a weight above 0"
        return ("class_weights",), what
    return None


def classes_of(model: Model) -> int:
    """Return the number of classes of a built-in model, tokens or outputs; 0 for one from a file, which has its own."""
    return int(getattr(model, "vocabulary", 0) or getattr(model, "outputs", 0))


def _check_model(spec: Spec, faults: Faults) -> None:
    loss, model = spec.train.loss, spec.model
    if isinstance(model, Onnx):
        return
    if loss == "own":
        what = '"own" is the loss that a model from an ONNX file has as its output'
        faults.add(("train", "loss"), f'{what}: write "cross-entropy"')
    elif hasattr(model, "vocabulary"):
        if loss != "cross-entropy":
            what = f'"{loss}" needs a model of kind "mlp", "cnn", "resnet", "unet" or "vit"'
            faults.add(("train", "loss"), f'{what}: a {model.kind} predicts tokens, write "cross-entropy"')
    elif loss in _NEED_CLASSES and classes_of(model) < _FEWEST and sound(faults, "model.outputs"):
        what = f'{loss} needs at least 2 classes: write 2 or more, or set train.loss = "{_NEED_CLASSES[loss]}"'
        faults.add(("model", "outputs"), what)


def _check_keys(train: Train, faults: Faults) -> None:
    usual = Train()
    for loss, keys in KEYS_OF_LOSS.items():
        for key in keys if loss != train.loss else ():
            if getattr(train, key) != getattr(usual, key) and sound(faults, f"train.{key}"):
                faults.add(("train", key), f'does not count for "{train.loss}": remove it, or set loss = "{loss}"')
    if train.loss == "huber" and not _LEAST <= train.huber_delta <= _MOST and sound(faults, "train.huber_delta"):
        faults.add(("train", "huber_delta"), f"must be from {_LEAST:g} to {_MOST:g}, not {train.huber_delta:g}")


def _check_weights(spec: Spec, faults: Faults) -> None:
    classes = classes_of(spec.model)
    if classes and sound(faults, "train.class_weights", "model.vocabulary", "model.outputs"):
        fault = check_weights(spec.train, classes)
        if fault is not None:
            faults.add(("train", *fault[0]), fault[1])


def _check_ignored(spec: Spec, faults: Faults) -> None:
    several = isinstance(spec.model, (Onnx, Unet)) or hasattr(spec.model, "vocabulary")
    if spec.train.ignore_label is None or several:
        return
    if spec.data.batch == 1 and sound(faults, "data.batch"):
        what = "has no effect on batches of one label, which is never left out: write data.batch = 2 or more"
        faults.add(("train", "ignore_label"), f"{what}, or remove it")
