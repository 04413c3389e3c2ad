"""What activation functions have where a node does not say: ONNX's own numbers, which are float32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

ELU_ALPHA = 1.0
SELU_ALPHA, SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875
LEAKY_ALPHA = 0.00999999977648258209228515625
_HARD_SLOPE, _HARD_SHIFT = 0.20000000298023223876953125, 0.5


def hard_slope(attributes: Mapping[str, Any]) -> tuple[float, float]:
    """Return the slope and the shift of a `HardSigmoid` node."""
    return attributes.get("alpha", _HARD_SLOPE), attributes.get("beta", _HARD_SHIFT)
