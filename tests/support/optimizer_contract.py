"""What a framework's update rules must do, against a transcription of the papers' algorithms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
from optimizer_papers import PAPERS, updated

from stackproof.backends.data import batches
from stackproof.backends.errors import UnsupportedError
from stackproof.backends.models.build import build_program
from stackproof.backends.schedule import rates
from stackproof.backends.session import Options
from stackproof.backends.spec import Cnn, Data, Group, Mlp, Optimizer, Schedule, Spec, Train

if TYPE_CHECKING:
    from types import ModuleType

    from stackproof.backends.session import Session

STEPS = 50
SHAPES = {
    "matrix": (3, 2),
    "wide.weight": (2, 5),
    "head.weight": (4, 3),
    "row": (4,),
    "kernel": (2, 3, 4, 2),
    "scale": (),
}
# Images channels last have the axes of a kernel so.
KERNEL = (2, 3, 1, 0)
_MUON = Optimizer("muon", lr=0.02, momentum=0.95, nesterov=True, weight_decay=0.1, eps=1e-6)
OPTIMIZERS = {
    "adam": Optimizer("adam", lr=1e-2, betas=(0.9, 0.99), eps=1e-3),
    "adam_decay": Optimizer("adam", lr=1e-2, weight_decay=0.1),
    "adamw": Optimizer("adamw", lr=1e-2, betas=(0.9, 0.99), eps=1e-3, weight_decay=0.1),
    "adamw_defaults": Optimizer("adamw", lr=1e-3),
    "sgd": Optimizer("sgd", lr=0.1),
    "sgd_decay": Optimizer("sgd", lr=0.1, weight_decay=0.05),
    "momentum": Optimizer("sgd", lr=0.1, momentum=0.9, weight_decay=0.05),
    "nesterov": Optimizer("sgd", lr=0.1, momentum=0.9, nesterov=True),
    "lion": Optimizer("lion", lr=1e-2, betas=(0.9, 0.99), weight_decay=0.1),
    "rmsprop": Optimizer("rmsprop", lr=1e-2, alpha=0.9, eps=1e-3),
    "rmsprop_momentum": Optimizer("rmsprop", lr=1e-2, momentum=0.8, weight_decay=0.05),
    "adagrad": Optimizer("adagrad", lr=0.1, eps=1e-2, weight_decay=0.05),
    "adafactor": Optimizer("adafactor", lr=1e-2, eps=1e-7),
    "adafactor_all_numbers": Optimizer(
        "adafactor", lr=0.5, eps=0.2, eps2=0.5, decay_rate=0.6, clip_threshold=1.1, weight_decay=0.1
    ),
    "adafactor_clipped": Optimizer("adafactor", lr=0.05, eps=1e-7, clip_threshold=0.4),
    "lamb": Optimizer("lamb", lr=1e-2, eps=1e-6, weight_decay=0.1),
    "muon": _MUON,
    "muon_not_nesterov": replace(_MUON, nesterov=False, adamw=("wide.*",)),
    "muon_without_momentum": replace(_MUON, nesterov=False, momentum=0.0),
}
_GROUPS = (Group(("row", "kernel"), lr=0.25), Group(("*.weight",), lr=2.0, weight_decay=0.3), Group(("scale",), lr=0.0))
for _kind in ("adam", "adamw", "momentum", "adafactor_all_numbers", "lion", "muon"):
    OPTIMIZERS[f"{_kind}_groups"] = replace(OPTIMIZERS[_kind], groups=_GROUPS)
for _kind in ("adamw", "sgd_decay", "lamb"):
    OPTIMIZERS[f"{_kind}_matrices"] = replace(OPTIMIZERS[_kind], decay="matrices", groups=_GROUPS[2:])


def schedule_rates(optimizer: Optimizer) -> np.ndarray:
    """Return the rates of a warmed-up cosine run."""
    return rates(Spec("s", Mlp(), Data(), optimizer, Schedule("cosine", warmup=4, final=0.1), Train(STEPS)))


def initial() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(5)
    return {name: np.array(draw.standard_normal(shape)) for name, shape in SHAPES.items()}


def pulls() -> list[dict[str, np.ndarray]]:
    """Return what is added to `0.1 * parameter` to make each step's gradient; the first step's is tiny."""
    draw = np.random.default_rng(6)
    sizes = [1e-6, *([1.0] * (STEPS - 1))]
    return [{name: size * np.array(draw.standard_normal(shape)) for name, shape in SHAPES.items()} for size in sizes]


def papers(optimizer: Optimizer, clip_norm: float) -> dict[str, np.ndarray]:
    """Train in numpy by the papers."""
    parameters = initial()
    memories: dict[str, dict[str, Any]] = {name: {} for name in SHAPES}
    for step, (pull, (rate, *_)) in enumerate(zip(pulls(), schedule_rates(optimizer), strict=True), start=1):
        gradients = {name: pull[name] + 0.1 * parameters[name] for name in SHAPES}
        norm = np.sqrt(sum(np.sum(g**2) for g in gradients.values()))
        scale = min(1.0, clip_norm / norm) if clip_norm else 1.0
        for name in SHAPES:
            arrays = parameters[name], gradients[name] * scale
            parameters[name] = updated(optimizer, name, arrays, memories[name], (rate, step))
    return parameters


class OptimizerContract(ABC):
    @abstractmethod
    def train(self, optimizer: Optimizer, clip_norm: float, rates: np.ndarray) -> dict[str, np.ndarray]:
        """Run the framework's rules over `pulls` from `initial`, in float64."""

    @abstractmethod
    def clip(self, gradients: dict[str, np.ndarray], largest: float) -> tuple[float, dict[str, np.ndarray]]:
        """Return the framework's global norm, and the clipped gradients."""

    @abstractmethod
    def state(self, optimizer: Optimizer) -> dict[str, np.ndarray]:
        """Return the optimizer's state before the first update."""

    @pytest.mark.parametrize("kind", list(OPTIMIZERS))
    def test_agrees_with_the_papers(self, kind: str) -> None:
        optimizer = OPTIMIZERS[kind]
        found, wanted = self.train(optimizer, 0.0, schedule_rates(optimizer)), papers(optimizer, 0.0)
        for name, shape in SHAPES.items():
            assert found[name].shape == shape
            np.testing.assert_allclose(found[name], wanted[name], rtol=0, atol=1e-12)

    @pytest.mark.parametrize("kind", ["adamw", "momentum", "muon_groups"])
    def test_agrees_with_the_papers_where_gradients_are_clipped(self, kind: str) -> None:
        optimizer = OPTIMIZERS[kind]
        found, wanted = self.train(optimizer, 1.5, schedule_rates(optimizer)), papers(optimizer, 1.5)
        for name in SHAPES:
            np.testing.assert_allclose(found[name], wanted[name], rtol=0, atol=1e-12)

    @pytest.mark.parametrize(
        ("kind", "slots"),
        [
            ("adamw", {"first": (2, 5), "second": (2, 5)}),
            ("sgd", {}),
            ("momentum", {"velocity": (2, 5)}),
            ("lion", {"first": (2, 5)}),
            ("rmsprop_momentum", {"second": (2, 5), "velocity": (2, 5)}),
            ("adafactor", {"rows": (2, 1), "columns": (1, 5)}),
            ("muon", {"velocity": (2, 5)}),
            ("muon_not_nesterov", {"first": (2, 5), "second": (2, 5)}),
        ],
    )
    def test_state_has_a_name_and_is_zero(self, kind: str, slots: dict[str, tuple[int, ...]]) -> None:
        found = self.state(OPTIMIZERS[kind])
        own = {key: value for key, value in found.items() if key.endswith("/wide.weight")}
        assert {key.removesuffix("/wide.weight"): value.shape for key, value in own.items()} == slots
        assert all(value.dtype == np.float64 and not value.any() for value in found.values())

    def test_a_group_of_no_parameter_is_refused(self) -> None:
        groups = (Group(("row",)), Group(("*.weight", "nothing.*")))
        with pytest.raises(UnsupportedError, match=r'optimizer\.groups\[1\]\.match: "nothing\.\*" is the name of no'):
            self.state(replace(OPTIMIZERS["adamw"], groups=groups))
        with pytest.raises(UnsupportedError, match=r"optimizer\.groups\[1\]\.match: .*no earlier group has"):
            self.state(replace(OPTIMIZERS["adamw"], groups=(Group(("*",)), Group(("row",)))))
        with pytest.raises(UnsupportedError, match=r'optimizer\.adamw: "nothing" is the name of no'):
            self.state(replace(OPTIMIZERS["muon"], adamw=("head.*", "nothing")))

    def test_norm_and_clipping(self) -> None:
        gradients = {"a": np.array([3.0, 0.0]), "b": np.array([[4.0]])}
        norm, clipped = self.clip(gradients, 1.0)
        assert norm == 5.0
        np.testing.assert_allclose(clipped["a"], [0.6, 0.0], rtol=1e-15)
        np.testing.assert_allclose(clipped["b"], [[0.8]], rtol=1e-15)

    def test_small_gradients_are_left(self) -> None:
        norm, clipped = self.clip({"a": np.array([0.3, 0.4])}, 1.0)
        assert norm == pytest.approx(0.5, rel=1e-15)
        assert clipped["a"].tolist() == [0.3, 0.4]

    def test_gradients_of_zero_stay_zero(self) -> None:
        norm, clipped = self.clip({"a": np.zeros(3)}, 1.0)
        assert norm == 0.0
        assert clipped["a"].tolist() == [0.0, 0.0, 0.0]


class StillContract(ABC):
    """What a rule does where nothing pulls: it divides nothing by nothing."""

    @abstractmethod
    def once(self, optimizer: Optimizer, parameter: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return a parameter called `weight` after one update with rate 0.5, in float32."""

    @pytest.mark.parametrize("kind", list(PAPERS))
    @pytest.mark.parametrize("value", [0.0, 3.0])
    def test_a_gradient_of_zero_moves_nothing(self, kind: str, value: float) -> None:
        parameter = np.full((2, 3), value, np.float32)
        found = self.once(Optimizer(kind, eps=1e-30), parameter, np.zeros_like(parameter))
        np.testing.assert_array_equal(found, parameter)

    def test_lamb_takes_a_share_of_1_where_the_parameter_is_zero(self) -> None:
        found = self.once(Optimizer("lamb"), np.zeros((2, 3), np.float32), np.full((2, 3), 4.0, np.float32))
        np.testing.assert_allclose(found, np.full((2, 3), -0.5), rtol=1e-6)


class LayoutContract:
    """Attributes: the framework's session module, and an execution without and one with images channels last."""

    module: ClassVar[ModuleType]
    executions: ClassVar[tuple[str, str]]

    def test_rows_and_columns_are_the_programs_in_any_layout(self) -> None:
        model, optimizer = Cnn(image=(2, 8, 8), channels=(3, 4)), Optimizer("adafactor", lr=0.1, eps=1e-7)
        spec = Spec("cnn", model, Data("images", 4), optimizer, Schedule(), Train(3, precision="float64"))
        plain, last = (self._saved(spec, execution) for execution in self.executions)
        assert plain["optimizer/rows/block1.weight"].shape == (4, 3, 3, 1)
        assert plain["optimizer/columns/block1.weight"].shape == (4, 3, 1, 3)
        assert {name: value.shape for name, value in plain.items()} == {n: v.shape for n, v in last.items()}
        for name, value in plain.items():
            np.testing.assert_allclose(value, last[name], rtol=0, atol=1e-12)

    def _saved(self, spec: Spec, execution: str) -> dict[str, np.ndarray]:
        options = Options("float64", compile=True, execution=execution)
        session: Session = self.module.open_session(build_program(spec), spec, options)
        for batch, rate in zip(batches(spec), rates(spec), strict=True):
            session.step(session.place(batch), rate)
        return session.saved()
