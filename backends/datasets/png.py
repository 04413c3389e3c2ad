"""PNG images of 8 bits: grey, RGB and palettes, not interlaced (ISO/IEC 15948). Others are refused with the reason."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np

from .faults import content_of, wrong

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1}
_PALETTE, _BITS, _HEADER_SIZE = 3, 8, 13
_MOST_PIXELS = 1 << 26
_MEND = "convert it to an 8-bit PNG without alpha and interlacing, to .ppm or to .npy"


class _BrokenError(Exception):
    """What is wrong with a file."""


def read_png(path: Path) -> np.ndarray:
    """Read a file as uint8 of shape (channels, height, width), one channel for grey and three for the others.

    Raises:
        InputError: The file is cut short, damaged, or of a kind that is not read here.
    """
    try:
        return _decoded(content_of(path))
    except (_BrokenError, zlib.error, struct.error) as error:
        raise wrong(path, f"cannot be read as PNG ({error}): {_MEND}") from error


def _decoded(content: bytes) -> np.ndarray:
    if not content.startswith(_SIGNATURE):
        raise _BrokenError("it does not begin as a PNG")
    chunks: dict[bytes, bytes] = {}
    for name, body in _chunks(content):
        chunks[name] = chunks[name] + body if name == b"IDAT" and name in chunks else body
    if missing := [name.decode() for name in (b"IHDR", b"IDAT", b"IEND") if name not in chunks]:
        raise _BrokenError(f"{missing[0]} is missing, it was cut short")
    if len(chunks[b"IHDR"]) != _HEADER_SIZE:
        raise _BrokenError("its header has a wrong size")
    width, height, bits, kind, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    if bits != _BITS or kind not in _CHANNELS or interlaced or b"tRNS" in chunks:
        raise _BrokenError(f"{bits} bits, colour type {kind}, interlaced {interlaced}, or with transparency")
    if not 0 < width * height <= _MOST_PIXELS:
        raise _BrokenError(f"{width} x {height} pixels")
    rows = _rows(chunks[b"IDAT"], height, width * _CHANNELS[kind])
    pixels = _unfiltered(rows, _CHANNELS[kind]).reshape(height, width, _CHANNELS[kind])
    if kind == _PALETTE:
        pixels = _coloured(pixels, chunks.get(b"PLTE", b""))
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = len(_SIGNATURE)
    while place + 12 <= len(content):
        size, name = struct.unpack_from(">I4s", content, place)
        body, check = content[place + 8 : place + 8 + size], content[place + 8 + size : place + 12 + size]
        if check != struct.pack(">I", zlib.crc32(name + body)):
            raise _BrokenError(f"the check sum of {name!r} does not fit")
        yield name, body
        place += 12 + size


def _rows(packed: bytes, height: int, width: int) -> np.ndarray:
    size = height * (width + 1)
    unpacked = zlib.decompressobj().decompress(packed, size + 1)
    if len(unpacked) != size:
        raise _BrokenError(f"it holds {len(unpacked)} bytes where its size asks for {size}")
    return np.frombuffer(unpacked, dtype=np.uint8).reshape(height, width + 1)


def _coloured(pixels: np.ndarray, palette: bytes) -> np.ndarray:
    colours = np.frombuffer(palette[: len(palette) // 3 * 3], dtype=np.uint8).reshape(-1, 3)
    if int(pixels.max()) >= len(colours):
        raise _BrokenError("a pixel has no colour in the palette")
    return colours[pixels[..., 0]]


def _unfiltered(rows: np.ndarray, step: int) -> np.ndarray:
    """Undo the filters; `step` is the bytes of a pixel."""
    made = np.zeros((len(rows) + 1, rows.shape[1] - 1), dtype=np.uint8)
    for place, row in enumerate(rows):
        kind = int(row[0])
        if kind not in _FILTERS:
            raise _BrokenError(f"row {place} has the unknown filter {kind}")
        made[place + 1] = _FILTERS[kind](row[1:], made[place], step)
    return made[1:]


def _none(row: np.ndarray, above: np.ndarray, step: int) -> np.ndarray:
    del above, step
    return row


def _up(row: np.ndarray, above: np.ndarray, step: int) -> np.ndarray:
    del step
    return row + above


def _sub(row: np.ndarray, above: np.ndarray, step: int) -> np.ndarray:
    del above
    return np.cumsum(row.reshape(-1, step), axis=0, dtype=np.uint8).reshape(-1)


def _average(row: np.ndarray, above: np.ndarray, step: int) -> np.ndarray:
    made, up = bytearray(step) + bytearray(row.tobytes()), above.tolist()
    for place in range(len(up)):
        made[place + step] = (made[place + step] + (made[place] + up[place]) // 2) & 255
    return np.frombuffer(bytes(made[step:]), dtype=np.uint8)


def _paeth(row: np.ndarray, above: np.ndarray, step: int) -> np.ndarray:
    made, up = bytearray(step) + bytearray(row.tobytes()), bytes(step) + above.tobytes()
    for place in range(step, len(made)):
        left, over, corner = made[place - step], up[place], up[place - step]
        far_left, far_over, far_corner = abs(over - corner), abs(left - corner), abs(left + over - 2 * corner)
        near = left if far_left <= far_over and far_left <= far_corner else over if far_over <= far_corner else corner
        made[place] = (made[place] + near) & 255
    return np.frombuffer(bytes(made[step:]), dtype=np.uint8)


_FILTERS = {0: _none, 1: _sub, 2: _up, 3: _average, 4: _paeth}
