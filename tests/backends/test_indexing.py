from __future__ import annotations

import numpy as np
import pytest

from stackproof.backends.errors import UnsupportedError
from stackproof.backends.indexing import (
    as_slice,
    broadcast_shape,
    constant_of,
    fill_value,
    rising,
    shape_part,
    slice_ranges,
)
from stackproof.backends.values import Narrow


@pytest.mark.parametrize(
    ("shape", "wanted"), [((3, 1), (2, 1, 6)), ((3, 4), (1,)), ((), (2, 2)), ((2, 1), ()), ((1,), (0, 3))]
)
def test_broadcasting_is_numpys(shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    assert broadcast_shape(shape, wanted) == np.broadcast_shapes(shape, wanted)


@pytest.mark.parametrize(
    ("attributes", "part"),
    [
        ({}, (2, 3, 4)),
        ({"start": 1}, (3, 4)),
        ({"start": -1}, (4,)),
        ({"end": -1}, (2, 3)),
        ({"start": -9, "end": 9}, (2, 3, 4)),
        ({"start": 2, "end": 1}, ()),
    ],
)
def test_parts_of_a_shape(attributes: dict[str, int], part: tuple[int, ...]) -> None:
    assert shape_part((2, 3, 4), attributes) == part


@pytest.mark.parametrize("start", [-99, -5, -2, 0, 1, 4, 5, 99])
@pytest.mark.parametrize("end", [-99, -6, -5, -1, 0, 3, 5, 2**63 - 1])
@pytest.mark.parametrize("step", [1, 3])
def test_slices_upwards_are_pythons(start: int, end: int, step: int) -> None:
    (places,) = slice_ranges((5,), ((start,), (end,), None, (step,)))
    assert list(places) == list(range(5)[start:end:step])


@pytest.mark.parametrize(
    ("start", "end", "step", "places"),
    [(-1, -99, -1, [4, 3, 2, 1, 0]), (99, 0, -2, [4, 2]), (3, -6, -3, [3, 0]), (-99, -99, -1, [0]), (1, 4, -1, [])],
)
def test_slices_downwards_end_before_the_first_place(start: int, end: int, step: int, places: list[int]) -> None:
    (found,) = slice_ranges((5,), ((start,), (end,), None, (step,)))
    assert list(found) == places
    data = np.arange(5)
    assert data[as_slice(found)].tolist() == places
    cut, turned = rising(found)
    assert data[cut][:: -1 if turned else 1].tolist() == places


def test_slices_of_named_axes() -> None:
    assert slice_ranges((4, 5), ((1,), (3,), (-1,))) == [range(4), range(1, 3)]


def test_constants() -> None:
    assert constant_of({"value_float": 0.5}) == np.float32(0.5)
    assert np.asarray(constant_of({"value_ints": (1, 2)})).dtype == np.int64
    with pytest.raises(UnsupportedError, match="value_strings"):
        constant_of({"value_strings": ("a",), "outputs": (True,)})


def test_fill_values() -> None:
    assert np.asarray(fill_value({})).dtype == np.float32
    narrow = fill_value({"value": Narrow(np.array([2], np.int8), "int4")})
    assert isinstance(narrow, Narrow)
    assert narrow.values.shape == ()
