"""Read every description of an environment that people paste: what it says, where, and what was not understood."""

from __future__ import annotations

from .files import read_file, read_files
from .inputs import read_inputs

__all__ = ["read_file", "read_files", "read_inputs"]
