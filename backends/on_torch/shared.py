"""The rules that are the same on every target, entered for this one."""

from __future__ import annotations

from .. import shared_rules
from ..kit import register_shared
from . import arrays

__all__ = ["shared_rules"]

register_shared("torch", arrays)
