"""How a spec trains: the update rule, the learning rate over steps, and the loop. Formulas: `docs/training.md`.

Every field is also a key of the TOML file. Rates are per optimizer step, steps are optimizer updates.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any


def later(default: Any) -> Any:
    """Return a field of a key that specs did not have in the beginning: at its default it is left out of digests."""
    return field(default=default, metadata={"later": True})


def silent(record: Any) -> set[str]:
    """Return the names of a record's later keys that are at their defaults."""
    return {f.name for f in fields(record) if f.metadata.get("later") and getattr(record, f.name) == f.default}


@dataclass(frozen=True)
class Group:
    """Parameters that are updated with other numbers than the rest.

    Attributes:
        match: Shell-style patterns of parameter names; a parameter belongs to the first group that has a fitting one.
        lr: Learning rate as a share of the optimizer's.
        weight_decay: Weight decay; None for the optimizer's.
    """

    match: tuple[str, ...] = ()
    lr: float = 1.0
    weight_decay: float | None = None


@dataclass(frozen=True)
class Optimizer:
    """The update rule.

    Attributes:
        kind: `adafactor`, `adagrad`, `adam`, `adamw`, `lamb`, `lion`, `muon`, `rmsprop` or `sgd`.
        lr: Peak learning rate.
        betas: Decay rates of the first and second moments; of Lion's direction and of its moment.
        eps: Epsilon, outside the square root; for Adafactor the least mean square that it divides by.
        momentum: Momentum of SGD, RMSProp and Muon; 0 for none.
        nesterov: Whether SGD or Muon look ahead (needs momentum).
        alpha: Decay rate of RMSProp's mean of squares.
        eps2: The least size that Adafactor takes a parameter to have.
        decay_rate: How fast Adafactor's second moment settles: its decay rate is `1 - t ** -decay_rate`.
        clip_threshold: Largest root mean square of Adafactor's update before it is scaled by the rate.
        adamw: Patterns of names of matrices that AdamW updates although the kind is Muon, as it does all that are no
            matrices.
        weight_decay: Decoupled for AdamW, Adafactor, LAMB, Lion and Muon, added to the gradient for the others.
        decay: `all`, or `matrices` to leave out what has fewer than two axes, such as biases and norms.
        groups: Parameters with numbers of their own.
    """

    kind: str = "adamw"
    lr: float = 1e-3
    betas: tuple[float, ...] = (0.9, 0.999)
    eps: float = 1e-8
    momentum: float = 0.0
    nesterov: bool = False
    alpha: float = later(0.99)
    eps2: float = later(1e-3)
    decay_rate: float = later(0.8)
    clip_threshold: float = later(1.0)
    adamw: tuple[str, ...] = later(("*embedding*", "head.*"))
    weight_decay: float = 0.0
    decay: str = later("all")
    groups: tuple[Group, ...] = later(())


@dataclass(frozen=True)
class Schedule:
    """The learning rate over steps.

    Attributes:
        kind: `constant`, `linear`, `cosine`, `one-cycle`, `inverse-square-root`, `polynomial` or `warmup-stable-decay`,
            after the warm-up.
        warmup: Steps over which the rate rises to its peak.
        final: Rate at the last step, as a share of the peak (all but constant and inverse-square-root).
        start: Rate at the first step of one-cycle, as a share of the peak.
        power: Exponent of polynomial.
        cooldown: Steps at the end over which warmup-stable-decay falls.
    """

    kind: str = "constant"
    warmup: int = 0
    final: float = 0.0
    start: float = later(0.04)
    power: float = later(1.0)
    cooldown: int = later(0)


@dataclass(frozen=True)
class Train:
    """The loop.

    Attributes:
        steps: Optimizer updates.
        seed: Seed of initial tensors, data and dropout.
        precision: `float32`, `float64`, or `bf16-mixed`: products in bfloat16, all else in float32.
        compile: Whether the framework's fast path is used; without it a step runs operator by operator.
        mode: Which fast path: `auto`, `eager`, `graph` or `compiled`, with `-last` for images channels last.
        loss: `cross-entropy`, `mean-squared-error`, `huber`, `binary-cross-entropy`, `kl-divergence`, or `own` for a
            model from a file whose output is the loss.
        clip_norm: Largest global gradient norm; 0 for no clipping.
        clip_value: Largest size of an element of a gradient; 0 for no clipping.
        accumulate: Micro-batches of `data.batch` samples whose gradients one update takes together.
        ema: Decay rate of a moving average of the parameters; 0 for none.
        label_smoothing: Share of a label that cross-entropy spreads over all classes.
        ignore_label: Label of samples that cross-entropy leaves out; None where there are none.
        class_weights: Weight of each class in cross-entropy; empty for equal ones.
        huber_delta: Size of an error up to which huber is quadratic.
    """

    steps: int = 30
    seed: int = 0
    precision: str = "float32"
    compile: bool = True
    mode: str = later("auto")
    loss: str = "cross-entropy"
    clip_norm: float = 0.0
    clip_value: float = later(0.0)
    accumulate: int = later(1)
    ema: float = later(0.0)
    label_smoothing: float = later(0.0)
    ignore_label: int | None = later(None)
    class_weights: tuple[float, ...] = later(())
    huber_delta: float = later(1.0)
