"""What a framework's If, Loop and Scan must do beyond ONNX's cases: compiled, differentiated, and with no turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

from stackproof.backends.errors import UnsupportedError
from stackproof.backends.program import Body, Input, Node, Program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Values = Mapping[str, np.ndarray]


def _program(nodes: Sequence[Node], inputs: Values, outputs: Sequence[str], constants: Values | None = None) -> Program:
    typed = tuple(Input(name, value.dtype.name, value.shape) for name, value in inputs.items())
    return Program("case", typed, tuple(nodes), "", {}, constants or {}, tuple(outputs))


_THREE = {"x": np.array([1.0, 2.0, 3.0]), "w": np.array([0.5, -1.0, 2.0])}


def _branching(unlike: bool = False) -> Node:  # noqa: FBT001, FBT002 - a plain fact
    """Multiply where the condition holds, subtract where not; `unlike` makes the second branch's result a scalar."""
    then = Body((), (Node("Mul", ("x", "w"), ("product",)),), ("product",))
    last = Node("ReduceSum", ("difference",), ("total",), {"keepdims": 0})
    other = (Node("Sub", ("x", "w"), ("difference",)), *((last,) if unlike else ()))
    branches = {"then_branch": then, "else_branch": Body((), other, ("total" if unlike else "difference",))}
    return Node("If", ("flag",), ("y",), branches)


def _powers(rows: bool = False) -> Node:  # noqa: FBT001, FBT002 - a plain fact
    """Multiply by `w` and add 1 until the sum is 10 or more; `rows` stacks what each turn makes."""
    nodes = (
        Node("Mul", ("before", "w"), ("scaled",)),
        Node("Add", ("scaled", "one"), ("after",)),
        Node("ReduceSum", ("after",), ("sum",), {"keepdims": 0}),
        Node("Less", ("sum", "ten"), ("more",)),
        Node("Identity", ("after",), ("row",)),
    )
    body = Body(("turn", "given", "before"), nodes, ("more", "after", "row") if rows else ("more", "after"))
    return Node("Loop", ("most", "begin", "x"), ("y", "stacked") if rows else ("y",), {"body": body})


_NUMBERS = {"one": np.array(1.0), "ten": np.array(10.0), "begin": np.ones((), bool)}
_GROWING = {"x": np.ones(3), "w": np.array([1.0, 1.5, 0.5])}


def _grown(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what `_powers` gives, and the slopes of its sum along `w`."""
    slope = np.zeros_like(x)
    while True:
        x, slope = x * w + 1, x + w * slope
        if x.sum() >= 10:
            return x, slope


def _counting(condition: str = "") -> Node:
    """Add `w` and the turn's number, and stack the halves."""
    nodes = (
        Node("Cast", ("turn",), ("number",), {"to": 11}),
        Node("Add", ("before", "w"), ("moved",)),
        Node("Add", ("moved", "number"), ("after",)),
        Node("Mul", ("after", "half"), ("row",)),
        Node("Identity", ("given",), ("going",)),
    )
    body = Body(("turn", "given", "before"), nodes, ("going", "after", "row"))
    return Node("Loop", ("most", condition, "x"), ("y", "stacked"), {"body": body})


def _counted(x: np.ndarray, w: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    rows = [x + (turn + 1) * w + turn * (turn + 1) / 2 for turn in range(most)]
    return (rows or [x])[-1], np.stack(rows) / 2 if rows else np.zeros((0, *x.shape))


class ControlContract:
    """Attributes: the framework's `Evaluation`, and what it says of a gradient that it does not have."""

    evaluation: ClassVar[Callable[..., Any]]
    no_gradient: ClassVar[str]

    def compiled_gradient(self, program: Program, inputs: Values, name: str) -> np.ndarray:
        """Return the gradient of the sum of `y` with respect to one input, of the program as it is compiled."""
        raise NotImplementedError

    def run(self, program: Program, inputs: Values, *, compiled: bool) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = type(self).evaluation(program, compile=compiled).run(inputs)
        return found

    @pytest.mark.parametrize("compiled", [False, True])
    @pytest.mark.parametrize("flag", [False, True])
    def test_a_condition_that_a_run_makes_picks_the_branch(self, flag: bool, compiled: bool) -> None:  # noqa: FBT001
        inputs = {**_THREE, "flag": np.array(flag)}
        made = self.run(_program((_branching(),), inputs, ("y",)), inputs, compiled=compiled)["y"]
        assert made.tolist() == (_THREE["x"] * _THREE["w"] if flag else _THREE["x"] - _THREE["w"]).tolist()

    @pytest.mark.parametrize("flag", [False, True])
    def test_only_the_branch_taken_has_a_gradient(self, flag: bool) -> None:  # noqa: FBT001 - a parameter
        inputs = {**_THREE, "flag": np.array(flag)}
        evaluation = type(self).evaluation(_program((_branching(),), inputs, ("y",)))
        found = evaluation.gradients(inputs, ("w",), {"y": np.ones(3)})["w"]
        assert found.tolist() == (_THREE["x"] if flag else -np.ones(3)).tolist()

    @pytest.mark.parametrize("flag", [False, True])
    def test_a_constant_condition_needs_no_branches_alike(self, flag: bool) -> None:  # noqa: FBT001 - a parameter
        program = _program((_branching(unlike=True),), _THREE, ("y",), {"flag": np.array(flag)})
        assert self.run(program, _THREE, compiled=True)["y"].shape == ((3,) if flag else ())

    @pytest.mark.parametrize("most", [3, 0])
    @pytest.mark.parametrize("condition", ["", "begin"])
    @pytest.mark.parametrize("compiled", [False, True])
    def test_a_loop_of_a_known_number_of_turns(self, compiled: bool, condition: str, most: int) -> None:  # noqa: FBT001
        constants = {"most": np.array(most), "half": np.array(0.5), "begin": np.ones((), bool)}
        program = _program((_counting(condition),), _THREE, ("y", "stacked"), constants)
        made = self.run(program, _THREE, compiled=compiled)
        for name, want in zip(("y", "stacked"), _counted(_THREE["x"], _THREE["w"], most), strict=True):
            np.testing.assert_allclose(made[name], want, rtol=1e-15)
            assert made[name].shape == want.shape

    def test_the_gradient_of_a_loop_of_a_known_number_of_turns(self) -> None:
        constants = {"most": np.array(3), "half": np.array(0.5)}
        evaluation = type(self).evaluation(_program((_counting(),), _THREE, ("y", "stacked"), constants))
        found = evaluation.gradients(_THREE, ("x", "w"), {"y": np.ones(3), "stacked": np.ones((3, 3))})
        assert found["x"].tolist() == [2.5] * 3
        assert found["w"].tolist() == [6.0] * 3

    @pytest.mark.parametrize("compiled", [False, True])
    @pytest.mark.parametrize("most", [None, 20, 10**18])
    def test_a_loop_that_its_condition_ends(self, most: int | None, compiled: bool) -> None:  # noqa: FBT001 - a parameter
        node = _powers()
        node = node if most else Node(node.op, ("", *node.inputs[1:]), node.outputs, node.attributes)
        program = _program((node,), _GROWING, ("y",), {**_NUMBERS, "most": np.array(most or 0)})
        made = self.run(program, _GROWING, compiled=compiled)["y"]
        np.testing.assert_allclose(made, _grown(**_GROWING)[0], rtol=1e-15)

    @pytest.mark.parametrize("compiled", [False, True])
    def test_a_trip_count_that_a_run_makes(self, compiled: bool) -> None:  # noqa: FBT001 - a parameter
        inputs = {**_GROWING, "most": np.array(2)}
        made = self.run(_program((_powers(),), inputs, ("y",), _NUMBERS), inputs, compiled=compiled)["y"]
        np.testing.assert_allclose(made, (1 * inputs["w"] + 1) * inputs["w"] + 1, rtol=1e-15)

    def test_the_gradient_of_a_loop_that_its_condition_ends(self) -> None:
        program = _program((_powers(),), _GROWING, ("y",), {**_NUMBERS, "most": np.array(20)})
        found = type(self).evaluation(program).gradients(_GROWING, ("w",), {"y": np.ones(3)})["w"]
        np.testing.assert_allclose(found, _grown(**_GROWING)[1], rtol=1e-15)

    def test_the_compiled_gradient_of_a_loop_of_few_turns_that_its_condition_ends(self) -> None:
        program = _program((_powers(),), _GROWING, ("y",), {**_NUMBERS, "most": np.array(20)})
        found = self.compiled_gradient(program, _GROWING, "w")
        np.testing.assert_allclose(found, _grown(**_GROWING)[1], rtol=1e-15)

    def test_a_compiled_loop_with_an_open_end_has_no_wrong_gradient(self) -> None:
        node = _powers()
        node = Node(node.op, ("", *node.inputs[1:]), node.outputs, node.attributes)
        program = _program((node,), _GROWING, ("y",), _NUMBERS)
        with pytest.raises(Exception, match=self.no_gradient):
            self.compiled_gradient(program, _GROWING, "w")

    @pytest.mark.parametrize("flag", [False, True])
    def test_the_compiled_gradient_of_a_branch(self, flag: bool) -> None:  # noqa: FBT001 - a parameter
        inputs = {**_THREE, "flag": np.array(flag)}
        found = self.compiled_gradient(_program((_branching(),), inputs, ("y",)), inputs, "w")
        assert found.tolist() == (_THREE["x"] if flag else -np.ones(3)).tolist()

    def test_the_compiled_gradient_of_a_loop_of_a_known_number_of_turns(self) -> None:
        constants = {"most": np.array(3), "half": np.array(0.5)}
        program = _program((_counting(),), _THREE, ("y", "stacked"), constants)
        assert self.compiled_gradient(program, _THREE, "w").tolist() == [3.0] * 3

    def test_rows_of_an_unknown_number_are_stacked_where_nothing_is_compiled(self) -> None:
        program = _program((_powers(rows=True),), _GROWING, ("y", "stacked"), {**_NUMBERS, "most": np.array(20)})
        made = self.run(program, _GROWING, compiled=False)
        assert made["stacked"].shape[0] == 3
        assert made["stacked"][-1].tolist() == made["y"].tolist()

    def test_rows_of_an_unknown_number_are_refused_where_it_is_compiled(self) -> None:
        program = _program((_powers(rows=True),), _GROWING, ("y", "stacked"), {**_NUMBERS, "most": np.array(20)})
        with pytest.raises(Exception, match="as many rows as it makes turns") as caught:
            self.run(program, _GROWING, compiled=True)
        assert _refused(caught.value)

    def test_a_loop_without_an_end_is_refused(self) -> None:
        node = _powers()
        node = Node(node.op, ("", "", "x"), node.outputs, node.attributes)
        with pytest.raises(UnsupportedError, match="never ends"):
            self.run(_program((node,), _GROWING, ("y",), _NUMBERS), _GROWING, compiled=False)

    @pytest.mark.parametrize("compiled", [False, True])
    def test_scan_along_other_axes_and_backwards(self, compiled: bool) -> None:  # noqa: FBT001 - a parameter
        inputs = {"begin": np.zeros(2), "data": np.arange(6.0).reshape(2, 3)}
        made = self.run(_scanning(inputs), inputs, compiled=compiled)
        sums = np.cumsum(inputs["data"][:, ::-1], axis=1)
        assert made["last"].tolist() == sums[:, -1].tolist()
        assert made["sums"].tolist() == sums[:, ::-1].tolist()

    def test_the_gradient_of_a_scan(self) -> None:
        inputs = {"begin": np.zeros(2), "data": np.arange(6.0).reshape(2, 3)}
        evaluation = type(self).evaluation(_scanning(inputs))
        found = evaluation.gradients(inputs, ("begin", "data"), {"sums": np.ones((2, 3))})
        assert found["begin"].tolist() == [3.0, 3.0]
        assert found["data"].tolist() == [[1.0, 2.0, 3.0]] * 2


def _scanning(inputs: Values) -> Program:
    """Sum columns from the last to the first, and prepend each sum."""
    body = Body(
        ("sum", "column"),
        (Node("Add", ("sum", "column"), ("next",)), Node("Identity", ("next",), ("row",))),
        ("next", "row"),
    )
    attributes = {
        "body": body,
        "num_scan_inputs": 1,
        "scan_input_axes": (1,),
        "scan_input_directions": (1,),
        "scan_output_axes": (-1,),
        "scan_output_directions": (1,),
    }
    return _program((Node("Scan", ("begin", "data"), ("last", "sums"), attributes),), inputs, ("last", "sums"))


def _refused(error: BaseException | None) -> bool:
    """Say whether an error is a refusal, or was made of one by a compiler."""
    return error is not None and (
        isinstance(error, UnsupportedError)
        or "UnsupportedError" in str(error)
        or _refused(error.__cause__ or error.__context__)
    )
