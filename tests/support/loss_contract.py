"""What a framework's losses must do: the papers' formulas, and its own; each framework's suite subclasses this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
from loss_cases import CASES, Case, program_of, wanted
from whole_programs import as_onnx_holds_it, reference_loss

from stackproof.backends.data import batch
from stackproof.backends.models.build import build_program
from stackproof.backends.schedule import rates
from stackproof.backends.session import Options
from stackproof.backends.spec import Data, Gpt, Mlp, Optimizer, Schedule, Spec, Train

if TYPE_CHECKING:
    from types import ModuleType

    from stackproof.backends.spec import Model

_ALL: dict[str, Any] = {"label_smoothing": 0.1, "class_weights": (0.3, 1.0, 0.7, 2.5)}
_MLP = Mlp(inputs=5, hidden=(6,), outputs=4, activation="tanh")
_GPT = Gpt(layers=1, width=8, heads=2, context=6, vocabulary=4)


def _spec(name: str, model: Model, **train: Any) -> Spec:
    kind = "tokens" if isinstance(model, Gpt) else "vectors"
    return Spec(name, model, Data(kind, 8), Optimizer("sgd", 0.1), Schedule(), Train(2, **train))


SPECS = [
    _spec("smoothed", _MLP, compile=False, label_smoothing=0.1),
    _spec("all", _MLP, compile=False, ignore_label=-7, **_ALL),
    _spec("tokens", _GPT, ignore_label=2, **_ALL),
    _spec("huber", _MLP, loss="huber", huber_delta=0.25),
    _spec("binary", _MLP, compile=False, loss="binary-cross-entropy"),
    _spec("divergence", _MLP, loss="kl-divergence"),
]


class LossContract:
    """Attributes: the framework's `evaluate` and `session` modules."""

    module: ClassVar[ModuleType]
    sessions: ClassVar[ModuleType]

    def made(self, case: Case) -> tuple[float, np.ndarray]:
        """Return our loss of a case and its gradient."""
        program = program_of(case)
        fed = {program.inputs[0].name: case.target}
        evaluation = self.module.Evaluation(program)
        found = evaluation.run(fed)[program.loss]
        gradients = evaluation.gradients(fed, ["output"], {program.loss: np.ones(())})
        return float(found), gradients["output"]

    def theirs(self, case: Case) -> tuple[float, np.ndarray]:
        """Return what the framework's own losses make of a case, where it has them."""
        return wanted(case)

    @pytest.mark.parametrize("case", CASES, ids=str)
    def test_loss_and_gradient_are_those_of_the_formula(self, case: Case) -> None:
        found, right = self.made(case), wanted(case)
        np.testing.assert_allclose(found[0], right[0], rtol=1e-12)
        np.testing.assert_allclose(found[1], right[1], rtol=1e-11, atol=1e-15)

    @pytest.mark.parametrize("case", CASES, ids=str)
    def test_loss_and_gradient_are_those_of_the_framework(self, case: Case) -> None:
        found, right = self.made(case), self.theirs(case)
        np.testing.assert_allclose(found[0], right[0], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(found[1], right[1], rtol=1e-11, atol=1e-12)

    @pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
    def test_a_session_begins_at_the_loss_of_the_reference_evaluator(self, spec: Spec) -> None:
        program, fed = as_onnx_holds_it(build_program(spec)), batch(spec, 0)
        session = self.sessions.open_session(program, spec, Options("float64", spec.train.compile))
        loss, _ = session.step(session.place(fed), rates(spec)[0])
        assert session.read(loss) == pytest.approx(reference_loss(program, fed), rel=1e-12)
