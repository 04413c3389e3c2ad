"""Engines and a registry for tests: the machine's Docker, and private ones that a test may break."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from stackproof.compat.errors import OutsideError
from stackproof.containers.engine.connect import connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

_PATIENCE = 30.0


def missing_docker() -> str:
    """Say what is missing for tests with the machine's Docker engine; empty for nothing."""
    try:
        connect("docker").client.close()
    except OutsideError as error:
        return str(error).splitlines()[0]
    return ""


def missing_program(name: str, package: str) -> str:
    """Say what is missing for tests that run a program as root; empty for nothing."""
    if os.geteuid() != 0:
        return f"{name} is run as root here"
    return "" if shutil.which(name) else f"{name} is not installed: install the package ({package})"


class PrivateDocker:
    """A Docker engine of a test's own, with its images in a folder of its own."""

    def __init__(self, images: Path) -> None:
        # Paths of sockets are short: a test's own folder may be too deep.
        folder = Path(tempfile.mkdtemp(prefix="engine-"))
        self.folder, self.images = folder, images
        self.address = f"unix://{folder}/s"
        # With a network of its own: on the machine's, `--bridge none` takes the bridge of the machine's engine away.
        command = [
            "unshare",
            "--net",
            "dockerd",
            "--data-root",
            images,
            "--exec-root",
            folder / "run",
            "--pidfile",
            folder / "pid",
        ]
        command += ["--bridge", "none", "--iptables=false", "--ip-masq=false", "--ip-forward=false"]
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen([*command, "-H", self.address], stdout=log, stderr=log)
        try:
            wait_for(folder / "s", folder / "log")
        except BaseException:
            self.stop()
            raise

    def kill(self) -> None:
        """End it as `kill -9` does, and the containerd that it started."""
        children = [int(pid.read_text()) for pid in self.folder.glob("run/containerd/containerd.pid")]
        for number in (self._process.pid, *children):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self._process.wait(_PATIENCE)

    def stop(self) -> None:
        """End it, and take away what it mounted."""
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
        unmount_below(self.folder)
        unmount_below(self.images)  # the folder itself, too: the engine binds it to itself
        shutil.rmtree(self.folder, ignore_errors=True)


def wait_for(path: Path, log: Path) -> None:
    """Wait until a unix socket is served."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as tried:
            tried.connect(str(path))
            tried.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            if b" 200 " in tried.recv(100):
                return
        time.sleep(0.1)
    raise AssertionError(f"{path} is not served: {log.read_text(errors='replace')[-2000:]}")


def unmount_below(folder: Path) -> None:
    """Unmount what a killed engine left mounted."""
    lines = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    below = [line.split()[1] for line in lines if f"{line.split()[1]}/".startswith(f"{folder}/")]
    for place in reversed(below):
        subprocess.run(["umount", "-l", place], check=False, capture_output=True)


@contextlib.contextmanager
def private_podman(folder: Path) -> Iterator[str]:
    """Serve Podman with images of its own, and yield its address."""
    folder.mkdir(exist_ok=True)
    settings = folder / "storage.conf"
    settings.write_text(f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/root"\nrunroot = "{folder}/run"\n')
    # With an address in its environment Podman is a client only.
    given = {name: value for name, value in os.environ.items() if name != "CONTAINER_HOST"}
    variables = {**given, "CONTAINERS_STORAGE_CONF": str(settings)}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["podman", "system", "service", "--time=0", f"unix://{folder}/s"], stdout=log, stderr=log, env=variables
        )
    try:
        wait_for(folder / "s", folder / "log")
        yield f"unix://{folder}/s"
    finally:
        process.terminate()
        process.wait(_PATIENCE)
        subprocess.run(["podman", "rm", "--all", "--force"], check=False, capture_output=True, env=variables)
        unmount_below(folder)


@contextlib.contextmanager
def private_registry(folder: Path) -> Iterator[str]:
    """Serve a registry on loopback, and yield its host and port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
    settings = folder / "registry.yml"
    storage = f"storage:\n  filesystem:\n    rootdirectory: {folder}/storage\n"
    settings.write_text(f"version: 0.1\nlog:\n  level: error\n{storage}http:\n  addr: {host}\n")
    with (folder / "registry.log").open("wb") as log:
        process = subprocess.Popen(["docker-registry", "serve", settings], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", int(host.rpartition(":")[2])), 1).close()
                break
            time.sleep(0.1)
        yield host
    finally:
        process.terminate()
        process.wait(_PATIENCE)


@contextlib.contextmanager
def connected_to(kind: str, address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Connect to an engine at an address."""
    monkeypatch.setenv({"docker": "DOCKER_HOST", "podman": "CONTAINER_HOST"}[kind], address)
    engine = connect(kind)
    try:
        yield engine
    finally:
        engine.client.close()
