"""What a target offers to the worker: sessions that train one program.

Each of `on_torch`, `on_tensorflow` and `on_jax` is a package whose `session` module has

* `prepare(threads, device)`: called once, before anything else; sets threads, determinism and the device;
* `describe()`: a `Platform`;
* `open_session(program, spec, options)`: a `Session`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from .errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from .noise import Noise


@dataclass(frozen=True)
class Platform:
    """Where a session runs.

    Attributes:
        device: `cpu` or `cuda`.
        device_name: The processor's or GPU's name.
        modules: Version of each imported module that the framework consists of, as the module itself states it.
        deterministic: Whether the framework promises the same bits for the same run on this device as prepared.
        deterministic_why: What the promise rests on, or what breaks it.
        details: Build facts worth keeping, such as the CUDA version a build was made for.
    """

    device: str
    device_name: str
    modules: Mapping[str, str]
    deterministic: bool
    deterministic_why: str
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Options:
    """How a session computes.

    Attributes:
        precision: `float32` or `float64`: dtype of parameters, activations, gradients and optimizer state.
        compile: Whether the framework's fast path is used; without it a step is eager, operator by operator.
        noise: Rounding-sized noise to add, in float64 runs that measure sensitivity.
        execution: Which fast path: `eager`, `graph` or `compiled`, with `-last` for images channels last, or `auto` for
            the one that is found fastest when the session opens.
        narrow: The dtype of products in mixed precision, `bfloat16`; empty where all is in one precision.
        norms: Whether each step gives the gradients' norm; without clipping, training itself does not need it.
    """

    precision: str
    compile: bool
    noise: Noise | None = None
    execution: str = "compiled"
    norms: bool = True
    narrow: str = ""

    @property
    def path(self) -> str:
        """Return how a step is executed, without the layout."""
        return self.execution.partition("-")[0] if self.compile else "eager"

    @property
    def last(self) -> bool:
        """Say whether images are channels last."""
        return self.compile and self.execution.endswith("-last")

    def choose_from(self, target: str, known: Sequence[str]) -> None:
        """Check that a target has the execution.

        Raises:
            UnsupportedError: It has not.
        """
        if self.compile and self.execution not in known:
            names = ", ".join(f'"{name}"' for name in ("auto", *known))
            raise UnsupportedError(f'train.mode = "{self.execution}" is not there on {target}: write one of {names}')


class Session(Protocol):
    """One training run in progress.

    Attributes:
        mode: How a step is executed: `eager`, `inductor`, `xla` or `graph`.
        why: Why the mode is another than the one asked for; empty where it is not.
        execution: The execution in the words of `Options`, which gives the same path again.
        trials: Seconds per step of each execution that was tried to find the fastest.
    """

    mode: str
    why: str
    execution: str
    trials: Mapping[str, float]

    def place(self, batch: Mapping[str, np.ndarray]) -> Any:
        """Put one batch on the device; floating-point inputs are converted to the session's precision.

        With `train.accumulate` above 1 each array has a leading axis over micro-batches, and the batch may have their
        shares; see `accumulating.py`.
        """

    def step(self, placed: Any, rates: np.ndarray) -> tuple[Any, Any]:
        """Make one optimizer update, without waiting for the device.

        Args:
            placed: A batch from `place`.
            rates: A row of `schedule.rates`.

        Returns:
            Loss and global gradient norm (before clipping), both of the parameters before the update, as scalars of the
            framework; without `Options.norms` the norm may be None, where no clipping needs it.
        """

    def read(self, scalar: Any) -> float:
        """Wait for a scalar that `step` returned, and return it."""

    def wait(self) -> None:
        """Wait until every step so far is done."""

    def parameters(self) -> dict[str, np.ndarray]:
        """Return copies of the current parameters, in the session's precision, by name in the program's order."""

    def state(self) -> dict[str, np.ndarray]:
        """Return copies of the program's current state, such as running means, in the session's precision."""

    def averages(self) -> dict[str, np.ndarray]:
        """Return copies of the parameters' moving averages, as `parameters`; empty where `train.ema` is 0."""

    def saved(self) -> dict[str, np.ndarray]:
        """Return copies of all that changes from step to step, by the names of `saving.py`."""

    def restore(self, mapping: Mapping[str, np.ndarray]) -> None:
        """Go on from what a session saved, of this target or of another; nothing is compiled again.

        Raises:
            InputError: A tensor is missing, is of no use here, or has another shape.
        """

    def reset(self, noise: Noise | None) -> None:
        """Go back to the program's initial parameters and averages, and a zero optimizer state.

        Nothing is compiled again.

        Args:
            noise: Another draw of noise; a session opened with noise needs one, one opened without must get None.
        """
