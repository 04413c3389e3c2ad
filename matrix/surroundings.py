"""The environment variables that a worker runs with.

Kept is what belongs to the machine: PATH, HOME, locale, LD_LIBRARY_PATH and LD_PRELOAD (through them a site brings its
driver and its allocator, and a stack that breaks under them is broken there), CUDA_*, NCCL_* and network settings.
Dropped is what silently reconfigures Python or a framework (`_DROPPED`): a certificate speaks of the stack and the
spec, and a setting left over in someone's shell is neither. Set are thread counts, quiet logs, and folders inside the
run's own, so that no run sees what another left behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_DROPPED: Final = (
    *("PYTHON", "VIRTUAL_ENV", "UV_", "PIP_", "STACKPROOF_"),
    *("TORCH", "PYTORCH_", "TRITON_", "JAX_", "XLA_", "TF_", "KERAS_"),
    *("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "NUMEXPR_", "ONEDNN_", "DNNL_", "ATEN_"),
    *("CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_WORKSPACE_SIZE", "NVIDIA_TF32_OVERRIDE"),
)
_THREADS: Final = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
    *("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"),
)
_FOLDERS: Final = {
    "TMPDIR": "tmp",
    "XDG_CACHE_HOME": "cache",
    "TORCHINDUCTOR_CACHE_DIR": "cache/inductor",
    "TRITON_CACHE_DIR": "cache/triton",
    "JAX_COMPILATION_CACHE_DIR": "cache/jax",
    "TORCH_EXTENSIONS_DIR": "cache/extensions",
    "TORCH_HOME": "cache/torch",
    "KERAS_HOME": "cache/keras",
    "CUDA_CACHE_PATH": "cache/cuda",
}


def surroundings(environ: Mapping[str, str], folder: Path, device: str, threads: int) -> dict[str, str]:
    """Return a worker's environment variables.

    Args:
        environ: The environment that stackproof itself runs in.
        folder: The run's own folder, an absolute path.
        device: `cpu` hides every GPU; `auto` and `cuda` hide none.
        threads: CPU threads that numeric libraries may use.
    """
    kept = {name: value for name, value in environ.items() if not name.startswith(_DROPPED)}
    made = {name: str(folder / place) for name, place in _FOLDERS.items()}
    counts = dict.fromkeys(_THREADS, str(threads))
    hidden = {"CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else {}
    return {**kept, **made, **counts, **hidden, "TF_CPP_MIN_LOG_LEVEL": "2"}


def make_folders(folder: Path) -> None:
    """Make the folders that `surroundings` names.

    Raises:
        OSError: The disk refuses.
    """
    for place in _FOLDERS.values():
        (folder / place).mkdir(parents=True, exist_ok=True)
