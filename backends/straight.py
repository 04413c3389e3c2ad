"""A program's nodes as one straight-line Python function.

The function has a line per node and nothing else: attributes and shapes stand in it as literals, tensors are local
variables that are dropped after their last use, and what no result needs is left out. A compiler that traces Python
then has no dictionaries to watch, and an eager run no table to walk.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable

from .errors import StackproofError, UnsupportedError
from .lower import Lowered, carried
from .static import static_numbers
from .values import MOVING_OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .lower import After, Step
    from .program import Program

# The longest tuple that is written out; a longer one is a name.
_LONGEST = 32
# What may make a tensor narrow where none came in so.
_MAKING_NARROW = frozenset({"BitCast", "Cast", "CastLike", "DynamicQuantizeLinear", "QuantizeLinear"})


class Forward:
    """A program's loss and new state on one target, in as little Python as there can be.

    Args:
        program: What to compute.
        target: `torch`, `tensorflow` or `jax`; its rules must have been imported.
        precision: As for `Lowered`.

    Attributes:
        arguments: Names of the tensors that `function` takes, in order.
        function: Returns the loss and then each state's new tensor.

    Raises:
        UnsupportedError: An operator has no rule on the target.
    """

    def __init__(self, program: Program, target: str, precision: str) -> None:
        self._lowered = Lowered(program, target, precision)
        self._states, results = tuple(program.updates), (program.loss, *program.updates.values())
        self._results = results
        if any(step.bodies for step in self._lowered.steps):
            held = (program.constants, program.state, program.parameters)
            self.arguments = (*(name for names in held for name in names), *(entry.name for entry in program.inputs))
            self.function: Callable[..., tuple[Any, ...]] = self._walk
        else:
            self.arguments, self.function = straight_line(self._lowered.steps, results, narrow=bool(program.narrow))

    def _walk(self, *tensors: Any) -> tuple[Any, ...]:
        known = self._lowered(dict(zip(self.arguments, tensors)), {})
        return tuple(known[name] for name in self._results)

    def __call__(self, known: Mapping[str, Any], after: After | None = None) -> tuple[Any, dict[str, Any]]:
        """Return the loss, and the new state by name.

        Args:
            known: The target's tensors of all parameters, constants, state and inputs, by name.
            after: As for `Lowered`.

        Raises:
            UnsupportedError: A rule refuses a node.
        """
        if after is None:
            try:
                return self.split(self.function(*(known[name] for name in self.arguments)))
            except StackproofError:
                # Again by walking, which says at which node.
                pass
        made = self._lowered(known, {}, after)
        return self.split([made[name] for name in self._results])

    def split(self, results: Sequence[Any]) -> tuple[Any, dict[str, Any]]:
        """Return what `function` made as the loss, and the new state by name."""
        return results[0], dict(zip(self._states, results[1:]))


def straight_line(
    steps: Sequence[Step], results: Sequence[str], *, narrow: bool = False
) -> tuple[tuple[str, ...], Callable[..., tuple[Any, ...]]]:
    """Return a function that returns the results as a tuple, and the names of the tensors that it takes, in order.

    Args:
        steps: Nodes bound to their rules, as `Lowered.steps`; none of them has a body.
        results: Names of the tensors wanted.
        narrow: Whether a tensor may be a `values.Narrow`.
    """
    needed = _needed(steps, results)
    arguments = _free(needed, results)
    writer = _Writer(arguments, narrow=narrow or any(step.node.op in _MAKING_NARROW for step in needed))
    source = "\n".join(writer.lines(needed, results))
    exec(compile(source, "<program>", "exec"), writer.names)  # noqa: S102 - only literals and names made here
    return arguments, writer.names["run"]


def _free(steps: Sequence[Step], results: Sequence[str]) -> tuple[str, ...]:
    """Return the names that no step makes, in the order of their first use."""
    made: set[str] = set()
    free: dict[str, None] = {}
    for step in steps:
        used = (name for place, name in enumerate(step.node.inputs) if name and place not in step.fixed)
        free.update(dict.fromkeys(name for name in used if name not in made))
        made.update(step.node.outputs)
    return tuple(dict.fromkeys((*free, *(name for name in results if name not in made))))


def _needed(steps: Sequence[Step], results: Sequence[str]) -> list[Step]:
    """Return the steps that results depend on."""
    wanted, kept = set(results), []
    for step in reversed(steps):
        if wanted.intersection(filter(None, step.node.outputs)):
            kept.append(step)
            wanted.update(name for place, name in enumerate(step.node.inputs) if place not in step.fixed)
    return kept[::-1]


class _Writer:
    """Writes the source; `names` is what it refers to."""

    def __init__(self, arguments: Sequence[str], *, narrow: bool) -> None:
        self.names: dict[str, Any] = {"carried": carried, "static_numbers": static_numbers, "several": _several}
        self._arguments, self._narrow = arguments, narrow
        self._locals = {name: f"a{index}" for index, name in enumerate(arguments)}

    def lines(self, steps: Sequence[Step], results: Sequence[str]) -> Iterator[str]:
        yield f"def run({', '.join(self._locals[name] for name in self._arguments)}):"
        last = _last_uses(steps, results)
        for index, step in enumerate(steps):
            yield from (f"    {line}" for line in self._node(index, step))
            gone = [self._locals[name] for name in last.get(index, ()) if name in self._locals]
            if gone:
                yield f"    del {', '.join(gone)}"
        yield f"    return ({''.join(f'{self._locals[name]}, ' for name in results)})"

    def _node(self, index: int, step: Step) -> Iterator[str]:
        rule = self._named(f"r_{step.node.op}", step.rule)
        call = f"([{', '.join(self._inputs(step))}], {self._attributes(step)})"
        moving = self._narrow and step.node.op in MOVING_OPERATORS
        yield f"m = carried({rule}, {step.node.op!r}, {call[1:]}" if moving else f"m = {rule}{call}"
        made = [(place, name) for place, name in enumerate(step.node.outputs) if name]
        if made[-1][0]:
            yield f"m = several(m, {made[-1][0] + 1}, {step.node.op!r})"
        for place, name in made:
            self._locals[name] = f"t{index}_{place}"
            yield f"{self._locals[name]} = m[{place}] if isinstance(m, tuple) else m"
        yield "del m"

    def _inputs(self, step: Step) -> Iterator[str]:
        for place, name in enumerate(step.node.inputs):
            if place in step.fixed:
                yield self._literal(step.fixed[place])
            elif place in step.open:
                what = f"input {name!r} of {step.node.op}"
                yield f"static_numbers({self._locals[name]}, {what!r})"
            else:
                yield self._locals[name] if name else "None"

    def _attributes(self, step: Step) -> str:
        attributes = {**step.node.attributes, "outputs": step.wanted}
        return f"{{{', '.join(f'{key!r}: {self._literal(value)}' for key, value in attributes.items())}}}"

    def _literal(self, value: Any) -> str:
        return repr(value) if _written(value) else self._named("c", value)

    def _named(self, stem: str, value: Any) -> str:
        """Return a name for a value; the same rule keeps its name."""
        if self.names.get(stem) is value:
            return stem
        name = stem if stem not in self.names else f"{stem}{len(self.names)}"
        self.names[name] = value
        return name


def _several(made: Any, count: int, op: str) -> tuple[Any, ...]:
    """Return a rule's outputs.

    Raises:
        UnsupportedError: They are fewer than a node names.
    """
    if not isinstance(made, tuple) or len(made) < count:
        raise UnsupportedError(f"the rule of {op} does not make {count} outputs")
    return made


def _written(value: Any) -> bool:
    """Say whether a value's text gives the same value back."""
    if isinstance(value, tuple):
        return len(value) <= _LONGEST and all(_written(entry) for entry in value)
    if isinstance(value, float):
        return type(value) is float and math.isfinite(value)
    return value is None or type(value) in {int, bool, str}


def _last_uses(steps: Sequence[Step], results: Sequence[str]) -> Mapping[int, list[str]]:
    """Return the names that no step after each one needs."""
    last: dict[str, int] = {}
    for index, step in enumerate(steps):
        for name in filter(None, (*step.node.outputs, *step.node.inputs)):
            last[name] = index
    gone: dict[int, list[str]] = {}
    for name, index in last.items():
        if name not in results:
            gone.setdefault(index, []).append(name)
    return gone
