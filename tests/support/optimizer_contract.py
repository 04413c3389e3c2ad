"""What a framework's update rules must do, against a transcription of the papers' algorithms."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import pytest

from stackproof.backends.schedule import rates
from stackproof.backends.spec import Data, Mlp, Optimizer, Schedule, Spec, Train

STEPS = 25
SHAPES = {"matrix": (3, 2), "row": (4,)}
OPTIMIZERS = {
    "adamw": Optimizer("adamw", lr=1e-2, betas=(0.9, 0.99), eps=1e-3, weight_decay=0.1),
    "adamw_defaults": Optimizer("adamw", lr=1e-3),
    "sgd": Optimizer("sgd", lr=0.1),
    "sgd_decay": Optimizer("sgd", lr=0.1, weight_decay=0.05),
    "momentum": Optimizer("sgd", lr=0.1, momentum=0.9, weight_decay=0.05),
    "nesterov": Optimizer("sgd", lr=0.1, momentum=0.9, nesterov=True),
}


def schedule_rates(optimizer: Optimizer) -> np.ndarray:
    """Return the rates of a warmed-up cosine run."""
    return rates(Spec("s", Mlp(), Data(), optimizer, Schedule("cosine", warmup=4, final=0.1), Train(STEPS)))


def initial() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(5)
    return {name: draw.standard_normal(shape) for name, shape in SHAPES.items()}


def pulls() -> list[dict[str, np.ndarray]]:
    """Return what is added to `0.1 * parameter` to make each step's gradient; the first step's is tiny."""
    draw = np.random.default_rng(6)
    sizes = [1e-6, *([1.0] * (STEPS - 1))]
    return [{name: size * draw.standard_normal(shape) for name, shape in SHAPES.items()} for size in sizes]


def papers(optimizer: Optimizer, clip_norm: float) -> dict[str, np.ndarray]:
    """Train in numpy by the papers: AdamW (2019, algorithm 2) with decay scaled by the rate; SGD (PyTorch's form)."""
    parameters = initial()
    first, second = ({name: np.zeros(shape) for name, shape in SHAPES.items()} for _ in range(2))
    for step, (pull, (rate, *_)) in enumerate(zip(pulls(), schedule_rates(optimizer), strict=True), start=1):
        gradients = {name: pull[name] + 0.1 * parameters[name] for name in SHAPES}
        norm = np.sqrt(sum(np.sum(g**2) for g in gradients.values()))
        scale = min(1.0, clip_norm / norm) if clip_norm else 1.0
        for name in SHAPES:
            gradient, parameter = gradients[name] * scale, parameters[name]
            if optimizer.kind == "adamw":
                beta1, beta2 = optimizer.betas
                first[name] = beta1 * first[name] + (1 - beta1) * gradient
                second[name] = beta2 * second[name] + (1 - beta2) * gradient**2
                m_hat, v_hat = first[name] / (1 - beta1**step), second[name] / (1 - beta2**step)
                change = m_hat / (np.sqrt(v_hat) + optimizer.eps) + optimizer.weight_decay * parameter
            else:
                gradient = gradient + optimizer.weight_decay * parameter
                first[name] = optimizer.momentum * first[name] + gradient
                change = gradient + optimizer.momentum * first[name] if optimizer.nesterov else first[name]
            parameters[name] = parameter - rate * change
    return parameters


class OptimizerContract(ABC):
    @abstractmethod
    def train(self, optimizer: Optimizer, clip_norm: float, rates: np.ndarray) -> dict[str, np.ndarray]:
        """Run the framework's rules over `pulls` from `initial`, in float64."""

    @abstractmethod
    def clip(self, gradients: dict[str, np.ndarray], largest: float) -> tuple[float, dict[str, np.ndarray]]:
        """Return the framework's global norm, and the clipped gradients."""

    @pytest.mark.parametrize("clip_norm", [0.0, 1.5])
    @pytest.mark.parametrize("kind", list(OPTIMIZERS))
    def test_agrees_with_the_papers(self, kind: str, clip_norm: float) -> None:
        optimizer = OPTIMIZERS[kind]
        found, wanted = self.train(optimizer, clip_norm, schedule_rates(optimizer)), papers(optimizer, clip_norm)
        for name in SHAPES:
            np.testing.assert_allclose(found[name], wanted[name], rtol=0, atol=1e-13)

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
