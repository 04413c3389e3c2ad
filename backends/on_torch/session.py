"""Training sessions on PyTorch."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..accumulating import parts, with_stacked_inputs
from ..choosing import open_fastest
from ..errors import StackproofError, UnsupportedError
from ..layout import has_images, right_factors
from ..lower import widened
from ..memory import keep_freed_memory
from ..mixed import mixed
from ..noise import EXACT_OPERATORS
from ..processor import processor_name
from ..saving import restored, saved
from ..session import Options, Platform
from ..straight import Forward
from . import gates, rules
from .accumulation import average, limited, summed
from .optimizer import new_state, update

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..noise import Noise
    from ..program import Node, Program
    from ..session import Session
    from ..spec import Spec

__all__ = ["TorchSession", "describe", "open_session", "prepare", "rules"]

EXECUTIONS = ("eager", "eager-last", "compiled", "compiled-last")
# Axes of an image, and of the kernel of a convolution over images.
_IMAGE = 4
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
    # As `use_deterministic_algorithms`, which imports the compiler as well: see `_compiled`.
    torch.set_deterministic_debug_mode("error")
    gates.leave_new_memory_as_it_is()
    if _chosen["device"] == "cpu":
        keep_freed_memory()


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


def executions(program: Program) -> tuple[str, ...]:
    """Return the executions worth trying on the device, the plainest first."""
    layouts = ("-last", "") if _chosen["device"] == "cpu" and has_images(program) else ("",)
    eager = tuple(f"eager{layout}" for layout in layouts)
    return eager if gates.missing_compiler(_chosen["device"]) else (*eager, f"compiled{layouts[0]}")


def open_session(program: Program, spec: Spec, options: Options) -> Session:
    """Open a session at the program's initial parameters.

    Raises:
        UnsupportedError: The program needs an operator that has no rule here, or the execution is not known here.
    """
    if options.compile and options.execution == "auto":
        return open_fastest(
            executions(program),
            lambda e: TorchSession(program, spec, replace(options, execution=e)),
            with_stacked_inputs(program, spec.train.accumulate),
        )
    options.choose_from("torch", EXECUTIONS)
    return TorchSession(program, spec, options)


class TorchSession:
    """One training run on PyTorch; see `backends.session.Session`."""

    def __init__(self, program: Program, spec: Spec, options: Options) -> None:
        self._turned = right_factors(program)
        program = mixed(program, options.narrow)
        self._program, self._spec, self._options = program, spec, options
        self._device, self._dtype = torch.device(_chosen["device"]), _DTYPES[options.precision]
        self._form = torch.channels_last if options.last else torch.contiguous_format
        self._forward = Forward(program, "torch", options.precision)
        self._tables = self._tensors(program.constants)
        self._shapes = {} if options.noise is None else self._noise_shapes()
        self.execution = options.execution if options.compile else "eager"
        self.trials: Mapping[str, float] = {}
        self._losses = self._compiled()
        self.reset(options.noise)

    def _compiled(self) -> Any:
        """Return what makes loss and new state of `Forward.arguments`, or with noise of tensors by name and factors."""
        losses = self._forward.function if self._options.noise is None else self._perturbed
        self.mode, self.why = "eager", ""
        if self._options.path == "eager":
            return losses if self._options.noise is not None else None
        self.why = gates.missing_compiler(self._device.type)
        if self.why:
            self.execution = self.execution.replace("compiled", "eager")
            return losses if self._options.noise is not None else None
        self.mode = "inductor"
        torch.use_deterministic_algorithms(mode=True)
        return torch.compile(losses, fullgraph=True, dynamic=False)

    def _noise_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor that is computed with rounding, by the name its noise goes by."""
        shapes = {f"update/{name}": value.shape for name, value in self._program.parameters.items()}

        def record(node: Node, name: str, tensor: Any) -> Any:
            if node.op not in EXACT_OPERATORS and tensor.dtype.is_floating_point:
                shapes[name] = tuple(tensor.shape)
            return tensor

        inputs = {entry.name: np.zeros(entry.shape, entry.dtype) for entry in self._program.inputs}
        with torch.no_grad():
            initial = self._tensors({**self._program.parameters, **self._program.state})
            self._forward({**self._tables, **initial, **self._placed(inputs)}, record)
        return shapes

    def _tensors(self, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
        wide = widened(arrays, self._options.precision)
        return {name: self._laid_out(torch.tensor(value, device=self._device), name) for name, value in wide.items()}

    def _laid_out(self, tensor: Any, name: str = "") -> Any:
        """Return images and kernels in the session's layout, right factors by columns, anything else as it is."""
        if name in self._turned:
            return tensor.t().contiguous().t()
        return tensor.contiguous(memory_format=self._form) if tensor.dim() == _IMAGE else tensor

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
        self._running = self._tensors(self._program.state)
        self._state = new_state(self._spec.optimizer, self._parameters)
        self._averages = self._tensors(self._program.parameters) if self._spec.train.ema else {}
        several = self._spec.train.accumulate > 1
        self._sums = [torch.zeros_like(value) for value in self._parameters.values()] if several else []

    def place(self, batch: Mapping[str, np.ndarray]) -> Any:
        """Put one batch on the device: a mapping, or with accumulation one per micro-batch."""
        count = self._spec.train.accumulate
        return self._placed(batch) if count == 1 else [self._placed(part) for part in parts(batch, count)]

    def _placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
        placed = {}
        for name, value in batch.items():
            tensor = torch.tensor(value, device=self._device)
            placed[name] = self._laid_out(tensor.to(self._dtype)) if tensor.dtype.is_floating_point else tensor
        return placed

    def step(self, placed: Any, rates: np.ndarray) -> tuple[Any, Any]:
        """Make one optimizer update."""
        train, parameters = self._spec.train, list(self._parameters.values())
        several = train.accumulate > 1
        loss, gradients = summed(self._slopes, placed, self._sums) if several else self._slopes(placed)
        with torch.no_grad():
            gradients, norm = limited(train, gradients, wanted=self._options.norms)
            update(self._spec.optimizer, self._parameters, dict(zip(self._parameters, gradients)), self._state, rates)
            for name, parameter in self._parameters.items() if self._factors else ():
                parameter.mul_(self._factors[f"update/{name}"])
            if train.ema:
                average(train.ema, list(self._averages.values()), parameters)
        return loss, norm

    def _slopes(self, placed: dict[str, Any], share: Any = None) -> tuple[Any, list[Any]]:
        """Return the loss of one batch and its gradients, times a share where one is given; the state moves on."""
        parameters = list(self._parameters.values())
        loss, running = self._forward_pass(placed)
        found = torch.autograd.grad(loss, parameters, share, allow_unused=True)
        self._running = {name: value.detach() for name, value in running.items()}
        return loss.detach(), [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, found)]

    def _forward_pass(self, placed: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        known = {**self._tables, **self._running, **self._parameters, **placed}
        if self._losses is None:
            return self._forward(known)
        if self._options.noise is not None:
            return self._forward.split(self._losses(known, self._factors))
        return self._forward.split(self._losses(*(known[name] for name in self._forward.arguments)))

    def _perturbed(self, known: Mapping[str, Any], factors: Mapping[str, Any]) -> Any:
        def perturb(_node: Node, name: str, tensor: Any) -> Any:
            return tensor * factors[name] if name in factors else tensor

        loss, running = self._forward(known, perturb)
        return loss, *running.values()

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

    def state(self) -> dict[str, np.ndarray]:
        """Return copies of the current state."""
        return {name: value.cpu().numpy().copy() for name, value in self._running.items()}

    def averages(self) -> dict[str, np.ndarray]:
        """Return copies of the moving averages of the parameters."""
        return {name: value.cpu().numpy().copy() for name, value in self._averages.items()}

    def saved(self) -> dict[str, np.ndarray]:
        """Return copies of all that changes from step to step."""
        optimizer = {name: value.cpu().numpy().copy() for name, value in self._state.items()}
        held = {"parameter": self.parameters(), "state": self.state(), "optimizer": optimizer}
        return saved({**held, "average": self.averages()}, {})

    def restore(self, mapping: Mapping[str, np.ndarray]) -> None:
        """Go on from what a session saved; see `backends.session.Session`."""
        held = restored(mapping, self.saved(), {})
        self._running = self._tensors(held["state"])
        kept = {"parameter": self._parameters, "optimizer": self._state, "average": self._averages}
        with torch.no_grad():
            for role, tensors in kept.items():
                for name, tensor in tensors.items():
                    tensor.copy_(torch.tensor(held[role][name]))
