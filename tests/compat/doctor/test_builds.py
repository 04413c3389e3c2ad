"""The texts are those that releases of the frameworks carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from shared_libraries import install

from stackproof.compat.doctor.builds import read_builds
from stackproof.compat.doctor.installed import read_installed
from stackproof.compat.gather import Gathered

if TYPE_CHECKING:
    from pathlib import Path

TORCH = "__version__ = '{version}'\ndebug = False\ncuda{type} = {cuda}\ngit_version = 'd0f2'\nhip{type} = {hip}\n"
TENSORFLOW = (
    "import collections\nbuild_info = collections.OrderedDict([('cuda_compute_capabilities', ['sm_60', 'compute_90']),"
    " ('cuda_version', '12.5.1'), ('cudnn_version', '9'), ('is_cuda_build', True)])\n"
)
JAXLIB = '_version = "0.4.26"\n_release_version: str = "0.4.26+cuda12.cudnn89"\n'


def read(site: Path, files: dict[str, str], **packages: str) -> Gathered:
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    for name, version in packages.items():
        install(site, name, version)
    gathered = Gathered()
    read_builds(read_installed([site], gathered), gathered)
    return gathered


@pytest.mark.parametrize(("version", "typed"), [("2.1.0+cu121", ""), ("2.1.0", ""), ("2.1.0+cu121", ": Optional[str]")])
def test_torch_s_build_is_what_its_own_file_says(tmp_path: Path, version: str, typed: str) -> None:
    text = TORCH.format(version=version, cuda="'12.1'", hip="None", type=typed)
    gathered = read(tmp_path, {"torch/version.py": text}, torch="2.1.0")
    (known,) = gathered.describe().known["torch"]
    assert (str(known.version), known.build) == ("2.1.0", "cu121")
    assert gathered.built_against == [("torch", "cuda", "12.1")]


def test_a_torch_without_cuda_has_none(tmp_path: Path) -> None:
    text = TORCH.format(version="2.1.0+cpu", cuda="None", hip="None", type="")
    gathered = read(tmp_path, {"torch/version.py": text}, torch="2.1.0")
    assert gathered.describe().known["torch"][0].build == "cpu"
    assert gathered.built_against == []


def test_a_torch_for_amd_is_told_as_not_read(tmp_path: Path) -> None:
    text = TORCH.format(version="2.1.0+rocm5.6", cuda="None", hip="'5.6.31061'", type="")
    assert "HIP 5.6" in read(tmp_path, {"torch/version.py": text}, torch="2.1.0+rocm5.6").not_understood[0]


def test_tensorflow_tells_cuda_cudnn_and_where_it_is_alone_its_architectures(tmp_path: Path) -> None:
    files = {"tensorflow/python/platform/build_info.py": TENSORFLOW}
    alone = read(tmp_path / "a", files, tensorflow="2.18.0")
    assert alone.built_against == [("tensorflow", "cuda", "12.5.1"), ("tensorflow", "cudnn", "9")]
    assert alone.arch_list == ["sm_60", "compute_90"]
    assert read(tmp_path / "b", files, tensorflow="2.18.0", torch="2.1.0").arch_list == []


def test_jaxlib_s_own_file_tells_its_build(tmp_path: Path) -> None:
    gathered = read(tmp_path, {"jaxlib/version.py": JAXLIB}, jaxlib="0.4.26")
    assert gathered.describe().known["jaxlib"][0].build == "cuda12.cudnn89"


def test_files_that_are_missing_or_garbage_say_nothing(tmp_path: Path) -> None:
    files = {"torch/version.py": "\0garbage", "tensorflow/python/platform/build_info.py": "('cuda_version', "}
    gathered = read(tmp_path, files, torch="2.1.0", tensorflow="2.18.0", jaxlib="0.4.26")
    assert gathered.built_against == []
