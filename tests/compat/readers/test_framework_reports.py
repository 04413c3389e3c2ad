"""Reports of Lightning, detectron2 and MMCV, and torch's account of its own build."""

from __future__ import annotations

from stackproof.compat.check import check
from stackproof.compat.readers import read_inputs

LIGHTNING = """\
* CUDA:
        - GPU:
                - NVIDIA GeForce RTX 4090
                - NVIDIA GeForce RTX 4090
        - available:         True
        - version:           11.8
* Lightning:
        - lightning:         2.5.1
        - torch:             2.6.0
        - torchmetrics:      1.7.0
* Packages:
        - numpy:             1.26.4
        - some-tool:         0.3
* System:
        - OS:                Linux
        - architecture:
                - 64bit
                - ELF
        - processor:         x86_64
        - python:            3.10.12
        - release:           5.15.0-91-generic
"""
DETECTRON = """\
-------------------  ------------------------------------------------
sys.platform         linux
Python               3.9.16 (main, Dec  7 2022, 01:11:51) [GCC 9.4.0]
numpy                1.22.4
detectron2           0.6 @/site/detectron2
CUDA compiler        CUDA 11.8
detectron2 arch flags  7.5
PyTorch              1.13.1+cu116 @/site/torch
GPU available        Yes
GPU 0,1              Tesla T4 (arch=7.5)
Driver version       525.85.12
CUDA_HOME            /usr/local/cuda
torchvision          0.14.1+cu116 @/site/torchvision
-------------------  ------------------------------------------------
PyTorch built with:
  - GCC 9.3
  - CUDA Runtime 11.6
  - NVCC architecture flags: -gencode;arch=compute_37,code=sm_37;-gencode;arch=compute_75,code=sm_75
  - CuDNN 8.3.2  (built against CUDA 11.5)
  - Magma 2.6.1
"""


def read(text: str):  # noqa: ANN201 - a description
    return read_inputs([("standard input", text.encode())]).describe()


def known(text: str) -> dict[str, list[str]]:
    return {key: [value.text for value in values] for key, values in read(text).known.items()}


def test_lightnings_report_is_understood_to_the_last_line() -> None:
    found = known(LIGHTNING)
    assert found["gpu"] == ["NVIDIA GeForce RTX 4090"]
    assert found["torch"] == ["2.6.0+cu118"]
    assert (found["some-tool"], found["python"], found["os"]) == (["0.3"], ["3.10.12"], ["Linux"])
    assert read(LIGHTNING).not_understood == ()
    assert len(read(LIGHTNING).claims["gpu"]) == 2


def test_detectrons_table_is_understood_to_the_last_line() -> None:
    found = known(DETECTRON)
    assert found["torch"] == ["1.13.1+cu116"]
    assert found["torchvision"] == ["0.14.1+cu116"]
    assert (found["gpu"], found["compute_capability"]) == (["Tesla T4"], ["7.5"])
    assert (found["driver"], found["detectron2"]) == (["525.85.12"], ["0.6"])
    assert ("detectron2", "cuda", "11.8") in read(DETECTRON).built_against
    assert read(DETECTRON).arch_list == ("sm_37", "sm_75")
    assert read(DETECTRON).not_understood == ()


def test_an_extension_that_was_not_built_is_said() -> None:
    assert read("detectron2._C      not built correctly: no module").not_understood


def test_mmcvs_report_in_pythons_spelling_is_read() -> None:
    text = "{'CUDA available': True,\n 'GPU 0,1': 'NVIDIA TITAN RTX',\n 'MMCV': '1.3.16',\n 'PyTorch': '1.9.1',\n}"
    found = known(text)
    assert (found["gpu"], found["mmcv"], found["torch"]) == (["NVIDIA TITAN RTX"], ["1.3.16"], ["1.9.1"])
    pairs = "OrderedDict([('Python', '3.9.17 (main)'), ('PyTorch', '2.0.1')])"
    assert known(pairs) == {"python": ["3.9.17"], "torch": ["2.0.1"]}


def test_torchs_own_cudnn_does_not_clash_with_one_of_the_system() -> None:
    system = "/usr/lib/x86_64-linux-gnu/libcudnn.so.8.2.0\n"
    assert check(read(DETECTRON + system)).verdict == "compatible"
    row = "[conda] pytorch   2.1.0   py3.10_cuda12.1_cudnn8.9.2_0   pytorch\n"
    assert check(read(row + system)).verdict == "compatible"
