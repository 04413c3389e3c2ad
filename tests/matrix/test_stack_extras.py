"""Stacks with extras, and stacks with several frameworks."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from stackproof.compat.cell import Stack
from stackproof.compat.errors import InputError
from stackproof.matrix.config import Matrix, read_matrix
from stackproof.matrix.expand import baseline_of, expand

if TYPE_CHECKING:
    from pathlib import Path

BASE = 'specs = ["a.toml"]\n[axes]\njax = ["0.9.2", "0.10.2"]\npython = ["3.11"]\n'
BOTH = '[[include]]\ntorch = "2.13.0+cpu"\njax = "0.10.2"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.toml").write_text('[model]\nkind = "mlp"\n', encoding="utf-8")
    return tmp_path


def read(folder: Path, text: str) -> Matrix:
    return read_matrix(tomllib.loads(BASE + text), folder / "fleet.toml")


def test_extras_arrive_sorted_and_make_another_stack(folder: Path) -> None:
    matrix = read(folder, '[[include]]\njax = "0.10.2"\nextras = ["k8s", "cuda12"]\n')
    assert matrix.include == (Stack("jax", "0.10.2", "3.11", extras=("cuda12", "k8s")),)
    assert [cell.id for cell in expand(matrix)] == [
        "jax0.9.2-py311-a",
        "jax0.10.2-py311-a",
        "jax0.10.2-cuda12_k8s-py311-a",
    ]


def test_a_stack_with_extras_is_compared_with_the_plain_baseline_unless_it_is_one_itself(folder: Path) -> None:
    matrix = read(folder, '[[include]]\njax = "0.10.2"\nextras = ["cuda12"]\n')
    found = baseline_of(matrix, expand(matrix)[-1])
    assert found is not None
    assert found.id == "jax0.9.2-py311-a"
    itself = read(folder, '[baseline]\njax = "0.10.2"\n[[include]]\njax = "0.10.2"\nextras = ["cuda12"]\n')
    assert baseline_of(itself, expand(itself)[-1]) == expand(itself)[-1]


def test_two_frameworks_are_two_cells_where_both_are_asked_for_and_need_the_same_packages(folder: Path) -> None:
    matrix = read(folder, f'{BOTH}framework = "torch"\n{BOTH}framework = "jax"\n')
    torch, jax = matrix.include
    assert (torch.framework, torch.packages) == ("torch", (("jax", "0.10.2"),))
    assert (jax.framework, jax.packages) == ("jax", (("torch", "2.13.0+cpu"),))
    assert torch.requirements == jax.requirements == ("jax==0.10.2", "torch==2.13.0+cpu", "numpy")
    assert [cell.id for cell in expand(matrix)][2:] == [
        "torch2.13.0+cpu-py311-jax0.10.2-a",
        "jax0.10.2-py311-torch2.13.0+cpu-a",
    ]


def test_the_framework_of_a_stack_with_one_may_be_named_too(folder: Path) -> None:
    matrix = read(folder, '[[include]]\ntensorflow-cpu = "2.21.0"\nframework = "tensorflow-cpu"\n')
    assert matrix.include == (Stack("tensorflow-cpu", "2.21.0", "3.11"),)


def test_extras_are_those_of_the_framework_that_specs_run_on(folder: Path) -> None:
    (stack,) = read(folder, f'{BOTH}framework = "jax"\nextras = ["cuda12"]\n').include
    assert stack.requirements == ("jax[cuda12]==0.10.2", "torch==2.13.0+cpu", "numpy")


def test_the_same_stack_with_the_same_extras_is_refused(folder: Path) -> None:
    table = '[[include]]\njax = "0.10.2"\nextras = ["cuda12"]\n'
    with pytest.raises(InputError, match=r"include\[1\]: the stack jax0\.10\.2-cuda12-py311 is in the matrix already"):
        expand(read(folder, table + table))


@pytest.mark.parametrize(
    ("text", "where", "fragment"),
    [
        (BOTH, "include[0].jax", 'framework = "torch" or framework = "jax" which one specs run on'),
        (BOTH + 'framework = "tensorflow"\n', "include[0].framework", 'write "torch" or "jax"'),
        (BOTH + "framework = 1\n", "include[0].framework", "must be text"),
        ('[[include]]\njax = "0.10.2"\nframework = "torch"\n', "include[0].framework", 'write "jax"'),
        ('[[include]]\nframework = "torch"\n', "include[0]", "names no framework"),
        (
            '[[include]]\ntensorflow = "2.21.0"\ntensorflow-cpu = "2.21.0"\nframework = "tensorflow"\n',
            "include[0].tensorflow-cpu",
            "brings tensorflow, as tensorflow does: remove one of them",
        ),
        ('[[include]]\njax = "0.10.2"\nextras = "cuda12"\n', "include[0].extras", 'put it in brackets, ["cuda12"]'),
        ('[[include]]\njax = "0.10.2"\nextras = []\n', "include[0].extras", "it is empty"),
        ('[[include]]\njax = "0.10.2"\nextras = [12]\n', "include[0].extras[0]", "must be text"),
        ('[[include]]\njax = "0.10.2"\nextras = ["Cuda_12"]\n', "include[0].extras[0]", 'write "cuda-12"'),
        ('[[include]]\njax = "0.10.2"\nextras = ["k8s", "k8s"]\n', "include[0].extras[1]", "is in the list already"),
        *[
            (f'[[include]]\njax = "0.10.2"\nextras = ["{name}"]\n', "include[0].extras[0]", "is no name of an extra")
            for name in ("", "a]==1", "a b", "a,b", "-r", "a\\n", "../x", "$(x)", "a" * 65)
        ],
        ('[[exclude]]\nextras = "cuda12"\n', "exclude[0].extras", "is no axis of this matrix"),
    ],
)
def test_a_fault_is_named_with_its_place_and_mend(folder: Path, text: str, where: str, fragment: str) -> None:
    with pytest.raises(InputError) as caught:
        read(folder, text)
    assert [fault.where for fault in caught.value.faults] == [where]
    assert fragment in caught.value.faults[0].what
