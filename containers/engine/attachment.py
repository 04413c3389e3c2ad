"""What goes in and out of a running container: its standard streams, over one connection to the engine.

The engine ends the container's standard input when this connection closes, also when this process is killed.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import struct
import threading
from typing import TYPE_CHECKING, Final

from .faults import telling
from .wire import call

if TYPE_CHECKING:
    from . import sdk
    from .connect import Engine

_KEPT_LOG: Final = 1024 * 1024
_MOST_UNREAD: Final = 8 * 1024 * 1024  # then the container waits in its write, as at a pipe
_PIECE: Final = 64 * 1024
# Each piece of output has a header: the stream, three zeros and the length, big-endian.
_HEADER: Final = struct.Struct(">BxxxL")
_STDOUT: Final = 1
_STDERR: Final = 2


class Attachment:
    """The standard streams of one container.

    Args:
        engine: Where the container is.
        container: Its id; it is not started yet.
        keep: Whether standard output is kept for `read`; it goes into the log otherwise.
    """

    def __init__(self, engine: Engine, container: str, *, keep: bool) -> None:
        wanted, path = dict.fromkeys(("stream", "stdin", "stdout", "stderr"), "1"), f"/containers/{container}/attach"
        upgrade = {"Connection": "Upgrade", "Upgrade": "tcp"}
        with telling(engine, "attaching to a container"):
            self._response = call(engine, "POST", path, params=wanted, headers=upgrade)
            self._socket = _socket_of(self._response)
        self._keep, self._unread, self._log = keep, bytearray(), bytearray()
        self._changed = threading.Condition()
        self._ended = self._closed = False
        threading.Thread(target=self._take_all, daemon=True, name="stackproof: container output").start()

    def write(self, data: bytes) -> None:
        """Write to standard input; into nothing where the container has ended."""
        with contextlib.suppress(OSError):
            self._socket.sendall(data)

    def close_stdin(self) -> None:
        """End standard input."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def read(self, timeout: float) -> bytes | None:
        """Return what came on standard output: None for nothing yet, empty for its end."""
        with self._changed:
            self._changed.wait_for(lambda: self._unread or self._ended, timeout)
            if not self._unread:
                return b"" if self._ended else None
            taken = bytes(self._unread)
            self._unread.clear()
            self._changed.notify_all()
            return taken

    def log(self) -> bytes:
        """Return the last MiB of standard error, and of standard output where it is not kept for `read`."""
        with self._changed:
            return bytes(self._log)

    def close(self) -> None:
        """Close the connection."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for close in (lambda: self._socket.shutdown(socket.SHUT_RDWR), self._socket.close, self._response.close):
            with contextlib.suppress(OSError, ValueError):
                close()

    def _take_all(self) -> None:
        with contextlib.suppress(OSError, EOFError, ValueError):
            while True:
                stream, left = _HEADER.unpack(self._receive(_HEADER.size))
                if stream not in {_STDOUT, _STDERR}:
                    break
                while left:
                    piece = self._receive(min(left, _PIECE))
                    left -= len(piece)
                    self._take(stream, piece)
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _take(self, stream: int, piece: bytes) -> None:
        with self._changed:
            if stream == _STDOUT and self._keep:
                self._changed.wait_for(lambda: len(self._unread) < _MOST_UNREAD or self._closed)
                self._unread += piece
            else:
                self._log += piece
                del self._log[:-_KEPT_LOG]
            self._changed.notify_all()

    def _receive(self, size: int) -> bytes:
        """Return exactly so many bytes.

        Raises:
            EOFError: The connection ended before.
        """
        held = bytearray()
        while len(held) < size:
            piece = self._socket.recv(size - len(held))
            if not piece:
                raise EOFError
            held += piece
        return bytes(held)


def _socket_of(response: sdk.Response) -> socket.socket:
    """Return a socket on the connection of a response; the one with its keys, where it is encrypted."""
    own = getattr(response.raw.connection, "sock", None)
    made = own if isinstance(own, ssl.SSLSocket) else socket.socket(fileno=os.dup(response.raw.fileno()))
    made.settimeout(None)
    return made
