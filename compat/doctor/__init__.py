"""Read a live environment, GPU or none: what is installed, what the driver says, and what the loader would map."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from ..gather import Gathered

__all__ = ["examine"]


def examine(env: Path | None = None) -> Gathered:
    """Read a live environment. Nothing is written, and no framework is imported.

    Programs that are started: the environment's own Python (isolated, for its version), this Python (to ask the
    driver's libraries, and to load CUDA libraries and ask their versions), and `nvidia-smi`, `nvcc` and
    `nv-fabricmanager` where they are needed. Each has a limit of time; together they are waited for 15 seconds at most.

    Args:
        env: A venv's or conda environment's folder, or a Python; None for the environment that this process runs in.

    Returns:
        What was found. Where no driver was found, nothing is claimed of `driver`, `driver_cuda` and `gpu`.

    Raises:
        InputError: There is no such environment, it has no Python, or it is for another kind of machine.
    """
    from .examination import read_environment  # noqa: PLC0415 - rules use `doctor.loader` alone and must stay quick

    return read_environment(env)
