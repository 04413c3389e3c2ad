from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import checker, inliner, shape_inference
from onnx_models import classifier, drawn, floats, model, node

from stackproof.backends.errors import InputError
from stackproof.matrix.importing.loading import file_digest, load_model
from stackproof.matrix.importing.prepare import Wishes, import_model

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from onnx import ModelProto

WEIGHT = drawn(8, 8)


def linear() -> ModelProto:
    return model([node("MatMul", ["x", "w"], ["y"])], [floats("x", 2, 8)], [floats("y", 2, 8)], {"w": WEIGHT})


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """Return the file of a model whose weight lies in another file."""
    path = tmp_path / "m.onnx"
    onnx.save(linear(), path, save_as_external_data=True, location="m.data", size_threshold=0)
    assert (tmp_path / "m.data").stat().st_size == WEIGHT.nbytes
    return path


def moved(path: Path, **entries: str) -> None:
    """Change where a model says that its weight lies."""
    changed = onnx.load(path, load_external_data=False)
    for entry in changed.graph.initializer[0].external_data:
        entry.value = entries.pop(entry.key, entry.value)
    for key, value in entries.items():
        changed.graph.initializer[0].external_data.add(key=key, value=value)
    path.write_bytes(changed.SerializeToString())


def test_tensors_in_another_file_are_read(beside: Path) -> None:
    program = import_model(beside).program
    np.testing.assert_array_equal(program.parameters["w"], WEIGHT)


def test_a_missing_file_of_tensors_is_named(beside: Path) -> None:
    (beside.parent / "m.data").unlink()
    with pytest.raises(InputError, match=r'm\.onnx: w: its data are in "m\.data", and there is no such file'):
        load_model(beside)


def test_a_file_of_tensors_that_is_cut_off_is_refused(beside: Path) -> None:
    data = beside.parent / "m.data"
    data.write_bytes(data.read_bytes()[:-4])
    with pytest.raises(InputError, match=r"w: its 256 bytes are not in m\.data .*256 bytes at 0 of 252"):
        load_model(beside)


@pytest.mark.parametrize("place", ["../m.data", "/etc/hostname", "a/../../m.data"])
def test_nothing_is_read_outside_of_the_folder_of_the_model(beside: Path, place: str) -> None:
    (beside.parent.parent / "m.data").write_bytes(WEIGHT.tobytes())
    moved(beside, location=place)
    with pytest.raises(InputError, match="folder"):
        load_model(beside)
    with pytest.raises(InputError, match="folder"):
        file_digest(beside)


def test_a_link_does_not_lead_outside_of_the_folder(beside: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "secret"
    elsewhere.write_bytes(WEIGHT.tobytes())
    (beside.parent / "m.data").unlink()
    (beside.parent / "m.data").symlink_to(elsewhere)
    with pytest.raises(InputError, match="leaves the model's own folder"):
        load_model(beside)


@pytest.mark.parametrize(
    ("key", "value"), [("offset", "-4"), ("offset", "many"), ("length", "12"), ("offset", "1000000")]
)
def test_a_place_that_no_data_can_have_is_refused(beside: Path, key: str, value: str) -> None:
    moved(beside, **{key: value})
    with pytest.raises(InputError, match=r"w: its 256 bytes are not in m\.data"):
        load_model(beside)


def test_the_digest_is_of_the_content_and_of_what_lies_beside(beside: Path) -> None:
    before = file_digest(beside)
    assert file_digest(beside.rename(beside.with_name("other.onnx"))) == before
    data = beside.parent / "m.data"
    data.write_bytes(data.read_bytes()[::-1])
    assert file_digest(beside.with_name("other.onnx")) != before


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x0a"])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m.onnx").write_bytes(content)
    with pytest.raises(InputError, match="is no ONNX model"):
        load_model(tmp_path / "m.onnx")


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(classifier().SerializeToString()[:-100])
    with pytest.raises(InputError, match="is no ONNX model, or only a part of one"):
        load_model(tmp_path / "m.onnx")


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_model(tmp_path / "m.onnx")
    with pytest.raises(InputError, match="is a folder"):
        load_model(tmp_path)


def test_nothing_large_is_handed_to_onnx(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # onnx takes models of less than 2 GiB; a model of any size is imported because large tensors are put aside first.
    sizes = []
    for module, name in (
        (checker, "check_model"),
        (shape_inference, "infer_shapes"),
        (inliner, "inline_local_functions"),
    ):
        monkeypatch.setattr(module, name, measured(getattr(module, name), sizes))
    big = model(
        [node("MatMul", ["x", "w"], ["y"])], [floats("x", 2, 500)], [floats("y", 2, 500)], {"w": drawn(500, 500)}
    )
    onnx.save(big, tmp_path / "big.onnx")
    made = import_model(tmp_path / "big.onnx", Wishes(loss="mean-squared-error"))
    np.testing.assert_array_equal(made.program.parameters["w"], drawn(500, 500))
    assert len(sizes) > 2
    assert max(sizes) < 10_000


def measured(function: Callable[..., Any], sizes: list[int]) -> Callable[..., Any]:
    def call(given: ModelProto, *more: Any, **options: Any) -> Any:
        sizes.append(given.ByteSize())
        return function(given, *more, **options)

    return call
