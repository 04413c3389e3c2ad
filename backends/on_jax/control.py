"""JAX rules: If, Loop, Scan and SequenceMap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import jax
import jax.numpy as jnp

from ..control import FEW_TURNS, Functions, chosen, looped, mapped, scanned, written_out
from ..errors import UnsupportedError
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    from ..control import Loop, States, Step

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


def _tracing() -> bool:
    return isinstance(jnp.zeros(()) + 1, jax.core.Tracer)


def _truth(value: Array) -> Any:
    try:
        return jnp.asarray(value).item()
    except jax.errors.ConcretizationTypeError:
        return None


def _scan(step: Step, states: States, inputs: States, length: int) -> tuple[States, States]:
    """Go along the first axis: in Python where that runs as it goes or shapes change, and as one loop otherwise."""
    if _tracing() and _steady(step, states, tuple(_blank(value) for value in inputs)):
        return jax.lax.scan(step, states, inputs, length)
    return written_out(step, states, inputs, length, FUNCTIONS)


def _steady(step: Step, states: States, elements: States) -> bool:
    """Say whether a turn hands on tensors of the kinds that it was given."""
    try:
        after, _ = jax.eval_shape(step, states, elements)
    except UnsupportedError:
        return False
    return bool(_kinds(after) == _kinds(jax.eval_shape(lambda: states)))


def _kinds(values: Any) -> Any:
    leaves, structure = jax.tree_util.tree_flatten(values)
    return structure, [(leaf.shape, leaf.dtype) for leaf in leaves]


def _branch(condition: Array, first: Callable[[], States], second: Callable[[], States]) -> States:
    kinds = [_kinds(jax.eval_shape(function)) for function in (first, second)]
    if kinds[0] != kinds[1]:
        raise UnsupportedError(
            "If on jax has branches that give tensors of different shapes or dtypes, and its condition depends on the "
            "values of a run: make the condition a constant, or evaluate without compiling"
        )
    return jax.lax.cond(jnp.reshape(condition, ()), lambda: tuple(first()), lambda: tuple(second()))


def _turns(loop: Loop) -> States:
    """Do turns until the condition ends them; where there are few at most, in a form that has a gradient."""
    begin = jnp.reshape(jnp.asarray(loop.condition), ())
    limit = loop.most if loop.limit is None else jnp.reshape(loop.limit, ())

    def turn(place: Array, state: tuple[Array, States]) -> tuple[Array, States]:
        made, after, _ = loop.turn(place, state[0], state[1])
        return (state[0] if loop.ignored else jnp.reshape(made, ())), after

    def more(place: Array, flag: Array) -> Array:
        return flag if limit is None else flag & (place < limit)

    if not _steady(lambda states, _: (turn(jnp.zeros((), int), (begin, states))[1], ()), loop.states, ()):
        raise UnsupportedError(
            "Loop on jax changes the shape of what its turns hand on, and the number of turns depends on the values of "
            "a run: make that number a constant, or evaluate without compiling"
        )
    if loop.most is not None and loop.most <= FEW_TURNS:
        return _few_turns(turn, (begin, loop.states), loop.most)
    state = jax.lax.while_loop(
        lambda state: more(state[0], state[1][0]),
        lambda state: (state[0] + 1, turn(state[0], state[1])),
        (jnp.zeros((), int), (begin, loop.states)),
    )
    return state[1][1]


def _few_turns(turn: Callable[..., Any], begin: tuple[Array, States], most: int) -> States:
    def step(state: Any, place: Array) -> tuple[Any, None]:
        return jax.lax.cond(state[0], lambda: turn(place, state), lambda: state), None

    return jax.lax.scan(step, begin, jnp.arange(most))[0][1]


def _blank(value: Array) -> Array:
    return jnp.zeros(value.shape[1:], value.dtype)


FUNCTIONS = Functions(
    target="jax",
    tracing=_tracing,
    truth=_truth,
    number=lambda value: jnp.asarray(value, int),
    numbers=lambda count: jnp.arange(count, dtype=int),
    boolean=jnp.asarray,
    scan=_scan,
    branch=_branch,
    turns=_turns,
    move=jnp.moveaxis,
    flip=jnp.flip,
    stack=lambda values: jnp.stack(list(values)),
    element=lambda value, place: value[place],
    blank=_blank,
)


@rule("If", "jax")
def _if(inputs: Inputs, attributes: Attributes) -> States:
    return chosen(inputs, attributes, FUNCTIONS)


@rule("Loop", "jax")
def _loop(inputs: Inputs, attributes: Attributes) -> States:
    return looped(inputs, attributes, FUNCTIONS)


@rule("Scan", "jax")
def _scan_node(inputs: Inputs, attributes: Attributes) -> States:
    return scanned(inputs, attributes, FUNCTIONS)


@rule("SequenceMap", "jax")
def _sequence_map(inputs: Inputs, attributes: Attributes) -> States:
    return mapped(inputs, attributes)
