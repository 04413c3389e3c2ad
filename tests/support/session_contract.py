"""What a framework's sessions must do; each framework's suite subclasses this with its session module."""

from __future__ import annotations

import functools
import importlib.metadata
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
from loop_contract import LoopContract
from whole_programs import as_onnx_holds_it, reference_loss

from stackproof.backends.data import batches
from stackproof.backends.errors import StackproofError, UnsupportedError
from stackproof.backends.models.build import build_program
from stackproof.backends.noise import Noise
from stackproof.backends.program import Node, Program
from stackproof.backends.schedule import rates
from stackproof.backends.session import Options
from stackproof.backends.spec import Cnn, Data, Gpt, Mlp, Optimizer, Resnet, Schedule, Spec, Train

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from stackproof.backends.session import Session

_GPT = Gpt(layers=1, width=16, heads=2, context=8, vocabulary=16)
GPT = Spec(
    "gpt", _GPT, Data("tokens", 4), Optimizer(lr=1e-2, weight_decay=0.1), Schedule("cosine", 2), Train(6, clip_norm=1.0)
)
MLP = Spec(
    "mlp",
    Mlp(hidden=(8,), activation="tanh"),
    Data("vectors", 4),
    Optimizer("sgd", 0.1, momentum=0.9, nesterov=True),
    Schedule(),
    Train(2, loss="mean-squared-error"),
)
CNN = Spec(
    "cnn",
    Cnn(image=(2, 8, 8), channels=(3, 4)),
    Data("images", 4),
    Optimizer("sgd", 0.1, momentum=0.9),
    Schedule(),
    Train(2),
)

RESNET = Spec(
    "resnet",
    Resnet(image=(2, 7, 6), channels=(3, 4), blocks=(1, 1)),
    Data("images", 4),
    Optimizer("sgd", 0.1, momentum=0.9),
    Schedule(),
    Train(3),
)


def trajectory(session: Session, spec: Spec = GPT) -> list[tuple[float, float]]:
    """Run a session over its spec's steps, and return loss and gradient norm of each."""
    made = [session.step(session.place(batch), rate) for batch, rate in zip(batches(spec), rates(spec), strict=True)]
    return [(session.read(loss), session.read(norm)) for loss, norm in made]


def same_bits(left: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> bool:
    """Say whether two sets of parameters are the same, bit for bit."""
    return list(left) == list(right) and all(left[name].tobytes() == right[name].tobytes() for name in left)


class SessionContract(LoopContract):
    """Attributes: the session module, how many programs its framework has compiled so far, and its distributions."""

    module: ClassVar[ModuleType]
    compilations: ClassVar[Callable[[], int]]
    distributions: ClassVar[dict[str, str]]
    compiled_mode: ClassVar[str] = "xla"
    executions: ClassVar[tuple[str, ...]] = ("eager", "compiled")

    @classmethod
    @functools.cache
    def session(cls, precision: str, *, compiled: bool, noise: Noise | None = None) -> Session:
        """Return one session per kind, as compiling is slow; each test resets it first."""
        return cls.open(GPT, precision, compiled=compiled, noise=noise)

    @classmethod
    def open(cls, spec: Spec, precision: str, *, compiled: bool, noise: Noise | None = None) -> Session:
        return cls.module.open_session(build_program(spec), spec, Options(precision, compiled, noise))

    def fresh(self, precision: str, *, compiled: bool) -> Session:
        session = self.session(precision, compiled=compiled)
        session.reset(None)
        return session

    def test_two_sessions_give_the_same_bits(self) -> None:
        one, two = self.fresh("float32", compiled=True), self.open(GPT, "float32", compiled=True)
        assert trajectory(one) == trajectory(two)
        assert same_bits(one.parameters(), two.parameters())

    @pytest.mark.parametrize("compiled", [True, False])
    def test_reset_gives_the_same_trajectory_without_compiling(self, *, compiled: bool) -> None:
        session = self.fresh("float64", compiled=compiled)
        first = trajectory(session)
        trained = session.parameters()
        before = type(self).compilations()
        session.reset(None)
        assert trajectory(session) == first
        assert same_bits(session.parameters(), trained)
        assert type(self).compilations() == before

    def test_only_the_first_step_compiles(self) -> None:
        spec = replace(MLP, train=replace(MLP.train, steps=3, accumulate=2, ema=0.5))
        session, (first, *rest) = self.open(spec, "float32", compiled=True), batches(spec)
        session.step(session.place(first), rates(spec)[0])
        kept, before = session.saved(), type(self).compilations()
        for _ in range(2):
            for given in rest:
                session.step(session.place(given), rates(spec)[1])
            session.restore(kept)
        assert type(self).compilations() == before

    def test_convolutions_agree_compiled_and_eager(self) -> None:
        before = type(self).compilations()
        compiled = trajectory(self.open(CNN, "float64", compiled=True), CNN)
        assert type(self).compilations() > before, "compilations are not counted"
        eager = trajectory(self.open(CNN, "float64", compiled=False), CNN)
        np.testing.assert_allclose(compiled, eager, rtol=1e-12)

    def test_reset_restores_the_initial_parameters(self) -> None:
        session = self.fresh("float32", compiled=True)
        initial = {name: value.copy() for name, value in build_program(GPT).parameters.items()}
        trajectory(session)
        assert not same_bits(session.parameters(), initial)
        session.reset(None)
        assert same_bits(session.parameters(), initial)

    def test_compiled_and_eager_agree(self) -> None:
        compiled, eager = (trajectory(self.fresh("float64", compiled=kind)) for kind in (True, False))
        np.testing.assert_allclose(compiled, eager, rtol=1e-12)

    def test_modes(self) -> None:
        compiled, eager = (self.session("float64", compiled=kind) for kind in (True, False))
        assert (compiled.mode, compiled.why) == (self.compiled_mode, "")
        assert (eager.mode, eager.why) == ("eager", "")

    @pytest.mark.parametrize("spec", [CNN, RESNET], ids=lambda spec: spec.name)
    def test_every_execution_trains_to_the_same_numbers(self, spec: Spec) -> None:
        program = build_program(spec)
        plain = self.module.open_session(program, spec, Options("float64", compile=False))
        wanted = trajectory(plain, spec)
        for execution in self.executions:
            session = self.module.open_session(program, spec, Options("float64", compile=True, execution=execution))
            np.testing.assert_allclose(trajectory(session, spec), wanted, rtol=1e-11, err_msg=execution)
            for found, right in ((session.parameters(), plain.parameters()), (session.state(), plain.state())):
                assert list(found) == list(right)
                for name, value in right.items():
                    np.testing.assert_allclose(found[name], value, rtol=1e-9, atol=1e-12, err_msg=name)

    def test_the_fastest_execution_is_found_and_can_be_asked_for_again(self) -> None:
        program = build_program(MLP)
        found = self.module.open_session(program, MLP, Options("float32", compile=True, execution="auto"))
        assert found.execution in self.executions
        assert set(found.trials) <= set(self.executions)
        assert found.execution in found.trials or not found.trials
        again = self.module.open_session(program, MLP, Options("float32", compile=True, execution=found.execution))
        assert (again.mode, again.trials) == (found.mode, {})
        assert trajectory(again, MLP) == trajectory(found, MLP)

    def test_an_execution_that_is_not_there_is_refused(self) -> None:
        options = Options("float32", compile=True, execution="sideways")
        with pytest.raises(UnsupportedError, match=r"train\.mode.*compiled"):
            self.module.open_session(build_program(MLP), MLP, options)

    def test_without_norms_the_parameters_are_the_same(self) -> None:
        program, ends = build_program(MLP), []
        for norms in (True, False):
            session = self.module.open_session(program, MLP, Options("float64", compile=False, norms=norms))
            made = [
                session.step(session.place(batch), rate) for batch, rate in zip(batches(MLP), rates(MLP), strict=True)
            ]
            assert all((norm is None) is not norms for _, norm in made)
            ends.append(session.parameters())
        assert same_bits(*ends)

    def test_training_lowers_the_loss(self) -> None:
        losses = [loss for loss, _ in trajectory(self.fresh("float64", compiled=True))]
        assert losses[-1] < losses[0] - 0.01

    def test_precision_of_parameters(self) -> None:
        for precision in ("float64", "float32"):
            session = self.fresh(precision, compiled=True)
            trajectory(session)
            assert {value.dtype.name for value in session.parameters().values()} == {precision}

    def test_float32_is_near_float64(self) -> None:
        narrow, wide = (trajectory(self.fresh(precision, compiled=True)) for precision in ("float32", "float64"))
        np.testing.assert_allclose(narrow, wide, rtol=1e-5)
        assert narrow != wide

    def test_parameters_are_copies_in_the_program_order(self) -> None:
        session = self.fresh("float32", compiled=True)
        held = session.parameters()
        kept = {name: value.copy() for name, value in held.items()}
        trajectory(session)
        assert same_bits(held, kept)
        assert list(held) == list(build_program(GPT).parameters)

    @pytest.mark.parametrize("spec", [GPT, MLP, CNN, RESNET], ids=lambda spec: spec.name)
    def test_first_loss_is_that_of_the_reference_evaluator(self, spec: Spec) -> None:
        program, batch = as_onnx_holds_it(build_program(spec)), batches(spec)[0]
        session = self.module.open_session(program, spec, Options("float64", compile=False))
        loss, _ = session.step(session.place(batch), rates(spec)[0])
        assert session.read(loss) == pytest.approx(reference_loss(program, batch), rel=1e-13)

    def test_a_cast_to_float32_does_not_narrow_a_float64_run(self) -> None:
        nodes = (Node("Cast", ("w",), ("narrow",), {"to": 1}), Node("ReduceMean", ("narrow",), ("y",), {"keepdims": 0}))
        third = np.float32(1) / np.float32(3)
        program = Program("p", (), nodes, "y", {"w": np.full((2,), third, np.float32)})
        session = self.module.open_session(program, GPT, Options("float64", compile=False))
        session.step(session.place({}), rates(GPT)[0])
        loss, _ = session.step(session.place({}), rates(GPT)[1])
        assert session.read(loss) != float(np.float32(session.read(loss)))

    def test_norm_is_that_of_unclipped_gradients(self) -> None:
        train = Train(1, loss="mean-squared-error", clip_norm=1e-3)
        clipped = Spec("clipped", MLP.model, MLP.data, Optimizer("sgd", 1.0), Schedule(), train)
        session = self.open(clipped, "float64", compiled=False)
        ((_, norm),) = trajectory(session, clipped)
        initial, moved = build_program(clipped).parameters, session.parameters()
        length = np.sqrt(sum(np.sum((moved[name] - initial[name]) ** 2) for name in moved))
        assert norm > 1e-2
        assert length == pytest.approx(1e-3, rel=1e-9)

    @pytest.mark.parametrize("spec", [GPT, MLP], ids=lambda spec: spec.name)
    def test_mixed_precision_is_near_float32_with_parameters_in_float32(self, spec: Spec) -> None:
        program, made = build_program(spec), {}
        for narrow in ("", "bfloat16"):
            session = self.module.open_session(program, spec, Options("float32", compile=False, narrow=narrow))
            made[narrow] = [loss for loss, _ in trajectory(session, spec)]
            assert {value.dtype.name for value in session.parameters().values()} == {"float32"}
        assert made["bfloat16"] != made[""]
        np.testing.assert_allclose(made["bfloat16"], made[""], rtol=3e-2)

    def test_noise_of_narrow_products_is_as_large_as_they_round(self) -> None:
        exact = [loss for loss, _ in trajectory(self.fresh("float64", compiled=False))]
        options = Options("float64", compile=False, noise=Noise(0), narrow="bfloat16")
        session = self.module.open_session(build_program(GPT), GPT, options)
        for narrow, least, most in ((0.0, 0.0, 1e-14), (2.0**-8, 1e-7, 1e-2)):
            session.reset(Noise(1, 0.0, narrow))
            moved = max(abs(loss / right - 1.0) for (loss, _), right in zip(trajectory(session), exact, strict=True))
            assert least <= moved <= most

    def test_noise_of_no_size_changes_nothing(self) -> None:
        noisy = self.session("float64", compiled=True, noise=Noise(0))
        noisy.reset(Noise(0, 0.0))
        np.testing.assert_allclose(trajectory(noisy), trajectory(self.fresh("float64", compiled=True)), rtol=1e-13)

    def test_noise_moves_the_loss_by_its_size_and_another_draw_does_not_compile(self) -> None:
        noisy = self.session("float64", compiled=True, noise=Noise(0))
        noisy.reset(Noise(1, 1e-6))
        first = trajectory(noisy)
        before = type(self).compilations()
        noisy.reset(Noise(2, 1e-6))
        second = trajectory(noisy)
        assert type(self).compilations() == before
        quiet = trajectory(self.fresh("float64", compiled=True))
        for one, other in ((first, quiet), (second, quiet), (first, second)):
            moved = [abs(a[0] - b[0]) for a, b in zip(one, other, strict=True)]
            assert 1e-9 < max(moved) < 1e-3

    def test_noise_is_the_same_compiled_and_eager(self) -> None:
        compiled = self.session("float64", compiled=True, noise=Noise(0))
        eager = self.session("float64", compiled=False, noise=Noise(0))
        for session in (compiled, eager):
            session.reset(Noise(3, 1e-6))
        np.testing.assert_allclose(trajectory(compiled), trajectory(eager), rtol=1e-12)

    def test_a_session_keeps_to_noise_or_none(self) -> None:
        with pytest.raises(StackproofError, match="noise"):
            self.session("float64", compiled=False).reset(Noise(0))

    def test_missing_rule_is_refused(self) -> None:
        program = Program("p", (), (Node("StringConcat", ("w",), ("y",)),), "y", {"w": np.ones((2, 2), np.float32)})
        with pytest.raises(UnsupportedError, match="StringConcat"):
            self.module.open_session(program, GPT, Options("float32", compile=False))

    def test_gpu_that_is_not_there_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("XLA_FLAGS", "NPROC", "PJRT_NPROC", "XLA_PYTHON_CLIENT_PREALLOCATE"):
            monkeypatch.setenv(name, "")
        with pytest.raises(UnsupportedError, match="cpu"):
            self.module.prepare(1, "cuda")

    def test_platform(self) -> None:
        platform: Any = self.module.describe()
        assert platform.device == "cpu"
        assert platform.device_name
        assert platform.deterministic
        versions = {name: importlib.metadata.version(package) for name, package in self.distributions.items()}
        assert platform.modules == versions
