"""RNN, GRU and LSTM on every target: their equations, written with the few functions that a framework gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

from .errors import UnsupportedError
from .nodes import optional
from .registry import find

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    States = tuple[Any, ...]
    Step = Callable[[States, States], tuple[States, States]]

_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
# The activations of one direction.
_DEFAULTS = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}
# How many parameters an activation has; all but two are operators of their own.
_PARAMETERS = {
    "Affine": 2,
    "Elu": 1,
    "HardSigmoid": 2,
    "LeakyRelu": 1,
    "Relu": 0,
    "ScaledTanh": 2,
    "Sigmoid": 0,
    "Softplus": 0,
    "Softsign": 0,
    "Tanh": 0,
    "ThresholdedRelu": 1,
}
_SPELT = {name.lower(): name for name in _PARAMETERS}


@dataclass(frozen=True)
class Functions:
    """What a framework gives.

    Attributes:
        target: The framework, as in the rule table.
        project: The product of a tensor's last axis with the last axis of a matrix.
        split: A tensor's last axis in a number of equal parts.
        clip: A tensor with its elements held between -limit and limit.
        where: Elements of one tensor or another.
        zeros: Zeros of a shape, of another tensor's dtype.
        transpose: A tensor with its axes in another order.
        stack: Tensors along a new axis.
        flip: The first axis turned round; with lengths per place on the second axis, only that much of it.
        live: Which steps are within the lengths, of shape (steps, batch, 1).
        scan: Called with a step, states and inputs along whose first axis it goes; returns the last states and a
            tuple of stacked outputs. A step takes states and inputs and returns states and outputs.
    """

    target: str
    project: Callable[[Any, Any], Any]
    split: Callable[[Any, int], Sequence[Any]]
    clip: Callable[[Any, float], Any]
    where: Callable[[Any, Any, Any], Any]
    zeros: Callable[[tuple[int, ...], Any], Any]
    transpose: Callable[[Any, tuple[int, ...]], Any]
    stack: Callable[[Sequence[Any], int], Any]
    flip: Callable[[Any, Any], Any]
    live: Callable[[int, Any], Any]
    scan: Callable[[Step, States, States], tuple[States, States]]


@dataclass(frozen=True)
class Direction:
    """One direction's weights: W (gates, size), R (gates, hidden), biases (gates,) or None, P (3 hidden,) or None."""

    weights: Any
    recurrent: Any
    bias: Any
    recurrent_bias: Any
    peepholes: Any
    activations: tuple[Callable[[Any], Any], ...]


def recurrent(op: str, inputs: Sequence[Any], attributes: Mapping[str, Any], functions: Functions) -> tuple[Any, ...]:
    """Return what an `RNN`, `GRU` or `LSTM` node gives: all hidden states, the last ones and an LSTM's last cells.

    After a sequence's end outputs are zeros, and the last states are those at its end.

    Raises:
        UnsupportedError: An activation is unknown, or their number does not fit the directions.
    """
    batch_first = bool(attributes.get("layout", 0))
    data = functions.transpose(inputs[0], (1, 0, 2)) if batch_first else inputs[0]
    states = [_initial(inputs, place, batch_first, functions) for place in _state_places(op)]
    turned = _DIRECTIONS[attributes.get("direction", "forward")]
    made, last = [], []
    for place, backward in enumerate(turned):
        direction = _direction(op, inputs, place, activations(op, attributes, len(turned), functions)[place], functions)
        own = [None if state is None else state[place] for state in states]
        hidden, ends = _run(op, data, own, (direction, optional(inputs, 4), backward), attributes, functions)
        made.append(hidden)
        last.append(ends)
    every = functions.stack(made, 1)
    ends_of_all = [functions.stack(parts, 1 if batch_first else 0) for parts in zip(*last)]
    return (functions.transpose(every, (2, 0, 1, 3)) if batch_first else every, *ends_of_all)


def _state_places(op: str) -> tuple[int, ...]:
    return (5, 6) if op == "LSTM" else (5,)


def _initial(inputs: Sequence[Any], place: int, batch_first: bool, functions: Functions) -> Any:
    given = optional(inputs, place)
    return functions.transpose(given, (1, 0, 2)) if given is not None and batch_first else given


def _direction(
    op: str, inputs: Sequence[Any], place: int, own: tuple[Callable[[Any], Any], ...], functions: Functions
) -> Direction:
    biases, peepholes = optional(inputs, 3), optional(inputs, 7) if op == "LSTM" else None
    given = (None, None) if biases is None else functions.split(biases[place], 2)
    holes = None if peepholes is None else peepholes[place]
    return Direction(inputs[1][place], inputs[2][place], given[0], given[1], holes, own)


def _run(
    op: str,
    data: Any,
    states: Sequence[Any],
    part: tuple[Direction, Any, bool],
    attributes: Mapping[str, Any],
    functions: Functions,
) -> tuple[Any, tuple[Any, ...]]:
    """Run one direction over data of shape (steps, batch, size)."""
    direction, lengths, backward = part
    size = int(direction.recurrent.shape[-1])
    shape = (int(data.shape[1]), size)
    begin = tuple(functions.zeros(shape, data) if state is None else state for state in states)
    projected = functions.project(functions.flip(data, lengths) if backward else data, direction.weights)
    separate = op == "GRU" and bool(attributes.get("linear_before_reset", 0))
    for bias in (direction.bias, None if separate else direction.recurrent_bias):
        projected = projected if bias is None else projected + bias
    step = _CELLS[op](direction, attributes, functions)
    if lengths is None:
        ends, (made,) = functions.scan(step, begin, (projected,))
    else:
        live = functions.live(int(data.shape[0]), lengths)
        ends, (made,) = functions.scan(_held(step, functions), begin, (projected, live))
    return functions.flip(made, lengths) if backward else made, ends


def _held(step: Step, functions: Functions) -> Step:
    """Return a step that changes nothing after a sequence's end, and gives zeros there."""

    def held(states: States, inputs: States) -> tuple[States, States]:
        *given, live = inputs
        made, (output,) = step(states, tuple(given))
        kept = tuple(functions.where(live, new, old) for new, old in zip(made, states))
        return kept, (functions.where(live, output, functions.zeros(tuple(output.shape), output)),)

    return held


def _rnn(direction: Direction, _attributes: Mapping[str, Any], functions: Functions) -> Step:
    (active,) = direction.activations

    def step(states: States, inputs: States) -> tuple[States, States]:
        hidden = active(inputs[0] + functions.project(states[0], direction.recurrent))
        return (hidden,), (hidden,)

    return step


def _gru(direction: Direction, attributes: Mapping[str, Any], functions: Functions) -> Step:
    active, active_hidden = direction.activations
    size = int(direction.recurrent.shape[-1])
    gates, fresh = direction.recurrent[: 2 * size], direction.recurrent[2 * size :]
    after = bool(attributes.get("linear_before_reset", 0))
    separate = direction.recurrent_bias if after else None

    def step(states: States, inputs: States) -> tuple[States, States]:
        (hidden,) = states
        old = functions.project(hidden, direction.recurrent if after else gates)
        old = old if separate is None else old + separate
        given = functions.split(inputs[0], 3)
        update, reset = (
            active(part + other) for part, other in zip(given[:2], functions.split(old, 3 if after else 2))
        )
        kept = reset * functions.split(old, 3)[2] if after else functions.project(reset * hidden, fresh)
        made = (1 - update) * active_hidden(given[2] + kept) + update * hidden
        return (made,), (made,)

    return step


def _lstm(direction: Direction, attributes: Mapping[str, Any], functions: Functions) -> Step:
    active, active_cell, active_hidden = direction.activations
    coupled, holes = bool(attributes.get("input_forget", 0)), direction.peepholes
    of_input, of_output, of_forget = (None,) * 3 if holes is None else functions.split(holes, 3)

    def peeped(gate: Any, hole: Any, cell: Any) -> Any:
        return active(gate if hole is None else gate + hole * cell)

    def step(states: States, inputs: States) -> tuple[States, States]:
        hidden, cell = states
        gates = inputs[0] + functions.project(hidden, direction.recurrent)
        enter, leave, forget, fresh = functions.split(gates, 4)
        enter = peeped(enter, of_input, cell)
        forget = 1 - enter if coupled else peeped(forget, of_forget, cell)
        new_cell = forget * cell + enter * active_cell(fresh)
        made = peeped(leave, of_output, new_cell) * active_hidden(new_cell)
        return (made, new_cell), (made,)

    return step


_CELLS: dict[str, Callable[[Direction, Mapping[str, Any], Functions], Step]] = {"RNN": _rnn, "GRU": _gru, "LSTM": _lstm}


def activations(
    op: str, attributes: Mapping[str, Any], directions: int, functions: Functions
) -> list[tuple[Callable[[Any], Any], ...]]:
    """Return each direction's activations as functions of a tensor, with what clips their input.

    Raises:
        UnsupportedError: An activation is unknown, or their number does not fit the directions.
    """
    limit = attributes.get("clip")
    found = [
        _activation(name, parameters, limit, functions)
        for name, parameters in named_activations(op, attributes, directions)
    ]
    count = len(_DEFAULTS[op])
    return [tuple(found[place * count : (place + 1) * count]) for place in range(directions)]


def named_activations(op: str, attributes: Mapping[str, Any], directions: int) -> list[tuple[str, Mapping[str, float]]]:
    """Return the name and the stated parameters of each activation, direction after direction.

    `activation_alpha` and `activation_beta` are used up in order by the activations that have such a parameter.

    Raises:
        UnsupportedError: An activation is unknown, or their number does not fit the directions.
    """
    given = attributes.get("activations") or _DEFAULTS[op] * directions
    unknown = sorted({name for name in given if name.lower() not in _SPELT})
    if unknown:
        raise UnsupportedError(f"{op} with activation {', '.join(unknown)}; known: {', '.join(sorted(_PARAMETERS))}")
    if len(given) != len(_DEFAULTS[op]) * directions:
        raise UnsupportedError(
            f"{op} takes {len(_DEFAULTS[op])} activations for each of {directions} directions: {given}"
        )
    stated = {kind: list(attributes.get(f"activation_{kind}") or ()) for kind in ("alpha", "beta")}
    return [(name, _stated(name, stated)) for name in (_SPELT[name.lower()] for name in given)]


def _stated(name: str, stated: Mapping[str, list[float]]) -> Mapping[str, float]:
    kinds = ("alpha", "beta")[: _PARAMETERS[name]]
    return {kind: float(stated[kind].pop(0)) for kind in kinds if stated[kind]}


def _activation(
    name: str, parameters: Mapping[str, float], limit: float | None, functions: Functions
) -> Callable[[Any], Any]:
    function = _formula(name, parameters, functions.target)
    return function if limit is None else lambda value: function(functions.clip(value, limit))


def _formula(name: str, parameters: Mapping[str, float], target: str) -> Callable[[Any], Any]:
    alpha = parameters.get("alpha", 1.0)
    if name == "Affine":
        return lambda value: alpha * value + parameters.get("beta", 0.0)
    if name == "ScaledTanh":
        tanh = find("Tanh", target)
        return lambda value: alpha * tanh([parameters.get("beta", 1.0) * value], {})
    rule = find(name, target)
    return lambda value: rule([value], parameters)
