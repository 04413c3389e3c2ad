"""Training sessions on TensorFlow."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

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
from ..schedule import COLUMNS
from ..session import Options, Platform
from ..straight import Forward
from . import rules
from .accumulation import limited, summed
from .optimizer import new_state, update

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..noise import Noise
    from ..program import Node, Program
    from ..session import Session
    from ..spec import Spec

    Tensors = dict[str, tf.Tensor]
    Variables = dict[str, tf.Variable]

__all__ = ["TensorFlowSession", "describe", "open_session", "prepare", "rules"]

EXECUTIONS = ("eager", "graph", "graph-last", "compiled")
_MODES = {"eager": "eager", "graph": "graph", "compiled": "xla"}


def prepare(threads: int, device: str) -> None:
    """Set threads, determinism and the device of this process; TensorFlow takes it before it first computes.

    Args:
        threads: CPU threads.
        device: `auto`, `cpu` or `cuda`.

    Raises:
        UnsupportedError: `cuda` was asked for and TensorFlow sees no GPU.
    """
    gpus = tf.config.list_physical_devices("GPU")
    if device == "cuda" and not gpus:
        raise UnsupportedError(
            f"TensorFlow {tf.__version__} sees no GPU: check the driver, install tensorflow[and-cuda], "
            "or set run.device to cpu"
        )
    used = gpus[:1] if device != "cpu" else []
    tf.config.set_visible_devices(used, "GPU")
    for gpu in used:
        tf.config.experimental.set_memory_growth(gpu, enable=True)
        # A GPU would otherwise round the factors of float32 products to 10 bits (TensorFloat-32).
        tf.config.experimental.enable_tensor_float_32_execution(enabled=False)
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    if used:
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_gpu_deterministic_ops=true".strip()
    tf.config.experimental.enable_op_determinism()
    if not used:
        keep_freed_memory()


def describe() -> Platform:
    """Say where sessions run."""
    gpus = tf.config.get_visible_devices("GPU")
    name = tf.config.experimental.get_device_details(gpus[0]).get("device_name", "GPU") if gpus else processor_name()
    build = {key: str(value) for key, value in tf.sysconfig.get_build_info().items()}
    return Platform(
        device="cuda" if gpus else "cpu",
        device_name=name,
        modules={"tensorflow": tf.__version__},
        deterministic=True,
        deterministic_why="tf.config.experimental.enable_op_determinism(), same build, device and thread count",
        details={**build, "compiler": tf.version.COMPILER_VERSION, "source": tf.version.GIT_VERSION},
    )


def executions(program: Program) -> tuple[str, ...]:
    """Return the executions worth trying on the device."""
    images = not tf.config.get_visible_devices("GPU") and has_images(program)
    return ("graph-last" if images else "graph", "compiled")


def open_session(program: Program, spec: Spec, options: Options) -> Session:
    """Open a session at the program's initial parameters.

    Raises:
        UnsupportedError: The program needs an operator that has no rule here, or the execution is not known here.
    """
    if options.compile and options.execution == "auto":
        return open_fastest(
            executions(program),
            lambda e: TensorFlowSession(program, spec, replace(options, execution=e)),
            with_stacked_inputs(program, spec.train.accumulate),
        )
    options.choose_from("tensorflow", EXECUTIONS)
    return TensorFlowSession(program, spec, options)


class TensorFlowSession:
    """One training run on TensorFlow; see `backends.session.Session`.

    Parameters, optimizer state and noise are variables, so that a compiled step takes and changes them in place.
    """

    def __init__(self, program: Program, spec: Spec, options: Options) -> None:
        laid_out = channels_last(program) if options.last else as_it_is(program)
        self._turned = replace(laid_out, program=mixed(laid_out.program, options.narrow))
        self._program, self._spec, self._options = self._turned.program, spec, options
        self._stacked = stacked_layout(self._turned, spec.train.accumulate)
        self._dtype = np.dtype(options.precision)
        self._forward = Forward(self._program, "tensorflow", options.precision)
        self._tables = {name: tf.constant(value) for name, value in self._wide(self._program.constants).items()}
        zeros = {name: np.zeros_like(value) for name, value in self._program.parameters.items()}
        self._parameters = self._variables(zeros)
        self._running = self._variables(self._program.state)
        self._state = new_state(spec.optimizer, self._parameters, self._turned.orders)
        self._averages = self._variables(zeros) if spec.train.ema else {}
        shapes = {} if options.noise is None else self._noise_shapes()
        self._factors = self._variables({name: np.ones(shape) for name, shape in shapes.items()})
        self.execution = options.execution if options.compile else "eager"
        self.trials: Mapping[str, float] = {}
        self.mode, self.why = _MODES[options.path], ""
        self._advance = self._step if options.path == "eager" else self._traced(compiled=options.path == "compiled")
        self.reset(options.noise)

    def _wide(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return widened(arrays, self._options.precision)

    def _variables(self, arrays: Mapping[str, np.ndarray]) -> Variables:
        return {name: tf.Variable(value) for name, value in self._wide(arrays).items()}

    def _batch_signature(self) -> dict[str, tf.TensorSpec]:
        return self._kinds({entry.name: np.zeros(entry.shape, entry.dtype) for entry in self._program.inputs})

    def _kinds(self, arrays: Mapping[str, np.ndarray]) -> dict[str, tf.TensorSpec]:
        own = {name: self._own(value) for name, value in arrays.items()}
        return {name: tf.TensorSpec(value.shape, value.dtype) for name, value in own.items()}

    def _traced(self, *, compiled: bool) -> Any:
        count = self._spec.train.accumulate
        inputs = with_stacked_inputs(self._program, count).inputs
        whole = with_shares({entry.name: np.zeros(entry.shape, entry.dtype) for entry in inputs}, count)
        signature = (self._kinds(whole), tf.TensorSpec((COLUMNS,), self._dtype))
        return tf.function(self._step, input_signature=signature, jit_compile=compiled, autograph=False)

    def _noise_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor that is computed with rounding, by the name its noise goes by."""
        shapes = {f"update/{name}": value.shape for name, value in self._program.parameters.items()}

        def record(node: Node, name: str, tensor: tf.Tensor) -> tf.Tensor:
            if node.op not in EXACT_OPERATORS and tensor.dtype.is_floating:
                shapes[name] = tuple(tensor.shape)
            return tensor

        def forward(batch: Tensors) -> tf.Tensor:
            loss, _ = self._forward(
                {**self._tables, **_read(self._parameters), **_read(self._running), **batch}, record
            )
            return loss

        tf.function(forward, autograph=False).get_concrete_function(self._batch_signature())
        return shapes

    def reset(self, noise: Noise | None) -> None:
        """Go back to the initial parameters; see `backends.session.Session`.

        Raises:
            StackproofError: Noise for a session that was opened without it, or none for one opened with it.
        """
        if (noise is None) != (self._options.noise is None):
            raise StackproofError("a session keeps to how it was opened, with noise or without: open another")
        for name, value in self._wide(self._program.parameters).items():
            self._parameters[name].assign(value)
            if self._averages:
                self._averages[name].assign(value)
        for name, value in self._wide(self._program.state).items():
            self._running[name].assign(value)
        for variable in self._state.values():
            variable.assign(np.zeros(variable.shape, self._dtype))
        if noise is not None:
            for name, variable in self._factors.items():
                variable.assign(noise.factors(name, variable.shape))

    def place(self, batch: Mapping[str, np.ndarray]) -> Tensors:
        """Put one batch on the device."""
        whole = with_shares(batch, self._spec.train.accumulate)
        return {name: tf.constant(self._own(value)) for name, value in self._stacked.into(whole).items()}

    def _own(self, value: np.ndarray) -> np.ndarray:
        return value.astype(self._dtype) if is_float(value) else value

    def step(self, placed: Tensors, rates: np.ndarray) -> tuple[tf.Tensor, tf.Tensor]:
        """Make one optimizer update."""
        loss, norm = self._advance(placed, tf.constant(rates.astype(self._dtype)))
        return loss, norm

    def _step(self, batch: Tensors, rates: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        train = self._spec.train
        parameters, running = _read(self._parameters), _read(self._running)

        def slopes(part: Tensors, state: Tensors) -> tuple[tf.Tensor, Tensors, Tensors]:
            return self._differentiated(parameters, {**self._tables, **state, **part})

        several = train.accumulate > 1
        made = summed(slopes, batch, running, train.accumulate) if several else slopes(batch, running)
        loss, gradients, running = made
        gradients, norm = limited(train, gradients, wanted=self._options.norms)
        update(self._spec.optimizer, self._parameters, gradients, self._state, rates, self._turned.orders)
        for name, variable in self._parameters.items() if self._factors else ():
            variable.assign(variable * self._factors[f"update/{name}"])
        for name, variable in self._averages.items():
            variable.assign(train.ema * variable + (1.0 - train.ema) * self._parameters[name])
        for name, value in running.items():
            self._running[name].assign(value)
        return loss, norm

    def _differentiated(self, parameters: Tensors, others: Tensors) -> tuple[tf.Tensor, Tensors, Tensors]:
        """Return the loss, its gradients and the new state.

        Gradients of embeddings come as rows with repetitions, and are summed.
        """
        names = list(parameters)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(list(parameters.values()))
            after = self._perturbed if self._factors else None
            loss, running = self._forward({**others, **parameters}, after)
        found = tape.gradient(loss, list(parameters.values()), unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return loss, {name: tf.convert_to_tensor(gradient) for name, gradient in zip(names, found)}, running

    def _perturbed(self, _node: Node, name: str, tensor: tf.Tensor) -> tf.Tensor:
        return tensor * self._factors[name] if name in self._factors else tensor

    def read(self, scalar: tf.Tensor) -> float:
        """Wait for a scalar, and return it."""
        return float(scalar)

    def wait(self) -> None:
        """Wait until every step so far is done: the device works in order."""
        next(iter(self._parameters.values())).numpy()

    def parameters(self) -> dict[str, np.ndarray]:
        """Return copies of the current parameters."""
        return self._turned.back(_arrays(self._parameters))

    def state(self) -> dict[str, np.ndarray]:
        """Return copies of the current state."""
        return _arrays(self._running)

    def averages(self) -> dict[str, np.ndarray]:
        """Return copies of the moving averages of the parameters."""
        return self._turned.back(_arrays(self._averages))

    def saved(self) -> dict[str, np.ndarray]:
        """Return copies of all that changes from step to step."""
        held = {role: _arrays(variables) for role, variables in self._kept().items()}
        return saved(held, self._turned.orders)

    def restore(self, mapping: Mapping[str, np.ndarray]) -> None:
        """Go on from what a session saved; see `backends.session.Session`."""
        held = restored(mapping, self.saved(), self._turned.orders)
        for role, variables in self._kept().items():
            for name, variable in variables.items():
                variable.assign(held[role][name])

    def _kept(self) -> dict[str, Variables]:
        moving = {"parameter": self._parameters, "state": self._running}
        return {**moving, "optimizer": self._state, "average": self._averages}


def _arrays(variables: Variables) -> dict[str, np.ndarray]:
    return {name: np.array(variable.numpy()) for name, variable in variables.items()}


def _read(variables: Variables) -> Tensors:
    return {name: tf.convert_to_tensor(variable) for name, variable in variables.items()}
