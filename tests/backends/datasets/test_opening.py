"""From tables of a spec to batches from files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stackproof.backends.datasets.augment import Augment
from stackproof.backends.datasets.cleaning import Cleaning
from stackproof.backends.datasets.opening import Wanted, open_files
from stackproof.backends.errors import InputError
from stackproof.backends.reading_data import read_files
from stackproof.backends.spec_data import Files
from stackproof.backends.tables import Faults, Table

if TYPE_CHECKING:
    from pathlib import Path

FEATURES = np.random.default_rng(0).random((40, 6), dtype=np.float32)
LABELS = np.asarray([0] * 30 + [1] * 10)
VECTORS = Wanted(batch=4, seed=1, shape=(6,), classes=2)


def read(**content: Any) -> tuple[Files, list[str]]:
    faults = Faults()
    table = Table(content, ("data",), faults, [])
    files = read_files(table)
    table.finish()
    return files, [str(fault) for fault in faults.listed({"data": content})]


def test_every_key_is_read() -> None:
    clean = {"nonfinite": True, "least": -1, "most": 2.5, "exact": True, "near": 0.1}
    augment = {"crop": 4, "flip": True, "brightness": 0.1, "contrast": 0.2, "noise": 0.3, "mixup": 0.4, "cutmix": 0.5}
    files, faults = read(
        kind="images-folder", path="d", shuffle=False, balance=True, weights=[1, 2], clean=clean, augment=augment
    )
    assert faults == []
    assert files == Files(
        "images-folder",
        "d",
        shuffle=False,
        balance=True,
        weights=(1.0, 2.0),
        clean=Cleaning(nonfinite=True, least=-1.0, most=2.5, exact=True, near=0.1),
        augment=Augment(4, flip=True, brightness=0.1, contrast=0.2, noise=0.3, mixup=0.4, cutmix=0.5),
    )
    clean = {"shortest": 3, "longest": 9, "exact": True}
    files, faults = read(kind="tokens", path="t", dtype="uint32", stride=7, separator=0, clean=clean)
    assert faults == []
    expected = Cleaning(shortest=3, longest=9, exact=True)
    assert files == Files("tokens", "t", "uint32", stride=7, separator=0, clean=expected)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ({"kind": "tokens"}, "data.path: missing"),
        ({"kind": "parquet", "path": "d"}, 'data.kind: must be "tokens", "arrays" or "images-folder"'),
        ({"path": "", "kind": "arrays"}, "data.path: must name a file or folder"),
        ({"path": "t", "dtype": "int8"}, 'data.dtype: must be "uint16" or "uint32"'),
        ({"path": "t", "stride": -1}, "data.stride: must be from 0"),
        ({"path": "t", "balance": True}, 'data.balance: has no meaning for kind "tokens": remove it'),
        ({"path": "t", "augment": {}}, "data.augment: has no meaning"),
        ({"path": "d", "kind": "arrays", "stride": 4}, 'data.stride: has no meaning for kind "arrays"'),
        ({"path": "d", "kind": "arrays", "clean": {"longest": 4}}, "data.clean.longest: has no meaning"),
        ({"path": "t", "separator": 0, "clean": {"least": 4}}, "data.clean.least: has no meaning"),
        ({"path": "t", "clean": {"exact": True}}, "data.separator: missing: write the token"),
        ({"path": "t", "separator": 0}, "data.separator: would have no effect without [data.clean]"),
        ({"path": "d", "kind": "arrays", "weights": [1, 2]}, "data.weights: would have no effect: add balance"),
        ({"path": "d", "kind": "arrays", "clean": {"least": 2, "most": 1}}, "data.clean.least: is above most, 1.0"),
        (
            {"path": "t", "separator": 0, "clean": {"shortest": 5, "longest": 2}},
            "data.clean.longest: is below shortest",
        ),
        ({"path": "d", "kind": "arrays", "clean": {"near": 2}}, "data.clean.near: must be from 0 to 1"),
        ({"path": "d", "kind": "arrays", "clean": {"exakt": True}}, "data.clean.exakt: unknown key; did you mean"),
        ({"path": "d", "kind": "arrays", "augment": {"mixup": 5}}, "data.augment.mixup: must be from 0 to 4"),
        ({"path": "d", "kind": "arrays", "augment": {"noise": -1}}, "data.augment.noise: must be at least 0"),
    ],
)
def test_keys_that_do_not_fit(content: dict[str, Any], fault: str) -> None:
    _, faults = read(**content)
    assert len(faults) == 1
    assert faults[0].startswith(fault)


def arrays(path: Path, **changed: Any) -> Path:
    np.savez(path / "d.npz", **{"features": FEATURES, "labels": LABELS, **changed})
    return path / "d.npz"


def test_arrays_with_everything(tmp_path: Path) -> None:
    features = FEATURES.copy()
    features[5] = features[4]
    features[6, 0] = np.nan
    files = Files("arrays", balance=True, clean=Cleaning(nonfinite=True, exact=True), augment=Augment(noise=0.1))
    made = open_files(arrays(tmp_path, features=features), files, VECTORS)
    assert made.report.dropped == {5: "exact-duplicate", 6: "non-finite"}
    drawn = np.concatenate([made.feed.batch(step)["labels"] for step in range(9)])
    assert abs(int(np.bincount(drawn)[0]) - 18) <= 1
    assert made.feed.order.count == 38


def test_targets(tmp_path: Path) -> None:
    path = tmp_path / "d.npz"
    np.savez(path, features=FEATURES, targets=FEATURES[:, :2])
    wanted = replace(VECTORS, classes=0, outputs=2)
    assert open_files(path, Files("arrays"), wanted).feed.batch(0)["targets"].shape == (4, 2)
    with pytest.raises(InputError, match=r"the loss takes targets of shape \(40, 3\), not \(40, 2\)"):
        open_files(path, Files("arrays"), replace(wanted, outputs=3))


def test_images(tmp_path: Path) -> None:
    for place in range(12):
        folder = tmp_path / "d" / ("left", "right")[place % 2]
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / f"{place}.npy", np.full((5, 4, 3), place * 20, np.uint8))
    wanted = Wanted(batch=4, shape=(3, 5, 4), classes=2)
    files = Files("images-folder", augment=Augment(crop=1, mixup=0.2))
    made = open_files(tmp_path / "d", files, wanted).feed.batch(2)
    assert {name: value.shape for name, value in made.items()} == {"features": (4, 3, 5, 4), "targets": (4, 2)}


def test_tokens_cleaned_by_documents(tmp_path: Path) -> None:
    # Documents 1 2 3 0, the same again, and 4 5 6 7 8 0.
    tokens = np.asarray([1, 2, 3, 0, 1, 2, 3, 0, 4, 5, 6, 7, 8, 0, 9], np.uint16)
    (tmp_path / "t.bin").write_bytes(tokens.tobytes())
    files = Files("tokens", separator=0, shuffle=False, clean=Cleaning(exact=True))
    made = open_files(tmp_path / "t.bin", files, Wanted(batch=1, context=3, vocabulary=10))
    assert made.report.likenesses == {1: 0}
    assert [made.feed.batch(step)["tokens"][0].tolist() for step in range(3)] == [[1, 2, 3], [0, 4, 5], [6, 7, 8]]


@pytest.mark.parametrize(
    ("files", "changed", "wanted", "what"),
    [
        (Files("arrays"), {}, replace(VECTORS, shape=(7,)), r"a sample has shape \(6,\), and the model takes \(7,\)"),
        (Files("arrays"), {}, replace(VECTORS, classes=1), "has label 1, and labels go from 0 to 0"),
        (Files("arrays"), {"labels": LABELS * 0}, VECTORS, "all 40 samples are of class 0"),
        (
            Files("arrays"),
            {"features": np.full_like(FEATURES, np.inf)},
            VECTORS,
            "sample 0 and 39 others hold inf or nan",
        ),
        (Files("arrays"), {}, replace(VECTORS, batch=41), "41 samples a step are more than the 40"),
        (Files("arrays", balance=True), {}, replace(VECTORS, classes=3), "class 2 has no samples"),
        (Files("arrays", augment=Augment(flip=True)), {}, VECTORS, r"data\.augment\.flip: changes images"),
        (
            Files("arrays", clean=Cleaning(most=float(FEATURES[30:].min()) - 1)),
            {},
            VECTORS,
            "nothing is left after cleaning",
        ),
        (Files("arrays", clean=Cleaning(most=2.0)), {"features": FEATURES + LABELS[:, None] * 5}, VECTORS, "one class"),
    ],
)
def test_files_that_do_not_fit_the_model(
    tmp_path: Path, files: Files, changed: dict[str, Any], wanted: Wanted, what: str
) -> None:
    path = arrays(tmp_path, **changed)
    with pytest.raises(InputError, match=what):
        open_files(path, files, wanted)
