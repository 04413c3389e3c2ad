"""Cells of a matrix: their order, their baselines and their choice by id."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from stackproof.compat.errors import InputError
from stackproof.matrix.config import Matrix, read_matrix
from stackproof.matrix.expand import baseline_of, expand, select

if TYPE_CHECKING:
    from pathlib import Path

AXES = '[axes]\njax = ["0.9.2"]\nnumpy = ["2.2.6", "2.4.6"]\ntorch = ["2.13.0", "2.15.0"]\npython = ["3.11", "3.9"]\n'
SMALL = '[axes]\ntorch = ["2.13.0", "2.15.0"]\njax = ["0.9.2"]\npython = ["3.11"]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "b.toml").write_text('[model]\nkind = "mlp"\n', encoding="utf-8")
    (tmp_path / "a.toml").write_text('[model]\nkind = "gpt"\n', encoding="utf-8")
    (tmp_path / "numpy2.2.6-a.toml").write_text('[model]\nkind = "gpt"\n', encoding="utf-8")
    return tmp_path


def matrix_of(folder: Path, text: str, specs: str = '["b.toml", "a.toml"]') -> Matrix:
    return read_matrix(tomllib.loads(f"specs = {specs}\n{text}"), folder / "fleet.toml")


def ids(folder: Path, text: str) -> list[str]:
    return [cell.id for cell in expand(matrix_of(folder, text))]


def baseline(folder: Path, text: str, cell_id: str) -> str | None:
    matrix = matrix_of(folder, text)
    (cell,) = select(expand(matrix), cell_id)
    found = baseline_of(matrix, cell)
    return None if found is None else found.id


def test_frameworks_are_alternatives_and_the_specs_follow_in_file_order(folder: Path) -> None:
    assert ids(folder, SMALL) == [
        "torch2.13.0-py311-b",
        "torch2.13.0-py311-a",
        "torch2.15.0-py311-b",
        "torch2.15.0-py311-a",
        "jax0.9.2-py311-b",
        "jax0.9.2-py311-a",
    ]


def test_other_axes_multiply_with_the_last_one_fastest(folder: Path) -> None:
    assert [name for name in ids(folder, AXES) if name.endswith("-a")] == [
        "jax0.9.2-py311-numpy2.2.6-a",
        "jax0.9.2-py39-numpy2.2.6-a",
        "jax0.9.2-py311-numpy2.4.6-a",
        "jax0.9.2-py39-numpy2.4.6-a",
        "torch2.13.0-py311-numpy2.2.6-a",
        "torch2.13.0-py39-numpy2.2.6-a",
        "torch2.13.0-py311-numpy2.4.6-a",
        "torch2.13.0-py39-numpy2.4.6-a",
        "torch2.15.0-py311-numpy2.2.6-a",
        "torch2.15.0-py39-numpy2.2.6-a",
        "torch2.15.0-py311-numpy2.4.6-a",
        "torch2.15.0-py39-numpy2.4.6-a",
    ]


def test_includes_come_last_and_do_not_multiply(folder: Path) -> None:
    included = '[[include]]\ntorch = "2.14.1"\npython = "3.12"\nscipy = "1.16.0"\n[[include]]\njax = "0.8.0"\n'
    assert ids(folder, AXES + included)[-4:] == [
        "torch2.14.1-py312-scipy1.16.0-b",
        "torch2.14.1-py312-scipy1.16.0-a",
        "jax0.8.0-py311-b",
        "jax0.8.0-py311-a",
    ]


def test_an_exclude_drops_what_meets_all_of_its_keys(folder: Path) -> None:
    excluded = '[[exclude]]\ntorch = "2.15.0"\nspec = "a"\n[[exclude]]\njax = "0.9.2"\n'
    assert ids(folder, SMALL + excluded) == ["torch2.13.0-py311-b", "torch2.13.0-py311-a", "torch2.15.0-py311-b"]


def test_an_exclude_drops_included_cells_too(folder: Path) -> None:
    text = SMALL + '[[include]]\ntorch = "2.14.1"\n[[exclude]]\ntorch = "2.14.1"\nspec = "a"\n'
    assert [name for name in ids(folder, text) if "2.14.1" in name] == ["torch2.14.1-py311-b"]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (SMALL + '[[include]]\ntorch = "2.15.0"', "include[0]"),
        (SMALL + '[[include]]\ntorch = "2.15"', "include[0]"),
        (SMALL + '[[include]]\ntorch = "2.1.0"\n[[include]]\ntorch = "2.1.0"', "include[1]"),
    ],
)
def test_a_stack_that_is_there_already_is_refused(folder: Path, text: str, where: str) -> None:
    with pytest.raises(InputError) as caught:
        ids(folder, text)
    (fault,) = caught.value.faults
    assert fault.where == where
    assert "is in the matrix already: remove it" in fault.what
    assert caught.value.source == str(folder / "fleet.toml")


def test_the_same_version_on_another_python_is_another_stack(folder: Path) -> None:
    assert "torch2.15.0-py312-a" in ids(folder, SMALL + '[[include]]\ntorch = "2.15.0"\npython = "3.12"')


def test_dropping_every_cell_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match=r"exclude: drops every cell"):
        ids(folder, SMALL + '[[exclude]]\nspec = "a"\n[[exclude]]\nspec = "b"')


def test_two_cells_of_one_id_are_refused(folder: Path) -> None:
    text = '[axes]\ntorch = ["2.13.0"]\nnumpy = ["2.2.6"]\n[[include]]\ntorch = "2.13.0"\n'
    with pytest.raises(InputError, match=r"specs: two cells have the id torch2\.13\.0-py\d+-numpy2\.2\.6-a"):
        expand(matrix_of(folder, text, '["a.toml", "numpy2.2.6-a.toml"]'))


@pytest.mark.parametrize(
    ("text", "cell", "expected"),
    [
        (SMALL, "torch2.15.0-py311-a", "torch2.13.0-py311-a"),
        (SMALL, "torch2.13.0-py311-a", "torch2.13.0-py311-a"),
        (SMALL + '[baseline]\ntorch = "2.15.0"', "torch2.13.0-py311-b", "torch2.15.0-py311-b"),
        (AXES, "torch2.15.0-py39-numpy2.4.6-a", "torch2.13.0-py39-numpy2.4.6-a"),
        # an include: same Python where there is one, else the matrix' first
        (SMALL + '[[include]]\ntorch = "2.14.1"', "torch2.14.1-py311-a", "torch2.13.0-py311-a"),
        (SMALL + '[[include]]\ntorch = "2.14.1"\npython = "3.12"', "torch2.14.1-py312-a", "torch2.13.0-py311-a"),
        (
            AXES + '[[include]]\ntorch = "2.14.1"\npython = "3.9"',
            "torch2.14.1-py39-a",
            "torch2.13.0-py311-numpy2.2.6-a",
        ),
        # none: the framework has no axis, or the partner is excluded
        (SMALL + '[[include]]\ntensorflow = "2.21.0"', "tensorflow2.21.0-py311-a", None),
        (SMALL + '[[exclude]]\ntorch = "2.13.0"\nspec = "a"', "torch2.15.0-py311-a", None),
        (
            AXES + '[[exclude]]\ntorch = "2.13.0"\nnumpy = "2.4.6"',
            "torch2.15.0-py311-numpy2.4.6-a",
            None,
        ),
    ],
)
def test_the_baseline_is_the_partner_on_the_baseline_version(
    folder: Path, text: str, cell: str, expected: str | None
) -> None:
    assert baseline(folder, text, cell) == expected


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("torch2.15*", ["torch2.15.0-py311-b", "torch2.15.0-py311-a"]),
        ("*-a", ["torch2.13.0-py311-a", "torch2.15.0-py311-a", "jax0.9.2-py311-a"]),
        ("jax0.9.2-py311-b", ["jax0.9.2-py311-b"]),
    ],
)
def test_cells_are_chosen_by_a_glob(folder: Path, glob: str, expected: list[str]) -> None:
    assert [cell.id for cell in select(expand(matrix_of(folder, SMALL)), glob)] == expected


@pytest.mark.parametrize("glob", ["torch2.15.0-py311-c", "Torch2.15.0-py311-a*", "zzz", ""])
def test_a_glob_without_a_cell_is_refused_with_ids_like_it(folder: Path, glob: str) -> None:
    with pytest.raises(InputError) as caught:
        select(expand(matrix_of(folder, SMALL)), glob)
    assert caught.value.exit_code == 2
    assert "torch2.1" in str(caught.value)
