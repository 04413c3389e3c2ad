"""What a training run is asked to keep on its way, so that it can go on after it was ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..compat.errors import Fault, InputError
from .store import canonical, outside, replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from .launch import Request

USUAL_STEPS: Final = 100


@dataclass(frozen=True)
class Checkpoints:
    """Where checkpoints go, and whether a run goes on from them.

    Attributes:
        folder: The folder; None to keep none.
        every: Steps from one to the next; None for the usual.
        resume: Whether to go on from the newest.
    """

    folder: Path | None = None
    every: int | None = None
    resume: bool = False

    def check(self, *, engine: str, has_command: bool) -> None:
        """Check that they go together with the rest of what is asked.

        Args:
            engine: Where the run is made, `venv` or an engine of images.
            has_command: Whether the spec trains with a command of its own.

        Raises:
            InputError: They do not.
        """
        if self.folder is None:
            given = {"--every": self.every is not None, "--resume": self.resume}
            faults = [Fault(name, "needs --checkpoint DIR") for name, is_given in given.items() if is_given]
        else:
            why = {
                "a spec with [workload] keeps its own: leave it out": has_command,
                f"runs in a venv keep them, those in an image of {engine} do not: leave it out": engine != "venv",
            }
            faults = [Fault("--checkpoint", what) for what, wrong in why.items() if wrong]
        if faults:
            raise InputError("train", faults)

    def ask(self, request: Request) -> None:
        """Write them into a worker's job.

        Raises:
            OutsideError: The job cannot be written.
        """
        if self.folder is None:
            return
        with outside(request.folder):
            job: dict[str, Any] = json.loads(request.job.read_bytes())
            kept = {"folder": str(self.folder.absolute()), "every": self.every or USUAL_STEPS}
            replace_file(request.job, canonical({**job, "checkpoint": kept, "resume": self.resume}))
