"""The optimizers in numpy, transcribed from the papers' algorithms, one parameter at a time, in float64.

Each takes its own numbers: decay is scaled by the rate where it is decoupled, as PyTorch has it.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stackproof.backends.spec import Optimizer

    Memory = dict[str, Any]


class Moment:
    """One update of one parameter: what the papers call theta, g, eta, lambda and t, and what is remembered."""

    def __init__(self, theta: np.ndarray, g: np.ndarray, memory: Memory, numbers: tuple[float, float, int]) -> None:
        self.theta, self.g, self.memory = theta, g, memory
        self.eta, self.decay, self.t = numbers

    def old(self, name: str) -> Any:
        return self.memory.get(name, 0.0)

    def hats(self, optimizer: Optimizer, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Kingma and Ba, Adam, 2015, algorithm 1: both moments, without their bias."""
        beta1, beta2 = optimizer.betas
        self.memory["m"] = beta1 * self.old("m") + (1 - beta1) * g
        self.memory["v"] = beta2 * self.old("v") + (1 - beta2) * g**2
        return self.memory["m"] / (1 - beta1**self.t), self.memory["v"] / (1 - beta2**self.t)


def _adam(optimizer: Optimizer, now: Moment) -> np.ndarray:
    m_hat, v_hat = now.hats(optimizer, now.g + now.decay * now.theta)
    return now.theta - now.eta * m_hat / (np.sqrt(v_hat) + optimizer.eps)


def _adamw(optimizer: Optimizer, now: Moment) -> np.ndarray:
    """Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019, algorithm 2."""
    m_hat, v_hat = now.hats(optimizer, now.g)
    return now.theta - now.eta * (m_hat / (np.sqrt(v_hat) + optimizer.eps) + now.decay * now.theta)


def _sgd(optimizer: Optimizer, now: Moment) -> np.ndarray:
    g = now.g + now.decay * now.theta
    v = now.memory["v"] = optimizer.momentum * now.old("v") + g
    return now.theta - now.eta * (g + optimizer.momentum * v if optimizer.nesterov else v)


def _lion(optimizer: Optimizer, now: Moment) -> np.ndarray:
    """Chen et al., Symbolic Discovery of Optimization Algorithms, 2023, algorithm 2."""
    beta1, beta2 = optimizer.betas
    c = beta1 * now.old("m") + (1 - beta1) * now.g
    now.memory["m"] = beta2 * now.old("m") + (1 - beta2) * now.g
    return now.theta - now.eta * (np.sign(c) + now.decay * now.theta)


def _rmsprop(optimizer: Optimizer, now: Moment) -> np.ndarray:
    """Tieleman and Hinton, lecture 6.5, 2012."""
    g = now.g + now.decay * now.theta
    v = now.memory["v"] = optimizer.alpha * now.old("v") + (1 - optimizer.alpha) * g**2
    b = now.memory["b"] = optimizer.momentum * now.old("b") + g / (np.sqrt(v) + optimizer.eps)
    return now.theta - now.eta * b


def _adagrad(optimizer: Optimizer, now: Moment) -> np.ndarray:
    """Duchi, Hazan and Singer, Adaptive Subgradient Methods, 2011, figure 1."""
    g = now.g + now.decay * now.theta
    total = now.memory["s"] = now.old("s") + g**2
    return now.theta - now.eta * g / (np.sqrt(total) + optimizer.eps)


def _adafactor(optimizer: Optimizer, now: Moment) -> np.ndarray:
    """Shazeer and Stern, Adafactor, 2018, algorithm 4, with relative step sizes and PyTorch's place of epsilon 1."""
    beta2, rho = 1 - now.t**-optimizer.decay_rate, min(now.eta, now.t**-0.5)
    alpha = max(optimizer.eps2, np.sqrt(np.mean(now.theta**2))) * rho
    if now.g.ndim > 1:
        r = now.memory["r"] = beta2 * now.old("r") + (1 - beta2) * np.mean(now.g**2, -1)
        c = now.memory["c"] = beta2 * now.old("c") + (1 - beta2) * np.mean(now.g**2, -2)
        v = np.einsum("...i,...j->...ij", r, c) / np.maximum(np.mean(r, -1), optimizer.eps)[..., None, None]
    else:
        v = now.memory["v"] = beta2 * now.old("v") + (1 - beta2) * now.g**2
    u = now.g / np.sqrt(np.maximum(v, optimizer.eps**2))
    u = u / max(1.0, np.sqrt(np.mean(u**2)) / optimizer.clip_threshold)
    return np.asarray(now.theta * (1 - now.eta * now.decay) - alpha * u)


def _lamb(optimizer: Optimizer, now: Moment) -> np.ndarray:
    """You et al., Large Batch Optimization for Deep Learning, 2020, algorithm 2."""
    m_hat, v_hat = now.hats(optimizer, now.g)
    u = m_hat / (np.sqrt(v_hat) + optimizer.eps) + now.decay * now.theta
    held, moved = np.linalg.norm(now.theta), np.linalg.norm(u)
    return now.theta - now.eta * (held / moved if held > 0 and moved > 0 else 1.0) * u


def _muon(optimizer: Optimizer, now: Moment) -> np.ndarray:
    """Jordan, Muon, 2024; Liu et al., Muon is Scalable for LLM Training, 2025, equations 1 and 4."""
    mu = optimizer.momentum
    b = now.memory["b"] = mu * now.old("b") + (1 - mu) * now.g
    direction = (1 - mu) * now.g + mu * b if optimizer.nesterov else b
    # The iteration as a polynomial of singular values, whose vectors it keeps.
    left, values, right = np.linalg.svd(direction, full_matrices=False)
    x = values / np.sqrt(np.sum(values**2))
    for _ in range(5):
        x = 3.4445 * x - 4.7750 * x**3 + 2.0315 * x**5
    size = 0.2 * np.sqrt(max(now.theta.shape))
    return now.theta - now.eta * (size * (left * x) @ right + now.decay * now.theta)


PAPERS: Mapping[str, Callable[[Optimizer, Moment], np.ndarray]] = {
    "adafactor": _adafactor,
    "adagrad": _adagrad,
    "adam": _adam,
    "adamw": _adamw,
    "lamb": _lamb,
    "lion": _lion,
    "muon": _muon,
    "rmsprop": _rmsprop,
    "sgd": _sgd,
}


def updated(
    optimizer: Optimizer, name: str, arrays: tuple[np.ndarray, np.ndarray], memory: Memory, when: tuple[float, int]
) -> np.ndarray:
    """Return a parameter after one update.

    Args:
        optimizer: With its groups.
        name: The parameter's.
        arrays: The parameter and its gradient.
        memory: What is remembered of it, empty in the beginning.
        when: Rate of the whole optimizer, and the update's number from 1.
    """
    theta, g = arrays
    share, decay = 1.0, 0.0 if optimizer.decay == "matrices" and theta.ndim < 2 else optimizer.weight_decay
    for group in optimizer.groups:
        if any(fnmatchcase(name, pattern) for pattern in group.match):
            share, decay = group.lr, decay if group.weight_decay is None else group.weight_decay
            break
    left = theta.ndim != 2 or any(fnmatchcase(name, pattern) for pattern in optimizer.adamw)
    kind = "adamw" if optimizer.kind == "muon" and left else optimizer.kind
    return PAPERS[kind](optimizer, Moment(theta, g, memory, (when[0] * share, decay, when[1])))
