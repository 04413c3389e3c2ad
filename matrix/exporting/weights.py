"""Weights to and from safetensors, under each framework's usual names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ...backends.errors import Fault, InputError, did_you_mean
from ..outputs import write_output
from .names import CONVENTIONS, names_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ...backends.program import Program
    from .names import Named

KEY: Final = "stackproof.names"
# What the frameworks' own tools look for in a file's metadata.
_FORMATS: Final = {"plain": "np", "torch": "pt", "tensorflow": "tf", "jax": "flax"}
# Tensors that frameworks keep beside weights and that say nothing of them.
_IGNORED: Final = ("num_batches_tracked",)
_MOST_NAMED: Final = 5


def save_weights(program: Program, path: Path, convention: str) -> int:
    """Write parameters and state of a program into a safetensors file.

    Args:
        program: The program.
        path: The file.
        convention: One of `names.CONVENTIONS`.

    Returns:
        The number of tensors.

    Raises:
        InputError: The file cannot be written.
    """
    tensors = {**program.parameters, **program.state}
    names = names_of(program, convention)
    laid = {names[name].name: names[name].there(value) for name, value in tensors.items()}
    write_output(path, save(laid, metadata={"format": _FORMATS[convention], KEY: convention}))
    return len(laid)


def with_weights(program: Program, path: Path, convention: str = "") -> Program:
    """Return a program that starts from the weights of a safetensors file.

    Args:
        program: The program.
        path: The file, written by stackproof or by a framework.
        convention: One of `names.CONVENTIONS`; if not given, what the file says, or the only one that fits.

    Raises:
        InputError: The file cannot be read, lacks a tensor or has one too many, or one is of another shape.
    """
    tensors, stated = _read(path)
    chosen = convention or (stated if stated in CONVENTIONS else "") or _fitting(program, tensors, path)
    names = names_of(program, chosen)
    held = {**program.parameters, **program.state}
    faults = _faults(names, held, tensors)
    if faults:
        raise InputError(str(path), faults)
    taken = {name: names[name].here(_cast(tensors[names[name].name], value.dtype)) for name, value in held.items()}
    return replace(
        program,
        parameters={name: taken[name] for name in program.parameters},
        state={name: taken[name] for name in program.state},
    )


def _read(path: Path) -> tuple[dict[str, np.ndarray[Any, Any]], str]:
    try:
        with safe_open(path, framework="np") as file:
            stated = (file.metadata() or {}).get(KEY, "")
            names = file.keys()
            return {name: _wider(file.get_tensor(name)) for name in names}, stated
    except (OSError, SafetensorError, TypeError, AttributeError, KeyError) as error:
        what = f"cannot be read as safetensors ({error}): check the path, or write the file anew, in float32"
        raise InputError(str(path), [Fault("", what)]) from None


def _wider(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return bfloat16, which numpy itself lacks, as float32; it holds each of these numbers exactly."""
    return value.astype(np.float32) if value.dtype.name == "bfloat16" else value


def _fitting(program: Program, tensors: Mapping[str, np.ndarray[Any, Any]], path: Path) -> str:
    """Return the convention in which a file fits a program.

    Raises:
        InputError: Several do, and they differ in how tensors are laid out.
    """
    held = {**program.parameters, **program.state}
    named = {convention: names_of(program, convention) for convention in CONVENTIONS}
    fits = [convention for convention, names in named.items() if not _faults(names, held, tensors)]
    if len({tuple(sorted((key, value.name, value.axes) for key, value in named[c].items())) for c in fits}) > 1:
        what = f"fits under the names of {' and of '.join(fits)}, which lay tensors out in other ways: say which it is"
        raise InputError(str(path), [Fault("", f"{what} with --names")])
    return fits[0] if fits else min(CONVENTIONS, key=lambda c: len(_faults(named[c], held, tensors)))


def _faults(
    names: Mapping[str, Named],
    held: Mapping[str, np.ndarray[Any, Any]],
    tensors: Mapping[str, np.ndarray[Any, Any]],
) -> list[Fault]:
    faults = []
    for name, value in held.items():
        there = names[name].name
        wanted = tuple(value.shape[axis] for axis in names[name].axes)
        if there not in tensors:
            faults.append(Fault(there, f"is missing; {did_you_mean(there, tensors)}"))
        elif tensors[there].shape != wanted:
            faults.append(
                Fault(there, f"has the shape {list(tensors[there].shape)}, and the model's is {list(wanted)}")
            )
        elif tensors[there].dtype.kind != value.dtype.kind:
            faults.append(Fault(there, f"is of type {tensors[there].dtype}, and the model's is {value.dtype}"))
        elif not np.isfinite(tensors[there]).all():
            faults.append(Fault(there, "holds NaN or infinity: it would spoil every step"))
        elif not np.isfinite(_cast(tensors[there], value.dtype)).all():
            faults.append(
                Fault(there, f"holds numbers beyond the range of {value.dtype}: scale them, or check the file")
            )
    known = {names[name].name for name in held}
    extra = [name for name in tensors if name not in known and not name.endswith(_IGNORED)]
    if extra:
        shown = ", ".join(extra[:_MOST_NAMED]) + (", ..." if len(extra) > _MOST_NAMED else "")
        faults.append(Fault("", f"has {len(extra)} tensors that the model has not: {shown}"))
    return faults


def _cast(value: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore"):
        return value.astype(dtype, copy=False)
