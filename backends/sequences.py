"""Shared rules for sequences, which are lists, and for optionals, of which an empty one is None."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import UnsupportedError
from .indexing import counted
from .kit import shared
from .nodes import optional

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .kit import Kit

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@shared("SequenceEmpty")
def sequence_empty(_kit: Kit, _inputs: Inputs, _attributes: Attributes) -> list[Any]:
    """Return a sequence without elements."""
    return []


@shared("SequenceConstruct")
def sequence_construct(_kit: Kit, inputs: Inputs, _attributes: Attributes) -> list[Any]:
    """Return a sequence of the inputs."""
    return list(inputs)


@shared("SequenceLength")
def sequence_length(kit: Kit, inputs: Inputs, _attributes: Attributes) -> Any:
    """Return the number of elements."""
    return kit.tensor_of(np.array(len(inputs[0]), np.int64))


@shared("SequenceAt")
def sequence_at(_kit: Kit, inputs: Inputs, _attributes: Attributes) -> Any:
    """Return one element."""
    return inputs[0][int(inputs[1][0])]


@shared("SequenceInsert")
def sequence_insert(_kit: Kit, inputs: Inputs, _attributes: Attributes) -> list[Any]:
    """Return a sequence with one element more, before a place or at the end."""
    made = list(inputs[0])
    place = optional(inputs, 2)
    made.insert(len(made) if place is None else int(place[0]), inputs[1])
    return made


@shared("SequenceErase")
def sequence_erase(_kit: Kit, inputs: Inputs, _attributes: Attributes) -> list[Any]:
    """Return a sequence with one element less: that at a place, or the last."""
    made = list(inputs[0])
    place = optional(inputs, 1)
    del made[-1 if place is None else int(place[0])]
    return made


@shared("ConcatFromSequence")
def concat_from_sequence(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Return the elements as one tensor, along an axis they have or along a new one."""
    parts = list(inputs[0])
    if not parts:
        raise UnsupportedError("ConcatFromSequence of an empty sequence has no shape: put a tensor into it first")
    put = kit.stacked if attributes.get("new_axis", 0) else kit.joined
    return put(parts, attributes["axis"])


@shared("SplitToSequence")
def split_to_sequence(_kit: Kit, inputs: Inputs, attributes: Attributes) -> list[Any]:
    """Return the parts of a tensor along an axis: of given sizes, of one size, or of one slice each."""
    data, sizes = inputs[0], optional(inputs, 1)
    axis = counted(attributes.get("axis", 0), len(data.shape))
    before = (slice(None),) * axis
    length = int(data.shape[axis])
    if sizes is None and not attributes.get("keepdims", 1):
        return [data[(*before, place)] for place in range(length)]
    ends = _part_ends(length, (1,) if sizes is None else sizes)
    return [data[(*before, slice(start, end))] for start, end in zip((0, *ends), ends)]


def _part_ends(length: int, sizes: Sequence[int]) -> list[int]:
    if len(sizes) == 1 and length:
        return [min(end, length) for end in range(int(sizes[0]), length + int(sizes[0]), int(sizes[0]))]
    return [int(end) for end in np.cumsum(sizes)]


@shared("Optional")
def optional_of(_kit: Kit, inputs: Inputs, _attributes: Attributes) -> Any:
    """Return an optional that holds the input, or an empty one."""
    return optional(inputs, 0)


@shared("OptionalHasElement")
def optional_has_element(kit: Kit, inputs: Inputs, _attributes: Attributes) -> Any:
    """Say whether there is something in an optional."""
    return kit.tensor_of(np.array(optional(inputs, 0) is not None))


@shared("OptionalGetElement")
def optional_get_element(_kit: Kit, inputs: Inputs, _attributes: Attributes) -> Any:
    """Return what an optional holds.

    Raises:
        UnsupportedError: It is empty.
    """
    if inputs[0] is None:
        raise UnsupportedError("OptionalGetElement of an empty optional: ask OptionalHasElement first")
    return inputs[0]
