"""The command line as its users run it: processes of their own, with everything that they start found again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MARK = "COMMAND_UNDER_TEST"
PATIENCE = 180.0
_CLOSED = "http://127.0.0.1:9"  # the discard port: nothing listens


@dataclass(frozen=True)
class Ended:
    """A command that has ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Running:
    """A command at work, the leader of a process group as at a terminal; `family` marks all that it starts."""

    process: subprocess.Popen[bytes]
    family: str
    out: Path
    err: Path

    def said(self) -> str:
        return self.err.read_text(errors="replace")

    def wait_until(self, happened: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not happened():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{what} did not happen; the command said: {self.said()}")
            time.sleep(0.01)

    def wait_for(self, text: str) -> None:
        self.wait_until(lambda: text in self.said(), repr(text))

    def end(self) -> Ended:
        self.process.wait(PATIENCE)
        return Ended(self.process.returncode, self.out.read_text(errors="replace"), self.said())

    def interrupt(self) -> None:
        """Press Ctrl-C: the terminal tells the whole foreground group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def left(self, patience: float) -> list[str]:
        """Return the command lines of what still lives of the family once it had some seconds to go."""
        deadline = time.monotonic() + patience
        while (found := living(self.family)) and time.monotonic() < deadline:
            time.sleep(0.05)
        return list(found.values())


@dataclass
class CommandLine:
    """Starts `stackproof` as a user does, in a folder and with environment variables of the test's own."""

    folder: Path
    variables: Mapping[str, str]
    started: list[Running] = field(default_factory=list)

    def start(self, *words: str | Path, **variables: str) -> Running:
        family, place = uuid4().hex, self.folder / f"command-{len(self.started)}"
        place.mkdir(parents=True)
        out, err = place / "out", place / "err"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                [sys.executable, "-m", "stackproof", *map(str, words)],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                cwd=self.folder,
                env={**self.variables, **variables, MARK: family},
                start_new_session=True,
            )
        self.started.append(Running(process, family, out, err))
        return self.started[-1]

    def run(self, *words: str | Path, **variables: str) -> Ended:
        return self.start(*words, **variables).end()

    def stop(self) -> None:
        """End whatever a failed test left running."""
        for running in self.started:
            for pid in living(running.family):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            running.process.wait(10)


def living(family: str) -> dict[int, str]:
    """Return the command line of every living process that carries a family's mark, by its number."""
    wanted, found = f"{MARK}={family}".encode(), {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and wanted in (entry / "environ").read_bytes().split(b"\0"):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return found


def usual_variables(cache: Path) -> dict[str, str]:
    """Return this process' environment, with a cache folder of the test's own and nothing else of stackproof's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("STACKPROOF_", "COLUMNS"))}
    return {**kept, "STACKPROOF_CACHE": str(cache)}


def no_network(folder: Path) -> dict[str, str]:
    """Return variables under which nothing can be fetched, and nothing was fetched before; the index stays named."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), _CLOSED)
    folders = {"UV_CACHE_DIR": str(folder / "empty-uv"), "STACKPROOF_CACHE": str(folder / "empty-cache")}
    return {**proxies, **folders, "NO_PROXY": "", "UV_HTTP_RETRIES": "0"}


def dead_index(folder: Path) -> dict[str, str]:
    """Return variables that name an index where nothing listens, and no local wheels; nothing was fetched before."""
    emptied = dict.fromkeys(("UV_INDEX", "UV_FIND_LINKS", "PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"), "")
    return {**no_network(folder), **emptied, "UV_DEFAULT_INDEX": f"{_CLOSED}/simple"}
