"""The supervisor of a training command: starts it, reads its steps, holds it to its limits, and ends all of it.

It needs the standard library only. What a command must do is said in `docs/workload.md`.
"""

from __future__ import annotations

import os
import selectors
import signal
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .workload_lines import CommandError, Lines
from .workload_process import end, has_exited, start

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from .workload_lines import Step
    from .workload_process import Family

CHANNEL = "STACKPROOF_STEPS_FD"
_PYTHONS = ("python", "python3")
_TICK = 0.05
_CHUNK = 64 * 1024
_KEPT = 16 * 1024  # bytes kept of the end of each stream
_MOST_DRAINED = 64  # chunks read after the end, at most
_SHOWN_LINES, _SHOWN_WIDTH = 10, 300


@dataclass(frozen=True)
class Order:
    """A command to run.

    Attributes:
        command: The program and its arguments; `python` as the first stands for this very interpreter.
        folder: Its working directory.
        steps: Steps that it is to report.
        seconds: Seconds after which it is ended.
        silence: Seconds without a new line after which it is ended.
        variables: Its environment.
    """

    command: Sequence[str]
    folder: Path
    steps: int
    seconds: float
    silence: float
    variables: Mapping[str, str]


@dataclass(frozen=True)
class Ran:
    """What a command did.

    Attributes:
        steps: Each step that it reported.
        digest: Digest of its final parameters, as it states it; empty where it does not.
        optional: The optional keys that its lines had.
        started: When it was started, on the clock of `Step.at`.
    """

    steps: tuple[Step, ...]
    digest: str
    optional: tuple[str, ...]
    started: float

    @property
    def first(self) -> float:
        """Return the seconds from the start to the end of the first step, imports included."""
        return self.steps[0].at - self.started

    @property
    def rest(self) -> float:
        """Return the seconds of all further steps: as the command states them, else by when its lines came."""
        stated = [step.seconds for step in self.steps[1:] if step.seconds is not None]
        return sum(stated) if "seconds" in self.optional else self.steps[-1].at - self.steps[0].at

    @property
    def samples(self) -> int | None:
        """Return the samples of all steps but the first; None where they are not reported."""
        counted = [step.samples for step in self.steps[1:] if step.samples is not None]
        return sum(counted) if "samples" in self.optional else None


def run_command(order: Order) -> Ran:
    """Run a command to its end; nothing that it started is left behind.

    Raises:
        CommandError: It cannot be started, reports what is no step, is silent or runs for too long, fails, or ends
            without having reported every step.
    """
    with selectors.DefaultSelector() as selector:
        return _Run(order, selector).carry_out()


class _Run:
    def __init__(self, order: Order, selector: selectors.BaseSelector) -> None:
        self._order, self._selector = order, selector
        self._lines = Lines(order.steps)
        self._tails = {"stdout": b"", "stderr": b""}
        self._started = self._heard = time.monotonic()

    def carry_out(self) -> Ran:
        channel, theirs = os.pipe()
        try:
            family = self._start(theirs)
        except BaseException:
            os.close(channel)
            raise
        finally:
            os.close(theirs)
        try:
            return self._supervise(family, channel)
        finally:
            os.close(channel)
            for stream in (family.child.stdout, family.child.stderr):
                if stream is not None:
                    stream.close()

    def _start(self, channel: int) -> Family:
        command, variables = _resolved(self._order), {**self._order.variables, CHANNEL: str(channel)}
        try:
            return start(command, self._order.folder, variables, channel)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", "") or error
            what = f"the command {self._order.command[0]!r:.200} cannot be started: {why}"
            mend = "its first word is a program of the environment, or a file of the spec such as ./run.sh"
            raise CommandError(f"{what}; {mend}") from error

    def _supervise(self, family: Family, channel: int) -> Ran:
        self._watch(channel, self._hear)
        for name, stream in (("stdout", family.child.stdout), ("stderr", family.child.stderr)):
            if stream is not None:
                self._watch(stream.fileno(), self._keeper(name))
        try:
            self._follow(family)
        finally:
            status = end(family)
        self._drain()
        self._lines_or(status)
        return Ran(tuple(self._lines.steps), self._lines.digest, self._lines.optional, self._started)

    def _watch(self, descriptor: int, take: Callable[[bytes], None]) -> None:
        os.set_blocking(descriptor, False)
        self._selector.register(descriptor, selectors.EVENT_READ, take)

    def _keeper(self, name: str) -> Callable[[bytes], None]:
        def keep(chunk: bytes) -> None:
            self._tails[name] = (self._tails[name] + chunk)[-_KEPT:]

        return keep

    def _hear(self, chunk: bytes) -> None:
        now, before = time.monotonic(), len(self._lines.steps)
        try:
            self._lines.take(chunk, now)
        except CommandError as error:
            raise self._with_tail(str(error)) from None
        if len(self._lines.steps) > before or self._lines.ended:
            self._heard = now

    def _follow(self, family: Family) -> None:
        """Read until the command itself has ended; children of it that hold the pipes open do not count."""
        while not has_exited(family):
            self._read(_TICK)
            now = time.monotonic()
            if now - self._started > self._order.seconds:
                limit = f"{self._order.seconds:g} s (workload.seconds)"
                raise self._with_tail(f"the command did not end within {limit} and was ended {self._place()}")
            if now - self._heard > self._order.silence:
                limit = f"{self._order.silence:g} s (workload.silence)"
                raise self._with_tail(f"the command reported nothing for {limit} and was ended {self._place()}")

    def _read(self, seconds: float) -> bool:
        """Read what has come, waiting so long at most; False where nothing has."""
        ready = self._selector.select(seconds)
        for key, _ in ready:
            try:
                chunk = os.read(key.fd, _CHUNK)
            except BlockingIOError:
                continue
            if chunk:
                key.data(chunk)
            else:
                self._selector.unregister(key.fd)
        return bool(ready)

    def _drain(self) -> None:
        """Read what the pipes still hold; a bounded amount, for an escaped child may go on writing."""
        for _ in range(_MOST_DRAINED):
            if not self._selector.get_map() or not self._read(0):
                return

    def _lines_or(self, status: int | None) -> None:
        """Check that the command ended well and reported every step."""
        if status != 0:
            raise self._with_tail(f"the command {_ending(status)} {self._place()}")
        try:
            self._lines.finish(time.monotonic())
        except CommandError as error:
            raise self._with_tail(str(error)) from None
        if len(self._lines.steps) < self._order.steps:
            mend = f"write one line for each of the STACKPROOF_STEPS steps to the file descriptor {CHANNEL}"
            raise self._with_tail(f"the command ended as if all were well {self._place()}: {mend}")

    def _place(self) -> str:
        made = len(self._lines.steps)
        return f"after step {made} of {self._order.steps}" if made else "before it reported a step"

    def _with_tail(self, what: str) -> CommandError:
        """Return an error with the last lines of the command's stderr, the very last one beside what happened."""
        text = self._tails["stderr"].decode("utf-8", "replace")
        lines = [_plain(line) for line in text.splitlines() if line.strip()][-_SHOWN_LINES:]
        if not lines:
            return CommandError(f"{what}; it wrote nothing to stderr")
        return CommandError("\n".join([f"{what}; its stderr ends with: {lines[-1]}", *lines[:-1]]), text)


def _resolved(order: Order) -> list[str]:
    program, *arguments = order.command
    return [sys.executable if program in _PYTHONS else program, *arguments]


def _ending(status: int | None) -> str:
    if status is None:
        return "could not be ended, not even by signal 9,"
    if status > 0:
        return f"ended with status {status}"
    try:
        return f"was ended by signal {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def _plain(line: str) -> str:
    shown = "".join(character if character.isprintable() else " " for character in line).rstrip()
    return shown if len(shown) <= _SHOWN_WIDTH else f"{shown[: _SHOWN_WIDTH - 3]}..."
