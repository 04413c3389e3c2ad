"""Every PyTorch version, build or platform branch, nowhere else."""

from __future__ import annotations

import functools
import os
import shutil
import sysconfig
from pathlib import Path
from typing import Any, Callable, TypeVar

import torch

Function = TypeVar("Function", bound=Callable[..., Any])


def missing_compiler(device: str) -> str:
    """Say why `torch.compile` cannot work on this machine, or return an empty string.

    On the CPU inductor compiles C++ against Python's headers; on a GPU it compiles a small C launcher.
    """
    if not any(shutil.which(name) for name in _compilers(device)):
        return f"torch.compile needs a C++ compiler on the {device}: install g++"
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    if not header.exists():
        return "torch.compile needs Python's headers: install the python3-dev package of this Python"
    return ""


def _compilers(device: str) -> list[str]:
    named = os.environ.get("CXX" if device == "cpu" else "CC", "")
    return [named] if named else ["g++", "clang++"] if device == "cpu" else ["gcc", "cc", "clang"]


@functools.cache
def has_fused_updates(device: str) -> bool:
    """Say whether this build has the fused update kernels for a device; CPUs have them since 2.4."""
    one = [torch.zeros(1, device=device)]
    settings = {"weight_decay": 0.0, "maximize": False}
    try:
        torch._fused_sgd_(
            one, one, one, momentum=0.5, lr=0.0, dampening=0.0, nesterov=False, is_first_step=False, **settings
        )
        torch._fused_adamw_(
            one, one, one, one, [], one, lr=0.0, beta1=0.5, beta2=0.5, eps=1.0, amsgrad=False, **settings
        )
    except (AttributeError, NotImplementedError, RuntimeError, TypeError):
        return False
    return True


def leave_new_memory_as_it_is() -> None:
    """Let deterministic mode not fill each new tensor, which only serves to find reads of unset memory (since 2.2)."""
    if hasattr(torch.utils, "deterministic"):
        torch.utils.deterministic.fill_uninitialized_memory = False


def constant_while_compiled(function: Function) -> Function:
    """Mark a function so that a compiler calls it once and keeps what it returns.

    `torch.compiler.assume_constant_result` does no more, but imports the compiler, which every run would wait for.
    """
    function.__dict__["_dynamo_marked_constant"] = True
    return function
