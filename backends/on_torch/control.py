"""PyTorch rules: If, Loop, Scan and SequenceMap. A loop of a known number of turns is written out when traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import torch

from ..control import Functions, chosen, looped, mapped, scanned, written_out
from ..errors import UnsupportedError
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..control import Loop, States, Step

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

# A traced loop that may end early is written out up to this many turns, so that it has a gradient.
_WRITTEN_OUT = 32


def _truth(value: Any) -> Any:
    return None if torch.compiler.is_compiling() else value.item()


def _scan(step: Step, states: States, inputs: States, length: int) -> tuple[States, States]:
    return written_out(step, states, inputs, length, FUNCTIONS)


def _branch(condition: Any, first: Callable[[], States], second: Callable[[], States]) -> States:
    """Return what one of two functions gives.

    PyTorch differentiates no branches of which some results have gradients and some have none, so these go apart. What
    both functions give is traced for that once more, and dropped by the compiler.
    """
    pairs = list(zip(first(), second()))
    if any((one.shape, one.dtype) != (other.shape, other.dtype) for one, other in pairs):
        raise UnsupportedError(
            "If on torch has branches that give tensors of different shapes or dtypes, and its condition depends on "
            "the values of a run: make the condition a constant, or evaluate without compiling"
        )
    moving = [one.requires_grad or other.requires_grad for one, other in pairs]
    made: dict[int, Any] = {}
    for kind in {*moving}:
        places = [place for place, is_moving in enumerate(moving) if is_moving == kind]
        made.update(zip(places, _conditional(condition, first, second, places)))
    return tuple(made[place] for place in range(len(moving)))


def _conditional(
    condition: Any, first: Callable[[], States], second: Callable[[], States], places: Sequence[int]
) -> States:
    def some(function: Callable[[], States]) -> States:
        given = function()
        return tuple(given[place].clone() for place in places)

    return tuple(torch.cond(condition.reshape(()), lambda: some(first), lambda: some(second), ()))


def _turns(loop: Loop) -> States:
    """Do turns until the condition ends them."""
    begin = torch.tensor(loop.condition) if isinstance(loop.condition, bool) else loop.condition.reshape(())
    if loop.most is not None and loop.most <= _WRITTEN_OUT:
        return _few_turns(loop, begin, loop.most)
    if torch.is_grad_enabled():
        raise UnsupportedError(
            f"Loop on torch has no gradient where a compiled program cannot tell whether it makes more than "
            f"{_WRITTEN_OUT} turns: give a constant trip count, or do not compile"
        )
    limit = loop.most if loop.limit is None else loop.limit.reshape(())

    def more(place: Any, flag: Any, *_states: Any) -> Any:
        return flag.clone() if limit is None else flag & (place < limit)

    def turn(place: Any, flag: Any, *states: Any) -> States:
        made, after, _ = loop.turn(place, flag, states)
        return (place + 1, flag.clone() if loop.ignored else made.reshape(()), *after)

    made = torch.while_loop(more, turn, (torch.tensor(0), begin, *loop.states))
    return tuple(made[2:])


def _few_turns(loop: Loop, flag: Any, most: int) -> States:
    states = loop.states
    for place in range(most):

        def turn(place: int = place, flag: Any = flag, states: States = states) -> States:
            made, after, _ = loop.turn(torch.tensor(place), flag, states)
            return (flag if loop.ignored else made.reshape(()), *after)

        def rest(flag: Any = flag, states: States = states) -> States:
            return (flag, *states)

        flag, *after = _branch(flag, turn, rest)
        states = tuple(after)
    return states


FUNCTIONS = Functions(
    target="torch",
    tracing=torch.compiler.is_compiling,
    truth=_truth,
    number=torch.tensor,
    numbers=torch.arange,
    boolean=torch.tensor,
    scan=_scan,
    branch=_branch,
    turns=_turns,
    move=torch.movedim,
    flip=lambda value, axis: value.flip(axis),
    stack=lambda values: torch.stack(tuple(values)),
    element=lambda value, place: value[place],
    blank=lambda value: value.new_zeros(value.shape[1:]),
)


@rule("If", "torch")
def _if(inputs: Inputs, attributes: Attributes) -> States:
    return chosen(inputs, attributes, FUNCTIONS)


@rule("Loop", "torch")
def _loop(inputs: Inputs, attributes: Attributes) -> States:
    return looped(inputs, attributes, FUNCTIONS)


@rule("Scan", "torch")
def _scan_node(inputs: Inputs, attributes: Attributes) -> States:
    return scanned(inputs, attributes, FUNCTIONS)


@rule("SequenceMap", "torch")
def _sequence_map(inputs: Inputs, attributes: Attributes) -> States:
    return mapped(inputs, attributes)
