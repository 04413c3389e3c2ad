"""A stand-in driver: what real CUDA programs answer on a machine whose driver is of a chosen level, GPU or none.

`build_twin` compiles it, `ask_runtime` puts the question to a CUDA runtime, `environment` shows it to others.
"""

from .ask import RuntimeAnswer, ask_runtime
from .build import build_twin
from .variables import environment

__all__ = ["RuntimeAnswer", "ask_runtime", "build_twin", "environment"]
