"""Near-duplicates of rows of bytes or tokens: MinHash over shingles, with bands to find candidates.

Sources: Broder, *On the resemblance and containment of documents*, 1997; bands: Indyk, Motwani, 1998. A shingle is
8 bytes, or 4 tokens. Of a long document every eighth shingle is looked at, chosen by its hash, so that the same shingle
is chosen everywhere (Broder's sketch modulo m); of a short one every shingle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .words import key_of, mixed, words

if TYPE_CHECKING:
    from collections.abc import Iterator

BANDS, ROWS = 20, 5
THRESHOLD = 0.7
_WIDTH = 8  # bytes of a window that is read as one number
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_BLOCK = 1 << 17
# Documents of up to the one size are compared as short ones, from the other on as long ones; between, as both.
_SHORT, _LONG = 700, 500
_EVERY = 8


@dataclass(frozen=True)
class Documents:
    """Rows of different length.

    Attributes:
        flat: All rows behind each other, uint8, uint16 or uint32.
        ends: Where each row ends, int64, rising.
    """

    flat: np.ndarray
    ends: np.ndarray

    @property
    def starts(self) -> np.ndarray:
        """Return where each row begins."""
        return np.concatenate([[0], self.ends[:-1]]).astype(np.int64)

    @classmethod
    def split(cls, tokens: np.ndarray, separator: int) -> Documents:
        """Cut tokens into documents, each with the separator at its end."""
        ends = np.flatnonzero(tokens == separator) + 1
        if not ends.size or ends[-1] < len(tokens):
            ends = np.append(ends, len(tokens))
        return cls(tokens, ends.astype(np.int64))

    def joined(self, places: np.ndarray) -> np.ndarray:
        """Return some of the documents behind each other."""
        starts = self.starts
        return np.concatenate([self.flat[starts[place] : self.ends[place]] for place in places.tolist()])

    @classmethod
    def of(cls, rows: list[bytes]) -> Documents:
        """Return documents of bytes."""
        ends = np.cumsum(np.asarray([len(row) for row in rows], dtype=np.int64))
        return cls(np.frombuffer(b"".join(rows), dtype=np.uint8), ends)


def near_duplicates(
    documents: Documents, threshold: float = THRESHOLD, among: np.ndarray | None = None
) -> dict[int, int]:
    """Return, for each document that resembles an earlier one that stays, that earlier one.

    Args:
        documents: What is looked at.
        threshold: The least resemblance (Jaccard), as the signatures estimate it.
        among: The documents that are looked at, rising; None for all.

    Returns:
        Places in `among`.
    """
    among = np.arange(len(documents.ends)) if among is None else among
    sizes = (documents.ends - documents.starts)[among]
    short, long = _SHORT // documents.flat.itemsize, _LONG // documents.flat.itemsize
    found: dict[int, int] = {}
    for chosen, every in ((sizes <= short, 1), (sizes >= long, _EVERY)):
        places = np.flatnonzero(chosen)
        for place, earlier in _similar(signatures(documents, among[places], every), threshold).items():
            found.setdefault(int(places[place]), int(places[earlier]))
    return _settled(found)


def signatures(documents: Documents, places: np.ndarray, every: int) -> np.ndarray:
    """Return the signature of each of these documents, uint32 of shape (documents, BANDS * ROWS).

    A number is the least of a permutation of the document's shingles; a document without shingles has the largest
    number everywhere.
    """
    drawn = words(key_of(0, "minhash"), np.arange(BANDS * ROWS), 2)
    factors, offsets = (drawn[:, 0] >> np.uint64(32)) | np.uint64(1), drawn[:, 1] >> np.uint64(32)
    pairs = list(zip(factors.astype(np.uint32), offsets.astype(np.uint32)))
    made = np.full((BANDS * ROWS, len(places)), 0xFFFFFFFF, dtype=np.uint32)
    starts, ends = documents.starts[places], documents.ends[places]
    for first, last in _blocks(starts, ends, documents.flat.itemsize):
        hashes, counts = _shingles(documents.flat, starts[first:last], ends[first:last], every)
        there = np.flatnonzero(counts)
        if there.size:
            begins = (np.cumsum(counts) - counts)[there]
            for row, (factor, offset) in zip(made, pairs):
                row[first + there] = np.minimum.reduceat((hashes ^ offset) * factor, begins)
    return made.T


def _blocks(starts: np.ndarray, ends: np.ndarray, itemsize: int) -> Iterator[tuple[int, int]]:
    """Cut neighbouring documents into blocks that stay in the processor's cache."""
    first = 0
    while first < len(starts):
        last = int(np.searchsorted(ends, starts[first] + _BLOCK // itemsize, side="right"))
        last = max(last, first + 1)
        yield first, last
        first = last


def _shingles(flat: np.ndarray, starts: np.ndarray, ends: np.ndarray, every: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the chosen hashes of some documents behind each other, and how many each document has."""
    base = int(starts[0])
    hashes, width = _windows(np.ascontiguousarray(flat[base : int(ends[-1])]))
    chosen = np.flatnonzero(hashes < np.uint32(2**32 // every)) if every > 1 else np.arange(len(hashes))
    first = np.searchsorted(chosen, starts - base)
    counts = np.maximum(np.searchsorted(chosen, ends - base - width, side="right") - first, 0)
    kept = np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
    return hashes[chosen[kept]], counts


def _windows(flat: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the hash of the window at each place, uint32, and a window's elements."""
    size, each = flat.itemsize, _WIDTH // flat.itemsize
    count = max(0, len(flat) - each + 1)
    # A view with a number at every element, not only at every eighth byte.
    there = np.ndarray((count,), np.uint64, flat, strides=(size,)) if count else np.zeros(0, dtype=np.uint64)
    if size == np.dtype(np.uint32).itemsize:  # four tokens are two numbers
        there = mixed(there[:-each]) + there[each:] if count > each else there[:0]
        each *= 2
    # The upper half of each product, where every bit of the window counts.
    return (there * _FACTOR).view(np.uint32)[1::2], each


def _similar(made: np.ndarray, threshold: float) -> dict[int, int]:
    """Return, for each row of signatures, the earliest one that stays and that it resembles."""
    made = np.ascontiguousarray(made)
    pairs = _candidates(made)
    later, earlier = pairs[:, 0], pairs[:, 1]
    good = (made[later] == made[earlier]).mean(axis=1) >= threshold
    found: dict[int, int] = {}
    for place, other in pairs[good].tolist():
        kept = found.get(other, other)
        if place not in found and (kept == other or (made[place] == made[kept]).mean() >= threshold):
            found[place] = kept
    return found


def _candidates(made: np.ndarray) -> np.ndarray:
    """Return pairs (later, earlier) that agree in a band, int64 of shape (pairs, 2), sorted."""
    there = np.flatnonzero(~(made == np.uint32(0xFFFFFFFF)).all(axis=1))
    pairs = []
    for band in range(BANDS):
        keys = np.zeros(len(there), dtype=np.uint64)
        for column in made.T[band * ROWS : (band + 1) * ROWS]:
            keys = mixed(keys * _FACTOR + column[there])
        order = np.argsort(keys, kind="stable")
        same = np.flatnonzero(keys[order][1:] == keys[order][:-1]) + 1
        if same.size:
            heads = np.ones(len(order), dtype=bool)
            heads[same] = False
            head = np.maximum.accumulate(np.where(heads, np.arange(len(order)), 0))
            pairs += [np.stack([order[same], order[near]], 1) for near in (same - 1, head[same])]
    return there[np.unique(np.concatenate(pairs), axis=0)] if pairs else np.zeros((0, 2), dtype=np.int64)


def _settled(found: dict[int, int]) -> dict[int, int]:
    """Let no document be dropped for one that is dropped itself."""
    settled: dict[int, int] = {}
    for place in sorted(found):
        settled[place] = settled.get(found[place], found[place])
    return settled
