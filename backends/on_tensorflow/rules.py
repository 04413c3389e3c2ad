"""Every TensorFlow rule: importing this module fills the table."""

from __future__ import annotations

from . import arithmetic, attention, layers, shapes, windows

__all__ = ["arithmetic", "attention", "layers", "shapes", "windows"]
