from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stackproof.backends.errors import UnsupportedError
from stackproof.backends.resizing import Stretch, nearest_places, stretches, weights_of


@pytest.mark.parametrize("slope", [None, -0.75, -0.5])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("exclude", [False, True])
def test_weights_of_an_element_add_up_to_one(slope: float | None, antialias: bool, exclude: bool) -> None:  # noqa: FBT001 - drawn by pytest
    for numbers in ((7, 4, 4 / 7, 0.0, 1.0), (5, 9, 1.8, 0.0, 1.0), (6, 6, 1.0, 0.0, 1.0)):
        weights = weights_of(numbers, "half_pixel", slope, antialias, exclude)
        assert weights.shape == (numbers[1], numbers[0])
        np.testing.assert_allclose(weights.sum(1), 1)


def test_a_line_stays_a_line_between_aligned_corners() -> None:
    weights = weights_of((4, 7, 7 / 4, 0.0, 1.0), "align_corners", None, antialias=False, exclude=False)
    np.testing.assert_allclose(weights @ np.arange(4.0), np.linspace(0, 3, 7))


@pytest.mark.parametrize(
    ("mode", "places"),
    [
        ("floor", (0, 0, 1, 1, 2)),
        ("ceil", (0, 1, 1, 2, 2)),
        ("round_prefer_floor", (0, 0, 1, 1, 2)),
        ("round_prefer_ceil", (0, 1, 1, 2, 2)),
    ],
)
def test_halves_go_where_the_mode_says(mode: str, places: tuple[int, ...]) -> None:
    assert nearest_places((3, 5, 2.0, 0.0, 1.0), "asymmetric", mode) == places


@pytest.mark.parametrize(("policy", "sizes"), [("stretch", [3, 9]), ("not_larger", [3, 6]), ("not_smaller", [5, 9])])
def test_policies_keep_the_aspect_ratio(policy: str, sizes: list[int]) -> None:
    made = stretches((2, 4), (None, None, (3, 9)), {"keep_aspect_ratio_policy": policy})
    assert [one.size for one in made] == sizes


def test_axes_that_stay_are_left_out() -> None:
    assert stretches((2, 3, 4), (None, (1.0, 2.0), None), {"axes": (0, -1)}) == [Stretch(2, 4, 8, 2.0)]


@pytest.mark.parametrize(
    ("statics", "attributes", "word"),
    [
        ((None, None, None), {}, "scales or sizes"),
        ((None, None, (4,)), {"coordinate_transformation_mode": "tf_crop_and_resize"}, "region of interest"),
    ],
)
def test_what_is_missing_is_named(statics: Any, attributes: dict[str, Any], word: str) -> None:
    with pytest.raises(UnsupportedError, match=word):
        stretches((2,), statics, attributes)
