"""Small random stacks of values that occur, right and wrong ones, for tests of all rules together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hypothesis import strategies as st
from judging import stack

from stackproof.compat.described import Library

if TYPE_CHECKING:
    from stackproof.compat.described import Description

_COMPONENTS: Final = {
    "driver": ["418.87", "450.80.02", "470.182.03", "535.104.05", "550.54.15", "580.82.07", "590.10", ">=535", "12"],
    "driver_cuda": ["10.1", "11.4", "12.2", "12080", "13.0", "12"],
    "cuda": ["10.1", "11.7", "11.8", "12.1", "12.4.1", "13.0", "12"],
    "cudnn": ["7.6.5", "8.5.0", "8.9.7", "9.1.0", "9.13.0"],
    "nccl": ["2.14.3", "2.18.3", "2.21.5", "2.27.5"],
    "glibc": ["2.17", "2.28", "2.35"],
    "libstdcxx": ["3.4.28", "3.4.30"],
    "python": ["3.8", "3.10.12", "3.12", "3.13", "3.14"],
    "os": ["Ubuntu 22.04.4 LTS", "CentOS Linux 7", "Windows 11", "macOS 15.6.1", "Plan 9"],
    "machine": ["x86_64", "aarch64", "arm64"],
    "gpu": ["Tesla K80", "V100", "Tesla T4", "NVIDIA A100-SXM4-80GB", "RTX 4090", "RTX 5090", "GB10", "Voodoo 2"],
    "compute_capability": ["3.7", "7.0", "8.6", "9.0", "12.0"],
    "nvidia-fabricmanager": ["550.54.15", "550.90.07"],
}
_PACKAGES: Final = {
    "torch": [
        "1.7.1",
        "1.13.1+cu117",
        "2.1.2",
        "2.2.*",
        "2.4.0+cu121",
        "2.5.1",
        "2.8.0",
        "2.10.0+cu128",
        "*+cu130",
        "*",
    ],
    "torchvision": ["0.15.2+cu118", "0.19.0+cu124", "0.20.1", "*"],
    "torchaudio": ["2.4.0+cu124", "2.6.0", "*"],
    "xformers": ["0.0.23.post1", "0.0.28", "*"],
    "triton": ["2.1.0", "3.0.0", "3.1.0"],
    "flash-attn": ["1.0.9", "2.5.7", "2.5.8", "2.5.5+cu118torch2.2cxx11abiTRUE"],
    "deepspeed": ["0.5.8", "0.14.0", "0.15.1", "*"],
    "tensorflow": ["1.15.0", "2.4.0", "2.11.0", "2.15.0", "2.18.0", "2.21.0", "2.18.*"],
    "tensorflow-text": ["2.18.0", "2.21.0"],
    "keras": ["2.13.1", "2.15.0", "3.5.0"],
    "jax": ["0.4.12", "0.4.23", "0.4.30", "0.7.2", "*"],
    "jaxlib": ["0.1.65+cuda112", "0.4.13+cuda11.cudnn86", "0.4.30", "0.7.2", "*"],
    "jax-cuda12-plugin": ["0.4.30", "0.7.2"],
    "flax": ["0.6.11", "0.7.*", "0.8.5"],
    "numpy": ["1.23.5", "1.26.4", "2.0.2", "2.*", "*"],
    "scipy": ["1.10.0", "1.13.1"],
    "protobuf": ["3.20.3", "4.25.5", "5.28.2", "*"],
    "ml-dtypes": ["0.2.0", "0.4.1", "0.5.3"],
    "onnx": ["1.14.0", "1.17.0", "1.20.0"],
    "onnxruntime": ["1.14.1", "1.18.1"],
    "onnxruntime-gpu": ["1.14.1", "1.19.2", "1.27.0"],
    "transformers": ["4.46.3", "4.57.6", "4.52.3"],
    "ctranslate2": ["4.4.0", "4.5.0"],
    "nvidia-cudnn-cu11": ["8.5.0.96", "8.9.6.50"],
    "nvidia-cudnn-cu12": ["8.9.2.26", "9.1.0.70", "9.13.0.50"],
    "nvidia-nccl-cu11": ["2.14.3"],
    "nvidia-nccl-cu12": ["2.18.1", "2.21.5"],
}
_AROUND: Final = {
    "env_vars": [
        {"LD_LIBRARY_PATH": "/opt/conda/lib"},
        {"LD_LIBRARY_PATH": "/usr/local/cuda-12.1/lib64"},
        {"LD_LIBRARY_PATH": "/usr/local/cuda-12.4/compat:/opt/cudnn/lib"},
    ],
    "origins": [frozenset({"conda"}), frozenset({"source"}), frozenset({"pip"})],
    "extras": [{"tensorflow": frozenset({"and-cuda"})}],
    "floating": [frozenset({"torchaudio", "torchvision", "numpy"})],
    "required": [("ml-dtypes>=0.5.0",), ("numpy<2", "protobuf>=5")],
    "built_against": [(("xformers", "torch", "2.2.0+cu121"),), (("jaxlib", "cudnn", "9.13.1"),)],
    "arch_list": [("sm_70", "sm_80", "sm_90")],
    "arch_range": [("8.0", "12.0")],
    "libraries": [
        (
            Library("libcudnn.so.9", "/site/nvidia/cudnn/lib/libcudnn.so.9", "9.1.0", "nvidia-cudnn-cu12"),
            Library("libcudnn.so.9", "/opt/cudnn/lib/libcudnn.so.9", "9.0.0", mapped_by="torch"),
        ),
        (Library("libnccl.so.2", "", mapped_by="torch", missing=True, needs=(("glibc", "2.28"),)),),
    ],
}


def _some(values: dict[str, list[str]], most: int) -> st.SearchStrategy[dict[str, str]]:
    names = st.lists(st.sampled_from(sorted(values)), max_size=most, unique=True)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({name: st.sampled_from(values[name]) for name in chosen}))


def _build(components: dict[str, str], packages: dict[str, str], around: dict[str, object]) -> Description:
    return stack(components, packages, **around)


AROUND: Final = st.fixed_dictionaries({}, optional={name: st.sampled_from(found) for name, found in _AROUND.items()})
STACKS: Final = st.builds(_build, _some(_COMPONENTS, 6), _some(_PACKAGES, 6), AROUND | st.just({}))
