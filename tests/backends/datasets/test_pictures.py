"""Images from folders: PNG as its standard has it, PNM, .npy; classes by folder; faults with file and mend."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np
import pytest

from stackproof.backends.datasets.labelled import check_finite
from stackproof.backends.datasets.pictures import read_folder, read_image
from stackproof.backends.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from stackproof.backends.datasets.labelled import Labelled


def picture(channels: int = 3, height: int = 9, width: int = 7, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), dtype=np.uint8)


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def nearest(left: int, over: int, corner: int) -> int:
    """Return what the Paeth filter foretells, as the standard's pseudocode has it."""
    guess = left + over - corner
    return min((left, over, corner), key=lambda value: abs(guess - value))


def filtered(pixels: np.ndarray, kinds: list[int]) -> bytes:
    """Filter rows of (height, width, channels), one kind after the other."""
    made = b""
    height, width, channels = pixels.shape
    for row in range(height):
        kind = kinds[row % len(kinds)]
        made += bytes([kind])
        for column in range(width):
            for channel in range(channels):
                left = int(pixels[row, column - 1, channel]) if column else 0
                over = int(pixels[row - 1, column, channel]) if row else 0
                corner = int(pixels[row - 1, column - 1, channel]) if row and column else 0
                guess = (0, left, over, (left + over) // 2, nearest(left, over, corner))[kind]
                made += bytes([(int(pixels[row, column, channel]) - guess) % 256])
    return made


def png(pixels: np.ndarray, kinds: list[int], kind: int, head: tuple[int, int] = (8, 0), extra: bytes = b"") -> bytes:
    height, width, _ = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, head[0], kind, 0, 0, head[1])
    packed = zlib.compress(filtered(pixels, kinds))
    parts = chunk(b"IDAT", packed[:20]) + chunk(b"IDAT", packed[20:])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + parts + chunk(b"IEND", b"")


@pytest.mark.parametrize("kinds", [[0], [1], [2], [3], [4], [4, 3, 2, 1, 0]])
@pytest.mark.parametrize("channels", [1, 3])
def test_png_with_every_filter(tmp_path: Path, kinds: list[int], channels: int) -> None:
    pixels = picture(channels)
    (tmp_path / "a.png").write_bytes(png(pixels, kinds, 0 if channels == 1 else 2))
    assert np.array_equal(read_image(tmp_path / "a.png"), pixels.transpose(2, 0, 1))


def test_png_with_a_palette(tmp_path: Path) -> None:
    colours = picture(3, 1, 5)[0]
    indices = picture(1) % 5
    (tmp_path / "a.png").write_bytes(png(indices, [1], 3, extra=chunk(b"PLTE", colours.tobytes())))
    assert np.array_equal(read_image(tmp_path / "a.png"), colours[indices[..., 0]].transpose(2, 0, 1))
    (tmp_path / "a.png").write_bytes(png(indices, [1], 3, extra=chunk(b"PLTE", colours[:2].tobytes())))
    with pytest.raises(InputError, match="a pixel has no colour in the palette"):
        read_image(tmp_path / "a.png")


@pytest.mark.parametrize("channels", [1, 3])
def test_pnm(tmp_path: Path, channels: int) -> None:
    pixels = picture(channels)
    path = tmp_path / f"a.p{'g' if channels == 1 else 'p'}m"
    path.write_bytes(f"P{'5' if channels == 1 else '6'}\n# a remark\n7 9\n255\n".encode() + pixels.tobytes())
    assert np.array_equal(read_image(path), pixels.transpose(2, 0, 1))


@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 1), (4, 5, 3)])
def test_npy(tmp_path: Path, shape: tuple[int, ...]) -> None:
    image = np.random.default_rng(0).random(shape, dtype=np.float32)
    np.save(tmp_path / "a.npy", image)
    assert np.array_equal(read_image(tmp_path / "a.npy"), image.reshape(4, 5, -1).transpose(2, 0, 1))


@pytest.mark.parametrize("name", ["a.png", "a.ppm", "a.npy"])
def test_a_file_that_cannot_be_opened(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=r"cannot be read"):
        read_image(tmp_path / name)


GOOD = png(picture(), [4], 2)


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("a.png", GOOD[:-12], "IEND is missing, it was cut short"),
        ("a.png", GOOD[:60], "cannot be read as PNG"),
        ("a.png", GOOD.replace(b"IDAT", b"IDAX"), "the check sum of b'IDAX' does not fit"),
        ("a.png", b"GIF89a", "it does not begin as a PNG"),
        ("a.png", png(picture(), [0], 2, (16, 0)), "16 bits, colour type 2, interlaced 0"),
        ("a.png", png(picture(), [0], 2, (8, 1)), "interlaced 1"),
        ("a.png", png(picture(4), [0], 6), "colour type 6"),
        ("a.png", png(picture(1), [0], 2), "it holds 72 bytes where its size asks for 198"),
        ("a.png", png(picture(), [0], 2, extra=chunk(b"tRNS", b"\0" * 6)), "with transparency"),
        ("a.ppm", b"P3 1 1 255 1 2 3", "is no binary PGM or PPM"),
        ("a.ppm", b"P6 1 1 65535 123456", "of 8 bits with 255 for white: convert it"),
        ("a.ppm", b"P6 2 2 255 " + bytes(11), "holds 11 bytes of pixels where its size asks for 12"),
        ("a.pgm", b"P5 0 2 255 ", "where its size asks for 0"),
        ("a.npy", b"nothing", "cannot be read as .npy"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, what: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_image(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))
    assert what in str(caught.value)


@pytest.mark.parametrize("image", [np.zeros((4, 5, 4), np.uint8), np.zeros((4, 5), np.int32), np.zeros((0, 5))])
def test_npy_that_is_no_image(tmp_path: Path, image: np.ndarray) -> None:
    np.save(tmp_path / "a.npy", image)
    with pytest.raises(InputError, match=r"write uint8, float32, float64 of shape \(height, width\)"):
        read_image(tmp_path / "a.npy")


def test_a_png_of_a_great_size_takes_no_memory(tmp_path: Path) -> None:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 2**31 - 1, 2**31 - 1, 8, 0, 0, 0, 0))
    content = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(InputError, match="2147483647 x 2147483647 pixels"):
        read_image(tmp_path / "a.png")


def folder(tmp_path: Path) -> Path:
    for place, name in enumerate(("dog/1.pgm", "dog/0.pgm", "cat/x.pgm", "ant/q.pgm")):
        (tmp_path / "d" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "d" / name).write_bytes(b"P5 7 9 255\n" + picture(1, seed=place).tobytes())
    return tmp_path / "d"


def read(path: Path) -> tuple[Labelled, tuple[str, ...]]:
    return read_folder(path)


def test_classes_are_folders_in_the_order_of_their_names(tmp_path: Path) -> None:
    (folder(tmp_path) / ".hidden").mkdir()
    made, classes = read(tmp_path / "d")
    assert classes == ("ant", "cat", "dog")
    assert made.names == ("ant/q.pgm", "cat/x.pgm", "dog/0.pgm", "dog/1.pgm")
    taken = made.take(np.arange(4))
    assert taken["labels"].tolist() == [0, 1, 2, 2]
    expected = np.stack([picture(1, seed=seed).transpose(2, 0, 1) for seed in (3, 2, 1, 0)])
    assert np.array_equal(taken["features"], expected.astype(np.float32) / np.float32(255))


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    return str(caught.value)


def test_a_class_without_images(tmp_path: Path) -> None:
    (folder(tmp_path) / "bee").mkdir()
    assert "bee: holds no images (.npy, .pgm, .png, .ppm): put some there, or remove" in refusal(tmp_path / "d")


def test_images_that_need_a_decoder(tmp_path: Path) -> None:
    (folder(tmp_path) / "cat" / "y.JPG").write_bytes(b"\xff\xd8")
    what = "y.JPG: needs a decoder that no environment is sure to have: convert it to .png"
    assert what in refusal(tmp_path / "d")


def test_images_of_different_sizes(tmp_path: Path) -> None:
    (folder(tmp_path) / "cat" / "y.pgm").write_bytes(b"P5 2 1 255\n\0\0")
    assert "y.pgm: is uint8 of shape (1, 1, 2), and q.pgm uint8 of (1, 9, 7): bring" in refusal(tmp_path / "d")


@pytest.mark.parametrize("name", ["cat/y.pgm", "cow"])
def test_links_out_of_the_folder(tmp_path: Path, name: str) -> None:
    target = tmp_path / "out" / "cow"
    target.mkdir(parents=True)
    (target / "z.pgm").write_bytes(b"P5 7 9 255\n" + bytes(63))
    (folder(tmp_path) / name).symlink_to(target if name == "cow" else target / "z.pgm")
    assert name.partition("/")[2] in refusal(tmp_path / "d")
    assert "out" in refusal(tmp_path / "d")


def test_no_folder_and_no_classes(tmp_path: Path) -> None:
    assert "is no folder: correct data.path" in refusal(tmp_path / "none")
    (tmp_path / "d").mkdir()
    assert "holds no folders: put the images of each class" in refusal(tmp_path / "d")


def test_pixels_that_are_not_finite(tmp_path: Path) -> None:
    for name, value in (("a", 0.5), ("b", np.nan)):
        (tmp_path / "d" / name).mkdir(parents=True)
        np.save(tmp_path / "d" / name / "x.npy", np.full((4, 4), value, np.float32))
    with pytest.raises(InputError, match=r"b/x\.npy and 0 others hold inf or nan"):
        check_finite(read(tmp_path / "d")[0])
