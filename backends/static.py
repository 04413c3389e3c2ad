"""Which inputs of an operator are static: shapes, axes, sizes and counts that a compiler must know.

A rule gets such an input as a flat tuple of Python numbers, on every target. It comes from the program's constants, or,
where a program is evaluated without a compiler, from the tensor's values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence

STATIC_INPUTS: dict[str, tuple[int, ...]] = {
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "Compress": (1,),
    "ConstantOfShape": (0,),
    "CumProd": (1,),
    "CumSum": (1,),
    "DFT": (1, 2),
    "Dropout": (1, 2),
    "Expand": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "OneHot": (1,),
    "Pad": (1, 3),
    "ReduceL1": (1,),
    "ReduceL2": (1,),
    "ReduceLogSum": (1,),
    "ReduceLogSumExp": (1,),
    "ReduceMax": (1,),
    "ReduceMean": (1,),
    "ReduceMin": (1,),
    "ReduceProd": (1,),
    "ReduceSum": (1,),
    "ReduceSumSquare": (1,),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "STFT": (1, 3),
    "SequenceAt": (1,),
    "SequenceErase": (1,),
    "SequenceInsert": (2,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "SplitToSequence": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
}

# Inputs that may depend on values; where they are constants, a rule gets them as a tuple of Python numbers.
FOLDABLE_INPUTS: dict[str, tuple[int, ...]] = {"If": (0,), "Loop": (0, 1)}


def static_numbers(value: Any, what: str) -> tuple[Any, ...]:
    """Return a tensor's elements as a flat tuple of Python numbers.

    Args:
        value: A numpy array, Python numbers, or a framework's tensor that holds its values already.
        what: What the tensor is, for the message.

    Raises:
        UnsupportedError: The values are not known while the program is compiled.
    """
    if isinstance(value, tuple):
        return value
    try:
        detached = value.detach().cpu() if hasattr(value, "detach") else value
        return tuple(np.asarray(detached).reshape(-1).tolist())
    except Exception as error:
        raise UnsupportedError(
            f"{what} depends on the values of a run, and a compiled program needs to know it beforehand: make it a "
            "constant of the model, or fix the shapes of its inputs"
        ) from error


def unknown_values(op: str, target: str) -> str:
    """Return the message for an operator whose result has a shape that depends on the values of a run."""
    return (
        f"the shape of what {op} makes depends on the values of a run, and a program compiled for {target} needs to "
        "know it beforehand: evaluate the model without compiling it, or take the operator out"
    )


def static_places(op: str, inputs: Sequence[str]) -> tuple[int, ...]:
    """Return the places among a node's inputs that are static and present."""
    return tuple(place for place in STATIC_INPUTS.get(op, ()) if place < len(inputs) and inputs[place])


def foldable_places(op: str, inputs: Sequence[str]) -> tuple[int, ...]:
    """Return the places among a node's inputs whose values a rule gets as Python numbers if they are constants."""
    return tuple(place for place in FOLDABLE_INPUTS.get(op, ()) if place < len(inputs) and inputs[place])
