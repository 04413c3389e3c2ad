"""An engine's API that misbehaves as a test says, on a real unix socket."""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingUnixStreamServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from stackproof.containers.engine.connect import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pytest

    from stackproof.containers.engine.connect import Engine

Answer = "Callable[[Asked], None]"

VERSION = {"ApiVersion": "1.41", "Version": "20.10.24", "Components": [{"Name": "Engine", "Version": "20.10.24"}]}


class Asked(BaseHTTPRequestHandler):
    """One request, and the ways in which a test may answer it."""

    protocol_version = "HTTP/1.1"
    server: FakeServer

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def answer(self) -> None:
        path = urlsplit(self.path)
        self.query = {name: values[0] for name, values in parse_qs(path.query).items()}
        short = path.path.removeprefix("/v1.41") or path.path
        self.server.asked.append((self.command, short, self.query))
        for (method, end), answer in self.server.answers.items():
            if method == self.command and short == end:
                return answer(self)
        return self.say({"message": f"no such thing: {self.command} {short}"}, 404)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer  # noqa: N815 - names that http.server asks for

    def body(self) -> bytes:
        """Take the body, whole."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        taken = b""
        while size := int(self.rfile.readline(), 16):
            taken += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return taken

    def say(self, document: object, status: int = 200) -> None:
        """Answer with one document."""
        self.body()
        self.say_bytes(json.dumps(document).encode(), status)

    def say_bytes(self, content: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def stream(self, *lines: object, cut: bool = False) -> None:
        """Answer with JSON lines; cut off in the middle if asked."""
        self.body()
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in lines:
            content = line if isinstance(line, bytes) else json.dumps(line).encode() + b"\r\n"
            self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
            self.wfile.flush()
        if cut:
            self.close_connection = True
            return
        self.wfile.write(b"0\r\n\r\n")

    def hang_up(self) -> None:
        """Close the connection without a word."""
        self.close_connection = True


class FakeServer(ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, path: Path, answers: dict[tuple[str, str], Callable[[Asked], None]]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        super().__init__(str(path), Asked)

    def handle_error(self, *_: object) -> None:
        """A client that goes away is no failure of a test."""


def answers(**more: Any) -> dict[tuple[str, str], Callable[[Asked], None]]:
    """Return the answers of an engine that has nothing; further ones as `POST_build=…`."""
    usual: dict[tuple[str, str], Callable[[Asked], None]] = {
        ("GET", "/version"): lambda asked: asked.say(VERSION),
        ("GET", "/info"): lambda asked: asked.say({"DockerRootDir": "/var/lib/engine"}),
        ("GET", "/system/df"): lambda asked: asked.say({"BuildCache": []}),
        ("POST", "/build/cancel"): lambda asked: asked.say_bytes(b""),
    }
    given = {
        (name.split("_", 1)[0], "/" + name.split("_", 1)[1].replace("_", "/")): what for name, what in more.items()
    }
    return {**usual, **given}


@contextlib.contextmanager
def serving(path: Path, answers: dict[tuple[str, str], Callable[[Asked], None]]) -> Iterator[FakeServer]:
    """Serve an API on a unix socket."""
    with FakeServer(path, answers) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def connected(monkeypatch: pytest.MonkeyPatch, path: Path) -> Iterator[Engine]:
    """Connect to an engine of Docker's kind at a unix socket."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    engine = connect("docker")
    try:
        yield engine
    finally:
        engine.client.close()
