from __future__ import annotations

from pathlib import Path

from stackproof.backends.processor import processor_name


def test_name_is_the_kernels() -> None:
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    assert processor_name()
    assert "model name" not in text or processor_name() in text
