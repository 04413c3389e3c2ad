"""The training spec: one run, framework-neutral.

Every field is also a key of the TOML file; `reading.read_spec` makes these records and reports every fault.
Sizes count elements, rates are per optimizer step, steps are optimizer updates.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, Union

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Gpt:
    """A decoder-only transformer over tokens.

    Attributes:
        layers: Number of blocks.
        width: Model width; a multiple of `heads` (and of twice `heads` with rotary positions).
        heads: Attention heads.
        context: Sequence length in tokens.
        vocabulary: Number of distinct tokens.
        hidden: Width of the feed-forward layer; 0 stands for four times `width`.
        norm: `rmsnorm` or `layernorm`, applied before attention and before the feed-forward layer.
        activation: `gelu` (exact) or `swiglu`.
        position: `rope` (rotary) or `learned`.
        tied: Whether the output layer is the token embedding.
        bias: Whether linear layers carry a bias.
    """

    kind: str = "gpt"
    layers: int = 2
    width: int = 64
    heads: int = 4
    context: int = 32
    vocabulary: int = 64
    hidden: int = 0
    norm: str = "rmsnorm"
    activation: str = "swiglu"
    position: str = "rope"
    tied: bool = True
    bias: bool = False


@dataclass(frozen=True)
class Mlp:
    """A fully connected network.

    Attributes:
        inputs: Features per sample.
        hidden: Width of each hidden layer, first to last.
        outputs: Classes (cross-entropy) or regression targets (mean-squared-error).
        activation: `relu`, `gelu` (exact) or `tanh`.
    """

    kind: str = "mlp"
    inputs: int = 16
    hidden: tuple[int, ...] = (64, 64)
    outputs: int = 4
    activation: str = "relu"


@dataclass(frozen=True)
class Cnn:
    """A small convolutional classifier: (3x3 convolution, ReLU, 2x2 max pooling) per entry of `channels`, then a mean.

    Attributes:
        image: Channels, height and width; height and width divisible by two once per entry of `channels`.
        channels: Output channels of each convolution.
        outputs: Classes (cross-entropy) or regression targets (mean-squared-error).
    """

    kind: str = "cnn"
    image: tuple[int, ...] = (1, 16, 16)
    channels: tuple[int, ...] = (8, 16)
    outputs: int = 4


Model = Union[Gpt, Mlp, Cnn]


@dataclass(frozen=True)
class Data:
    """Deterministic synthetic data, made by numpy and identical everywhere.

    Attributes:
        kind: `tokens` (for gpt), `vectors` (for mlp) or `images` (for cnn).
        batch: Samples per step.
        noise: Share of tokens replaced at random, or the half-width of the uniform noise added to vectors and
            images.
    """

    kind: str = "vectors"
    batch: int = 16
    noise: float = 0.1


@dataclass(frozen=True)
class Optimizer:
    """The update rule. Formulas: `docs/training.md`.

    Attributes:
        kind: `adamw` or `sgd`.
        lr: Peak learning rate.
        betas: Decay rates of AdamW's first and second moments.
        eps: AdamW's epsilon, outside the square root.
        momentum: SGD's momentum; 0 for plain SGD.
        nesterov: Whether SGD looks ahead (needs momentum).
        weight_decay: Decoupled for AdamW, added to the gradient for SGD.
    """

    kind: str = "adamw"
    lr: float = 1e-3
    betas: tuple[float, ...] = (0.9, 0.999)
    eps: float = 1e-8
    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0


@dataclass(frozen=True)
class Schedule:
    """The learning rate over steps.

    Attributes:
        kind: `constant`, `linear` or `cosine` after the warm-up.
        warmup: Steps over which the rate rises linearly to its peak.
        final: Rate at the last step, as a share of the peak (linear and cosine).
    """

    kind: str = "constant"
    warmup: int = 0
    final: float = 0.0


@dataclass(frozen=True)
class Train:
    """The loop.

    Attributes:
        steps: Optimizer updates.
        seed: Seed of initial tensors and data.
        precision: `float32` or `float64`.
        compile: Whether the framework's compiler is used.
        loss: `cross-entropy` or `mean-squared-error`.
        clip_norm: Largest global gradient norm; 0 for no clipping.
    """

    steps: int = 30
    seed: int = 0
    precision: str = "float32"
    compile: bool = True
    loss: str = "cross-entropy"
    clip_norm: float = 0.0


@dataclass(frozen=True)
class Spec:
    """One training run."""

    name: str
    model: Model
    data: Data
    optimizer: Optimizer
    schedule: Schedule
    train: Train

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as JSON-ready tables, in the layout of the TOML file."""
        loaded: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return {"schema_version": SCHEMA_VERSION, **loaded}

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the canonical spec, in hexadecimal; the name is left out."""
        tables = {key: value for key, value in self.to_dict().items() if key != "name"}
        return hashlib.sha256(json.dumps(tables, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
