"""Every JAX version branch, nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


def wide_numbers(*, enabled: bool) -> AbstractContextManager[Any]:
    """Return a context in which JAX has 64-bit numbers, or has not; it replaces the experimental one since 0.8."""
    if hasattr(jax, "enable_x64"):
        context: AbstractContextManager[Any] = jax.enable_x64(enabled)
        return context
    from jax.experimental import enable_x64  # noqa: PLC0415 - absent where the branch above is taken

    older: AbstractContextManager[Any] = enable_x64(enabled)
    return older
