"""`import` and `export`, and the words of `train` that go with them."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx_models import classifier, compute, drawn
from safetensors.numpy import load_file

from stackproof.backends.program import dump, load
from stackproof.matrix import cli
from stackproof.matrix.cli.model_words import LOSSES, NAMES
from stackproof.matrix.exporting.names import CONVENTIONS
from stackproof.matrix.importing.loss import LOSSES as KNOWN_LOSSES
from stackproof.matrix.kept import PROGRAM, RUN, keep_run, read_kept

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    onnx.save(classifier(), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def answer(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert cli.main(list(words)) == code
    made = capsys.readouterr()
    return made.err if code else made.out


def test_the_words_are_those_of_the_modules_behind_them() -> None:
    assert (NAMES, LOSSES) == (CONVENTIONS, KNOWN_LOSSES)


def test_import_says_what_was_understood(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = answer(capsys, "import", str(saved), "--batch", "4", "--loss", "cross-entropy", "--training")
    for line in (
        "m.onnx: operator set 17",
        "  inputs              x  float32  4 x 3 x 8 x 8",
        "                      labels  int64  4, below 5",
        "  outputs             scores",
        "  trained             6 tensors, 145 elements: conv.weight, conv.bias, bn.weight, bn.bias, fc.weight, fc.bias",
        "  state               2 tensors, 8 elements: bn.running_mean, bn.running_var",
        "  decided             by name and use",
    ):
        assert line in text
    assert "Conv (1)" in text


def test_import_as_json_has_the_same(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("import", str(saved), "--shape", "x=2,3,8,8", "--freeze", "conv.*", "--json")
    made: dict[str, Any] = json.loads(answer(capsys, *words))
    assert next(iter(made)) == "schema_version"
    assert made["inputs"] == [{"name": "x", "dtype": "float32", "shape": [2, 3, 8, 8], "bound": None}]
    assert (made["trained"]["tensors"], made["frozen"]["names"]) == (4, ["conv.weight", "conv.bias"])
    assert made["operators"]["Conv"] == {"nodes": 1, "frameworks": ["torch", "tensorflow", "jax"]}
    assert (made["opset"], made["loss"], made["mended"]) == (17, None, [])
    assert [note["trap"] for note in made["notes"]] == ["batch-norm-inference", "shape-arithmetic"]


def test_a_written_program_is_what_was_imported(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = saved.with_name("program.npz")
    made = json.loads(answer(capsys, "import", str(saved), "--batch", "4", "--out", str(out), "--json"))
    assert load(out.read_bytes()).digest == made["program_digest"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "x: its size 0 (batch) is open"),
        (("--batch", "2", "--loss", "own"), "scores: has the shape [2, 5], and a loss is one number"),
    ],
)
def test_a_model_that_cannot_be_used_is_an_error_of_input(
    saved: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], text: str
) -> None:
    told = answer(capsys, "import", str(saved), *words, code=2)
    assert text in told
    assert "Traceback" not in told


@pytest.mark.parametrize("word", ["--shape=x", "--shape=x=2,a", "--bound=x=0", "--batch=0", "--loss=mse"])
def test_words_that_mean_nothing_are_refused(saved: Path, word: str) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["import", str(saved), word])
    assert ended.value.code == 2


def test_export_writes_a_model_and_its_weights(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = saved.parent
    answer(capsys, "import", str(saved), "--batch", "4", "--out", str(folder / "p.npz"))
    files = ("--onnx", str(folder / "out.onnx"), "--safetensors", str(folder / "w.safetensors"), "--names", "torch")
    made = json.loads(answer(capsys, "export", str(folder / "p.npz"), *files, "--json"))
    assert (made["onnx"]["inputs"], made["onnx"]["outputs"]) == (["x"], ["scores"])
    assert (made["safetensors"]["tensors"], made["safetensors"]["names"]) == (6, "torch")
    x = drawn(4, 3, 8, 8, seed=3)
    wanted = compute(classifier(), {"x": x})[0]
    np.testing.assert_allclose(compute(onnx.load(folder / "out.onnx"), {"x": x})[0], wanted, rtol=1e-5, atol=1e-6)
    assert load_file(folder / "w.safetensors")["fc.weight"].shape == (5, 4)
    text = answer(capsys, "export", str(folder / "p.npz"), *files)
    assert "out.onnx: " in text
    assert "6 tensors, torch names" in text


@pytest.mark.parametrize(
    ("content", "words", "text"),
    [
        (None, ("--onnx", "o"), "no such file: train --out makes a folder with program.npz"),
        (b"PK nothing", ("--onnx", "o"), "is no program that this version wrote"),
        (b"", (), "says nothing to write"),
    ],
)
def test_what_cannot_be_exported_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, words: tuple[str, ...], text: str
) -> None:
    if content is not None:
        (tmp_path / PROGRAM).write_bytes(content)
    assert text in answer(capsys, "export", str(tmp_path), *words, code=2)


def test_a_run_is_kept_with_its_trained_tensors(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = saved.parent
    answer(
        capsys,
        "import",
        str(saved),
        "--batch",
        "4",
        "--loss",
        "cross-entropy",
        "--training",
        "--out",
        str(folder / "p"),
    )
    before = load((folder / "p").read_bytes())
    trained = {name: value + 1 for name, value in before.parameters.items()}
    state = {name: value + 2 for name, value in before.state.items()}
    averages = {name: value + 3 for name, value in before.parameters.items()}
    blobs = {"a": _packed(trained), "b": _packed(state), "c": _packed(averages)}
    run = {"parameters_blob": "a", "state_blob": "b", "averages_blob": "c"}
    keep_run(folder / "kept", folder / "p", run, blobs.__getitem__, {"losses": [1.0]})
    after = read_kept(folder / "kept")
    assert list(after.parameters) == list(before.parameters)
    assert all((after.parameters[name] == before.parameters[name] + 1).all() for name in before.parameters)
    assert all((after.state[name] == before.state[name] + 2).all() for name in before.state)
    assert json.loads((folder / "kept" / RUN).read_text()) == {"losses": [1.0]}
    assert dump(read_kept(folder / "kept" / PROGRAM)) == dump(after)
    smooth = read_kept(folder / "kept" / "averaged.npz")
    assert all((smooth.parameters[name] == before.parameters[name] + 3).all() for name in before.parameters)
    assert all((smooth.state[name] == before.state[name] + 2).all() for name in before.state)


def _packed(tensors: dict[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    arrays: dict[str, Any] = dict(tensors)
    np.savez(buffer, **arrays)
    return buffer.getvalue()
