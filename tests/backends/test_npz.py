from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from stackproof.backends.npz import pack, unpack
from stackproof.backends.program import Program, dump, load

# Names that numpy's own functions take for something else, or leave the ending of out.
NAMES = ["w", "w.npy", "w.npy.npy", "file", "allow_pickle", "arr_0", "a/b", "größe"]


def test_every_name_keeps_its_array() -> None:
    arrays = {name: np.full(3, place, np.float32) for place, name in enumerate(NAMES)}
    made = unpack(pack(arrays))
    assert list(made) == NAMES
    assert [float(value[0]) for value in made.values()] == list(range(len(NAMES)))


@pytest.mark.parametrize(
    "value", [np.float32(2.5), np.zeros((0, 3), np.int64), np.arange(6.0).reshape(2, 3).T, np.True_]
)
def test_an_array_comes_back_as_it_was_and_numpy_reads_it_too(value: np.ndarray) -> None:
    content = pack({"x": value})
    for made in (unpack(content)["x"], np.load(io.BytesIO(content))["x"]):
        np.testing.assert_array_equal(made, value, strict=True)


def test_what_numpy_wrote_is_read() -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, x=np.arange(4))
    np.testing.assert_array_equal(unpack(buffer.getvalue())["x"], np.arange(4))


def test_a_program_keeps_tensors_whose_names_differ_by_an_ending() -> None:
    tensors = {"w": np.zeros(2, np.float32), "w.npy": np.ones(2, np.float32)}
    given = Program("p", (), (), "", tensors)
    assert load(dump(given)).digest == given.digest
    assert load(dump(replace(given, convention="torch"))).convention == "torch"
    assert replace(given, convention="torch").digest == given.digest


def _flipped(content: bytes) -> bytes:
    changed = bytearray(content)
    changed[len(content) // 3] ^= 255
    return bytes(changed)


def _zip(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, b"text")
    return buffer.getvalue()


GOOD = pack({"x": np.arange(1000.0)})


def _objects() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, x=np.array([{}], dtype=object))
    return buffer.getvalue()


@pytest.mark.parametrize("content", [b"", GOOD[:-40], _flipped(GOOD), _zip("x"), _zip("x.npy"), _objects()])
def test_bytes_that_hold_no_whole_arrays_are_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        unpack(content)
