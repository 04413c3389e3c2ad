"""Where a worker's files lie in a container."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

FOLDER: Final = PurePosixPath("/job")
"""The run's own folder, on a volume that goes with the container."""

BUNDLE: Final = FOLDER / "worker.zip"
JOB: Final = FOLDER / "job.json"
PROGRAM: Final = FOLDER / "program.npz"
OUT: Final = FOLDER / "out"
EVIDENCE: Final = OUT / "evidence.json"
TENSORS: Final = OUT / "evidence"
