"""What happens while a matrix is certified, told to whoever listens; the core itself never prints."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final, Self, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

# Stages at work that a bar names.
_SHOWN: Final = 2
_LONGEST: Final = 60


class Reporter:
    """Listens and says nothing; the base of those that do. Methods may be called from any thread."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def plan(self, stages: int) -> None:
        """Learn of stages that are to be done or found done; may be called again for more."""

    def skip(self, stages: int) -> None:
        """Learn that planned stages will not be needed."""

    def start(self, stage: str, subject: str) -> None:
        """Learn that a stage of a stack or cell begins."""

    def finish(self, stage: str, subject: str, seconds: float, *, reused: bool) -> None:
        """Learn that a stage is done, or was done before."""

    def fail(self, stage: str, subject: str, reason: str) -> None:
        """Learn that a stage failed, and why."""

    def tell(self, line: str) -> None:
        """Learn of a step within a stage, such as one of an image's build."""


class PlainReporter(Reporter):
    """One line per event, for logs.

    Args:
        stream: Where lines go.
        verbose: Whether beginnings and reused stages get a line as well.
    """

    def __init__(self, stream: TextIO, *, verbose: bool = False) -> None:
        self._stream, self._verbose, self._guard = stream, verbose, threading.Lock()
        self._total = self._done = 0

    def plan(self, stages: int) -> None:
        """See `Reporter`."""
        with self._guard:
            self._total += stages

    def skip(self, stages: int) -> None:
        """See `Reporter`."""
        self.plan(-stages)

    def start(self, stage: str, subject: str) -> None:
        """See `Reporter`."""
        if self._verbose:
            self._say(f"{stage:<10} {subject}: started")

    def finish(self, stage: str, subject: str, seconds: float, *, reused: bool) -> None:
        """See `Reporter`."""
        end = f"done in {seconds:.1f} s" if not reused else "nothing changed, reused" if self._verbose else ""
        self._say(f"{stage:<10} {subject}: {end}" if end else "", done=1)

    def fail(self, stage: str, subject: str, reason: str) -> None:
        """See `Reporter`."""
        self._say(f"{stage:<10} {subject}: failed: {reason}", done=1)

    def tell(self, line: str) -> None:
        """See `Reporter`."""
        if self._verbose:
            self._say(line)

    def _say(self, line: str, done: int = 0) -> None:
        with self._guard:
            self._done += done
            if line:
                # A log that can no longer be written must not end the work that it is about.
                with contextlib.suppress(OSError):
                    print(f"[{self._done}/{self._total}] {line}", file=self._stream, flush=True)


class BarReporter(Reporter):
    """A progress bar with the stages at work beneath it, for terminals.

    Args:
        stream: The terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._guard = stream, threading.Lock()
        self._at_work: dict[tuple[str, str], float] = {}
        self._total = 0
        self._told = ""

    def __enter__(self) -> Self:
        from rich import progress  # noqa: PLC0415 - as above
        from rich.console import Console  # noqa: PLC0415 - the command line must start without it

        columns: list[Any] = [progress.BarColumn(bar_width=30), progress.MofNCompleteColumn()]
        columns += [progress.TimeElapsedColumn(), progress.TextColumn("{task.description}")]
        self._progress: Progress = progress.Progress(*columns, console=Console(file=self._stream), transient=True)
        self._task: TaskID = self._progress.add_task("planning", total=None)
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def plan(self, stages: int) -> None:
        """See `Reporter`."""
        with self._guard:
            self._total += stages
            self._progress.update(self._task, total=self._total)

    def skip(self, stages: int) -> None:
        """See `Reporter`."""
        self.plan(-stages)

    def start(self, stage: str, subject: str) -> None:
        """See `Reporter`."""
        with self._guard:
            self._at_work[stage, subject] = time.monotonic()
        self._show()

    def finish(self, stage: str, subject: str, seconds: float, *, reused: bool) -> None:
        """See `Reporter`."""
        del seconds, reused
        self._end(stage, subject)

    def fail(self, stage: str, subject: str, reason: str) -> None:
        """See `Reporter`."""
        from rich.markup import escape  # noqa: PLC0415 - as in __enter__

        self._progress.console.print(f"[bold]{stage}[/] {escape(subject)}: {escape(reason)}", highlight=False)
        self._end(stage, subject)

    def tell(self, line: str) -> None:
        """See `Reporter`."""
        self._told = line
        self._show()

    def _end(self, stage: str, subject: str) -> None:
        with self._guard:
            self._at_work.pop((stage, subject), None)
            self._told = ""
        self._progress.advance(self._task)
        self._show()

    def _show(self) -> None:
        from rich.markup import escape  # noqa: PLC0415 - as in __enter__

        with self._guard:
            current = [f"{stage} {subject}" for stage, subject in self._at_work]
        shown, more = ", ".join(current[:_SHOWN]), len(current) - _SHOWN
        words = [f"{shown} and {more} more" if more > 0 else shown, self._told[:_LONGEST]]
        self._progress.update(self._task, description=escape(" · ".join(filter(None, words))))


def choose_reporter(*, quiet: bool, verbose: bool, stream: TextIO | None = None) -> Reporter:
    """Return the reporter that suits a stream: a bar on a terminal, plain lines elsewhere, nothing when quiet."""
    target = stream if stream is not None else sys.stderr
    if quiet:
        return Reporter()
    if target.isatty() and not verbose:
        return BarReporter(target)
    return PlainReporter(target, verbose=verbose)
