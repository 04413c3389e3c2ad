"""Training sessions on PyTorch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..errors import StackproofError, UnsupportedError
from ..lower import Lowered, widened
from ..noise import EXACT_OPERATORS
from ..processor import processor_name
from ..session import Options, Platform
from . import gates, rules
from .optimizer import clipped, global_norm, new_state, update

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..noise import Noise
    from ..program import Node, Program
    from ..spec import Spec

__all__ = ["TorchSession", "describe", "open_session", "prepare", "rules"]

_DTYPES = {"float32": torch.float32, "float64": torch.float64}
_chosen = {"device": "cpu"}


def prepare(threads: int, device: str) -> None:
    """Set threads, determinism and the device of this process.

    Args:
        threads: CPU threads.
        device: `auto`, `cpu` or `cuda`.

    Raises:
        UnsupportedError: `cuda` was asked for and PyTorch sees no GPU.
    """
    available = torch.cuda.is_available()
    if device == "cuda" and not available:
        raise UnsupportedError(
            f"PyTorch {torch.__version__} sees no GPU: check the driver, take a CUDA build, or set run.device to cpu"
        )
    _chosen["device"] = "cuda" if available and device != "cpu" else "cpu"
    torch.set_num_threads(threads)
    # cuDNN would otherwise round the factors of float32 convolutions to 10 bits (TensorFloat-32).
    torch.backends.cudnn.allow_tf32 = False
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(mode=True)


def describe() -> Platform:
    """Say where sessions run."""
    device = _chosen["device"]
    name = torch.cuda.get_device_name() if device == "cuda" else processor_name()
    return Platform(
        device=device,
        device_name=name,
        modules={"torch": str(torch.__version__)},
        deterministic=True,
        deterministic_why="torch.use_deterministic_algorithms(True), same build, device and thread count",
        details={"cuda": str(torch.version.cuda), "cudnn": str(torch.backends.cudnn.version())},
    )


def open_session(program: Program, spec: Spec, options: Options) -> TorchSession:
    """Open a session at the program's initial parameters.

    Raises:
        UnsupportedError: The program needs an operator that has no rule here.
    """
    return TorchSession(program, spec, options)


class TorchSession:
    """One training run on PyTorch; see `backends.session.Session`."""

    def __init__(self, program: Program, spec: Spec, options: Options) -> None:
        self._program, self._spec, self._options = program, spec, options
        self._device, self._dtype = torch.device(_chosen["device"]), _DTYPES[options.precision]
        self._forward = Lowered(program, "torch", options.precision, self._static)
        self._tables = self._tensors(program.constants)
        self._shapes = {} if options.noise is None else self._noise_shapes()
        self._loss, self._update = self._compiled()
        self.reset(options.noise)

    def _compiled(self) -> tuple[Any, Any]:
        self.mode, self.why = "eager", ""
        if not self._options.compile:
            return self._loss_of, self._updated
        self.why = gates.missing_compiler(self._device.type)
        if self.why:
            return self._loss_of, self._updated
        self.mode = "inductor"
        return tuple(torch.compile(f, fullgraph=True, dynamic=False) for f in (self._loss_of, self._updated))

    def _static(self, value: np.ndarray) -> Any:
        """Return shapes and axes as plain integers, which dynamo treats as constants, and index tables as tensors."""
        return tuple(value.tolist()) if value.ndim == 1 else torch.tensor(value, device=self._device)

    def _noise_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor that is computed with rounding, by the name its noise goes by."""
        shapes = {f"update/{name}": value.shape for name, value in self._program.parameters.items()}

        def record(node: Node, name: str, tensor: Any) -> Any:
            if node.op not in EXACT_OPERATORS and tensor.dtype.is_floating_point:
                shapes[name] = tuple(tensor.shape)
            return tensor

        inputs = {entry.name: np.zeros(entry.shape, entry.dtype) for entry in self._program.inputs}
        with torch.no_grad():
            self._forward({**self._tables, **self._tensors(self._program.parameters)}, self.place(inputs), record)
        return shapes

    def _tensors(self, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
        wide = widened(arrays, self._options.precision)
        return {name: torch.tensor(value, device=self._device) for name, value in wide.items()}

    def reset(self, noise: Noise | None) -> None:
        """Go back to the initial parameters; see `backends.session.Session`.

        Raises:
            StackproofError: Noise for a session that was opened without it, or none for one opened with it.
        """
        if (noise is None) != (self._options.noise is None):
            raise StackproofError("a session keeps to how it was opened, with noise or without: open another")
        drawn = {} if noise is None else {name: noise.factors(name, shape) for name, shape in self._shapes.items()}
        self._factors = self._tensors(drawn)
        self._parameters = self._tensors(self._program.parameters)
        for parameter in self._parameters.values():
            parameter.requires_grad_(requires_grad=True)
        self._state = new_state(self._spec.optimizer, list(self._parameters.values()))

    def place(self, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Put one batch on the device."""
        placed = {}
        for name, value in batch.items():
            tensor = torch.tensor(value, device=self._device)
            placed[name] = tensor.to(self._dtype) if tensor.dtype.is_floating_point else tensor
        return placed

    def step(self, placed: dict[str, Any], rates: np.ndarray) -> tuple[Any, Any]:
        """Make one optimizer update."""
        parameters = list(self._parameters.values())
        loss = self._loss(self._parameters, placed, self._factors)
        gradients = list(torch.autograd.grad(loss, parameters))
        with torch.no_grad():
            norm = self._update(parameters, gradients, self._state, self._rates(rates))
            if self._factors:
                for name, parameter in self._parameters.items():
                    parameter.mul_(self._factors[f"update/{name}"])
        return loss.detach(), norm

    def _rates(self, rates: np.ndarray) -> Any:
        return torch.tensor(rates, dtype=self._dtype, device=self._device)

    def _loss_of(self, parameters: Mapping[str, Any], placed: Mapping[str, Any], factors: Mapping[str, Any]) -> Any:
        def perturbed(_node: Node, name: str, tensor: Any) -> Any:
            return tensor * factors[name] if name in factors else tensor

        after = perturbed if factors else None
        return self._forward({**self._tables, **parameters}, placed, after)[self._program.loss]

    def _updated(self, parameters: Any, gradients: Any, state: Any, rates: Any) -> Any:
        norm = global_norm(gradients)
        update(self._spec.optimizer, parameters, clipped(gradients, norm, self._spec.train.clip_norm), state, rates)
        return norm

    def read(self, scalar: Any) -> float:
        """Wait for a scalar, and return it."""
        return float(scalar)

    def wait(self) -> None:
        """Wait until every step so far is done."""
        if self._device.type == "cuda":
            torch.cuda.synchronize()

    def parameters(self) -> dict[str, np.ndarray]:
        """Return copies of the current parameters."""
        return {name: value.detach().cpu().numpy().copy() for name, value in self._parameters.items()}
