"""Base images in a matrix: the axis `os`, the key of an include, and what a matrix' own file adds."""

from __future__ import annotations

import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from stackproof.compat.cell import Stack
from stackproof.compat.errors import InputError
from stackproof.matrix.bases import base_name_of, check_engine
from stackproof.matrix.config import Matrix, load_matrix, read_matrix
from stackproof.matrix.expand import baseline_of, expand, select

if TYPE_CHECKING:
    from pathlib import Path

SPECS = 'specs = ["a.toml"]\n'
TORCH = f'{SPECS}[axes]\ntorch = ["2.13.0", "2.15.0"]\n'
BOTH = TORCH + 'os = ["debian:bookworm", "debian:trixie"]\n'
DIGEST = f"registry.example/team/base@sha256:{'0123456789abcdef' * 4}"
OWN = '[[base]]\nname = "team/base:1"\nkind = "registry"\nrepository = "registry.example/team/base"\ntag = "1"\n'
OWN_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.toml").write_text('[model]\nkind = "mlp"\n', encoding="utf-8")
    return tmp_path


def read(folder: Path, text: str) -> Matrix:
    return read_matrix(tomllib.loads(text), folder / "fleet.toml")


def ids(folder: Path, text: str) -> list[str]:
    return [cell.id for cell in expand(read(folder, text))]


def faults(folder: Path, text: str) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        read(folder, text)
    return [(fault.where, fault.what) for fault in caught.value.faults]


def test_each_base_image_brings_its_python(folder: Path) -> None:
    matrix = read(folder, BOTH)
    assert dict(matrix.axes) == {
        "torch": ("2.13.0", "2.15.0"),
        "os": ("debian:bookworm", "debian:trixie"),
        "python": ("3.11", "3.13"),
    }
    stacks = [cell.stack for cell in expand(matrix)]
    assert stacks[1] == Stack("torch", "2.13.0", "3.13", os="debian:trixie")
    assert [stack.id for stack in stacks] == [
        "torch2.13.0-py311-bookworm",
        "torch2.13.0-py313-trixie",
        "torch2.15.0-py311-bookworm",
        "torch2.15.0-py313-trixie",
    ]


def test_pythons_that_are_written_are_put_together_with_the_base_images_that_have_them(folder: Path) -> None:
    both = BOTH + 'python = ["3.13", "3.11"]\nnumpy = ["2.4.6"]\n'
    assert ids(folder, both)[:2] == [
        "torch2.13.0-py311-numpy2.4.6-bookworm-a",
        "torch2.13.0-py313-numpy2.4.6-trixie-a",
    ]
    assert len(ids(folder, both)) == 4


def test_a_base_image_that_is_named_by_its_digest_takes_the_python_that_is_written(folder: Path) -> None:
    text = f'{TORCH}os = ["{DIGEST}"]\npython = ["3.12", "3.11"]\n'
    assert ids(folder, text)[:2] == [
        "torch2.13.0-py312-base-0123456789ab-a",
        "torch2.13.0-py311-base-0123456789ab-a",
    ]


def test_an_include_names_base_image_or_python_or_takes_the_first_that_fits(folder: Path) -> None:
    text = (
        BOTH
        + '[[include]]\njax = "0.10.2"\nos = "debian:bullseye"\n'
        + '[[include]]\njax = "0.10.2"\nos = "debian:trixie"\npython = "3.13"\n'
        + '[[include]]\njax = "0.9.2"\npython = "3.13"\n'
        + '[[include]]\njax = "0.9.2"\n'
        + f'[[include]]\njax = "0.9.2"\nos = "{DIGEST}"\npython = "3.12"\n'
    )
    assert [(stack.os, stack.python) for stack in read(folder, text).include] == [
        ("debian:bullseye", "3.9"),
        ("debian:trixie", "3.13"),
        ("debian:trixie", "3.13"),
        ("debian:bookworm", "3.11"),
        (DIGEST, "3.12"),
    ]


def test_an_include_of_a_matrix_without_base_images_has_none(folder: Path) -> None:
    assert read(folder, f'{SPECS}[[include]]\njax = "0.9.2"\n').include == (Stack("jax", "0.9.2", OWN_PYTHON),)


def test_an_exclude_may_name_a_base_image(folder: Path) -> None:
    assert ids(folder, BOTH + '[[exclude]]\nos = "debian:trixie"\ntorch = "2.13.0"\n') == [
        "torch2.13.0-py311-bookworm-a",
        "torch2.15.0-py311-bookworm-a",
        "torch2.15.0-py313-trixie-a",
    ]
    included = f'{TORCH}[[include]]\ntorch = "2.14.1"\nos = "debian:trixie"\n[[exclude]]\nos = "debian:trixie"\n'
    assert len(ids(folder, included)) == 2


def test_the_baseline_is_on_the_same_base_image(folder: Path) -> None:
    matrix = read(folder, BOTH + '[[include]]\ntorch = "2.14.1"\nscipy = "1.16.0"\nos = "debian:trixie"\n')
    found = {cell.id: baseline_of(matrix, cell) for cell in expand(matrix)}
    assert {name: cell.id for name, cell in found.items() if cell} == {
        "torch2.13.0-py311-bookworm-a": "torch2.13.0-py311-bookworm-a",
        "torch2.13.0-py313-trixie-a": "torch2.13.0-py313-trixie-a",
        "torch2.15.0-py311-bookworm-a": "torch2.13.0-py311-bookworm-a",
        "torch2.15.0-py313-trixie-a": "torch2.13.0-py313-trixie-a",
        "torch2.14.1-py313-scipy1.16.0-trixie-a": "torch2.13.0-py313-trixie-a",
    }


def test_an_include_on_another_base_image_falls_back_to_the_first_python(folder: Path) -> None:
    matrix = read(folder, BOTH + '[[include]]\ntorch = "2.14.1"\nos = "debian:bullseye"\n')
    (cell,) = select(expand(matrix), "*bullseye*")
    found = baseline_of(matrix, cell)
    assert found is not None
    assert found.id == "torch2.13.0-py311-bookworm-a"


@pytest.mark.parametrize(
    ("text", "where", "fragment"),
    [
        (TORCH + 'os = ["debian:bokworm"]', "axes.os[0]", "did you mean 'debian:bookworm'?"),
        (TORCH + 'os = "debian:bookworm"', "axes.os", 'put it in brackets, ["debian:bookworm"]'),
        (TORCH + "os = []", "axes.os", "it is empty"),
        (TORCH + "os = [12]", "axes.os[0]", "must be text"),
        (TORCH + 'os = ["debian:trixie", "debian:trixie"]', "axes.os[1]", "is in the list already"),
        (TORCH + f'os = ["{DIGEST[:-1]}"]', "axes.os[0]", "is no digest"),
        (TORCH + f'os = ["{DIGEST}"]', "axes.os", "is not known before it is there: write the axis python"),
        *[
            (TORCH + f'os = ["{name}"]', "axes.os[0]", "no base is called")
            for name in ("", "a b", "../etc", "$(id)", "bookworm\\n", "x" * 5000)
        ],
        (TORCH + f'os = ["../x{DIGEST[16:]}"]', "axes.os[0]", "is no repository"),
        (BOTH + 'python = ["3.11"]', "axes.os[1]", '"debian:trixie" has Python 3.13, which is not in axes.python'),
        (BOTH + 'python = ["3.11", "3.13", "3.12"]', "axes.python[2]", "no base image in axes.os has Python 3.12"),
        (BOTH + '[[include]]\njax = "0.9.2"\nos = "bookworm"', "include[0].os", "did you mean 'debian:bookworm'?"),
        (
            BOTH + '[[include]]\njax = "0.9.2"\nos = "debian:bookworm"\npython = "3.13"',
            "include[0].python",
            '"debian:bookworm" has Python 3.11, not 3.13: write "3.11", or leave it out',
        ),
        (BOTH + '[[include]]\njax = "0.9.2"\npython = "3.12"', "include[0].python", "no base image in axes.os has"),
        (BOTH + f'[[include]]\njax = "0.9.2"\nos = "{DIGEST}"', "include[0].os", "add python"),
        (BOTH + '[[exclude]]\nos = "debian:bullseye"', "exclude[0].os", "the matrix has no stack with os"),
        (BOTH + '[[exclude]]\nos = "debian:bookworm"\npython = "3.13"', "exclude[0]", "matches no cell"),
        (TORCH + '[[exclude]]\nos = "debian:bookworm"', "exclude[0].os", "is no axis of this matrix"),
        (
            BOTH + 'python = ["3.11", "3.13"]\n' + "\n".join(f"p{n} = {[f'{v}.0' for v in range(60)]}" for n in (1, 2)),
            "axes",
            "make 14400 cells",  # not twice as many: each base image has one Python
        ),
        ('bases = ""\n' + TORCH, "bases", "is no path of a file"),
        ('bases = "\\u0000"\n' + TORCH, "bases", "is no path of a file"),
        ("bases = 3\n" + TORCH, "bases", "must be text"),
    ],
)
def test_a_fault_is_named_with_its_place_and_mend(folder: Path, text: str, where: str, fragment: str) -> None:
    found = faults(folder, text)
    assert [place for place, _ in found] == [where]
    assert fragment in found[0][1]


def test_a_file_beside_the_matrix_adds_base_images(folder: Path) -> None:
    (folder / "bases.toml").write_text(OWN + 'python = "3.12"\n', encoding="utf-8")
    matrix = read(folder, TORCH + 'os = ["team/base:1", "debian:bookworm"]\n')
    assert expand(matrix)[0].id == "torch2.13.0-py312-team-base-1-a"
    assert matrix.bases.find("team/base:1").repository == "registry.example/team/base"


def test_another_file_is_named_by_the_matrix_or_for_it(folder: Path) -> None:
    for name, python in (("mine.toml", "3.12"), ("other.toml", "3.10")):
        (folder / name).write_text(f'{OWN}python = "{python}"\n', encoding="utf-8")
    path = folder / "fleet.toml"
    path.write_text('bases = "mine.toml"\n' + TORCH + 'os = ["team/base:1"]\n', encoding="utf-8")
    assert load_matrix(path).axes["python"] == ("3.12",)
    assert load_matrix(path, folder / "other.toml").axes["python"] == ("3.10",)


def test_a_faulty_file_of_base_images_is_named_before_what_follows_from_it(folder: Path) -> None:
    (folder / "bases.toml").write_text(OWN + 'python = "3"\ncolour = "red"\n', encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read(folder, TORCH + 'os = ["team/base:1"]\n')
    assert caught.value.source == str(folder / "bases.toml")
    assert [fault.where for fault in caught.value.faults] == ["base[0].python", "base[0].colour"]


def test_a_file_of_base_images_that_is_not_there_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.toml: cannot be read"):
        read(folder, 'bases = "gone.toml"\n' + TORCH)


def test_two_base_images_of_one_short_name_are_refused(folder: Path) -> None:
    own = OWN.replace("team/base:1", "bookworm")
    (folder / "bases.toml").write_text(f'{own}python = "3.11"\n', encoding="utf-8")
    matrix = read(folder, TORCH + 'os = ["bookworm", "debian:bookworm"]\n')
    with pytest.raises(
        InputError, match=r"axes\.os: two cells have the id torch2\.13\.0-py311-bookworm-a: give a base"
    ):
        expand(matrix)


def test_the_base_image_is_the_stacks_own_or_one_with_its_python(folder: Path) -> None:
    bases = read(folder, TORCH).bases
    assert base_name_of(Stack("torch", "2.13.0", "3.11", os="debian:trixie"), bases) == "debian:trixie"
    assert [base_name_of(Stack("torch", "2.13.0", python), bases) for python in ("3.9", "3.11", "3.13", "3.14")] == [
        "debian:bullseye",
        "debian:bookworm",
        "debian:trixie",
        "",
    ]


def test_a_users_own_base_image_is_chosen_before_those_that_come_along(folder: Path) -> None:
    (folder / "bases.toml").write_text(OWN + 'python = "3.11"\n', encoding="utf-8")
    assert base_name_of(Stack("torch", "2.13.0", "3.11"), read(folder, TORCH).bases) == "team/base:1"


def test_without_an_engine_a_base_image_is_refused_with_the_mend(folder: Path) -> None:
    text = 'python = ["3.11"]\n[[include]]\njax = "0.9.2"\npython = "3.11"\n'
    matrix = read(folder, TORCH + text + '[[include]]\njax = "0.10.2"\nos = "debian:trixie"\n')
    cells = expand(matrix)
    with pytest.raises(InputError, match="--engine docker") as caught:
        check_engine(matrix, cells, "venv")
    assert (caught.value.exit_code, caught.value.source) == (2, str(folder / "fleet.toml"))
    assert [fault.where for fault in caught.value.faults] == ["include[1].os"]
    check_engine(matrix, [cell for cell in cells if not cell.stack.os], "venv")
    check_engine(matrix, cells, "docker")
    check_engine(matrix, cells, "podman")


def test_without_an_engine_an_axis_of_base_images_is_refused_once(folder: Path) -> None:
    matrix = read(folder, BOTH)
    with pytest.raises(InputError) as caught:
        check_engine(matrix, expand(matrix), "venv")
    assert [fault.where for fault in caught.value.faults] == ["axes.os"]


def test_with_an_engine_a_python_that_no_base_image_has_is_refused(folder: Path) -> None:
    matrix = read(folder, TORCH + 'python = ["3.11", "3.14"]\n[[include]]\njax = "0.9.2"\npython = "3.10"\n')
    with pytest.raises(InputError, match=r"there are some with 3\.9, 3\.11, 3\.12, 3\.13") as caught:
        check_engine(matrix, expand(matrix), "docker")
    assert [fault.where for fault in caught.value.faults] == ["axes.python", "include[0].python"]
    check_engine(matrix, expand(matrix), "venv")
