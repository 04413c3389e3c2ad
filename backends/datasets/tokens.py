"""Tokens from files: windows of `context + 1` tokens, cut from each file at every `stride`-th place.

A file is .npy of one axis or .bin of bare little-endian numbers, uint16 or uint32. A folder holds such files (shards),
and may hold `index.json`, which says what they are:

    {"schema_version": 1, "dtype": "uint16", "shards": [{"file": "000.bin", "tokens": 1000000}]}
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .faults import content_of, inside, listed, wrong
from .npy import read_npy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

INDEX = "index.json"
DTYPES = ("uint16", "uint32")
_LOOKED_AT = 1 << 22


@dataclass(frozen=True)
class Windows:
    """How tokens are cut into samples.

    Attributes:
        context: Tokens that a model sees at once.
        stride: Tokens from one window's beginning to the next; 0 for `context`.
        vocabulary: Every token is below this.
        dtype: The type of bare numbers in a .bin file without an index.
    """

    context: int
    stride: int = 0
    vocabulary: int = 2**32
    dtype: str = "uint16"


class Tokens:
    """Windows of tokens; `count` of them.

    Args:
        paths: The file of each shard, for messages.
        shards: The tokens of each, of one axis.
        windows: How they are cut.

    Raises:
        InputError: A shard is shorter than a window, or holds a token that is not in the vocabulary.
    """

    def __init__(self, paths: Sequence[Path], shards: Sequence[np.ndarray], windows: Windows) -> None:
        self.paths, self.shards, self._windows = tuple(paths), tuple(shards), windows
        self._stride = windows.stride or windows.context
        for place, shard in zip(paths, shards):
            _check(place, shard, windows)
        counts = [(len(shard) - windows.context - 1) // self._stride + 1 for shard in shards]
        self._ends = np.cumsum(counts)
        self.count = int(self._ends[-1])

    def take(self, samples: np.ndarray) -> dict[str, np.ndarray]:
        """Return windows as `tokens` and the tokens that follow each as `targets`, int64 of shape (n, context)."""
        rows = np.empty((len(samples), self._windows.context + 1), dtype=np.int64)
        shards = np.searchsorted(self._ends, samples, side="right")
        for row, (sample, shard) in enumerate(zip(samples.tolist(), shards.tolist())):
            start = (sample - (int(self._ends[shard - 1]) if shard else 0)) * self._stride
            rows[row] = self.shards[shard][start : start + rows.shape[1]]
        return {"tokens": np.ascontiguousarray(rows[:, :-1]), "targets": np.ascontiguousarray(rows[:, 1:])}


def open_tokens(path: Path, windows: Windows) -> Tokens:
    """Map a file of tokens, or a folder of such files.

    Raises:
        InputError: A file is cut short, empty, shorter than a window, of another length than its index says, of another
            dtype, outside of the folder, or holds a token that is not in the vocabulary.
    """
    paths, shards = _shards(path, windows.dtype)
    return Tokens(paths, shards, windows)


def read_tokens(path: Path, dtype: str = "uint16") -> np.ndarray:
    """Map the tokens of one file, uint16 or uint32 of one axis.

    Raises:
        InputError: The file is empty, cut short, or of another dtype.
    """
    if path.suffix.lower() == ".npy":
        tokens = read_npy(path)
        if tokens.dtype.name not in DTYPES or tokens.ndim != 1:
            what = f"holds {tokens.dtype} of {tokens.ndim} axes: write one row of {' or '.join(DTYPES)}"
            raise wrong(path, what)
    else:
        tokens = _read_bare(path, dtype)
    if len(tokens) == 0:
        raise wrong(path, "holds no tokens: remove the file, or write its tokens anew")
    return tokens


def _read_bare(path: Path, dtype: str) -> np.ndarray:
    bare = np.dtype(dtype).newbyteorder("<")
    try:
        size = path.stat().st_size
        tokens = np.memmap(path, dtype=bare, mode="r") if size else np.empty(0, dtype=bare)
    except ValueError as error:
        what = f"has a size that is no multiple of {bare.itemsize} bytes for {dtype}: it was cut short or is of another"
        raise wrong(path, f"{what} dtype; write it anew, or correct the dtype") from error
    except OSError as error:
        raise wrong(path, f"cannot be read ({error.strerror}): give the right to read it, or copy it anew") from error
    return tokens


def _shards(path: Path, dtype: str) -> tuple[list[Path], list[np.ndarray]]:
    if path.is_file():
        return [path], [read_tokens(path, dtype)]
    if not path.is_dir():
        raise wrong(path, "is not there: correct data.path")
    if (path / INDEX).exists():
        return _indexed(path)
    paths = listed(path, (".bin", ".npy"))
    if not paths:
        raise wrong(path, "holds neither .bin nor .npy files: put tokens there, or correct data.path")
    return paths, [read_tokens(place, dtype) for place in paths]


def _indexed(folder: Path) -> tuple[list[Path], list[np.ndarray]]:
    index = inside(folder, INDEX)
    try:
        told = json.loads(content_of(index))
        version, dtype = told["schema_version"], told["dtype"]
        entries = [(str(entry["file"]), int(entry["tokens"])) for entry in told["shards"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        mend = 'write {"schema_version": 1, "dtype": "uint16", "shards": [{"file": ..., "tokens": ...}]}'
        raise wrong(index, f"is no index of tokens ({error!r}): {mend}") from error
    if version != 1 or dtype not in DTYPES or not entries:
        raise wrong(index, f"needs schema_version 1, dtype {' or '.join(DTYPES)} and at least one shard: correct it")
    paths = [inside(folder, name) for name, _ in entries]
    shards = [read_tokens(path, dtype) for path in paths]
    _agree(paths, shards, [count for _, count in entries])
    return paths, shards


def _agree(paths: Sequence[Path], shards: Sequence[np.ndarray], counts: Sequence[int]) -> None:
    for path, shard, count in zip(paths, shards, counts):
        if len(shard) != count:
            what = f"holds {len(shard)} tokens, and {INDEX} says {count}: copy it anew, or correct the index"
            raise wrong(path, what)


def _check(path: Path, tokens: np.ndarray, windows: Windows) -> None:
    if len(tokens) <= windows.context:
        what = f"holds {len(tokens)} tokens, too few for a window of {windows.context + 1}: join it with another shard"
        raise wrong(path, what)
    for start in range(0, len(tokens), _LOOKED_AT):
        part = tokens[start : start + _LOOKED_AT]
        if int(part.max()) >= windows.vocabulary:
            place = start + int(np.argmax(part >= windows.vocabulary))
            raise wrong(path, f"token {int(tokens[place])} at place {place} is not below the vocabulary of "
                              f"{windows.vocabulary}: raise model.vocabulary, or tokenise anew")  # fmt: skip
