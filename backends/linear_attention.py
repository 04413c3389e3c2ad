"""LinearAttention on every target: its recurrence, written with the few functions that a framework gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

from .errors import UnsupportedError
from .nodes import optional

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .recurrence import Functions, States

_RULES = ("linear", "gated", "delta", "gated_delta")
_PAST, _DECAY, _RATE = 3, 4, 5


@dataclass(frozen=True)
class Extras:
    """What a framework gives beside `recurrence.Functions`.

    Attributes:
        reshape: A tensor in another shape.
        cast: A tensor in the dtype of the given name.
        name: A tensor's dtype by name.
        exp: The exponential function.
        einsum: The sum that a text states.
    """

    reshape: Callable[[Any, tuple[int, ...]], Any]
    cast: Callable[[Any, str], Any]
    name: Callable[[Any], str]
    exp: Callable[[Any], Any]
    einsum: Callable[..., Any]


def linear_attention(
    inputs: Sequence[Any], attributes: Mapping[str, Any], functions: Functions, extras: Extras
) -> tuple[Any, Any]:
    """Return what a `LinearAttention` node gives: the outputs (batch, steps, heads * size) and the last state.

    It is computed in float32, or in float64 where the tensors are.

    Raises:
        UnsupportedError: The update rule is unknown.
        UnsupportedError: Decay or beta is missing, or given to a rule that has none.
    """
    gated, corrected = _read(inputs, attributes)
    heads, query_heads = attributes["kv_num_heads"], attributes["q_num_heads"]
    size = int(inputs[0].shape[-1]) // query_heads
    wide = "float64" if extras.name(inputs[0]) == "float64" else "float32"

    def steps(place: int, count: int) -> Any:
        """Return an input as (steps, batch, count, rest)."""
        batch, length, width = (int(axis) for axis in inputs[place].shape)
        parts = extras.reshape(extras.cast(inputs[place], wide), (batch, length, count, width // count))
        return functions.transpose(parts, (1, 0, 2, 3))

    query = steps(0, query_heads)
    query = extras.reshape(query, (*(int(axis) for axis in query.shape[:2]), heads, query_heads // heads, size))
    moving = [query * (attributes.get("scale", 0.0) or size**-0.5), steps(1, heads), steps(2, heads)]
    moving += [extras.exp(steps(_DECAY, heads))] if gated else []
    moving += [steps(_RATE, int(inputs[_RATE].shape[-1]))] if corrected else []
    state = _state(inputs, heads, size, wide, functions, extras)
    (last,), (made,) = functions.scan(_step(gated, corrected, extras), (state,), tuple(moving))
    length, batch = (int(axis) for axis in made.shape[:2])
    output = extras.reshape(functions.transpose(made, (1, 0, 2, 3, 4)), (batch, length, -1))
    past = optional(inputs, _PAST)
    return extras.cast(output, extras.name(inputs[0])), extras.cast(
        last, extras.name(inputs[0] if past is None else past)
    )


def _read(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> tuple[bool, bool]:
    """Return whether the state decays, and whether what it holds for a key is corrected."""
    name = attributes.get("update_rule", "gated_delta")
    if name not in _RULES:
        raise UnsupportedError(f"LinearAttention with update_rule {name}; known: {', '.join(_RULES)}")
    gated, corrected = name.startswith("gated"), name.endswith("delta")
    for what, place, wanted in (("decay", _DECAY, gated), ("beta", _RATE, corrected)):
        if (optional(inputs, place) is not None) != wanted:
            raise UnsupportedError(
                f"LinearAttention with update_rule {name} {'needs' if wanted else 'takes no'} {what}"
            )
    return gated, corrected


def _state(inputs: Sequence[Any], heads: int, size: int, wide: str, functions: Functions, extras: Extras) -> Any:
    past = optional(inputs, _PAST)
    if past is not None:
        return extras.cast(past, wide)
    shape = (int(inputs[0].shape[0]), heads, size, int(inputs[2].shape[-1]) // heads)
    return functions.zeros(shape, extras.cast(inputs[0], wide))


def _step(gated: bool, corrected: bool, extras: Extras) -> Any:
    def step(states: States, inputs: States) -> tuple[States, States]:
        (state,), (query, key, value) = states, inputs[:3]
        rest = list(inputs[3:])
        state = state * rest.pop(0)[..., None] if gated else state
        value = rest.pop(0) * (value - extras.einsum("bhdm,bhd->bhm", state, key)) if corrected else value
        state = state + key[..., :, None] * value[..., None, :]
        return (state,), (extras.einsum("bhgd,bhdm->bhgm", query, state),)

    return step
