"""Every PyTorch version, build or platform branch, nowhere else."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path


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
