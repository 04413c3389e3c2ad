"""What `Attention` and its kin need to know on every target: which keys a query sees, sizes and precisions."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import UnsupportedError
from .nodes import DTYPES, optional

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Places of the optional inputs.
MASK, PAST_KEY, PAST_VALUE, LENGTHS = 3, 4, 5, 6
# Places of the outputs.
PRESENT_KEY, PRESENT_VALUE, SCORES = 1, 2, 3
# What the scores are when they are an output; 0 is before anything is done to them.
CAPPED, BIASED, SHARES = 1, 2, 3

_WINDOWS = ("left_window_size", "right_window_size")
_WIDTHS = {"float16": 1, "bfloat16": 1, "float32": 2, "float64": 3}


@dataclass(frozen=True)
class Attending:
    """An `Attention` node as a rule sees it.

    Attributes:
        attributes: The node's.
        cap: Largest size of a score, or 0 for any.
        mode: What the scores are when they are an output.
        past: Positions in the key/value cache.
        wanted: Whether each of the four outputs is wanted.
        bare: Whether there is neither mask nor window, cache nor cap, and only the first output is wanted.
    """

    attributes: Mapping[str, Any]
    cap: float
    mode: int
    past: int
    wanted: tuple[bool, ...]
    bare: bool

    @property
    def causal(self) -> bool:
        """Say whether a query sees no key after its own place."""
        return bool(self.attributes.get("is_causal", 0))

    def heads(self, place: int) -> int | None:
        """Return how many heads input 0, 1 or 2 has, where its shape does not say."""
        name = "kv_num_heads" if place else "q_num_heads"
        heads: int | None = self.attributes.get(name)
        return heads

    def scale(self, size: int) -> float:
        """Return what scores are multiplied by, for heads of a size."""
        return float(self.attributes.get("scale", size**-0.5))

    def scales(self, size: int, dtype: str) -> tuple[float, float]:
        """Return what queries and keys are multiplied by: both alike where products could leave a narrow dtype."""
        whole = self.scale(size)
        if not rounds(dtype) or whole <= 0:
            return whole, 1.0
        half = math.sqrt(whole) if dtype == "bfloat16" else float(np.float16(math.sqrt(whole)))
        return half, half

    def outputs(self, mixed: Any, key: Any, value: Any, scores: Any) -> Any:
        """Return what the rule returns."""
        return (mixed, key, value, scores) if any(self.wanted[1:]) else mixed


def attending(inputs: Sequence[Any], attributes: Mapping[str, Any], target: str) -> Attending:
    """Read an `Attention` node.

    Raises:
        UnsupportedError: Inputs are given that exclude each other, or one of two that belong together.
        UnsupportedError: A dtype for the softmax is unknown.
    """
    past, lengths = optional(inputs, PAST_KEY), optional(inputs, LENGTHS)
    if (past is None) != (optional(inputs, PAST_VALUE) is None):
        raise UnsupportedError("Attention takes past_key and past_value together: give both or none")
    if past is not None and lengths is not None:
        raise UnsupportedError("Attention takes either a cache (past_key) or nonpad_kv_seqlen: drop one of them")
    if attributes.get("softmax_precision", 1) not in DTYPES:
        raise UnsupportedError(f"Attention with softmax_precision {attributes['softmax_precision']} on {target}")
    wanted = (*tuple(attributes.get("outputs", ()))[:4], False, False, False, False)[:4]
    cap = float(attributes.get("softcap", 0.0))
    windows = any(attributes.get(name, -1) >= 0 for name in _WINDOWS)
    plain = all(optional(inputs, place) is None for place in (MASK, PAST_KEY, LENGTHS))
    return Attending(
        attributes,
        cap,
        attributes.get("qk_matmul_output_mode", 0),
        0 if past is None else int(past.shape[2]),
        wanted,
        plain and not windows and cap == 0 and not wanted[SCORES],
    )


def wider(attributes: Mapping[str, Any], dtype: str) -> str:
    """Return the wider one of a dtype's name and the one that `softmax_precision` states."""
    stated = DTYPES[attributes["softmax_precision"]] if "softmax_precision" in attributes else dtype
    return max(dtype, stated, key=lambda name: _WIDTHS.get(name, 0))


def rounds(dtype: str) -> bool:
    """Say whether a softmax in a dtype rounds what it sums up, as ONNX states it, to 16 bits."""
    return _WIDTHS.get(dtype) == 1


def flexible(attributes: Mapping[str, Any], dtype: str) -> str:
    """Return the name of the dtype of scores and shares in `FlexAttention`: what its bodies take and give."""
    if dtype == "float64":
        return dtype
    return DTYPES[attributes["softmax_precision"]] if "softmax_precision" in attributes else "float32"


def visible(places: Any, keys: Any, attributes: Mapping[str, Any], lengths: Any = None) -> Any:
    """Return which keys a node lets each query see.

    Args:
        places: Absolute positions of the queries, a tensor of any framework, with a last axis of 1.
        keys: Positions of the keys, along the last axis.
        attributes: The node's; `is_causal` and the window sizes count.
        lengths: How many keys are no padding, for tensors of more axes.

    Returns:
        A bool tensor, or None where every query sees every key.
    """
    behind = places - keys
    left, right = (attributes.get(name, -1) for name in _WINDOWS)
    rules = [
        behind >= 0 if attributes.get("is_causal", 0) else None,
        behind <= left if left >= 0 else None,
        behind >= -right if right >= 0 else None,
        None if lengths is None else keys < lengths,
    ]
    given = [seen for seen in rules if seen is not None]
    return functools.reduce(operator.and_, given) if given else None


def allowed_keys(queries: int, keys: int, attributes: Mapping[str, Any], past: int = 0) -> np.ndarray | None:
    """Return which keys an `Attention` node lets each query see where that depends on positions only.

    Args:
        queries: Query positions.
        keys: Key positions, those in the cache included.
        attributes: The node's; `is_causal` and the window sizes count.
        past: Positions in the cache.

    Returns:
        bool of shape (queries, keys), or None where every query sees every key.
    """
    seen = visible(np.arange(past, past + queries)[:, None], np.arange(keys)[None, :], attributes)
    return None if seen is None or seen.all() else np.asarray(seen)
