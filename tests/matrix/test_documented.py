"""The reference pages name every key with its true default, and the examples are what they say."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from stackproof.backends.spec import (
    Bert,
    Cnn,
    Data,
    Gpt,
    Llama,
    Mlp,
    Moe,
    Onnx,
    Optimizer,
    Resnet,
    Schedule,
    Train,
    Unet,
    Vit,
)
from stackproof.matrix.config import ImageSettings, Matrix, RunSettings, ThroughputSettings, load_matrix
from stackproof.matrix.expand import baseline_of, expand
from stackproof.matrix.machine import Machine
from stackproof.matrix.pruning import find_impossible
from stackproof.matrix.spec_file import load_spec

ROOT = Path(__file__).parents[2]
SECTIONS = [
    ("spec.md", '`[model]` with `kind = "gpt"`', Gpt),
    ("spec.md", '`[model]` with `kind = "llama"`', Llama),
    ("spec.md", '`[model]` with `kind = "moe"`', Moe),
    ("spec.md", '`[model]` with `kind = "bert"`', Bert),
    ("spec.md", '`[model]` with `kind = "vit"`', Vit),
    ("spec.md", '`[model]` with `kind = "unet"`', Unet),
    ("spec.md", '`[model]` with `kind = "mlp"`', Mlp),
    ("spec.md", '`[model]` with `kind = "cnn"`', Cnn),
    ("spec.md", '`[model]` with `kind = "resnet"`', Resnet),
    ("spec.md", '`[model]` with `kind = "onnx"`', Onnx),
    ("spec.md", "`[data]`", Data),
    ("spec.md", "`[optimizer]`", Optimizer),
    ("spec.md", "`[schedule]`", Schedule),
    ("spec.md", "`[train]`", Train),
    ("matrix.md", "`[run]`", RunSettings),
    ("matrix.md", "`[throughput]`", ThroughputSettings),
    ("matrix.md", "`[image]`", ImageSettings),
]


def rows(page: str, title: str) -> dict[str, str]:
    """Return the default of each key as the table under a heading gives it."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    cells = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("| `")
    ]
    return {key.strip("`"): default.strip("`") for key, _, default, _ in cells}


def default_of(record: type, name: str) -> str:
    if (record, name) == (Data, "kind"):
        return "fits the model"
    if (record, name) in {(Onnx, "shapes"), (Onnx, "bounds")}:
        return "{}"
    value: Any = getattr(record, name, None)
    if (record, name) == (ImageSettings, "labels"):
        value = None
    return "none" if value is None else json.dumps(list(value) if isinstance(value, tuple) else value)


@pytest.mark.parametrize(("page", "title", "record"), SECTIONS, ids=lambda value: getattr(value, "__name__", None))
def test_a_page_names_every_key_with_its_default(page: str, title: str, record: type) -> None:
    expected = {field.name: default_of(record, field.name) for field in fields(record)}
    assert rows(page, title) == expected


def test_the_matrix_page_names_every_table_and_key_of_the_top_level() -> None:
    known = [field.name for field in fields(Matrix) if field.name != "source"]
    assert list(rows("matrix.md", "Top level")) == known


def test_the_quickstart_is_six_stacks_by_two_specs() -> None:
    matrix = load_matrix(ROOT / "examples" / "quickstart.toml")
    cells = expand(matrix)
    assert [(cell.stack.package, cell.stack.version) for cell in cells if cell.spec == "gpt_tiny"] == [
        ("torch", "2.13.0"),
        ("torch", "2.15.0"),
        ("tensorflow-cpu", "2.20.0"),
        ("tensorflow-cpu", "2.21.0"),
        ("jax", "0.9.2"),
        ("jax", "0.10.2"),
    ]
    assert len(cells) == 12
    baselines = [baseline_of(matrix, cell) for cell in cells]
    assert {found.stack.version for found in baselines if found is not None} == {"2.13.0", "2.20.0", "0.9.2"}
    assert None not in baselines


def test_the_example_of_images_has_nine_cells_and_none_is_ruled_out() -> None:
    matrix = load_matrix(ROOT / "examples" / "images.toml")
    cells = expand(matrix)
    assert [cell.stack.id for cell in cells] == [
        "tensorflow-cpu2.21.0-py311-bookworm",
        "tensorflow-cpu2.21.0-py313-trixie",
        "jax0.10.2-py311-bookworm",
        "jax0.10.2-py313-trixie",
        "jax0.10.2-cuda12-py311-bookworm",
        "torch2.13.0+cpu-py311-bookworm",
        "torch2.15.0-py313-trixie",
        "torch2.15.0-py313-jax0.10.2-trixie",
        "jax0.10.2-py313-torch2.15.0-trixie",
    ]
    assert len({(cell.stack.requirements, cell.stack.os) for cell in cells}) == 8
    assert {cell.stack.package for cell in cells if baseline_of(matrix, cell) is None} == {"torch"}
    machine = Machine("Debian GNU/Linux 12 (bookworm)", "a processor", 2, 2**30, None, None, "3.11.7")
    assert find_impossible([cell.stack for cell in cells], matrix.run, machine, matrix.bases) == {}


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*_tiny.toml")), ids=lambda path: path.stem)
def test_every_example_spec_is_sound(path: Path) -> None:
    assert load_spec(path).name == path.stem
