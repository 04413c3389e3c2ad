"""Images without an engine: containers are processes of this machine, and images are this very environment.

What a container is asked for is carried out in a folder that takes the place of /job.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from inspected import inspection
from numpy_fleet import PYTHON, lock_of

from stackproof.compat.cell import Stack
from stackproof.compat.errors import OutsideError, UnsolvableError
from stackproof.containers.bases.base import Base
from stackproof.containers.bases.pins import Pin, Pins
from stackproof.containers.engine.connect import Engine
from stackproof.containers.engine.container import ContainerRequest, Exit
from stackproof.containers.image import Image
from stackproof.containers.interpreter import interpreter_of
from stackproof.containers.rendering.settings import ImageSettings
from stackproof.matrix import contained, imaging
from stackproof.matrix import inspection as stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

    from stackproof.compat.lock import Lock
    from stackproof.containers.interpreter import Interpreter

ENGINE = Engine("docker", "20.10.24", "unix:///none", None)
BASE = Base(
    name="team:base",
    reference="stackproof/base:0",
    digest=f"sha256:{'b' * 64}",
    python=f"{PYTHON}.2",
    glibc="2.36",
    interpreter="/usr/bin/python3",
    machine="x86_64",
    source="",
    date="",
)
PINS = Pins({"team:base": Pin("team:base", "debian", suite="bookworm", python=PYTHON, glibc="2.36")})
AWAY = OutsideError("the engine ended meanwhile.\nStart it again.")
GONE = UnsolvableError("fetching wheels: the indexes do not have what was locked.\nResolve again.")
_TIMEOUT = 60.0


class LocalContainer:
    """A container as `matrix.contained` uses one: what it is asked for runs as a process of this machine.

    Attributes:
        asked: Every request, in order.
        left: Containers that were started and not removed.
    """

    asked: ClassVar[list[ContainerRequest]] = []
    left: ClassVar[list[LocalContainer]] = []

    def __init__(self, engine: Engine, request: ContainerRequest, *, keep_output: bool) -> None:
        del engine
        self._request, self._keep = request, keep_output
        self.asked.append(request)

    def start(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="work-"))
        self._log = self._folder / ".log"
        for path, content in self._request.files.items():
            place = self._here(path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content if isinstance(content, bytes) else content.read_bytes())
        # A job names files of its container.
        job = self._folder / "job.json"
        job.write_text(job.read_text().replace('"/job/', f'"{self._folder}/'))
        command = [sys.executable, *(str(self._here(part)) for part in self._request.command[1:])]
        log = self._log.open("wb")
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if self._keep else log,
            stderr=log,
            env={name: str(self._here(value)) for name, value in self._request.variables.items()},
            cwd=self._folder,
        )
        log.close()
        self.left.append(self)

    def write(self, data: bytes) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(data)
        self._child.stdin.flush()

    def read(self, timeout: float) -> bytes | None:
        if self._child.stdout is None:
            return b"" if self._child.poll() is not None else None
        os.set_blocking(self._child.stdout.fileno(), False)
        threading.Event().wait(timeout)
        try:
            return os.read(self._child.stdout.fileno(), 65536)
        except BlockingIOError:
            return None

    def log(self) -> bytes:
        return self._log.read_bytes()

    def ended(self) -> Exit | None:
        code = self._child.poll()
        return None if code is None else Exit(128 - code if code < 0 else code, out_of_memory=False, error="")

    def kill(self, signal: str = "KILL") -> None:
        if self._child.poll() is None:
            self._child.send_signal({"KILL": 9, "ABRT": 6}[signal])
        if signal == "KILL":
            self._child.wait(_TIMEOUT)

    def fetch(self, path: str, target: Path) -> None:
        shutil.copytree(self._here(path), target)

    def remove(self) -> None:
        self.kill()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                pipe.close()
        shutil.rmtree(self._folder)
        self.left.remove(self)

    def _here(self, path: str) -> Path | str:
        return self._folder / path.removeprefix("/job").lstrip("/") if path.startswith("/job") else path


@dataclass(frozen=True)
class LocalImages:
    """Images of an engine that is not there, as a site makes them.

    Attributes:
        engine: Which kind they say they are of.
        settings: What the matrix chose.
        pins: Bases.
        cache: Folder for wheels and bases.
        key_of: What is added to every image's key.
        built: Stacks whose image was built, in order.
        looked: Images that were looked into, with the drivers that they were asked about.
        found: What an inspection finds that a sound image has not.
        fails: What fails when it is next asked for: `build`, `files`, `inspect` or `drivers`.
    """

    settings: ImageSettings = field(default_factory=ImageSettings)
    engine: Engine = ENGINE
    pins: Pins = PINS
    cache: Path = Path("/nonexistent")
    key_of: list[str] = field(default_factory=list)
    built: list[str] = field(default_factory=list)
    looked: list[tuple[str, list[str]]] = field(default_factory=list)
    found: dict[str, Any] = field(default_factory=dict)
    fails: dict[str, Exception] = field(default_factory=dict)

    def base(self, stack: Stack) -> Base:
        del stack
        return BASE

    def interpreter(self, stack: Stack) -> Interpreter:
        del stack
        return interpreter_of(BASE.python, BASE.glibc, BASE.machine)

    def key(self, stack: Stack, lock: Lock) -> str:
        return "-".join([stack.id, lock.digest, *self.key_of])

    def build(self, stack: Stack, lock: Lock) -> Image:
        self._fail("build")
        reused = stack.id in self.built
        self.built.append(stack.id)
        layers = (("base", 2048), ("framework", 1024))
        name, own_id = f"stackproof/{stack.id}:0", f"sha256:{'1' * 64}"
        return Image(name, own_id, "2" * 64, lock.digest, 3072, layers, self.engine, reused)

    def files(self, stack: Stack, lock: Lock) -> Mapping[str, Path | bytes]:
        self._fail("files")
        lines = f"FROM {BASE.reference}\n# {lock.digest}\n"
        return {"Dockerfile": lines.encode(), f"in/wheels/{stack.id}.whl": Path(__file__)}

    def look(self, engine: Engine, image: str, **_: Any) -> dict[str, Any]:
        del engine
        self._fail("inspect")
        self.looked.append((image, []))
        return inspection(lock_of(Stack("torch", "1.0", PYTHON)), **self.found)

    def ask(self, engine: Engine, image: str, python: str, document: Any, levels: Any, cache: Path, **_: Any) -> Any:
        del engine, image, python, document, cache
        self._fail("drivers")
        self.looked[-1][1].extend(name for name, _ in levels)
        return {"schema_version": 1, "answers": []}

    def _fail(self, what: str) -> None:
        if what in self.fails:
            raise self.fails[what]


def put_in_place(monkeypatch: pytest.MonkeyPatch, images: LocalImages) -> None:
    """Let a site with an engine make these images, look into them, and run in local containers."""
    monkeypatch.setattr(imaging, "open_images", lambda *_: images)
    monkeypatch.setattr(stage, "inspect_image", images.look)
    monkeypatch.setattr(stage, "ask_drivers", images.ask)
    monkeypatch.setattr(contained, "Container", LocalContainer)
    monkeypatch.setattr(LocalContainer, "asked", [])
    monkeypatch.setattr(LocalContainer, "left", [])
