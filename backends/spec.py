"""The training spec: one run, framework-neutral.

Every field is also a key of the TOML file; `reading.read_spec` makes these records and reports every fault.
Sizes count elements, rates are per optimizer step, steps are optimizer updates.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    from collections.abc import Mapping

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


@dataclass(frozen=True)
class Resnet:
    """A residual network of basic blocks with batch normalisation: a 3x3 convolution, stages of blocks, then a mean.

    Attributes:
        image: Channels, height and width.
        channels: Channels of each stage; each stage but the first halves height and width.
        blocks: Blocks of each stage, as many entries as `channels`.
        outputs: Classes (cross-entropy) or regression targets (mean-squared-error).
    """

    kind: str = "resnet"
    image: tuple[int, ...] = (3, 16, 16)
    channels: tuple[int, ...] = (8, 16)
    blocks: tuple[int, ...] = (1, 1)
    outputs: int = 4


@dataclass(frozen=True)
class Onnx:
    """A model of the user's own, from an ONNX file.

    Attributes:
        onnx: The file's path, relative to the spec file.
        digest: SHA-256 over the file and those beside it that hold its tensors. Filled in when the spec file is read;
            where it is given, it must be the file's.
        output: The output that the loss is of; empty for the only one.
        shapes: Sizes of inputs whose sizes are open in the file, by input; an open first size is the batch.
        bounds: What integers of an input are drawn below, by input, where the graph does not say.
        train: Patterns of names of initial tensors that are trained in any case.
        freeze: Patterns of names of initial tensors that are not trained in any case.
        training: Whether batch norms and dropout work as in training, whatever the file says.
    """

    kind: str = "onnx"
    onnx: str = ""
    digest: str = ""
    output: str = ""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    bounds: Mapping[str, int] = field(default_factory=dict)
    train: tuple[str, ...] = ()
    freeze: tuple[str, ...] = ()
    training: bool = False


Model = Union[Gpt, Mlp, Cnn, Resnet, Onnx]


@dataclass(frozen=True)
class Data:
    """Deterministic synthetic data, made by numpy and identical everywhere.

    Attributes:
        kind: `tokens` (for gpt), `vectors` (for mlp), `images` (for cnn and resnet) or `prototypes` (for onnx).
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
        compile: Whether the framework's fast path is used; without it a step runs operator by operator.
        mode: Which fast path: `auto`, `eager`, `graph` or `compiled`, with `-last` for images channels last.
        loss: `cross-entropy`, `mean-squared-error`, or `own` for a model from a file whose output is the loss.
        clip_norm: Largest global gradient norm; 0 for no clipping.
    """

    steps: int = 30
    seed: int = 0
    precision: str = "float32"
    compile: bool = True
    mode: str = "auto"
    loss: str = "cross-entropy"
    clip_norm: float = 0.0


@dataclass(frozen=True)
class Spec:
    """One training run.

    Attributes:
        folder: What the paths of a model are relative to; it is not part of what the spec says.
    """

    name: str
    model: Model
    data: Data
    optimizer: Optimizer
    schedule: Schedule
    train: Train
    folder: str = field(default="", compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as JSON-ready tables, in the layout of the TOML file."""
        loaded: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        del loaded["folder"]
        return {"schema_version": SCHEMA_VERSION, **loaded}

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the canonical spec, in hexadecimal; names of the spec and of files are left out.

        So is the mode that nobody chose, which specs did not have before there was a choice.
        """
        tables = {key: value for key, value in self.to_dict().items() if key != "name"}
        tables["model"].pop("onnx", None)
        if tables["train"]["mode"] == "auto":
            del tables["train"]["mode"]
        return hashlib.sha256(json.dumps(tables, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
