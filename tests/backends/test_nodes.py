from __future__ import annotations

import numpy as np
import pytest

from stackproof.backends.errors import UnsupportedError
from stackproof.backends.nodes import (
    cast_type,
    flattened,
    optional,
    paddings,
    reduced_axes,
    reshaped,
    split_sizes,
)


def test_optional_input() -> None:
    assert optional(["a"], 0) == "a"
    assert optional(["a"], 1) is None
    assert optional(["a", None], 1) is None


def test_cast_type() -> None:
    assert cast_type({"to": 11}, "jax") == "float64"
    with pytest.raises(UnsupportedError, match="8"):
        cast_type({"to": 8}, "jax")


@pytest.mark.parametrize(
    ("wanted", "allowzero", "shape"),
    [((0, -1), 0, (2, -1)), ((3, 0), 1, (3, 0)), ((), 0, ()), ((0, 0, 4), 0, (2, 3, 4))],
)
def test_reshaped(wanted: tuple[int, ...], allowzero: int, shape: tuple[int, ...]) -> None:
    assert reshaped((2, 3, 4), {"allowzero": allowzero}, np.array(wanted, dtype=np.int64)) == shape


@pytest.mark.parametrize(("axis", "shape"), [(0, (1, 24)), (1, (2, 12)), (3, (24, 1)), (-1, (6, 4))])
def test_flattened(axis: int, shape: tuple[int, int]) -> None:
    assert flattened((2, 3, 4), {"axis": axis}) == shape


def test_split_sizes() -> None:
    assert split_sizes(7, {"num_outputs": 3}, None) == [3, 3, 1]
    assert split_sizes(7, {}, np.array([2, 5])) == [2, 5]
    assert split_sizes(6, {"outputs": (True,) * 3}, None) == [2, 2, 2]
    with pytest.raises(UnsupportedError, match="num_outputs"):
        split_sizes(6, {}, None)


def test_reduced_axes() -> None:
    assert reduced_axes(3, {}, None) == (0, 1, 2)
    assert reduced_axes(3, {}, np.array([-1, 0])) == (2, 0)
    assert reduced_axes(3, {"noop_with_empty_axes": 1}, np.array([], dtype=np.int64)) == ()


@pytest.mark.parametrize(
    ("attributes", "pads"),
    [
        ({}, ((0, 0), (0, 0))),
        ({"pads": (1, 2, 3, 4)}, ((1, 3), (2, 4))),
        ({"auto_pad": "VALID"}, ((0, 0), (0, 0))),
        ({"auto_pad": "SAME_UPPER", "strides": (2, 2)}, ((0, 1), (1, 1))),
        ({"auto_pad": "SAME_LOWER", "strides": (2, 2)}, ((1, 0), (1, 1))),
        ({"auto_pad": "SAME_UPPER", "dilations": (2, 1)}, ((2, 2), (1, 1))),
        ({"ceil_mode": 1, "strides": (2, 2)}, ((0, 1), (0, 0))),
    ],
)
def test_paddings(attributes: dict[str, object], pads: tuple[tuple[int, int], ...]) -> None:
    """Worked by hand from the shape formulas of the operators' documentation, input 4x5, window 3x3."""
    assert paddings((4, 5), (3, 3), attributes) == pads


def test_last_pooling_window_begins_inside_the_input() -> None:
    """With ceil_mode a second window would begin at place 2, after the input's two."""
    assert paddings((2,), (1,), {"ceil_mode": 1, "strides": (2,)}) == ((0, 0),)
