"""What a framework's recurrent operators must do; each framework's suite subclasses this with its `Evaluation`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
from recurrent_equations import FORMULAS, GATES, Network

from stackproof.backends.errors import UnsupportedError
from stackproof.backends.program import Input, Node, Program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_STEPS, _BATCH, _SIZE, _HIDDEN = 5, 3, 2, 4
_PLACES = {
    "RNN": ("X", "W", "R", "B", "sequence_lens", "initial_h"),
    "GRU": ("X", "W", "R", "B", "sequence_lens", "initial_h"),
    "LSTM": ("X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"),
}
_DEFAULTS = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}


@dataclass(frozen=True)
class Drawn:
    """A node to draw inputs for.

    Attributes:
        op: The operator.
        given: Names of the optional inputs.
        activations: (name, alpha, beta) of each; the operator's own where there are none.
        attributes: Other attributes.
    """

    op: str
    given: tuple[str, ...] = ()
    activations: tuple[tuple[str, float, float], ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        names = (name for name, *_ in self.activations)
        return "-".join((self.op, *self.given, *names, *(f"{key}={value}" for key, value in self.attributes.items())))


_TWO_WAYS = {"direction": "bidirectional"}
_ALL = ("B", "initial_h")
CASES = (
    Drawn("RNN", _ALL),
    Drawn("RNN", ("B", "sequence_lens"), attributes={"direction": "reverse"}),
    Drawn("RNN", (*_ALL, "sequence_lens"), attributes=_TWO_WAYS),
    Drawn("RNN", _ALL, (("Relu", 0, 0),), {"layout": 1}),
    *(Drawn("RNN", ("B",), ((name, 0.7, 0.4),)) for name in FORMULAS),
    Drawn("RNN", ("B",), (("Affine", 0.5, 0.1), ("HardSigmoid", 0.3, 0.4)), {**_TWO_WAYS, "clip": 0.5}),
    Drawn("GRU", _ALL, attributes={"linear_before_reset": 1}),
    Drawn("GRU", _ALL, attributes={**_TWO_WAYS, "linear_before_reset": 1, "layout": 1}),
    Drawn("GRU", (*_ALL, "sequence_lens"), attributes=_TWO_WAYS),
    Drawn("GRU", (*_ALL, "sequence_lens"), attributes={"linear_before_reset": 1, "direction": "reverse"}),
    Drawn("GRU", _ALL, (("HardSigmoid", 0.3, 0.4), ("ScaledTanh", 1.5, 0.5)), {"clip": 0.3}),
    Drawn("LSTM"),
    Drawn("LSTM", (*_ALL, "initial_c"), attributes={"layout": 1}),
    Drawn("LSTM", (*_ALL, "initial_c"), attributes={**_TWO_WAYS, "layout": 1}),
    Drawn("LSTM", (*_ALL, "initial_c"), attributes={"direction": "reverse"}),
    Drawn("LSTM", (*_ALL, "initial_c", "P", "sequence_lens"), attributes=_TWO_WAYS),
    Drawn("LSTM", ("B", "P"), attributes={"input_forget": 1}),
    Drawn("LSTM", ("B",), (("Sigmoid", 0, 0), ("Elu", 0.6, 0), ("LeakyRelu", 0.2, 0)), {"clip": 0.4}),
)


def _inputs(case: Drawn) -> dict[str, np.ndarray]:
    draw, directions = (
        np.random.default_rng(len(str(case))),
        2 if case.attributes.get("direction") == "bidirectional" else 1,
    )
    rows = GATES[case.op] * _HIDDEN
    shapes = {
        "X": (_STEPS, _BATCH, _SIZE),
        "W": (directions, rows, _SIZE),
        "R": (directions, rows, _HIDDEN),
        "B": (directions, 2 * rows),
        "P": (directions, 3 * _HIDDEN),
        "initial_h": (directions, _BATCH, _HIDDEN),
        "initial_c": (directions, _BATCH, _HIDDEN),
    }
    drawn = {
        name: draw.standard_normal(shape) for name, shape in shapes.items() if name in ("X", "W", "R", *case.given)
    }
    return {**drawn, **({"sequence_lens": np.int32([5, 2, 3])} if "sequence_lens" in case.given else {})}


def _program(case: Drawn, inputs: Mapping[str, np.ndarray]) -> Program:
    attributes = {**case.attributes, "hidden_size": _HIDDEN}
    if case.activations:
        attributes["activations"] = tuple(name for name, *_ in case.activations)
        attributes["activation_alpha"] = tuple(a for name, a, _ in case.activations if name in _WITH_ALPHA)
        attributes["activation_beta"] = tuple(b for name, _, b in case.activations if name in _WITH_BETA)
    outputs = ("Y", "Y_h", "Y_c")[: 3 if case.op == "LSTM" else 2]
    names = tuple(name if name in inputs else "" for name in _PLACES[case.op])
    typed = tuple(Input(name, value.dtype.name, value.shape) for name, value in inputs.items())
    return Program("case", typed, (Node(case.op, names, outputs, attributes),), "", {}, outputs=outputs)


_WITH_BETA = frozenset({"Affine", "HardSigmoid", "ScaledTanh"})
_WITH_ALPHA = _WITH_BETA | {"Elu", "LeakyRelu", "ThresholdedRelu"}


def _expected(case: Drawn, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    directions = inputs["R"].shape[0]
    stated = case.activations or tuple((name, 0.0, 0.0) for name in _DEFAULTS[case.op] * directions)
    functions = tuple(lambda x, n=name, a=alpha, b=beta: FORMULAS[n](x, a, b) for name, alpha, beta in stated)
    return Network(case.op, inputs["X"], inputs, functions, case.attributes).outputs()


def _in_layout(case: Drawn, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    if not case.attributes.get("layout"):
        return dict(values)
    turned = ("X", "initial_h", "initial_c")
    return {name: np.swapaxes(value, 0, 1) if name in turned else value for name, value in values.items()}


class RecurrentContract:
    """Attributes: the framework's `Evaluation`."""

    evaluation: ClassVar[Callable[..., Any]]

    @pytest.mark.parametrize("case", CASES, ids=str)
    def test_the_equations_of_the_documentation(self, case: Drawn) -> None:
        self._check(case, compiled=False)

    @pytest.mark.parametrize("case", CASES[::5], ids=str)
    def test_they_hold_where_it_is_compiled(self, case: Drawn) -> None:
        self._check(case, compiled=True)

    def _check(self, case: Drawn, *, compiled: bool) -> None:
        inputs = _inputs(case)
        given = _in_layout(case, inputs)
        made = type(self).evaluation(_program(case, given), compile=compiled).run(given)
        wanted = _expected(case, inputs)
        if case.attributes.get("layout"):
            wanted = [wanted[0].transpose(2, 0, 1, 3), *(np.swapaxes(value, 0, 1) for value in wanted[1:])]
        for name, want in zip(("Y", "Y_h", "Y_c")[: len(wanted)], wanted, strict=True):
            assert made[name].dtype == np.float64
            np.testing.assert_allclose(made[name], want, rtol=1e-12, atol=1e-12)

    def test_a_sequence_has_no_gradient_after_its_end(self) -> None:
        case = Drawn("LSTM", ("B", "sequence_lens"), attributes=_TWO_WAYS)
        inputs = _inputs(case)
        evaluation = type(self).evaluation(_program(case, inputs))
        found = evaluation.gradients(inputs, ("X",), {"Y": np.ones((_STEPS, 2, _BATCH, _HIDDEN))})["X"]
        after = np.arange(_STEPS)[:, None] >= inputs["sequence_lens"][None, :]
        assert np.all(found[after] == 0)
        assert np.all(found[~after] != 0)

    def test_an_unknown_activation_is_refused(self) -> None:
        case = Drawn("RNN", attributes={"activations": ("Sine",)})
        with pytest.raises(UnsupportedError, match="Sine"):
            type(self).evaluation(_program(case, _inputs(case))).run(_inputs(case))

    def test_activations_for_one_direction_of_two_are_refused(self) -> None:
        case = Drawn("LSTM", attributes={"activations": ("Sigmoid", "Tanh", "Tanh"), **_TWO_WAYS})
        with pytest.raises(match="activations"):
            type(self).evaluation(_program(case, _inputs(case))).run(_inputs(case))
