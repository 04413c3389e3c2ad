"""A model of the user's own, from its file through three frameworks and out again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx_models import classifier, drawn
from safetensors.numpy import load_file
from tiny import THREE

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import CommandLine

SPEC = """
[model]
onnx = "m.onnx"
training = true
[data]
batch = 4
[optimizer]
kind = "sgd"
lr = 0.1
[train]
steps = 4
compile = false
"""
BACKENDS = {name.removesuffix("-cpu"): f"{name}=={versions[0]}" for name, versions in THREE.items()}


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    onnx.save(classifier(), tmp_path / "m.onnx")
    (tmp_path / "own.toml").write_text(SPEC, encoding="utf-8")
    return tmp_path / "own.toml"


def test_a_checkpoint_of_one_framework_goes_on_on_another(command: CommandLine, spec: Path) -> None:
    folder = spec.parent
    first = command.run("train", spec, "--backend", BACKENDS["torch"], "--out", folder / "run", "--json")
    assert first.code == 0, first.err
    for names in ("torch", "tensorflow", "jax"):
        made = command.run("export", folder / "run", "--safetensors", folder / names, "--names", names)
        assert made.code == 0, made.err
    losses = {}
    for backend, words in BACKENDS.items():
        kept = folder / f"on_{backend}"
        more = ("--weights", folder / backend, "--set", "train.steps=2", "--out", kept, "--json")
        ended = command.run("train", spec, "--backend", words, *more)
        assert ended.code == 0, ended.err
        losses[backend] = ended.json["losses"]
    assert losses["torch"][0] < first.json["losses"][0]
    for other in losses.values():
        np.testing.assert_allclose(other, losses["torch"], rtol=2e-6)


def test_an_export_gives_in_onnxruntime_what_it_gave_in_training(command: CommandLine, spec: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    folder = spec.parent
    ended = command.run("train", spec, "--backend", BACKENDS["jax"], "--out", folder / "run", "--json")
    assert ended.code == 0, ended.err
    files = ("--onnx", folder / "out.onnx", "--safetensors", folder / "w", "--names", "torch")
    assert command.run("export", folder / "run", *files).code == 0
    original, trained = classifier(), load_file(folder / "w")
    for tensor in original.graph.initializer:
        if tensor.name in trained:
            tensor.raw_data = trained[tensor.name].tobytes()
    x = drawn(4, 3, 8, 8, seed=5)
    sessions = [
        runtime.InferenceSession(made.SerializeToString()) for made in (onnx.load(folder / "out.onnx"), original)
    ]
    made, wanted = (session.run(None, {"x": x})[0] for session in sessions)
    np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-6)
    assert not np.array_equal(trained["fc.weight"], drawn(5, 4, seed=6))
