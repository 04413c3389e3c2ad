from __future__ import annotations

import numpy as np
import pytest

from stackproof.backends.errors import UnsupportedError
from stackproof.backends.windows import causal_activation, shares, spatial_rank, transposed, unpooled, windows

FORM = {"strides": (2,), "pads": (1, 2), "dilations": (2,)}


def test_windows_lie_where_the_attributes_say() -> None:
    form = windows((6,), (3,), FORM)
    assert form.out == (3,)
    assert form.padded == (9,)
    assert form.seen()[0].tolist() == [[-1, 1, 3], [1, 3, 5], [3, 5, 7]]


def test_slices_see_what_windows_see() -> None:
    form = windows((6,), (3,), FORM)
    padded = np.pad(np.arange(6), (1, 2), constant_values=-1)[None, None]
    seen = np.stack([padded[place][0, 0] for place in form.slices()], axis=1)
    assert seen.tolist() == [[-1, 1, 3], [1, 3, 5], [3, 5, -1]]


@pytest.mark.parametrize(("padding", "counts"), [(False, (2, 3, 2)), (True, (3, 3, 3))])
def test_counts_of_windows(counts: tuple[int, ...], *, padding: bool) -> None:
    assert windows((6,), (3,), FORM).counts(padding=padding) == (counts,)


def test_padding_that_only_completes_the_last_window_never_counts() -> None:
    form = windows((4,), (3,), {"strides": (2,), "ceil_mode": 1})
    assert form.counts(padding=True) == ((3, 2),)


def test_shares_make_means_over_places_means_over_elements() -> None:
    assert shares((2,), ((2, 2),)) is None
    made = shares((2, 2), ((2, 1), (2, 2, 1)))
    assert made is not None
    assert made.tolist() == [[1.0, 1.0, 2.0], [2.0, 2.0, 4.0]]


@pytest.mark.parametrize("column_major", [False, True])
def test_flat_places(*, column_major: bool) -> None:
    form = windows((2, 3), (1, 2), {})
    image = np.arange(6).reshape(2, 3) if not column_major else np.arange(6).reshape(3, 2).T
    places = form.flat_places(column_major=column_major)
    assert places.tolist() == [image[:, :2].tolist(), image[:, 1:].tolist()]


def test_a_transposed_convolution_turns_the_sizes_round() -> None:
    form = transposed((3,), (3,), {"strides": (2,), "pads": (1, 0), "output_padding": (1,), "dilations": (2,)})
    assert (form.full, form.begin, form.out, form.end) == ((9,), (1,), (9,), (-1,))


@pytest.mark.parametrize(("auto", "begin"), [("SAME_UPPER", 0), ("SAME_LOWER", 1), ("NOTSET", 1)])
def test_uneven_padding_of_a_transposed_convolution(auto: str, begin: int) -> None:
    form = transposed((3,), (3,), {"strides": (2,), "auto_pad": auto, "output_shape": (6,)})
    assert (form.full, form.begin, form.out) == ((7,), (begin,), (6,))


def test_unpooling_counts_in_the_shape_that_was_pooled() -> None:
    form = {"kernel_shape": (2, 3), "strides": (2, 1), "pads": (0, 1, 0, 1)}
    assert unpooled((5, 4, 2, 3), form) == (5, 4, 4, 3)


def test_only_known_activations() -> None:
    assert [causal_activation({"activation": name}) for name in ("silu", "swish", "none")] == ["silu", "silu", "none"]
    with pytest.raises(UnsupportedError, match="no activation 'gelu'"):
        causal_activation({"activation": "gelu"})


@pytest.mark.parametrize("rank", [0, 4])
def test_only_one_to_three_spatial_axes(rank: int) -> None:
    with pytest.raises(UnsupportedError, match=f"Conv over {rank} spatial axes has no rule on torch"):
        spatial_rank("Conv", "torch", rank)
