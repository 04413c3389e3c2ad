"""Tokens from files: windows as numpy cuts them, and faults with file and mend."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stackproof.backends.datasets.tokens import Windows, open_tokens
from stackproof.backends.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

WINDOWS = Windows(context=4, vocabulary=1000)


def write(path: Path, count: int = 23, dtype: str = "uint16", start: int = 0) -> np.ndarray:
    tokens = (np.arange(count) * 7 + start).astype(dtype) % 1000
    if path.suffix == ".npy":
        np.save(path, tokens)
    else:
        path.write_bytes(tokens.astype(f"<{np.dtype(dtype).str[1:]}").tobytes())
    return tokens


def index(folder: Path, dtype: str = "uint16", **shards: int) -> None:
    entries = [{"file": f"{name}.bin", "tokens": count} for name, count in shards.items()]
    (folder / "index.json").write_text(json.dumps({"schema_version": 1, "dtype": dtype, "shards": entries}))


@pytest.mark.parametrize("ending", ["bin", "npy"])
@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
@pytest.mark.parametrize("stride", [0, 1, 3, 9])
def test_windows_are_cut_by_stride(tmp_path: Path, ending: str, dtype: str, stride: int) -> None:
    tokens = write(tmp_path / f"t.{ending}", dtype=dtype)
    made = open_tokens(tmp_path / f"t.{ending}", Windows(4, stride, 1000, dtype))
    expected = np.lib.stride_tricks.sliding_window_view(tokens, 5)[:: stride or 4].astype(np.int64)
    assert made.count == len(expected)
    taken = made.take(np.arange(made.count))
    assert taken["tokens"].dtype == taken["targets"].dtype == np.int64
    assert np.array_equal(taken["tokens"], expected[:, :-1])
    assert np.array_equal(taken["targets"], expected[:, 1:])
    assert taken["tokens"].flags.c_contiguous


def test_samples_come_in_the_order_asked_for(tmp_path: Path) -> None:
    write(tmp_path / "t.bin")
    made = open_tokens(tmp_path / "t.bin", WINDOWS)
    assert made.take(np.asarray([3, 0, 3]))["tokens"][:, 0].tolist() == [84, 0, 84]


@pytest.mark.parametrize("indexed", [True, False])
def test_no_window_goes_over_the_end_of_a_shard(tmp_path: Path, *, indexed: bool) -> None:
    parts = [write(tmp_path / "a.bin", 9), write(tmp_path / "b.bin", 14, start=500)]
    if indexed:
        index(tmp_path, a=9, b=14)
    made = open_tokens(tmp_path, WINDOWS)
    expected = [part[start : start + 4] for part in parts for start in range(0, len(part) - 4, 4)]
    assert np.array_equal(made.take(np.arange(made.count))["tokens"], expected)


def test_the_index_has_the_order_and_the_dtype(tmp_path: Path) -> None:
    write(tmp_path / "a.bin", 9, "uint32")
    write(tmp_path / "b.bin", 9, "uint32", start=500)
    index(tmp_path, "uint32", b=9, a=9)
    made = open_tokens(tmp_path, WINDOWS)
    assert made.take(np.asarray([0, 2]))["tokens"][:, 0].tolist() == [500, 0]


def test_tokens_stay_on_the_disk(tmp_path: Path) -> None:
    write(tmp_path / "t.bin", 5000)
    write(tmp_path / "t.npy", 5000)
    for path in tmp_path.iterdir():
        assert all(isinstance(shard, np.memmap) for shard in open_tokens(path, WINDOWS).shards)


def refusal(path: Path, windows: Windows = WINDOWS) -> str:
    with pytest.raises(InputError) as caught:
        open_tokens(path, windows)
    return str(caught.value)


def test_a_file_shorter_than_its_index_says(tmp_path: Path) -> None:
    write(tmp_path / "a.bin", 20)
    index(tmp_path, a=21)
    assert "a.bin: holds 20 tokens, and index.json says 21: copy it anew" in refusal(tmp_path)


def test_a_file_cut_within_a_token(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(41))
    assert "has a size that is no multiple of 2 bytes for uint16: it was cut short" in refusal(tmp_path / "a.bin")


def test_a_npy_file_cut_short(tmp_path: Path) -> None:
    write(tmp_path / "a.npy", 500)
    (tmp_path / "a.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-100])
    assert "cannot be read as .npy" in refusal(tmp_path / "a.npy")


@pytest.mark.parametrize("name", ["a.bin", "a.npy"])
def test_an_empty_shard(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, 0)
    write(tmp_path / "b.bin", 50)
    assert f"{name}: holds no tokens: remove the file" in refusal(tmp_path)


def test_a_shard_shorter_than_a_window(tmp_path: Path) -> None:
    write(tmp_path / "a.bin", 4)
    assert "holds 4 tokens, too few for a window of 5: join it" in refusal(tmp_path / "a.bin")


def test_a_token_outside_of_the_vocabulary(tmp_path: Path) -> None:
    write(tmp_path / "a.bin", 23)
    what = "token 91 at place 13 is not below the vocabulary of 90: raise model.vocabulary"
    assert what in refusal(tmp_path / "a.bin", Windows(4, vocabulary=90))


def test_the_largest_token_is_one_below_the_vocabulary(tmp_path: Path) -> None:
    write(tmp_path / "a.bin", 23)
    assert "token 154 at place 22" in refusal(tmp_path / "a.bin", Windows(4, vocabulary=154))
    assert open_tokens(tmp_path / "a.bin", Windows(4, vocabulary=155)).count == 5


@pytest.mark.parametrize("dtype", ["int64", "float32", "uint8"])
def test_a_wrong_dtype(tmp_path: Path, dtype: str) -> None:
    np.save(tmp_path / "a.npy", np.zeros(50, dtype))
    assert f"holds {dtype} of 1 axes: write one row of uint16 or uint32" in refusal(tmp_path / "a.npy")


def test_a_wrong_shape(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((5, 10), "uint16"))
    assert "holds uint16 of 2 axes" in refusal(tmp_path / "a.npy")


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.asarray([{"a": 1}], dtype=object), allow_pickle=True)
    assert "cannot be read as .npy" in refusal(tmp_path / "a.npy")


@pytest.mark.parametrize("name", ["../out", "sub/../../out"])
def test_a_shard_outside_of_the_folder(tmp_path: Path, name: str) -> None:
    write(tmp_path / "out.bin")
    (tmp_path / "in" / "sub").mkdir(parents=True)
    index(tmp_path / "in", **{name: 23})
    assert "lies outside of" in refusal(tmp_path / "in")


def test_a_link_out_of_the_folder(tmp_path: Path) -> None:
    write(tmp_path / "out.bin")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.bin").symlink_to(tmp_path / "out.bin")
    assert "a.bin: lies outside of" in refusal(tmp_path / "in")
    index(tmp_path / "in", a=23)
    assert "a.bin: lies outside of" in refusal(tmp_path / "in")


def test_an_absolute_path_in_the_index(tmp_path: Path) -> None:
    write(tmp_path / "a.bin")
    index(tmp_path, **{str(tmp_path / "a"): 23})
    assert "name it relative to the folder" in refusal(tmp_path)


def test_a_file_of_the_index_that_is_missing(tmp_path: Path) -> None:
    index(tmp_path, a=23)
    assert "a.bin: is no file: correct its name" in refusal(tmp_path)


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{", "[" * 100_000, '{"schema_version": 1}', '{"schema_version": 1, "dtype": "uint16", "shards": [3]}'],
    ids=["empty", "list", "cut", "deep", "bare", "numbers"],
)
def test_a_broken_index(tmp_path: Path, content: str) -> None:
    (tmp_path / "index.json").write_text(content)
    assert "index.json: is no index of tokens" in refusal(tmp_path)


@pytest.mark.parametrize("told", [{"schema_version": 2}, {"dtype": "int8"}, {"shards": []}])
def test_an_index_of_another_kind(tmp_path: Path, told: dict[str, Any]) -> None:
    whole = {"schema_version": 1, "dtype": "uint16", "shards": [{"file": "a.bin", "tokens": 23}], **told}
    (tmp_path / "index.json").write_text(json.dumps(whole))
    assert "needs schema_version 1, dtype uint16 or uint32" in refusal(tmp_path)


def test_nothing_there(tmp_path: Path) -> None:
    assert "is not there: correct data.path" in refusal(tmp_path / "none.bin")
    assert "holds neither .bin nor .npy files" in refusal(tmp_path)
