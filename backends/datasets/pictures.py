"""Folders of images, one folder per class, read once and held in memory as they are stored.

Read here: .npy, .ppm and .pgm (binary, 8 bits), .png (8 bits). Images all have one size.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from .faults import content_of, listed, wrong
from .labelled import Labelled
from .npy import read_npy
from .png import read_png

if TYPE_CHECKING:
    from pathlib import Path

_CODED = (".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")
_HEADER = re.compile(rb"P([56])(?:\s+#[^\n]*)*\s+(\d{1,5})(?:\s+#[^\n]*)*\s+(\d{1,5})(?:\s+#[^\n]*)*\s+(\d{1,5})\s")
_WHITE = 255
_DTYPES = ("uint8", "float32", "float64")
_GREY_AXES, _AXES = 2, 3
_CHANNELS = (1, 3)


def read_folder(path: Path) -> tuple[Labelled, tuple[str, ...]]:
    """Read a folder of classes.

    Args:
        path: The folder; each folder in it is a class, numbered in the order of the names.

    Returns:
        The samples, in the order of classes and names, and the names of the classes.

    Raises:
        InputError: A class is empty, a file cannot be read or leads out of its folder, or sizes differ.
    """
    if not path.is_dir():
        raise wrong(path, "is no folder: correct data.path")
    kinds = sorted(place for place in path.iterdir() if place.is_dir() and not place.name.startswith("."))
    if not kinds:
        raise wrong(path, "holds no folders: put the images of each class into a folder of their own")
    files = [(place, label) for label, kind in enumerate(kinds) for place in _files(path, kind)]
    images = [read_image(place) for place, _ in files]
    _check_sizes(files, images)
    names = tuple(place.relative_to(path).as_posix() for place, _ in files)
    labels = np.asarray([label for _, label in files], dtype=np.int64)
    return Labelled(path, np.stack(images), labels, names=names), tuple(kind.name for kind in kinds)


def read_image(path: Path) -> np.ndarray:
    """Read one image, uint8 or floating-point of shape (channels, height, width).

    Raises:
        InputError: The file is damaged or of a kind that is not read here.
    """
    ending = path.suffix.lower()
    if ending == ".png":
        return read_png(path)
    return _read_npy(path) if ending == ".npy" else _read_pnm(path)


def _files(top: Path, folder: Path) -> list[Path]:
    if top.resolve() != folder.resolve().parent:
        raise wrong(folder, f"is a link that leads out of {top}: copy the folder there")
    coded = [place for place in sorted(folder.iterdir()) if place.suffix.lower() in _CODED]
    if coded:
        what = "needs a decoder that no environment is sure to have: convert it to .png (8 bits), .ppm or .npy before"
        raise wrong(coded[0], what)
    found = listed(folder, (".npy", ".pgm", ".png", ".ppm"))
    if not found:
        raise wrong(folder, "holds no images (.npy, .pgm, .png, .ppm): put some there, or remove the folder")
    return found


def _read_npy(path: Path) -> np.ndarray:
    image = np.asarray(read_npy(path))
    if image.ndim == _GREY_AXES:
        image = image[..., None]
    if image.ndim != _AXES or image.shape[2] not in _CHANNELS or image.dtype.name not in _DTYPES or not image.size:
        what = f"is {image.dtype} of shape {image.shape}: write {', '.join(_DTYPES)} of shape (height, width) or "
        raise wrong(path, f"{what}(height, width, 1 or 3)")
    return np.ascontiguousarray(image.transpose(2, 0, 1))


def _read_pnm(path: Path) -> np.ndarray:
    content = content_of(path)
    found = _HEADER.match(content)
    if found is None or int(found[4]) != _WHITE:
        raise wrong(path, "is no binary PGM or PPM (P5, P6) of 8 bits with 255 for white: convert it to one")
    width, height, channels = int(found[2]), int(found[3]), 1 if found[1] == b"5" else 3
    size = width * height * channels
    if size == 0 or len(content) - found.end() != size:
        what = f"holds {len(content) - found.end()} bytes of pixels where its size asks for {size}: write it anew"
        raise wrong(path, what)
    pixels = np.frombuffer(content, dtype=np.uint8, offset=found.end()).reshape(height, width, channels)
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _check_sizes(files: list[tuple[Path, int]], images: list[np.ndarray]) -> None:
    first = images[0]
    for (place, _), image in zip(files, images):
        if image.shape != first.shape or image.dtype != first.dtype:
            what = f"is {image.dtype} of shape {image.shape}, and {files[0][0].name} {first.dtype} of {first.shape}"
            raise wrong(place, f"{what}: bring all images to one size, colour and type before")
