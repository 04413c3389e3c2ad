"""The name of this machine's processor."""

from __future__ import annotations

import platform
from pathlib import Path


def processor_name() -> str:
    """Return the processor's name as the kernel states it, or what Python's platform module knows."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
