"""Arrays with labels or targets: as numpy wrote them, and faults with file and mend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stackproof.backends.datasets.labelled import Labelled, check_finite, check_labels, finite, read_arrays
from stackproof.backends.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

FEATURES = np.linspace(-1, 1, 60, dtype=np.float32).reshape(10, 6)
LABELS = np.arange(10) % 3


def write(path: Path, **arrays: Any) -> Path:
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    else:
        path.mkdir(exist_ok=True)
        for name, array in arrays.items():
            np.save(path / f"{name}.npy", array)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_arrays(path)
    return str(caught.value)


@pytest.mark.parametrize("name", ["d.npz", "d"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_features_and_labels(tmp_path: Path, name: str, dtype: str) -> None:
    made = read_arrays(write(tmp_path / name, features=FEATURES.astype(dtype), labels=LABELS, other=FEATURES))
    taken = made.take(np.asarray([7, 0, 7]))
    assert made.count == 10
    assert {key: value.dtype.name for key, value in taken.items()} == {"features": "float32", "labels": "int64"}
    assert np.array_equal(taken["features"], FEATURES.astype(dtype).astype(np.float32)[[7, 0, 7]])
    assert taken["labels"].tolist() == [1, 0, 1]


def test_bytes_are_shares_of_255(tmp_path: Path) -> None:
    pixels = np.asarray([[0, 51, 255]], dtype=np.uint8)
    made = read_arrays(write(tmp_path / "d.npz", features=pixels, labels=np.asarray([0])))
    assert made.take(np.asarray([0]))["features"].tolist() == [[0.0, float(np.float32(0.2)), 1.0]]


def test_features_and_targets(tmp_path: Path) -> None:
    goals = FEATURES[:, :2].astype(np.float64)
    taken = read_arrays(write(tmp_path / "d", features=FEATURES, targets=goals)).take(np.asarray([1]))
    assert set(taken) == {"features", "targets"}
    assert np.array_equal(taken["targets"], FEATURES[1:2, :2])


def test_folders_are_mapped(tmp_path: Path) -> None:
    made = read_arrays(write(tmp_path / "d", features=FEATURES, labels=LABELS))
    assert isinstance(made.features, np.memmap)


@pytest.mark.parametrize("name", ["d.npz", "d"])
@pytest.mark.parametrize(
    ("arrays", "what"),
    [
        ({"features": FEATURES}, "must hold features and either labels or targets, and holds features"),
        ({"labels": LABELS}, "and holds labels"),
        ({"features": FEATURES, "labels": LABELS, "targets": FEATURES}, "either labels or targets"),
        ({"features": FEATURES, "labels": LABELS[:9]}, r"labels are int64 of shape \(9,\): write one integer for each"),
        ({"features": FEATURES, "labels": LABELS[:, None]}, r"of shape \(10, 1\)"),
        ({"features": FEATURES, "labels": LABELS * 1.0}, "labels are float64"),
        ({"features": FEATURES, "targets": LABELS}, "targets are int64"),
        ({"features": FEATURES, "targets": FEATURES[:3]}, r"targets are float32 of shape \(3, 6\)"),
        ({"features": FEATURES[:, 0], "labels": LABELS}, r"features are float32 of shape \(10,\)"),
        ({"features": FEATURES.astype(np.int32), "labels": LABELS}, "features are int32 .*write float16"),
        ({"features": FEATURES[:0], "labels": LABELS[:0]}, r"features of shape \(0, 6\) are empty"),
        ({"features": FEATURES.astype(np.complex64), "labels": LABELS}, "which is no plain number"),
        ({"features": FEATURES.astype("U5"), "labels": LABELS}, "which is no plain number"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path: Path, name: str, arrays: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=what):
        read_arrays(write(tmp_path / name, **arrays))


@pytest.mark.parametrize("name", ["d.npz", "d"])
def test_a_pickle_is_not_opened(tmp_path: Path, name: str) -> None:
    made = write(tmp_path / name, features=np.asarray([[print]], dtype=object), labels=np.asarray([0]))
    assert "cannot be read as" in refusal(made)


@pytest.mark.parametrize("cut", [1, 100, 400])
def test_a_file_cut_short(tmp_path: Path, cut: int) -> None:
    archive = write(tmp_path / "d.npz", features=FEATURES, labels=LABELS)
    archive.write_bytes(archive.read_bytes()[:-cut])
    assert "d.npz: cannot be read as .npz" in refusal(archive)
    folder = write(tmp_path / "d", features=np.tile(FEATURES, (10, 1)), labels=np.tile(LABELS, 10))
    (folder / "features.npy").write_bytes((folder / "features.npy").read_bytes()[:-cut])
    assert "features.npy: cannot be read as .npy" in refusal(folder)


@pytest.mark.parametrize("content", [b"", b"nothing", b"\x80\x04.", b"PK\x03\x04" + bytes(50)])
def test_what_is_no_array_at_all(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "d.npz").write_bytes(content)
    assert "cannot be read as .npz" in refusal(tmp_path / "d.npz")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "features.npy").write_bytes(content)
    assert "features.npy: cannot be read as .npy" in refusal(tmp_path / "d")


def test_a_npy_file_is_no_npz(tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", FEATURES)
    (tmp_path / "d.npy").rename(tmp_path / "d.npz")
    assert "cannot be read as .npz" in refusal(tmp_path / "d.npz")


def test_a_zip_is_no_npy(tmp_path: Path) -> None:
    folder = write(tmp_path / "d", labels=LABELS)
    write(tmp_path / "x.npz", features=FEATURES).rename(folder / "features.npy")
    assert "features.npy: cannot be read as .npy" in refusal(folder)


def test_a_link_out_of_the_folder(tmp_path: Path) -> None:
    np.save(tmp_path / "out.npy", FEATURES)
    folder = write(tmp_path / "d", labels=LABELS)
    (folder / "features.npy").symlink_to(tmp_path / "out.npy")
    assert "lies outside of" in refusal(folder)


def test_nothing_there(tmp_path: Path) -> None:
    assert "is not there: correct data.path" in refusal(tmp_path / "d")


def data(tmp_path: Path, **changed: Any) -> Labelled:
    return read_arrays(write(tmp_path / "d.npz", **{"features": FEATURES, "labels": LABELS, **changed}))


def test_labels_within_the_classes(tmp_path: Path) -> None:
    check_labels(data(tmp_path), 3)
    with pytest.raises(InputError, match="sample 2 has label 2, and labels go from 0 to 1: correct the labels"):
        check_labels(data(tmp_path), 2)
    with pytest.raises(InputError, match="sample 0 has label -1"):
        check_labels(data(tmp_path, labels=LABELS - 1), 3)


def test_one_class_only(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="all 10 samples are of class 1: bring samples of another class"):
        check_labels(data(tmp_path, labels=LABELS * 0 + 1), 3)


def test_no_labels(tmp_path: Path) -> None:
    made = read_arrays(write(tmp_path / "t.npz", features=FEATURES, targets=FEATURES))
    with pytest.raises(InputError, match="has targets and no labels"):
        check_labels(made, 3)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite(tmp_path: Path, bad: float) -> None:
    check_finite(data(tmp_path))
    features = FEATURES.copy()
    features[[4, 8], [0, 5]] = bad
    made = data(tmp_path, features=features)
    assert np.flatnonzero(~finite(made)).tolist() == [4, 8]
    with pytest.raises(InputError, match=r"d\.npz: sample 4 and 1 others hold inf or nan: mend them"):
        check_finite(made)


def test_targets_that_are_not_finite(tmp_path: Path) -> None:
    goals = FEATURES.copy()
    goals[9, 0] = np.nan
    made = read_arrays(write(tmp_path / "t.npz", features=FEATURES, targets=goals))
    assert np.flatnonzero(~finite(made)).tolist() == [9]
