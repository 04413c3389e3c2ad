"""Single lines as people paste them: what each states."""

from __future__ import annotations

import pytest

from stackproof.compat.readers import read_inputs

LINES: dict[str, dict[str, list[str]]] = {
    "Python 3.8": {"python": ["3.8"]},
    "RUN pip install torch==${TORCH_VERSION} numpy==1.26.4": {"torch": ["*"], "numpy": ["1.26.4"]},
    "python 3.13.0": {"python": ["3.13.0"]},
    "nvcc release 11.8": {"cuda": ["11.8"]},
    "nvcc release 12.1.1": {"cuda": ["12.1.1"]},
    "nvcc: release 10.1, V10.1.105": {"cuda": ["10.1"]},
    "Cuda compilation tools, release 12.2, V12.2.140": {"cuda": ["12.2"]},
    "Driver Version: 470.182.03   CUDA Version: 11.4": {"driver": ["470.182.03"], "driver_cuda": ["11.4"]},
    "Driver Version: 411.31": {"driver": ["411.31"]},
    "Driver branch 535   CUDA Version: 12.2": {"driver": ["535"], "driver_cuda": ["12.2"]},
    "nvidia-smi CUDA Version: 12.7": {"driver_cuda": ["12.7"]},
    "cuda driver version integer: 9010": {"driver_cuda": ["9.1"]},
    "cuda driver version integer: 12020": {"driver_cuda": ["12.2"]},
    "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update": {
        "driver_cuda": ["11.4"]
    },
    "The NVIDIA driver's CUDA version is 12.2 which is older than the ptxas CUDA version (12.3.107).": {
        "driver_cuda": ["12.2"]
    },
    "kernel reported version is: 410.72.0": {"driver": ["410.72.0"]},
    "Libc version: glibc-2.31": {"glibc": ["2.31"]},
    "ldd (Ubuntu GLIBC 2.35-0ubuntu3.1) 2.35": {"glibc": ["2.35"]},
    "ldd (GNU libc) 2.17": {"glibc": ["2.17"]},
    "GPU 0: Tesla P100 (6.0)": {"gpu": ["Tesla P100"], "compute_capability": ["6.0"]},
    "GPU 0: 8x H100 80GB HBM3": {"gpu": ["H100 80GB HBM3"]},
    "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5a1b2c3d)": {"gpu": ["NVIDIA A100-SXM4-40GB"]},
    "01:00.0 VGA compatible controller: NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)": {
        "gpu": ["GeForce RTX 3090"]
    },
    "torch  # CUDA used to build: 13.0": {"torch": ["*+cu130"]},
    "torch  # cu130 build": {"torch": ["*+cu130"]},
    "torch  # +cu118": {"torch": ["*+cu118"]},
    "torch==1.0.1.post2  # from the cu100 index": {"torch": ["1.0.1.post2+cu100"]},
    "torch==2.2.*": {"torch": ["2.2.*"]},
    "cudnn 9.10.1 (conda-forge)": {"cudnn": ["9.10.1"]},
    "cuDNN version: 8902": {"cudnn": ["8.9.2"]},
    "torch.backends.cudnn.version() 90100": {},
    "/usr/lib/x86_64-linux-gnu/libcudnn.so.8.9.7": {"cudnn": ["8.9.7"]},
    "libnccl.so.2.18.3 -> /usr/lib/x86_64-linux-gnu/libnccl.so.2.18.3": {"nccl": ["2.18.3"]},
    "NCCL version 2.18.1+cuda12.1": {"nccl": ["2.18.1"]},
    "cuda-toolkit-13-0 13.0.0": {"cuda": ["13.0.0"]},
    "nvidia-driver-550-server 550.163.01": {"driver": ["550.163.01"]},
    "libcudnn8 8.9.7.29-1+cuda12.2": {"cudnn": ["8.9.7"]},
    "nvidia-fabricmanager-550 550.90.07": {"nvidia-fabricmanager": ["550.90.07"]},
    "libcudnn8/now 8.9.7.29-1+cuda12.2 amd64 [installed,local]": {"cudnn": ["8.9.7"]},
    "nvidia-driver-535.104.05-1.el8.x86_64": {"driver": ["535.104.05"]},
    "tensorflow[and-cuda]==2.15.1": {"tensorflow": ["2.15.1"]},
    "Linux host 5.15.0-91-generic #101-Ubuntu SMP Tue Nov 14 13:30:08 UTC 2023 x86_64 x86_64 x86_64 GNU/Linux": {
        "machine": ["x86_64"],
        "os": ["Linux"],
    },
    "RUN pip install torch==2.6.0 --index-url https://index.example/whl/cu124": {"torch": ["2.6.0+cu124"]},
    "uv pip install --torch-backend=cu126 torch==2.7.0": {"torch": ["2.7.0+cu126"]},
    "conda install pytorch==2.1.0 pytorch-cuda=12.1 -c pytorch -c nvidia": {"torch": ["2.1.0"], "cuda": ["12.1.*"]},
    "pip install https://example.org/whl/torch-2.1.0%2Bcu121-cp310-cp310-linux_x86_64.whl": {"torch": ["2.1.0+cu121"]},
    "FROM pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime": {"torch": ["2.1.0+cu121"], "cudnn": ["8"]},
    "FROM tensorflow/tensorflow:2.15.0-gpu": {"tensorflow": ["2.15.0"]},
    "FROM python:3.11-slim": {"python": ["3.11"]},
    "jax v0.4.13, jaxlib v0.4.13": {"jax": ["0.4.13"], "jaxlib": ["0.4.13"]},
    "libcudnn: PyTorch was compiled against (8, 3, 2) but found runtime version (8, 0, 3)": {"cudnn": ["8.0.3"]},
}


def read(text: str):  # noqa: ANN201 - a description
    return read_inputs([("standard input", text.encode())]).describe()


@pytest.mark.parametrize("line", LINES)
def test_a_line_states_its_facts_and_no_others(line: str) -> None:
    found = {key: [known.text for known in values] for key, values in read(line).known.items()}
    assert {key: found.get(key) for key in LINES[line]} == LINES[line]
    allowed = {*LINES[line], "os", "torch"}
    assert set(found) <= allowed or not LINES[line]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (
            "GPU 0: Tesla K40c (with a Tesla K80 and GeForce 710 in the same host)",
            ["Tesla K40c", "Tesla K80", "GeForce 710"],
        ),
        ("GPU 0: A100, T4", ["A100", "T4"]),
        ("GPU model and memory: RTX 3060, 12 GB", ["RTX 3060"]),
    ],
)
def test_several_gpus_in_one_line_are_several(line: str, names: list[str]) -> None:
    assert [known.text for known in read(line).known["gpu"]] == names


def test_the_count_of_gpus_is_kept_in_the_claims() -> None:
    assert len(read("GPU 0: 8x H100 80GB HBM3").claims["gpu"]) == 8


def test_builds_that_lines_state_of_binaries_are_kept_apart_from_what_is_there() -> None:
    said = read("jaxlib: built against cuDNN 9.13.1")
    assert said.built_against == (("jaxlib", "cudnn", "9.13.1"),)
    assert "cudnn" not in said.known
    complaint = "Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.1.0."
    loaded = read(f"tensorflow==2.5.0\n{complaint}")
    assert loaded.built_against == (("tensorflow", "cudnn", "8.1.0"),)
    assert [known.text for known in loaded.known["cudnn"]] == ["8.0.5"]


def test_ranges_are_requirements_and_claims() -> None:
    found = read("tensorflow==2.18.0  # requires ml-dtypes<0.5.0\nml-dtypes>=0.5.0")
    assert found.required == ("ml-dtypes<0.5.0", "ml-dtypes>=0.5.0")
    assert [known.text for known in found.known["ml-dtypes"]] == [">=0.5.0"]


def test_what_the_loader_misses_is_a_requirement() -> None:
    missing = read("ImportError: libcudnn_ops_infer.so.8: cannot open shared object file: No such file or directory")
    assert missing.required == ("cudnn==8.*",)
    symbol = read("OSError: /lib/libc.so.6: version `GLIBC_2.32' not found (required by flash_attn_2_cuda.so)")
    assert symbol.required == ("glibc>=2.32",)


def test_environment_variables_are_kept_whole() -> None:
    found = read("LD_LIBRARY_PATH=<site>/cudnn-8.0.3-cuda-11.0/lib64:<site>/cuda-11.0/lib64")
    assert found.env_vars == {"LD_LIBRARY_PATH": "<site>/cudnn-8.0.3-cuda-11.0/lib64:<site>/cuda-11.0/lib64"}
    assert found.known == {}


def test_prose_names_no_packages() -> None:
    found = read("Hello everyone\nit crashed\nHelp\ntorch\nplease")
    assert found.packages == {"torch"}
    assert set(found.not_understood) == {"Hello everyone", "it crashed", "Help", "please"}


@pytest.mark.parametrize(
    ("text", "name", "version"),
    [
        ("$ python -c 'import torch; print(torch.__version__)'\n2.1.0+cu121", "torch", "2.1.0+cu121"),
        (">>> torch.cuda.nccl.version()\n(2, 18, 1)", "nccl", "2.18.1"),
        (">>> torch.cuda.get_device_name(0)\n'Tesla T4'", "gpu", "Tesla T4"),
        ("| Name | Version |\n|---|---|\n| torch | 2.1.0 |", "torch", "2.1.0"),
        ("torch==2.1.0 ; torchvision==0.16.0", "torchvision", "0.16.0"),
        ("- CUDA: 11.8\n- Driver: 535.104", "driver", "535.104"),
        ("cudatoolkit=11.0\ncudnn=8.0.4", "cudnn", "8.0.4"),
        ('device info: NVIDIA L4-1, 1 local devices"', "gpu", "NVIDIA L4"),
        ("### Python version\n\n3.11", "python", "3.11"),
        ("CUDA Driver Version / Runtime Version          12.2 / 11.8", "driver_cuda", "12.2"),
    ],
)
def test_a_fact_may_take_several_lines_or_columns(text: str, name: str, version: str) -> None:
    assert [known.text for known in read(text).known[name]] == [version]


def test_stages_that_do_not_end_up_in_an_image_say_nothing() -> None:
    text = (
        "FROM nvidia/cuda:11.8.0-devel-ubuntu20.04 AS old\nRUN pip install numpy==1.0\n"
        "FROM python:3.11-slim AS wheels\nRUN pip install torch==2.6.0\n"
        "FROM nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04\nCOPY --from=wheels /opt/venv /opt/venv\n"
    )
    found = read(text)
    assert [known.text for known in found.known["cuda"]] == ["12.4.1"]
    assert [known.text for known in found.known["os"]] == ["Ubuntu 22.04"]
    assert found.packages == {"torch"}


def test_a_constraint_in_a_marker_is_decided_by_the_python_that_is_there() -> None:
    text = (
        'numpy==1.26.4; python_version < "3.12"\n'
        'numpy==2.1.0; python_version >= "3.12"\n'
        'pywin32; sys_platform == "win32"'
    )
    assert [known.text for known in read(f"Python 3.11\n{text}").known["numpy"]] == ["1.26.4"]
    assert [known.text for known in read(f"Python 3.13\n{text}").known["numpy"]] == ["2.1.0"]
    unknown = read(text)
    assert [known.text for known in unknown.known["numpy"]] == ["*"]
    assert "pywin32" not in unknown.packages
