"""Cleaning: planted faults are found, nothing else is dropped, and the report says why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stackproof.backends.datasets import near_text, near_vectors
from stackproof.backends.datasets.cleaning import Cleaning, Report, clean_documents, clean_labelled
from stackproof.backends.datasets.labelled import Labelled
from stackproof.backends.datasets.near_text import Documents
from stackproof.backends.errors import InputError


def vectors(count: int = 50, size: int = 20) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((count, size)).astype(np.float32)


def labelled(features: np.ndarray, **more: Any) -> Labelled:
    labels = more.pop("labels", np.zeros(len(features), np.int64))
    return Labelled(Path("d"), features, labels, **more)


def test_nothing_is_dropped_where_nothing_is_asked_for() -> None:
    features = np.tile(vectors(5), (2, 1))
    assert clean_labelled(labelled(features), Cleaning()).kept.tolist() == list(range(10))


def test_samples_that_are_not_finite() -> None:
    features = vectors()
    features[[3, 9], 0] = np.nan, np.inf
    report = clean_labelled(labelled(features), Cleaning(nonfinite=True))
    assert report.dropped == {3: "non-finite", 9: "non-finite"}
    assert report.kept.tolist() == [place for place in range(50) if place not in {3, 9}]


def test_values_out_of_range() -> None:
    features = np.clip(vectors(), -1.0, 1.0)
    features[4, 2], features[5, 3], features[6, 0] = 1.5, -1.5, 1.0
    assert clean_labelled(labelled(features), Cleaning(most=1.0)).dropped == {4: "range"}
    assert clean_labelled(labelled(features), Cleaning(least=-1.0)).dropped == {5: "range"}
    assert set(clean_labelled(labelled(features), Cleaning(least=-1.0, most=1.0)).dropped) == {4, 5}


def test_exact_duplicates_leave_the_first() -> None:
    features = vectors()
    features[[7, 30]] = features[2]
    features[31] = features[3]
    labels = np.zeros(50, np.int64)
    labels[31] = 1  # another label: no duplicate
    report = clean_labelled(labelled(features, labels=labels), Cleaning(exact=True))
    assert report.dropped == {7: "exact-duplicate", 30: "exact-duplicate"}
    assert report.likenesses == {7: 2, 30: 2}


def test_a_sample_is_dropped_for_the_first_reason() -> None:
    features = np.clip(vectors(), -1.0, 1.0)
    features[8], features[9, 0], features[10, 0] = features[1], np.nan, 3.0
    features[12] = features[11] = features[10]
    report = clean_labelled(labelled(features), Cleaning(nonfinite=True, most=1.0, exact=True))
    assert report.dropped == {8: "exact-duplicate", 9: "non-finite", 10: "range", 11: "range", 12: "range"}
    assert report.to_dict() == {
        "samples": 50,
        "kept": 45,
        "dropped": {"non-finite": 1, "range": 3, "length": 0, "exact-duplicate": 1, "near-duplicate": 0},
        "first": {
            "non-finite": [{"sample": 9}],
            "range": [{"sample": 10}, {"sample": 11}, {"sample": 12}],
            "exact-duplicate": [{"sample": 8, "like": 1}],
        },
    }


def test_places_after_earlier_reasons_are_those_of_the_whole_set() -> None:
    features = np.clip(vectors(), -1.0, 1.0)
    features[0, 0] = np.nan
    features[49] = features[20]
    report = clean_labelled(labelled(features), Cleaning(nonfinite=True, exact=True))
    assert report.likenesses == {49: 20}


def test_nothing_left_is_an_error() -> None:
    with pytest.raises(InputError, match=r"nothing is left after cleaning \(\{'range': 50\}\): loosen the limits"):
        clean_labelled(labelled(vectors()), Cleaning(most=-100.0))


def test_a_long_report_is_cut() -> None:
    report = Report(100)
    report.drop(np.arange(100) < 90, "range")
    told = report.to_dict()
    assert told["dropped"]["range"] == 90
    assert len(told["first"]["range"]) == 20


WORDS = [
    bytes(letters) for letters in np.split(np.random.default_rng(1).integers(97, 123, 16_000, dtype=np.uint8), 4000)
]


def page(seed: int, size: int) -> list[bytes]:
    return [WORDS[place] for place in np.random.default_rng(seed).integers(0, len(WORDS), size)]


def altered(words: list[bytes], seed: int, share: float) -> list[bytes]:
    generator = np.random.default_rng((seed, 1))
    places = generator.choice(len(words), max(1, round(len(words) * share)), replace=False)
    made = list(words)
    for place in places:
        made[place] = WORDS[generator.integers(len(WORDS))]
    return made


def resemblance(first: bytes, second: bytes) -> float:
    """Return the Jaccard resemblance of two texts over their shingles of eight bytes."""
    sets = [{text[at : at + 8] for at in range(len(text) - 7)} for text in (first, second)]
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def test_signatures_estimate_the_resemblance() -> None:
    pairs = [(b" ".join(page(seed, 400)), b" ".join(altered(page(seed, 400), seed, 0.01 * seed))) for seed in range(20)]
    documents = Documents.of([text for pair in pairs for text in pair])
    for every in (1, 8):
        made = near_text.signatures(documents, np.arange(40), every)
        estimates = (made[::2] == made[1::2]).mean(axis=1)
        exact = np.asarray([resemblance(*pair) for pair in pairs])
        assert exact.min() < 0.5
        assert np.abs(estimates - exact).max() < 0.2
        assert abs((estimates - exact).mean()) < 0.04


@pytest.mark.parametrize("size", [15, 60, 110, 140, 300, 2000])
def test_planted_near_duplicates_are_found_at_any_length(size: int) -> None:
    pages = [page(seed, size) for seed in range(200)]
    rows = [b" ".join(words) for words in pages] + [b" ".join(altered(pages[at], at, 0.02)) for at in range(0, 200, 4)]
    found = near_text.near_duplicates(Documents.of(rows), 0.6 if size < 100 else 0.7)
    assert set(found) <= set(range(200, 250))
    assert all(found[place] == (place - 200) * 4 for place in found)
    assert len(found) >= 48


def test_different_pages_with_a_common_part_stay() -> None:
    frame = page(1000, 130)
    rows = [b" ".join(frame + page(seed, 200)) for seed in range(300)]
    assert 0.15 < resemblance(rows[0], rows[1]) < 0.5
    assert near_text.near_duplicates(Documents.of(rows)) == {}


def test_what_stays_is_never_dropped_itself() -> None:
    rows = [b" ".join(page(0, 400))]
    words = page(0, 400)
    for step in range(30):
        words = altered(words, step, 0.02)
        rows.append(b" ".join(words))
    found = near_text.near_duplicates(Documents.of(rows))
    assert 5 < len(found) < 29
    assert not set(found.values()) & set(found)
    # Each is like the one that stays, not only like its neighbour in the chain.
    assert min(resemblance(rows[place], rows[other]) for place, other in found.items()) > 0.55


def test_what_stays_is_never_dropped_itself_where_short_meets_long() -> None:
    whole = b" ".join(page(0, 200))
    rows = [whole[:size] for size in (490, 600, 730)]  # short, both, long
    found = near_text.near_duplicates(Documents.of(rows))
    assert found[1] == 0
    assert not set(found.values()) & set(found)


@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_near_duplicates_of_tokens(dtype: str) -> None:
    generator = np.random.default_rng(5)
    parts = [generator.integers(1, 50_000, 500).astype(dtype) for _ in range(100)]
    for place in range(20):
        part = parts[place * 5].copy()
        part[generator.integers(0, 500, 5)] = 7
        parts.append(part)
    flat = np.concatenate([np.append(part, 0) for part in parts]).astype(dtype)
    documents = Documents.split(flat, 0)
    assert len(documents.ends) == 120
    report = clean_documents(documents, Cleaning(near=0.3), "t.bin")
    assert report.likenesses == {100 + place: place * 5 for place in range(20)}
    assert np.array_equal(documents.joined(report.kept), flat[: documents.ends[99]])


def test_documents_by_length_and_exact_duplicates() -> None:
    rows = [b"a" * 3, b"b" * 10, b"c" * 10, b"b" * 10, b"d" * 99, b""]
    report = clean_documents(Documents.of(rows), Cleaning(shortest=3, longest=50, exact=True), "t")
    assert report.dropped == {4: "length", 5: "length", 3: "exact-duplicate"}
    assert report.likenesses == {3: 1}


def test_documents_without_a_shingle_are_no_near_duplicates() -> None:
    rows = [b"abc", b"abd", b"", b"1234567"]
    assert near_text.near_duplicates(Documents.of(rows)) == {}


def test_a_last_document_without_separator_counts() -> None:
    documents = Documents.split(np.asarray([5, 0, 6, 7], np.uint16), 0)
    assert documents.ends.tolist() == [2, 4]
    assert Documents.split(np.asarray([5, 0], np.uint16), 0).ends.tolist() == [2]


def scenes(count: int) -> np.ndarray:
    """Return smooth images, bytes of shape (count, 3, 32, 32)."""
    coarse = np.random.default_rng(3).integers(0, 256, (count, 3, 6, 6))
    return np.stack([np.kron(one, np.ones((6, 6)))[:, 2:34, 2:34] for one in coarse]).astype(np.uint8)


def test_near_duplicates_of_images() -> None:
    images = scenes(400)
    noise = np.random.default_rng(4).integers(-4, 5, (40, 3, 32, 32))
    planted = np.clip(images[:40].astype(np.int64) + noise, 0, 255).astype(np.uint8)
    found = near_vectors.near_duplicates(np.concatenate([images, planted]), 0.05)
    assert set(found) <= set(range(400, 440))
    assert sum(found.get(400 + place) == place for place in range(40)) >= 38


def test_flat_images_of_different_brightness_stay() -> None:
    images = np.stack([np.full((1, 16, 16), value, np.uint8) for value in range(0, 250, 50)])
    assert near_vectors.near_duplicates(images, 0.05) == {}


def test_near_duplicates_of_vectors() -> None:
    features = vectors(1000, 64)
    planted = features[:100] + np.random.default_rng(9).standard_normal((100, 64)).astype(np.float32) * 0.02
    found = near_vectors.near_duplicates(np.concatenate([features, planted]), 0.01)
    assert set(found) <= set(range(1000, 1100))
    assert sum(found.get(1000 + place) == place for place in range(100)) >= 95


def test_all_alike_leaves_one() -> None:
    assert near_vectors.near_duplicates(np.zeros((20, 5)), 0.01) == dict.fromkeys(range(1, 20), 0)


def test_near_duplicates_are_reported() -> None:
    features = vectors(20)
    features[15] = features[4] + np.float32(1e-4)
    features[0, 0] = np.nan
    report = clean_labelled(labelled(features), Cleaning(nonfinite=True, near=0.01))
    assert report.dropped == {0: "non-finite", 15: "near-duplicate"}
    assert report.likenesses == {15: 4}
