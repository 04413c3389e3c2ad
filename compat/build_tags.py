"""Build tags behind a version's `+`: which CUDA, cuDNN, C++ ABI and framework a binary says it was built for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_CUDA: Final = re.compile(r"(?<![a-z])cu(?:da)?(\d{2,3})(?!\d)|(?<=pt\d\d)cu(\d{2,3})|(?<=pt\d\d\d)cu(\d{2,3})")
_CUDNN: Final = re.compile(r"cudnn(\d{2,3})")
_ABI: Final = re.compile(r"cxx11abi(true|false)")
_TORCH: Final = re.compile(r"torch(\d+\.\d+)|pt(\d)(\d{1,2})")
_MAJOR_ONLY: Final = ("11", "12", "13", "14")
_SHORT: Final = 2


@dataclass(frozen=True, slots=True)
class BuildTag:
    """What a build tag says.

    Attributes:
        cuda: CUDA as `12.1`, or its major alone as `12` where the tag names no minor; None where it names none.
        cpu: Whether it says that there is no GPU code.
        rocm: Whether it is for AMD's GPUs.
        cudnn: cuDNN as `8.6`.
        cxx11_abi: The C++ ABI flag, where it is named.
        torch: The torch minor as `2.2`, where it is named.
    """

    cuda: str | None = None
    cpu: bool = False
    rocm: bool = False
    cudnn: str | None = None
    cxx11_abi: bool | None = None
    torch: str | None = None


@lru_cache(maxsize=4096)
def read_build(tag: str | None) -> BuildTag:
    """Return what a build tag such as `cu121`, `cuda11.cudnn86`, `cpu` or `cu118torch2.2cxx11abiTRUE` says."""
    text = (tag or "").lower()
    abi, torch = _ABI.search(text), _TORCH.search(text)
    return BuildTag(
        cuda=_cuda(text),
        cpu=text == "cpu" or text.startswith("cpu."),
        rocm="rocm" in text,
        cudnn=_split(match[1]) if (match := _CUDNN.search(text)) else None,
        cxx11_abi=abi[1] == "true" if abi else None,
        torch=(torch[1] or f"{torch[2]}.{torch[3]}") if torch else None,
    )


def tag_of(cuda: str) -> str:
    """Return the build tag of a CUDA version: `cu121`."""
    return "cu" + "".join(cuda.split(".")[:2])


def _cuda(text: str) -> str | None:
    match = _CUDA.search(text)
    if match is None:
        return None
    digits = match[1] or match[2] or match[3]
    return digits if digits in _MAJOR_ONLY else _split(digits)


def _split(digits: str) -> str:
    """Return 121 as 12.1, 92 as 9.2 and 805 as 8.0.5."""
    if len(digits) == _SHORT:
        return f"{digits[0]}.{digits[1]}"
    return f"{digits[:-1]}.{digits[-1]}" if digits[0] == "1" else ".".join(digits)
