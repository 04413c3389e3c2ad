"""Bad input through the command line: exit code 2, and a sentence that names key and mend. No environment is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from command_line import CommandLine, usual_variables
from tiny import MLP, write_matrix

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JAX = 'specs = ["mlp.toml"]\n[axes]\njax = ["0.10.2"]\n'
GPT = '[model]\nkind = "gpt"\nwidth = 30\nheads = 4\n'

MATRICES = {
    "unknown key": (f"{JAX}[run]\ntime_limits = 5\n", ["run.time_limits", "did you mean 'time_limit'"]),
    "wrong type": (f'{JAX}[run]\nthreads = "two"\n', ["run.threads", "integer"]),
    "version that is no text": (JAX.replace('"0.10.2"', "0.10"), ["axes.jax[0]", "put it in quotes"]),
    "version that is none": (JAX.replace("0.10.2", ">=0.10"), ["axes.jax[0]", "write one version without operators"]),
    "unknown framework": (JAX.replace("jax =", "pytorch ="), ["axes.pytorch", "write torch"]),
    "empty axis": (JAX.replace('"0.10.2"', ""), ["axes.jax", "must have 1 to 100 entries"]),
    "no axes": ('specs = ["mlp.toml"]\n', ["axes", "names no framework"]),
    "version named twice": (JAX.replace('"0.10.2"', '"0.10.2", "0.10.2"'), ["axes.jax[1]", "0.10.2"]),
    "stack named twice": (f'{JAX}[[include]]\njax = "0.10.2"\n', ["include[0]", "remove it"]),
    "missing spec file": (JAX.replace("mlp.toml", "mpl.toml"), ["specs[0]", "did you mean 'mlp.toml'"]),
    "every cell excluded": (f'{JAX}[[exclude]]\njax = "0.10.2"\n', ["exclude", "drops every cell"]),
    "unknown baseline": (f'{JAX}[baseline]\njax = "0.9.2"\n', ["baseline.jax", "write one of its values, 0.10.2"]),
    "unknown build": (f'{JAX}[run]\ntorch_backend = "gpu"\n', ["run.torch_backend", "write auto, default"]),
    "no TOML": ("specs = [\n", ["tiny.toml", "end of document", "no valid TOML"]),
}
SPECS = {
    "heads that do not divide the width": (
        GPT,
        ["model.width", "is no multiple of heads = 4: write 24 or 32"],
    ),
    "no steps": (MLP.replace("steps = 6", "steps = 0"), ["train.steps", "must be from 1"]),
    "key of another kind": (MLP.replace("lr = 0.01", "lr = 0.01\nmomentum = 0.9"), ["optimizer.momentum", "sgd"]),
    "number that is not finite": (MLP.replace("lr = 0.01", "lr = nan"), ["optimizer.lr"]),
    "true for a number": (MLP.replace("steps = 6", "steps = true"), ["train.steps", "true"]),
    "unknown model": (MLP.replace('"mlp"', '"mpl"'), ["model.kind", "mlp"]),
}
COMMANDS = {
    "unknown cell": (["certify", "tiny.toml", "--cell", "torch*"], ["--cell torch*", "jax0.10.2"]),
    "missing matrix": (["certify", "tinny.toml"], ["tinny.toml", "no such file"]),
    "folder for a matrix": (["certify", "."], ["."]),
    "unknown command": (["certfy", "tiny.toml"], ["certify"]),
    "no workers": (["certify", "tiny.toml", "--jobs", "0"], ["--jobs", "at least 1"]),
    "everything again, and gone on with": (["certify", "tiny.toml", "--fresh", "--resume"], ["--fresh", "--resume"]),
    "unknown backend": (["train", "mlp.toml", "--backend", "pytroch"], ["--backend", "pytroch"]),
    "backend without version": (["train", "mlp.toml", "--backend", "tensorflow-cpu"], ["tensorflow-cpu==2.21.0"]),
    "backend twice": (["compare", "mlp.toml", "--backends", "jax,jax"], ["--backends", "each once"]),
    "no backend": (["compare", "mlp.toml", "--backends", ","], ["--backends", "at least one"]),
    "unknown setting": (["train", "mlp.toml", "--backend", "jax", "--set", "train.step=3"], ["train.step", "steps"]),
    "setting without value": (["train", "mlp.toml", "--backend", "jax", "--set", "train.steps"], ["train.steps", "="]),
    "report of no folder": (["report", "nowhere"], ["nowhere", "report.json"]),
}


@pytest.fixture
def command(tmp_path: Path) -> Iterator[CommandLine]:
    """A command line whose cache must stay empty."""
    write_matrix(tmp_path, {"jax": ["0.10.2"]})
    made = CommandLine(tmp_path, usual_variables(tmp_path / "cache"))
    yield made
    made.stop()
    assert not (tmp_path / "cache").exists()
    assert not (tmp_path / "stackproof-out").exists()


def refused(command: CommandLine, words: list[str], says: list[str]) -> None:
    ended = command.run(*words)
    assert ended.code == 2, ended.err
    assert ended.out == ""
    assert "Traceback" not in ended.err
    for part in says:
        assert part in ended.err


@pytest.mark.parametrize("name", MATRICES)
def test_matrix(name: str, command: CommandLine) -> None:
    text, says = MATRICES[name]
    (command.folder / "tiny.toml").write_text(text)
    refused(command, ["certify", "tiny.toml", "--json"], says)


@pytest.mark.parametrize("name", SPECS)
def test_spec(name: str, command: CommandLine) -> None:
    text, says = SPECS[name]
    (command.folder / "mlp.toml").write_text(text)
    refused(command, ["certify", "tiny.toml"], ["mlp.toml", *says])
    refused(command, ["train", "mlp.toml", "--backend", "jax", "--json"], says)


@pytest.mark.parametrize("name", COMMANDS)
def test_words(name: str, command: CommandLine) -> None:
    words, says = COMMANDS[name]
    refused(command, words, says)


def test_all_faults_at_once(command: CommandLine) -> None:
    (command.folder / "tiny.toml").write_text(f"{JAX}[run]\nthreads = 0\n[throughput]\nround = 3\n")
    (command.folder / "mlp.toml").write_text(MLP.replace("steps = 6", "steps = -1"))
    refused(command, ["plan", "tiny.toml"], ["run.threads", "throughput.round", "train.steps"])
