"""Text as people paste it into issues: what it must not be misread as, and what must not be lost."""

from __future__ import annotations

import pytest

from stackproof.compat.readers import read_inputs

STATES: dict[str, dict[str, list[str]]] = {
    # a form's answer that is another tool's line
    "- CUDA/cuDNN version: NVIDIA-SMI 460.32.03    Driver Version: 460.32.03    CUDA Version: 11.2": {
        "driver": ["460.32.03"],
        "driver_cuda": ["11.2"],
    },
    "- CUDA/cuDNN version: 8": {"cuda": ["8"]},
    "CUDA/cuDNN version: 434": {},
    # sentences of what should be
    "* TensorFlow 1.2.1 or earlier requires cuDNN 5.1. (`cudnn64_5.dll`)": {},
    "You need driver version 520.61 or newer.": {},
    # a log of nvidia-smi -q that is cut
    "Attached GPUs                       : 1\nGPU 00000000:00:07.0\n    Product Name          : Tesla V100-PCIE-16GB": {
        "gpu": ["Tesla V100-PCIE-16GB"]
    },
    # rows of nvidia-smi without the head of the table
    "|   0  NVIDIA RTX A6000          On  |   00000000:42:00.0 Off |       0 |": {"gpu": ["NVIDIA RTX A6000"]},
    "|   1  Quadro P400         Off  | 0000:02:00.0     Off |                  N/A |": {"gpu": ["Quadro P400"]},
    # a prompt is no requirement
    "user@jupyter-1-2:~$ report": {},
    # pip list before pip 18
    "tensorflow-gpu (1.2.1)": {"tensorflow-gpu": ["1.2.1"]},
    "- TensorFlow version: tensorflow-gpu-1.1.0": {"tensorflow-gpu": ["1.1.0"]},
    "tf.VERSION = 1.5.0": {"tensorflow": ["1.5.0"]},
    "- Python version is 3.5.": {"python": ["3.5"]},
    # bold keys, bullets with many spaces, diffs, signs
    "-   **OS Platform and Distribution (e.g., Linux Ubuntu 16.04)**: Linux Ubuntu 18.04": {"os": ["Ubuntu 18.04"]},
    "+- PyTorch 1.13.1": {"torch": ["1.13.1"]},
    "- \N{HUGGING FACE} Diffusers version: 0.30.0": {"diffusers": ["0.30.0"]},
    "- Accelerator: NVIDIA H100 80GB HBM3, 81559 MiB": {"gpu": ["NVIDIA H100 80GB HBM3"]},
    "### Distro Version\n\nUbuntu 20.04": {"os": ["Ubuntu 20.04"]},
    "- Platform: Linux-5.13.0-35-generic-x86_64-with-Ubuntu-20.04-focal": {
        "os": ["Ubuntu 20.04"],
        "machine": ["x86_64"],
    },
    "linux distribution: ('Ubuntu', '20.04', 'focal')": {"os": ["Ubuntu 20.04"]},
    # what grep leaves of conda list, and its rows with a feature
    "pytorch    1.11.0    py3.8_cuda11.3_cudnn8.2.0_0    pytorch": {"torch": ["1.11.0+cu113"]},
    "nvidia-cudnn-cu11         8.7.0.84                 pypi_0    pypi": {"nvidia-cudnn-cu11": ["8.7.0.84"]},
    "# Name Version Build Channel\nfreetype  2.8   vc14h17c9bdf_0  [vc14]  anaconda\nnumpy  1.14.0  py35_0": {
        "freetype": ["2.8"],
        "numpy": ["1.14.0"],
    },
    # HTML's spaces
    "mmcv-full&nbsp; &nbsp;1.3.9&nbsp; &nbsp; pypi_0&nbsp; &nbsp; pypi": {"mmcv-full": ["1.3.9"]},
    # code in one pair of marks over several lines, and docker build's output
    "`FROM nvidia/cuda:10.0-cudnn7-runtime-ubuntu18.04\nRUN pip3 install torch==1.2.0`": {
        "cuda": ["10.0"],
        "cudnn": ["7"],
        "os": ["Ubuntu 18.04"],
        "torch": ["1.2.0"],
    },
    "Step 1/2 : FROM python:3.8-slim\n ---> Using cache\nStep 2/2 : RUN pip install torch==1.8.1": {
        "python": ["3.8"],
        "torch": ["1.8.1"],
    },
    # wheels that pip fetched, in a log that ends with an error
    "  Using cached tensorflow-2.3.0-cp38-cp38-win_amd64.whl (342.5 MB)\nerror: subprocess": {"tensorflow": ["2.3.0"]},
    "  Downloading torch-2.0.1-cp38-none-any.whl\nSuccessfully installed torch-1.13.1": {"torch": ["1.13.1"]},
    # the driver of the kernel, below the one that a container brings
    "Using CUDA 12.2 driver version 535.104.05 with kernel driver version 470.182.03.": {
        "driver": ["470.182.03"],
        "cuda-compat": ["12.2"],
    },
    # modules of a cluster
    "  1) gcc/11.3.0   2) cuda/11.8.0   3) cudnn/8.7.0.84-11.8": {"cuda": ["11.8.0"], "cudnn": ["8.7.0"]},
    "(base) [user@node1 ~]$ module load libs/cudnn/7.3.1.20/binary-cuda-9.0.176": {"cudnn": ["7.3.1"]},
    # a vendor's snapshot has the vendor's mark where others have their build
    "PyTorch version: 2.4.0a0+07cecf4168.nv24.05\nCUDA used to build PyTorch: 12.4": {
        "torch": ["2.4.0a0+07cecf4168.nv24.05"]
    },
    "deepspeed wheel compiled w. ...... torch 0.0, cuda 0.0": {},
    "GPU model and memory: NVIDIA Corporation GM204 [GeForce GTX 970]": {"gpu": ["GeForce GTX 970"]},
}


def read(text: str):  # noqa: ANN201 - a description
    return read_inputs([("standard input", text.encode())]).describe()


@pytest.mark.parametrize("text", STATES)
def test_pasted_text_states_its_facts_and_no_others(text: str) -> None:
    assert {key: [known.text for known in values] for key, values in read(text).known.items()} == STATES[text]


def test_a_wheel_that_was_fetched_beside_another_release_is_said() -> None:
    text = "Downloading torch-2.0.1-cp38-none-any.whl\nSuccessfully installed torch-1.13.1"
    assert read(text).not_understood == ("standard input:1: torch 2.0.1 was fetched",)


@pytest.mark.parametrize(
    "text",
    [
        "PS C:\\dir> docker run --rm nvidia/cuda:12.2.0-base-ubuntu22.04 nvidia-smi",
        "user@host:~$ docker run nvidia/cuda:12.2.0-base-ubuntu22.04",
        "ERROR: No matching distribution found for torch==1.7.1+cu110",
    ],
)
def test_a_command_or_error_that_names_a_version_is_not_dropped(text: str) -> None:
    assert read(text).not_understood == (text,)


def test_a_build_that_is_none_says_nothing() -> None:
    assert read("deepspeed wheel compiled w. ...... torch 0.0, cuda 0.0").built_against == ()


@pytest.mark.parametrize(
    "line",
    [
        "        - compute_environment: LOCAL_MACHINE",
        "- xFormers version: not installed",
        "INFO 02-18 21:25:53 __init__.py:190] Automatically detected platform cuda.",
        'Type "help", "copyright", "credits" or "license" for more information.',
        "async_io ............... [NO] ....... [OKAY]",
        "python build version: ('default', 'Sep  4 2020 07:30:14')",
    ],
)
def test_lines_of_reports_that_say_nothing_are_no_noise(line: str) -> None:
    assert read(line).not_understood == ()
