"""Training sessions on JAX."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np

from ..accumulating import stacked_layout, with_shares, with_stacked_inputs
from ..choosing import open_fastest
from ..errors import StackproofError, UnsupportedError
from ..layout import as_it_is, channels_last, has_images
from ..lower import is_float, widened
from ..memory import keep_freed_memory
from ..mixed import mixed
from ..noise import EXACT_OPERATORS
from ..processor import processor_name
from ..saving import restored, saved
from ..session import Options, Platform
from ..straight import Forward
from . import gates, rules
from .accumulation import limited, moved, summed
from .optimizer import new_state, update

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jax import Array

    from ..noise import Noise
    from ..program import Node, Program
    from ..session import Session
    from ..spec import Spec

    Tensors = dict[str, Array]
    Moving = tuple[Tensors, dict[str, Tensors], Tensors, Tensors]

__all__ = ["JaxSession", "describe", "open_session", "prepare", "rules"]

EXECUTIONS = ("eager", "compiled", "compiled-last")


def prepare(threads: int, device: str) -> None:
    """Set threads, determinism and the device of this process; XLA reads all of it when it first computes.

    Args:
        threads: CPU threads.
        device: `auto`, `cpu` or `cuda`.

    Raises:
        UnsupportedError: `cuda` was asked for and JAX sees no GPU.
    """
    flags = ["--xla_cpu_multi_thread_eigen=false"] if threads == 1 else []
    flags += [] if device == "cpu" else ["--xla_gpu_deterministic_ops=true"]
    os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *flags]).strip()
    os.environ["NPROC"] = os.environ["PJRT_NPROC"] = str(threads)
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    keep_freed_memory()
    if device == "cpu":
        jax.config.update("jax_platforms", "cpu")
    elif jax.default_backend() == "gpu":
        # A GPU would otherwise round the factors of float32 products to 10 bits (TensorFloat-32).
        jax.config.update("jax_default_matmul_precision", "highest")
    elif device == "cuda":
        raise UnsupportedError(
            f"JAX {jax.__version__} sees no GPU: check the driver, install jax[cuda13], or set run.device to cpu"
        )


def describe() -> Platform:
    """Say where sessions run."""
    device = jax.devices()[0]
    on_gpu = device.platform == "gpu"
    return Platform(
        device="cuda" if on_gpu else "cpu",
        device_name=device.device_kind if on_gpu else processor_name(),
        modules={"jax": jax.__version__, "jaxlib": jaxlib.__version__},
        deterministic=True,
        deterministic_why="XLA with --xla_gpu_deterministic_ops"
        if on_gpu
        else "XLA for the CPU adds in a fixed order, given the same build, processor and thread count",
        details={"platform_version": device.client.platform_version, "xla_flags": os.environ.get("XLA_FLAGS", "")},
    )


def executions(program: Program) -> tuple[str, ...]:
    """Return the executions worth trying on the device."""
    images = jax.default_backend() == "cpu" and has_images(program)
    return ("compiled-last", "compiled") if images else ("compiled",)


def open_session(program: Program, spec: Spec, options: Options) -> Session:
    """Open a session at the program's initial parameters.

    Raises:
        UnsupportedError: The program needs an operator that has no rule here, or the execution is not known here.
    """
    if options.compile and options.execution == "auto":
        return open_fastest(
            executions(program),
            lambda e: JaxSession(program, spec, replace(options, execution=e)),
            with_stacked_inputs(program, spec.train.accumulate),
        )
    options.choose_from("jax", EXECUTIONS)
    return JaxSession(program, spec, options)


class JaxSession:
    """One training run on JAX; see `backends.session.Session`.

    JAX has 64-bit numbers only inside the calls of a float64 session: outside, it is as users run it.
    """

    def __init__(self, program: Program, spec: Spec, options: Options) -> None:
        laid_out = channels_last(program) if options.last else as_it_is(program)
        self._turned = replace(laid_out, program=mixed(laid_out.program, options.narrow))
        self._program, self._spec, self._options = self._turned.program, spec, options
        self._stacked = stacked_layout(self._turned, spec.train.accumulate)
        self._dtype = np.dtype(options.precision)
        self._forward = Forward(self._program, "jax", options.precision)
        compiled = options.path == "compiled"
        self.execution = options.execution if options.compile else "eager"
        self.trials: Mapping[str, float] = {}
        self.mode, self.why = ("xla" if compiled else "eager"), ""
        self._advance = jax.jit(self._step, donate_argnums=0) if compiled else self._step
        with self._width():
            self._tables = self._placed(self._program.constants)
        self._shapes = {} if options.noise is None else self._noise_shapes()
        self.reset(options.noise)

    def _width(self) -> Any:
        wide = self._dtype == np.float64
        return nullcontext() if wide == jax.config.jax_enable_x64 else gates.wide_numbers(enabled=wide)

    def _placed(self, arrays: Mapping[str, np.ndarray]) -> Tensors:
        wide = widened(arrays, self._options.precision)
        return {name: jax.device_put(value, jax.devices()[0]) for name, value in wide.items()}

    def _noise_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor that is computed with rounding, by the name its noise goes by."""
        shapes = {f"update/{name}": value.shape for name, value in self._program.parameters.items()}

        def record(node: Node, name: str, tensor: Array) -> Array:
            if node.op not in EXACT_OPERATORS and jnp.issubdtype(tensor.dtype, jnp.floating):
                shapes[name] = tensor.shape
            return tensor

        inputs = {entry.name: np.zeros(entry.shape, entry.dtype) for entry in self._program.inputs}
        program = self._program
        floats = widened({**program.constants, **program.state, **program.parameters}, self._options.precision)
        with self._width():
            jax.eval_shape(lambda known: self._forward(known, record), {**floats, **self._put(inputs)})
        return shapes

    def reset(self, noise: Noise | None) -> None:
        """Go back to the initial parameters; see `backends.session.Session`.

        Raises:
            StackproofError: Noise for a session that was opened without it, or none for one opened with it.
        """
        if (noise is None) != (self._options.noise is None):
            raise StackproofError("a session keeps to how it was opened, with noise or without: open another")
        with self._width():
            self._parameters = self._placed(self._program.parameters)
            self._running = self._placed(self._program.state)
            copies = {name: value.copy() for name, value in self._program.parameters.items()}
            self._averages = self._placed(copies) if self._spec.train.ema else {}
            # What is not put on a device means another compilation than what a step returns.
            state = new_state(self._spec.optimizer, self._parameters, self._turned.orders)
            self._state = jax.device_put(state, jax.devices()[0])
            drawn = {} if noise is None else {name: noise.factors(name, shape) for name, shape in self._shapes.items()}
            self._factors = self._placed(drawn)

    def place(self, batch: Mapping[str, np.ndarray]) -> Tensors:
        """Put one batch on the device; integers as int32."""
        return self._put(self._stacked.into(with_shares(batch, self._spec.train.accumulate)))

    def _put(self, arrays: Mapping[str, np.ndarray]) -> Tensors:
        with self._width():
            return {name: jax.device_put(self._narrowed(v), jax.devices()[0]) for name, v in arrays.items()}

    def _narrowed(self, value: np.ndarray) -> np.ndarray:
        if is_float(value):
            return value.astype(self._dtype)
        return value.astype(np.int32) if np.issubdtype(value.dtype, np.integer) else value

    def step(self, placed: Tensors, rates: np.ndarray) -> tuple[Array, Array]:
        """Make one optimizer update."""
        with self._width():
            moving = (self._parameters, self._state, self._running, self._averages)
            moving, loss, norm = self._advance(moving, self._tables, self._factors, placed, rates.astype(self._dtype))
            self._parameters, self._state, self._running, self._averages = moving
        return loss, norm

    def _step(
        self, moving: Moving, tables: Tensors, factors: Tensors, batch: Tensors, rates: Array
    ) -> tuple[Moving, Array, Array]:
        train, (parameters, state, running, averages) = self._spec.train, moving

        def perturbed(_node: Node, name: str, tensor: Array) -> Array:
            return tensor * factors[name] if name in factors else tensor

        def slopes(part: Tensors, before: Tensors) -> tuple[Array, Tensors, Tensors]:
            def loss_of(trained: Tensors) -> tuple[Array, Tensors]:
                return self._forward({**tables, **before, **trained, **part}, perturbed if factors else None)

            (loss, renewed), gradients = jax.value_and_grad(loss_of, has_aux=True)(parameters)
            return loss, gradients, renewed

        if train.accumulate > 1:
            loss, gradients, running = summed(slopes, batch, parameters, running, scanned=self.mode == "xla")
        else:
            loss, gradients, running = slopes(batch, running)
        gradients, norm = limited(train, gradients, wanted=self._options.norms)
        updated, state = update(self._spec.optimizer, parameters, gradients, state, rates, self._turned.orders)
        if factors:
            updated = {name: value * factors[f"update/{name}"] for name, value in updated.items()}
        return (updated, state, running, moved(train.ema, averages, updated)), loss, norm

    def read(self, scalar: Array) -> float:
        """Wait for a scalar, and return it."""
        return float(scalar)

    def wait(self) -> None:
        """Wait until every step so far is done."""
        jax.block_until_ready(self._parameters)

    def parameters(self) -> dict[str, np.ndarray]:
        """Return copies of the current parameters."""
        return self._turned.back(self._arrays(self._parameters))

    def state(self) -> dict[str, np.ndarray]:
        """Return copies of the current state."""
        return {name: np.array(value) for name, value in self._running.items()}

    def averages(self) -> dict[str, np.ndarray]:
        """Return copies of the moving averages of the parameters."""
        return self._turned.back(self._arrays(self._averages))

    def _arrays(self, tensors: Tensors) -> dict[str, np.ndarray]:
        """Return tensors of parameters in the program's order: a compiled step sorts them by name."""
        return {name: np.array(tensors[name]) for name in self._program.parameters if name in tensors}

    def saved(self) -> dict[str, np.ndarray]:
        """Return copies of all that changes from step to step."""
        optimizer = {name: np.array(value) for name, value in self._state.items()}
        moving = {"parameter": self._arrays(self._parameters), "average": self._arrays(self._averages)}
        return saved({**moving, "state": self.state(), "optimizer": optimizer}, self._turned.orders)

    def restore(self, mapping: Mapping[str, np.ndarray]) -> None:
        """Go on from what a session saved; see `backends.session.Session`."""
        held = restored(mapping, self.saved(), self._turned.orders)
        with self._width():
            self._parameters, self._running = self._placed(held["parameter"]), self._placed(held["state"])
            self._state, self._averages = self._placed(held["optimizer"]), self._placed(held["average"])
