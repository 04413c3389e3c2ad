"""The training spec: one run, framework-neutral.

Every field is also a key of the TOML file; `reading.read_spec` makes these records and reports every fault.
Sizes count elements, rates are per optimizer step, steps are optimizer updates.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any

from .recipe import Group, Optimizer, Schedule, Train, silent
from .spec_models import Bert, Cnn, Decoder, Gpt, Llama, Mlp, Model, Moe, Onnx, Resnet, Unet, Vit, as_gpt
from .spec_workload import Workload, workload_digest, workload_tables

__all__ = [
    "SCHEMA_VERSION",
    "Bert",
    "Cnn",
    "Data",
    "Decoder",
    "Gpt",
    "Group",
    "Llama",
    "Mlp",
    "Model",
    "Moe",
    "Onnx",
    "Optimizer",
    "Resnet",
    "Schedule",
    "Spec",
    "Train",
    "Unet",
    "Vit",
    "Workload",
    "as_gpt",
]

SCHEMA_VERSION = 1


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
class Spec:
    """One training run.

    Attributes:
        folder: What the paths of a model are relative to; it is not part of what the spec says.
        workload: A command of the user's own that trains; model, data, optimizer and schedule stand for nothing then,
            and of `train` only `steps` and `seed` count.
    """

    name: str
    model: Model
    data: Data
    optimizer: Optimizer
    schedule: Schedule
    train: Train
    folder: str = field(default="", compare=False)
    workload: Workload | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as JSON-ready tables, in the layout of the TOML file."""
        if self.workload is not None:
            tables = workload_tables(self.workload, self.train.steps, self.train.seed)
            return {"schema_version": SCHEMA_VERSION, "name": self.name, **tables}
        loaded: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        del loaded["folder"], loaded["workload"]
        return {"schema_version": SCHEMA_VERSION, **loaded}

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the canonical spec, in hexadecimal; names of the spec and of files are left out.

        So is each key at its default that specs did not have in the beginning.
        """
        if self.workload is not None:
            return workload_digest(self.workload, self.train.steps, self.train.seed)
        tables = {key: value for key, value in self.to_dict().items() if key != "name"}
        tables["model"].pop("onnx", None)
        for name in ("model", "data", "optimizer", "schedule", "train"):
            left_out = silent(getattr(self, name))
            tables[name] = {key: value for key, value in tables[name].items() if key not in left_out}
        return hashlib.sha256(json.dumps(tables, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
