"""How many planted near-duplicates the cleaning finds, what it drops wrongly, and how fast it is on one core.

Documents are of made-up words with the frequencies of a language (Zipf). A planted near-duplicate has one to five of a
hundred words replaced, left out or doubled. Every fourth document has a frame in common with others, and is to stay.
What is timed is the whole cleaning of documents: length, exact duplicates, near-duplicates. --quick takes a tenth.

    OMP_NUM_THREADS=1 python benchmarks/cleaning.py [--json] [--quick]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Final

import numpy as np
from figures import finish

from stackproof.backends.datasets.cleaning import Cleaning, clean_documents, clean_labelled
from stackproof.backends.datasets.labelled import Labelled
from stackproof.backends.datasets.near_text import Documents

_REQUIRED: Final = {
    "text_recall": {"at_least": 0.95},
    "text_false_drops": {"at_most": 0.001},
    "text_mb_per_second": {"at_least": 50.0},
    "image_recall": {"at_least": 0.95},
    "image_false_drops": {"at_most": 0.001},
    "vector_recall": {"at_least": 0.95},
    "vector_false_drops": {"at_most": 0.001},
}
_WORDS: Final = 30_000
_ROUNDS: Final = 3
_PLANTED: Final = 20  # every so-manieth document has a near-duplicate


class Pages:
    """Makes documents."""

    def __init__(self) -> None:
        self._drawn = np.random.default_rng(0)
        lengths = self._drawn.integers(2, 11, _WORDS)
        letters = self._drawn.integers(97, 123, int(lengths.sum()), dtype=np.uint8).tobytes()
        ends = np.cumsum(lengths)
        self._words = [letters[end - size : end] for end, size in zip(ends, lengths, strict=True)]
        self._shares = 1.0 / np.arange(1, _WORDS + 1)
        self._shares /= self._shares.sum()

    def page(self, low: int, high: int) -> list[bytes]:
        """Return a document's words, from `low` to `high` of them."""
        size = int(self._drawn.integers(low, high))
        return [self._words[place] for place in self._drawn.choice(_WORDS, size, p=self._shares)]

    def altered(self, words: list[bytes]) -> list[bytes]:
        """Return a document with a few words replaced, left out or doubled."""
        made = list(words)
        count = max(1, int(len(words) * self._drawn.uniform(0.01, 0.05)))
        for place in sorted(self._drawn.choice(len(words), count, replace=False).tolist(), reverse=True):
            other = self._words[int(self._drawn.integers(_WORDS))]
            made[place : place + 1] = ([other], [], [made[place], made[place]])[int(self._drawn.integers(3))]
        return made


def main() -> int:
    """Plant, clean, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="a tenth of the samples; says so")
    options = parser.parse_args()
    if options.quick and not options.json:
        print("--quick: a tenth of the samples")
    scale = 10 if options.quick else 1
    figures = measure_text("text", 40_000 // scale, (100, 900))
    figures |= measure_text("short_text", 40_000 // scale, (12, 60))
    figures |= measure_arrays("image", images(20_000 // scale))
    figures |= measure_arrays("vector", np.random.default_rng(2).standard_normal((20_000 // scale, 64), np.float32))
    return finish("cleaning", figures, _REQUIRED, as_json=options.json)


def measure_text(name: str, count: int, words: tuple[int, int]) -> dict[str, float]:
    """Clean documents, and return recall, share of false drops, and megabytes a second of processor time."""
    pages = Pages()
    frame = pages.page(words[0] // 2, words[0])
    made = [(frame if place % 4 == 0 else []) + pages.page(*words) for place in range(count)]
    planted = [pages.altered(made[place]) for place in range(0, count, _PLANTED)]
    documents = Documents.of([b" ".join(page) for page in made + planted])
    seconds, dropped = [], {}
    for _ in range(_ROUNDS):
        start = time.process_time()
        dropped = clean_documents(documents, Cleaning(shortest=1, exact=True, near=0.3), "pages").dropped
        seconds.append(time.process_time() - start)
    rate = len(documents.flat) / min(seconds) / 1e6
    return {**_found(name, dropped, count, len(planted)), f"{name}_mb_per_second": rate}


def images(count: int) -> np.ndarray:
    """Return smooth images, bytes of shape (count, 3, 32, 32)."""
    coarse = np.random.default_rng(1).integers(0, 256, (count, 3, 6, 6))
    return np.repeat(np.repeat(coarse, 6, axis=2), 6, axis=3)[:, :, 2:34, 2:34].astype(np.uint8)


def measure_arrays(name: str, features: np.ndarray) -> dict[str, float]:
    """Clean samples of which every so-manieth comes again with noise, and return recall and share of false drops."""
    size = float(features.max()) - float(features.min())
    again = features[::_PLANTED]
    noise = np.random.default_rng(3).standard_normal(again.shape) * 0.01 * size
    planted = np.clip(again + noise, features.min(), features.max()).astype(features.dtype)
    data = Labelled(Path(name), np.concatenate([features, planted]), np.zeros(len(features) + len(planted), np.int64))
    dropped = clean_labelled(data, Cleaning(near=0.03)).dropped
    return _found(name, dropped, len(features), len(planted))


def _found(name: str, dropped: dict[int, str], count: int, planted: int) -> dict[str, float]:
    true = sum(place >= count for place in dropped)
    return {f"{name}_recall": true / planted, f"{name}_false_drops": (len(dropped) - true) / count}


if __name__ == "__main__":
    sys.exit(main())
