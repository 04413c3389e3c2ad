"""How this process's C library keeps memory between steps."""

from __future__ import annotations

import ctypes

# From glibc's malloc.h, and bytes up to which memory is kept.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST_BLOCK = 2**30


def keep_freed_memory() -> None:
    """Let the C library keep freed memory for the next step, where it is glibc.

    On the CPU frameworks free each step's tensors to it; by default it hands large ones back to the system, and the
    next step waits for the system to clear the same pages again.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _LARGEST_BLOCK)
        mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK)
