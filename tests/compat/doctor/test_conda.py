from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from stackproof.compat.doctor.conda import read_conda
from stackproof.compat.gather import Gathered

if TYPE_CHECKING:
    from pathlib import Path


def read(prefix: Path, *records: tuple[str, str, str], installed: frozenset[str] = frozenset()) -> Gathered:
    (prefix / "conda-meta").mkdir(exist_ok=True)
    for name, version, build in records:
        text = json.dumps({"name": name, "version": version, "build": build})
        (prefix / "conda-meta" / f"{name}-{version}-{build}.json").write_text(text)
    gathered = Gathered()
    read_conda(prefix, installed, gathered)
    return gathered


def say(gathered: Gathered) -> dict[str, list[str]]:
    return {name: [claim.text for claim in claims] for name, claims in gathered.claims.items()}


def test_cuda_libraries_of_conda_are_components(tmp_path: Path) -> None:
    gathered = read(
        tmp_path, ("cudatoolkit", "11.8.0", "h1"), ("cudnn", "8.9.2.26", "cuda11_0"), ("nccl", "2.19.3.1", "h2")
    )
    assert say(gathered) == {"cuda": ["11.8.0"], "cudnn": ["8.9.2.26"], "nccl": ["2.19.3.1"]}
    assert gathered.origins == {"conda"}


@pytest.mark.parametrize(
    ("build", "tag"),
    [("py3.11_cuda12.1_cudnn8.9.2_0", "cu121"), ("cuda118_py311h164db2d_300", "cu118"), ("py3.11_cpu_0", "cpu")],
)
def test_pytorch_s_build_tells_its_cuda(tmp_path: Path, build: str, tag: str) -> None:
    assert say(read(tmp_path, ("pytorch", "2.1.0", build))) == {"torch": [f"2.1.0+{tag}"]}


def test_a_package_that_tells_itself_is_not_told_twice(tmp_path: Path) -> None:
    records = (("numpy", "1.26.0", "py311"), ("scipy", "1.11.0", "py311"), ("_libgcc_mutex", "0.1", "main"))
    assert say(read(tmp_path, *records, installed=frozenset({"numpy"}))) == {"scipy": ["1.11.0"]}


def test_what_is_no_record_is_told(tmp_path: Path) -> None:
    (tmp_path / "conda-meta").mkdir()
    (tmp_path / "conda-meta" / "a.json").write_text("[" * 100_000)
    (tmp_path / "conda-meta" / "b.json").write_text("{}")
    (tmp_path / "conda-meta" / "c.json").symlink_to("c.json")
    assert len(read(tmp_path).not_understood) == 3


def test_without_conda_there_is_nothing(tmp_path: Path) -> None:
    gathered = Gathered()
    read_conda(tmp_path, frozenset(), gathered)
    assert gathered.claims == {}
    assert gathered.origins == set()
