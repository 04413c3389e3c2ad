"""Frameworks made wrong on purpose are found out: the judge sees, and says where it saw first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from tiny import MLP, THREE, eager, patch_backends, write_matrix

from stackproof.matrix.cli.certify import exit_code
from stackproof.matrix.config import load_matrix
from stackproof.matrix.pipeline import Request, certify
from stackproof.matrix.site import Settings

if TYPE_CHECKING:
    from pathlib import Path

FIRST = r"first in (loss|grad_norm) at step [1-6] \(\S+ relative\)"
SGD = MLP.replace('kind = "adamw"', 'kind = "sgd"\n    momentum = 0.9\n    nesterov = true')
GELU = MLP.replace("outputs = 3", 'outputs = 3\n    activation = "gelu"')
GPT = """
    [model]
    kind = "gpt"
    layers = 1
    width = 8
    heads = 2
    context = 6
    vocabulary = 8
    [data]
    batch = 2
    [optimizer]
    kind = "adamw"
    lr = 0.01
    [train]
    steps = 6
"""


@pytest.fixture(autouse=True)
def _cached(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STACKPROOF_CACHE", str(cache))


def test_epsilon_as_large_as_inside_the_square_root_is_incorrect(tmp_path: Path) -> None:
    patched = patch_backends(
        tmp_path,
        "on_tensorflow/optimizer.py",
        "optimizer.eps * root",
        "optimizer.eps**0.5 * root",
    )
    report = _certify(tmp_path, THREE, eager(), patched)
    cells = {cell["stack"]["framework"]: cell for cell in report["cells"]}
    assert {name: cell["verdict"] for name, cell in cells.items()} == {
        "torch": "certified",
        "tensorflow": "incorrect",
        "jax": "certified",
    }
    assert exit_code(report) == 1
    (reason,) = (why for why in cells["tensorflow"]["reasons"] if "stands apart" in why)
    assert re.search(f"stands apart from jax, torch, {FIRST}", reason)
    assert report["specs"][0]["reference"]["frameworks"] == ["jax", "torch"]
    assert reason in (tmp_path / "out" / "report.html").read_text()
    assert reason in (tmp_path / "out" / "report.md").read_text()
    certificate = (tmp_path / "out" / "certificates" / f"{cells['tensorflow']['id']}.json").read_text()
    assert '"verdict": "incorrect"' in certificate


MUTANTS = {
    "nesterov looks back": (
        SGD,
        "on_jax/optimizer.py",
        "for own, names in parts(optimizer, parameters):",
        "for own, names in parts(__import__('dataclasses').replace(optimizer, nesterov=False), parameters):",
    ),
    "first moment is not corrected": (
        MLP,
        "on_jax/optimizer.py",
        "apply(arrays, own, before, rates, orders.get(name, ()))",
        "apply(arrays, own, before, [rates[0], 1.0, rates[2]], orders.get(name, ()))",
    ),
    "gelu is the approximate one": (
        GELU,
        "on_jax/activations.py",
        'approximate=given.get("approximate", "none") == "tanh"',
        "approximate=True",
    ),
    "attention sees one position ahead": (
        GPT,
        "on_jax/attention.py",
        "return allowed_keys(queries, keys, node.attributes, node.past)",
        "return __import__('numpy').tri(queries, keys, 1, dtype=bool)",
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_other_wrong_rules_are_incorrect(mutant: str, tmp_path: Path) -> None:
    """With two frameworks nobody is outvoted: neither is certified, and the report says that nothing decides."""
    spec, file, old, new = MUTANTS[mutant]
    patched = patch_backends(tmp_path, file, old, new)
    wide = eager(spec).replace("[train]", '[train]\n    precision = "float64"')  # needs the fewest runs
    report = _certify(tmp_path, {"torch": ["2.13.0"], "jax": ["0.10.2"]}, wide, patched)
    assert [cell["verdict"] for cell in report["cells"]] == ["incorrect"] * 2
    for cell in report["cells"]:
        assert re.search(f"jax and torch disagree in float64, {FIRST}; nothing says which", cell["reasons"][-1])
    assert not report["specs"][0]["reference"]["agrees"]


def _certify(folder: Path, axes: dict[str, list[str]], spec: str, patched: Path) -> dict[str, Any]:
    matrix = load_matrix(write_matrix(folder, axes, spec))
    return certify(Request(matrix, folder / "out", settings=Settings(source=patched)))
