"""Whether a framework does what a case of ONNX's suite wants; needs numpy and the framework only."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from stackproof.backends.errors import StackproofError
from stackproof.backends.program import load
from stackproof.backends.values import Narrow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import ModuleType

# As ONNX's own runner: bfloat16 is held to two units in its last place where a case asks for more.
_BFLOAT16 = 2.0**-6


@dataclass(frozen=True)
class SuiteCase:
    """A case of the suite, ready to be evaluated.

    Attributes:
        name: ONNX's name of it.
        program: A program, as `dump` writes it.
        inputs: Arrays, `Narrow` arrays, lists of them or None by name.
        outputs: What the program's outputs should be, in their order.
        rtol: Allowed relative difference.
        atol: Allowed absolute difference.
    """

    name: str
    program: bytes
    inputs: Mapping[str, Any]
    outputs: tuple[Any, ...]
    rtol: float
    atol: float


def outcome(module: ModuleType, case: SuiteCase, *, compile: bool = False) -> str:  # noqa: A002 - the spec's own word
    """Return why a case fails, or an empty string where it passes.

    Args:
        module: A target's `evaluate` module.
        case: What to evaluate.
        compile: Whether the framework compiles the program.
    """
    try:
        with warnings.catch_warnings(), _same_draws(module):
            warnings.simplefilter("ignore")  # cases overflow and divide by zero on purpose
            return _differences(module, case, compiled=compile)
    except StackproofError as error:
        return f"refused: {error}"
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is the outcome
        return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


@contextmanager
def _same_draws(module: ModuleType) -> Iterator[None]:
    """Have what is drawn without a seed be the same at each run, so that a case passes always or never."""
    if hasattr(module, "torch"):
        module.torch.manual_seed(0)
        module.torch.compiler.reset()  # a process compiles a function few times; here it does so for each case
    fresh = np.random.default_rng
    with patch.object(np.random, "default_rng", lambda seed=None: fresh(0 if seed is None else seed)):
        yield


def _differences(module: ModuleType, case: SuiteCase, *, compiled: bool) -> str:
    program = load(case.program)
    if len(program.outputs) != len(case.outputs):
        return f"{len(program.outputs)} outputs, wanted {len(case.outputs)}"
    made = module.Evaluation(program, compile=compiled).run(case.inputs)
    for name, want in zip(program.outputs, case.outputs, strict=True):
        found = difference(made[name], want, case.rtol, case.atol)
        if found:
            return f"{name}: {found}"
    return ""


def difference(made: Any, want: Any, rtol: float, atol: float) -> str:
    """Return how a value differs from the wanted one, its dtype and shape included, or an empty string."""
    if want is None or made is None:
        return "" if want is None and made is None else "one is empty"
    if isinstance(want, list):
        if not isinstance(made, list) or len(made) != len(want):
            return f"not a sequence of {len(want)}"
        pairs = zip(made, want, strict=True)
        return next(filter(None, (difference(one, other, rtol, atol) for one, other in pairs)), "")
    if isinstance(made, list):
        return "a sequence, wanted a tensor"
    return _of_tensors(made, want, rtol, atol)


def _of_tensors(made: Any, want: Any, rtol: float, atol: float) -> str:
    kinds = [value.dtype if isinstance(value, Narrow) else str(value.dtype) for value in (made, want)]
    if kinds[0] != kinds[1]:
        return f"dtype {kinds[0]}, wanted {kinds[1]}"
    one, other = (value.values if isinstance(value, Narrow) else value for value in (made, want))
    if one.shape != other.shape:
        return f"shape {one.shape}, wanted {other.shape}"
    try:
        np.testing.assert_allclose(one, other, rtol=max(rtol, _BFLOAT16) if kinds[1] == "bfloat16" else rtol, atol=atol)
    except AssertionError as error:
        return " ".join(str(error).split())[:300]
    return ""
