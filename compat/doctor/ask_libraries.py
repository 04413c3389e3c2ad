"""Run by itself in a process of its own: load libraries one by one and ask each which version it is.

Paths come as a JSON list on standard input; for each, a JSON line `[path, version, error]` goes out as soon as it is
known. Every library is loaded in a fork of its own: one that crashes, hangs or drags others along leaves the rest
alone. Nothing of CUDA is initialised, and only the runtime of CUDA 11 says nothing where there is no driver.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import select
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_PATIENCE: Final = 4.0
_ANSWER: Final = 65536
# A version as one number: its major times this; NCCL changed at 2.9, cuDNN at 9.
_NEW, _OLD, _FIRST_NEW_CUDNN = 10000, 1000, 90000
_CUDNN_MAJORS: Final = range(7, 100)
_PROPERTY: Final = ("cublasLt", "cublas", "cufft", "cusolver", "cusparse")
# cuDNN's parts that say or hold a version; the others are not loaded for it (some want a driver).
_SPEAKING: Final = re.compile(r"cudnn(?:_graph|_ops|_adv|_(?:ops|cnn|adv)_(?:infer|train))?")


class _Place(ctypes.Structure):
    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


class _Loaded:
    """A loaded library, asked only for symbols of its own: not for those of what it brought along."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.library = ctypes.CDLL(path)
        self.find_place = ctypes.CDLL(None).dladdr

    def has(self, symbol: str) -> bool:
        with contextlib.suppress(AttributeError):
            place = _Place()
            address = ctypes.cast(self.library[symbol], ctypes.c_void_p)
            found = self.find_place(address, ctypes.byref(place))
            return bool(found and place.file) and Path(os.fsdecode(place.file)).samefile(self.path)
        return False

    def fill(self, symbol: str, count: int = 1, *before: int) -> list[int] | None:
        """Call a function that fills in numbers; None where it is not there or fails."""
        if not self.has(symbol):
            return None
        numbers = [ctypes.c_int(-1) for _ in range(count)]
        status = self.library[symbol](*before, *map(ctypes.byref, numbers))
        return [number.value for number in numbers] if status == 0 else None


def _ask_cudart(loaded: _Loaded, _: str) -> str | None:
    answer = loaded.fill("cudaRuntimeGetVersion")
    return f"{answer[0] // 1000}.{answer[0] % 1000 // 10}" if answer else None


def _ask_nccl(loaded: _Loaded, _: str) -> str | None:
    answer = loaded.fill("ncclGetVersion")
    return None if not answer else _split(answer[0], _NEW if answer[0] >= _NEW else _OLD)


def _ask_cudnn(loaded: _Loaded, stem: str) -> str | None:
    """Ask a part of cuDNN: by its function, or by the number that it holds: major, minor and patch of a byte each."""
    if loaded.has("cudnnGetVersion"):
        function = loaded.library["cudnnGetVersion"]
        function.restype = ctypes.c_size_t
        number = function()
        return _split(number, _NEW if number >= _FIRST_NEW_CUDNN else _OLD)
    for symbol in filter(loaded.has, (f"{stem}_version", f"{stem}_infer_version")):
        packed = ctypes.c_uint32.in_dll(loaded.library, symbol).value
        if packed >> 16 in _CUDNN_MAJORS:
            return f"{packed >> 16}.{packed >> 8 & 255}.{packed & 255}"
    return None


def _ask_pair(symbol: str) -> Callable[[_Loaded, str], str | None]:
    def ask(loaded: _Loaded, _: str) -> str | None:
        answer = loaded.fill(symbol, 2)
        return ".".join(map(str, answer)) if answer else None

    return ask


def _ask_property(loaded: _Loaded, stem: str) -> str | None:
    parts = [loaded.fill(f"{stem}GetProperty", 1, which) for which in range(3)]
    return ".".join(str(part[0]) for part in parts if part) or None


def _split(number: int, major: int) -> str:
    return f"{number // major}.{number % major // 100}.{number % 100}"


_QUESTIONS: Final[dict[str, Callable[[_Loaded, str], str | None]]] = {
    "cudart": _ask_cudart,
    "nccl": _ask_nccl,
    "nvrtc": _ask_pair("nvrtcVersion"),
    "nvJitLink": _ask_pair("nvJitLinkVersion"),
    **dict.fromkeys(_PROPERTY, _ask_property),
}


def _ask(path: str) -> tuple[str | None, str | None]:
    match = re.match(r"lib(\w+?)\.so", Path(path).name)
    stem = match[1] if match else ""
    question = _ask_cudnn if _SPEAKING.fullmatch(stem) else _QUESTIONS.get(stem)
    if question is None:
        return None, None
    try:
        return question(_Loaded(path), stem), None
    except (OSError, ValueError) as error:
        return None, str(error)


def _start(path: str) -> tuple[int, int]:
    """Ask in a fork; return its process and where its answer comes."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        with contextlib.suppress(BaseException):
            os.dup2(2, 1)
            os.write(writing, json.dumps([path, *_ask(path)]).encode()[: _ANSWER - 1])
        os._exit(0)
    os.close(writing)
    return process, reading


def _collect(path: str, process: int, reading: int, until: float) -> bytes:
    ready, _, _ = select.select([reading], [], [], max(0.0, until - time.monotonic()))
    answer = os.read(reading, _ANSWER) if ready else b""
    os.close(reading)
    if not ready:
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    if answer:
        return answer
    ended = f"ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "said nothing"
    return json.dumps([path, None, ended if ready else f"no answer in {_PATIENCE:.0f} s"]).encode()


def main() -> None:
    """Ask every library that standard input names, as many at a time as there are processors."""
    waiting = json.load(sys.stdin)
    width = max(1, min(8, len(os.sched_getaffinity(0))))
    running: list[tuple[str, int, int, float]] = []
    while waiting or running:
        while waiting and len(running) < width:
            path = waiting.pop(0)
            running.append((path, *_start(path), time.monotonic() + _PATIENCE))
        os.write(1, _collect(*running.pop(0)) + b"\n")


if __name__ == "__main__":
    main()
