"""If, Loop, Scan and SequenceMap on every target: what happens in which order, written with a framework's functions.

A body is a `lower.Bound`. Where a framework runs as it goes, conditions are looked at and loops are Python's; where it
traces, a loop of a known number of turns is one of the framework's own loops if shapes stay, and is written out if not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

from .errors import UnsupportedError
from .nodes import optional

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .lower import Bound

    States = tuple[Any, ...]
    Step = Callable[[States, States], tuple[States, States]]

# Of a loop that may end early so many turns at most are made one after another, the last of them empty.
FEW_TURNS = 1024


@dataclass(frozen=True)
class Functions:
    """What a framework gives.

    Attributes:
        target: The framework, as in the rule table.
        tracing: Whether the program is traced, so that values are not known.
        truth: A tensor's one element as a Python number, or None where it is not known.
        number: An int64 tensor of no axes.
        numbers: An int64 tensor that counts from 0.
        boolean: A bool tensor of no axes.
        scan: Called with a step, states, inputs along whose first axis it goes, and their length; returns the last
            states and a tuple of stacked outputs.
        branch: Called with a condition and two functions of no arguments; returns what one of them gives.
        turns: Called with a `Loop` that ends when its condition does, while the program is traced.
        move: A tensor with one axis moved to another place.
        flip: A tensor with an axis turned round.
        stack: Tensors along a new first axis.
        element: An entry of a tensor's first axis.
        blank: Zeros like such an entry, of a tensor that may have none.
    """

    target: str
    tracing: Callable[[], bool]
    truth: Callable[[Any], Any]
    number: Callable[[int], Any]
    numbers: Callable[[int], Any]
    boolean: Callable[[Any], Any]
    scan: Callable[[Step, States, States, int], tuple[States, States]]
    branch: Callable[[Any, Callable[[], States], Callable[[], States]], States]
    turns: Callable[[Loop], States]
    move: Callable[[Any, int, int], Any]
    flip: Callable[[Any, int], Any]
    stack: Callable[[Sequence[Any]], Any]
    element: Callable[[Any, int], Any]
    blank: Callable[[Any], Any]


@dataclass(frozen=True)
class Loop:
    """A `Loop` node.

    Attributes:
        body: What each turn does.
        states: What turns hand on.
        most: How many turns there are at most, where that is known; None for any number.
        limit: That number as a tensor where only a run knows it, else None.
        condition: Whether there is a first turn: a tensor, or a number where it is known.
        ignored: Whether the body's own condition counts for nothing.
    """

    body: Bound
    states: States
    most: int | None
    limit: Any
    condition: Any
    ignored: bool

    @property
    def rows(self) -> int:
        """Return how many outputs of the body are stacked."""
        return len(self.body.body.outputs) - 1 - len(self.states)

    def turn(self, place: Any, flag: Any, states: States) -> tuple[Any, States, States]:
        """Do one turn; returns the body's condition, what is handed on, and what is stacked."""
        made = self.body(place, flag, *states)
        count = len(self.states)
        return made[0], tuple(made[1 : 1 + count]), tuple(made[1 + count :])


def chosen(inputs: Sequence[Any], attributes: Mapping[str, Any], functions: Functions) -> States:
    """Return what an `If` node gives."""
    branches = attributes["then_branch"], attributes["else_branch"]
    condition = inputs[0][0] if isinstance(inputs[0], tuple) else functions.truth(inputs[0])
    if condition is None:
        return tuple(functions.branch(inputs[0], *branches))
    return tuple(branches[0 if condition else 1]())


def looped(inputs: Sequence[Any], attributes: Mapping[str, Any], functions: Functions) -> States:
    """Return what a `Loop` node gives.

    Raises:
        UnsupportedError: It has neither a number of turns nor a condition.
        UnsupportedError: What it gives cannot be known while the program is traced.
    """
    loop = _loop(inputs, attributes, functions)
    always = loop.ignored or (loop.condition is True and loop.body.goes_on())
    if always and loop.most is not None:
        return _counted(loop, functions)
    if not functions.tracing():
        return _observed(loop, functions)
    if loop.rows:
        raise UnsupportedError(
            f"Loop on {functions.target} stacks as many rows as it makes turns, and a compiled program needs to know "
            "that number beforehand: give a constant trip count and no condition, or evaluate without compiling"
        )
    return functions.turns(loop)


def _loop(inputs: Sequence[Any], attributes: Mapping[str, Any], functions: Functions) -> Loop:
    most, condition = (_known(optional(inputs, place), functions) for place in (0, 1))
    if inputs[0] is None and optional(inputs, 1) is None:
        raise UnsupportedError("Loop has neither a trip count nor a condition, so it never ends: give one of them")
    return Loop(
        attributes["body"],
        tuple(inputs[2:]),
        None if most is None else max(0, int(most)),
        inputs[0] if most is None else None,
        _begins(optional(inputs, 1), condition),
        optional(inputs, 1) is None,
    )


def _begins(given: Any, known: Any) -> Any:
    if given is None:
        return True
    return given if known is None else bool(known)


def _known(value: Any, functions: Functions) -> Any:
    """Return a number where it is known, or None."""
    if value is None:
        return None
    return value[0] if isinstance(value, tuple) else functions.truth(value)


def _counted(loop: Loop, functions: Functions) -> States:
    flag = functions.boolean(True)
    most = loop.most or 0

    def step(states: States, parts: States) -> tuple[States, States]:
        _, after, rows = loop.turn(parts[0], flag, states)
        return after, rows

    if most == 0 and not loop.rows:
        return loop.states
    states, rows = functions.scan(step, loop.states, (functions.numbers(most),), most)
    return (*states, *rows)


def _observed(loop: Loop, functions: Functions) -> States:
    """Do turns as long as the condition holds, where values are known as they are made."""
    states, rows, turn = loop.states, [], 0
    begin = loop.condition
    flag = functions.boolean(begin) if isinstance(begin, bool) else begin
    while (loop.most is None or turn < loop.most) and functions.truth(flag):
        made, states, row = loop.turn(functions.number(turn), flag, states)
        flag = flag if loop.ignored else made
        rows.append(row)
        turn += 1
    if rows or not loop.rows:
        return (*states, *(functions.stack(parts) for parts in zip(*rows)))
    _, _, row = loop.turn(functions.number(0), flag, states)
    return (*states, *(functions.stack([part])[:0] for part in row))


def scanned(inputs: Sequence[Any], attributes: Mapping[str, Any], functions: Functions) -> States:
    """Return what a `Scan` node gives."""
    count = attributes["num_scan_inputs"]
    body, states = attributes["body"], tuple(inputs[:-count])
    parts = []
    for place, value in enumerate(inputs[-count:]):
        axis = _entry(attributes, "scan_input_axes", place)
        moved = functions.move(value, axis, 0) if axis else value
        parts.append(functions.flip(moved, 0) if _entry(attributes, "scan_input_directions", place) else moved)

    def step(before: States, elements: States) -> tuple[States, States]:
        made = body(*before, *elements)
        return tuple(made[: len(states)]), tuple(made[len(states) :])

    last, rows = functions.scan(step, states, tuple(parts), int(parts[0].shape[0]))
    made = []
    for place, row in enumerate(rows):
        turned = functions.flip(row, 0) if _entry(attributes, "scan_output_directions", place) else row
        axis = _entry(attributes, "scan_output_axes", place)
        made.append(functions.move(turned, 0, axis) if axis else turned)
    return (*last, *made)


def _entry(attributes: Mapping[str, Any], name: str, place: int) -> int:
    given = attributes.get(name, ())
    return int(given[place]) if place < len(given) else 0


def mapped(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> States:
    """Return what a `SequenceMap` node gives: a sequence for each output of its body."""
    body = attributes["body"]
    made = [
        body(*(value[place] if isinstance(value, list) else value for value in inputs))
        for place in range(len(inputs[0]))
    ]
    return tuple([row[place] for row in made] for place in range(len(body.body.outputs)))


def written_out(step: Step, states: States, inputs: States, length: int, functions: Functions) -> tuple[States, States]:
    """Do the turns of a scan one after another.

    Args:
        step: What a turn does.
        states: What turns hand on.
        inputs: Tensors along whose first axis it goes.
        length: The number of turns.
        functions: The framework's.
    """
    rows = []
    for place in range(length):
        states, row = step(states, tuple(functions.element(value, place) for value in inputs))
        rows.append(row)
    if rows:
        return states, tuple(functions.stack(parts) for parts in zip(*rows))
    _, row = step(states, tuple(functions.blank(value) for value in inputs))
    return states, tuple(functions.stack([part])[:0] for part in row)
