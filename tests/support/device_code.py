"""Shared libraries with GPU code as the CUDA compiler embeds it: real headers around a payload of no meaning."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import shared_libraries

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

PTX, COMPILED = 1, 2
ONLY_THIS, FAMILY = 1 << 20, 1 << 21


def entry(arch: int, kind: int = COMPILED, flags: int = 0x11, payload: int = 24, header: int = 64) -> bytes:
    """Return one entry: code for an architecture."""
    fields = struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, header, payload, 0, 64, 8, 1, arch, 0, 0, flags, 0, 0)
    return fields.ljust(header, b"\0") + b"\x5a" * payload


def container(*entries: bytes) -> bytes:
    """Return what the compiler makes of one source: its code for all architectures."""
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def build(path: Path, device_code: bytes, needs: Iterable[Path] = (), source: str = "") -> Path:
    """Compile a shared library with such a section."""
    content = path.with_suffix(".fatbin")
    content.parent.mkdir(parents=True, exist_ok=True)
    content.write_bytes(device_code)
    section = f'__asm__(".section .nv_fatbin,\\"a\\"\\n.balign 8\\n.incbin \\"{content}\\"\\n.text");\n'
    shared_libraries.build(path, section + source, needs)
    content.unlink()
    return path
