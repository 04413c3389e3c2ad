from __future__ import annotations

import numpy as np
import pytest

from stackproof.backends.attending import allowed_keys, attending, flexible, visible, wider
from stackproof.backends.errors import UnsupportedError

FLOAT16, FLOAT, DOUBLE = 10, 1, 11


def test_allowed_keys() -> None:
    assert allowed_keys(2, 3, {}) is None
    causal = allowed_keys(2, 3, {"is_causal": 1})
    assert causal is not None
    assert causal.tolist() == [[True, False, False], [True, True, False]]
    window = allowed_keys(3, 3, {"left_window_size": 1, "right_window_size": 0})
    assert window is not None
    assert window.tolist() == [[True, False, False], [True, True, False], [False, True, True]]


def test_a_query_after_a_cache_sees_what_is_in_it() -> None:
    causal = allowed_keys(2, 4, {"is_causal": 1}, past=2)
    assert causal is not None
    assert causal.tolist() == [[True, True, True, False], [True, True, True, True]]
    assert allowed_keys(1, 4, {"is_causal": 1}, past=3) is None


def test_keys_after_a_length_are_not_seen() -> None:
    lengths = np.array([2, 1]).reshape(-1, 1, 1)
    places = np.arange(2)[:, None] + lengths - 2
    seen = visible(places, np.arange(3), {"is_causal": 1}, lengths)
    assert seen.tolist() == [
        [[True, False, False], [True, True, False]],
        [[False, False, False], [True, False, False]],
    ]


@pytest.mark.parametrize(
    ("precision", "dtype", "want"),
    [
        (None, "float16", "float16"),
        (FLOAT, "float16", "float32"),
        (FLOAT16, "float32", "float32"),
        (DOUBLE, "float32", "float64"),
        (FLOAT, "float64", "float64"),
    ],
)
def test_a_softmax_is_never_narrower_than_its_tensors(precision: int | None, dtype: str, want: str) -> None:
    assert wider({} if precision is None else {"softmax_precision": precision}, dtype) == want


@pytest.mark.parametrize(
    ("precision", "dtype", "want"),
    [(None, "float16", "float32"), (FLOAT16, "float16", "float16"), (DOUBLE, "float32", "float64")],
)
def test_the_bodies_of_flex_attention_get_the_precision_stated(precision: int | None, dtype: str, want: str) -> None:
    assert flexible({} if precision is None else {"softmax_precision": precision}, dtype) == want


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_queries_and_keys_of_a_narrow_dtype_are_scaled_alike(dtype: str) -> None:
    node = attending((1, 1, 1), {"scale": 0.25}, "torch")
    assert node.scales(64, dtype) == (0.5, 0.5)
    assert node.scales(64, "float32") == (0.25, 1.0)


def test_only_a_plain_node_is_bare() -> None:
    assert attending((1, 1, 1), {"is_causal": 1}, "torch").bare
    cache = np.zeros((1, 1, 2, 4))
    assert not attending((1, 1, 1, 1), {}, "torch").bare
    assert not attending((1, 1, 1, None, cache, cache), {}, "torch").bare
    assert not attending((1, 1, 1), {"softcap": 2.0}, "torch").bare
    assert not attending((1, 1, 1), {"left_window_size": 0}, "torch").bare
    assert not attending((1, 1, 1), {"outputs": (True, False, False, True)}, "torch").bare


@pytest.mark.parametrize(
    ("inputs", "attributes", "what"),
    [
        ((1, 1, 1, None, 1), {}, "together"),
        ((1, 1, 1, None, 1, 1, 1), {}, "nonpad_kv_seqlen"),
        ((1, 1, 1), {"softmax_precision": 99}, "softmax_precision 99"),
    ],
)
def test_attention_that_is_refused(inputs: tuple[object, ...], attributes: dict[str, object], what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        attending(inputs, attributes, "jax")
