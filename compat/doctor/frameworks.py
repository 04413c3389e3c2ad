"""Play through what importing a framework would have the loader map, without importing it.

Each framework is played in a process of its own, in the order in which its own code opens libraries:

- torch: `libtorch_global_deps`; then the libraries that `torch/__init__.py` opens by path, read from its text (all of
  them where the first could not be mapped); then `torch/_C`, `libtorch_cuda` and `libcaffe2_nvrtc` with all they need.
- JAX: the libraries that its CUDA plugin opens by path, read from its text; its extensions; the plugin; then, by name
  from the plugin, those of its CUDA major.
- TensorFlow: `libtensorflow_framework` and `_pywrap_tensorflow_internal`; then, by name from the first, those of its
  CUDA major.
- cuDNN: its parts, by name from the `libcudnn` that was mapped: graph, ops, cnn, adv, then the rest. A program that
  uses them in another order may get parts of another cuDNN from LD_LIBRARY_PATH.

Not played through: libraries that other packages map before (an import of torch before TensorFlow in one process shares
them), what programs open by path of their own accord, and later choices at run time.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Final

from .installed import read_text
from .records import is_tracked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from .installed import Installed
    from .search import Mapped, Process

_TORCH_PAIR: Final = re.compile(r"""['"](\w+)['"]\s*[:,]\s*['"](lib[\w-]+\.so[^'"\s]*)['"]""")
_TORCH_ALWAYS: Final = re.compile(r"/proc/self/maps.*?_preload_cuda_deps\((?:required=False)?\)", re.DOTALL)
_TORCH_SOME: Final = re.compile(r"""_preload_cuda_deps\(\s*['"](\w+)['"]\s*,\s*['"](lib[^'"]+)['"]""")
_JAX_LOAD: Final = re.compile(r"""_load\(\s*['"](\w+)['"]\s*,\s*\[([^\]]*)\]""")
_NUMBERED: Final = re.compile(r"(?:cuda|cu)[_-]?(\d{2})")
_PARTS: Final = ("graph", "ops", "cnn", "adv")
# What XLA and TensorFlow open by name, by CUDA major (vendor's library versions).
_OPENED: Final = {
    "11": ("libcudart.so.11.0", "libcublas.so.11", "libcublasLt.so.11", "libcusparse.so.11", "libnccl.so.2"),
    "12": ("libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12", "libcusparse.so.12", "libnccl.so.2"),
    "13": ("libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libcusparse.so.12", "libnccl.so.2"),
}


def play_all(
    installed: Iterable[Installed], sites: tuple[Path, ...], start: Callable[[], Process], cuda: Mapping[str, str]
) -> Iterator[tuple[str, list[Mapped], Process]]:
    """Play through the import of every installed framework.

    Args:
        installed: The packages of the environment.
        sites: Folders that its Python imports from.
        start: Makes a Python process that has mapped nothing yet.
        cuda: CUDA versions that frameworks say they were built with, by package.

    Yields:
        The package, its own libraries as they were mapped, and the process.
    """
    for one in installed:
        if one.name == "torch":
            yield one.name, *_play_torch(one.site / "torch", sites, start())
        elif one.name in {"tensorflow", "tf-nightly"}:
            yield one.name, *_play_tensorflow(one.site / "tensorflow", cuda.get(one.name, ""), start())
        elif re.fullmatch(r"jax-cuda\d+-pjrt", one.name):
            yield one.name, *_play_jax(one, sites, start())
        elif one.name == "jaxlib" and "cuda" in one.version:
            yield one.name, *_play_jaxlib(one, start())


def _play_torch(folder: Path, sites: tuple[Path, ...], process: Process) -> tuple[list[Mapped], Process]:
    first = process.open(str(folder / "lib" / "libtorch_global_deps.so"))
    if first is not None:
        _preload_torch(folder, sites, process)
    own = [*sorted(_glob(folder, "_C.*.so")), folder / "lib/libtorch_cuda.so", folder / "lib/libcaffe2_nvrtc.so"]
    mapped = [process.open(str(path)) for path in own if path.exists()]
    _open_parts(process)
    return [one for one in (first, *mapped) if one is not None], process


def _preload_torch(folder: Path, sites: tuple[Path, ...], process: Process) -> None:
    text = read_text(folder / "__init__.py")
    if any(map(is_tracked, process.absent)) or _TORCH_ALWAYS.search(text):
        pairs = _TORCH_PAIR.findall(text)
    else:
        pairs = _TORCH_SOME.findall(text) if _from_wheel(process) else []
    for package, pattern in pairs:
        found = (path for site in sites for path in _torch_candidates(site, package, pattern))
        if (path := next(found, None)) is not None:
            process.open(str(path))


def _from_wheel(process: Process) -> bool:
    return any(
        re.search(r"/nvidia/(?:cuda_runtime|cu\d+)/lib/libcudart", str(one.path)) for one in process.names.values()
    )


def _torch_candidates(site: Path, package: str, pattern: str) -> Iterator[Path]:
    for folder in (f"nvidia/{package}/lib", "nvidia/cu13/lib", f"{package}/lib"):
        yield from sorted(_glob(site, f"{folder}/{pattern}"))


def _play_jax(one: Installed, sites: tuple[Path, ...], process: Process) -> tuple[list[Mapped], Process]:
    major = (_NUMBERED.search(one.name) or ["", ""])[1]
    plugin = one.site / "jax_plugins" / f"xla_cuda{major}"
    for package, names in _JAX_LOAD.findall(read_text(plugin / "__init__.py")):
        for name in re.findall(r"""['"]([^'"]+)['"]""", names):
            found = (site / "nvidia" / package / "lib" / name for site in sites)
            if (path := next((path for path in found if path.exists()), None)) is not None:
                process.open(str(path))
    extensions = sorted(_glob(one.site, f"jax_cuda{major}_plugin/*.so"))
    mapped = [process.open(str(path)) for path in (*extensions, plugin / "xla_cuda_plugin.so") if path.exists()]
    return _open_by_name(mapped, major, "9" if major in {"12", "13"} else "8", process)


def _play_jaxlib(one: Installed, process: Process) -> tuple[list[Mapped], Process]:
    match = re.search(r"cuda(\d\d)\.cudnn(\d)", one.version)
    mapped = [process.open(str(path)) for path in sorted(_glob(one.site, "jaxlib/xla_extension*.so"))]
    return _open_by_name(mapped, match[1] if match else "", match[2] if match else "8", process)


def _play_tensorflow(folder: Path, cuda: str, process: Process) -> tuple[list[Mapped], Process]:
    own = [*sorted(_glob(folder, "libtensorflow_framework.so*")), folder / "python/_pywrap_tensorflow_internal.so"]
    mapped = [process.open(str(path)) for path in own if path.exists()]
    build = read_text(folder / "python/platform/build_info.py")
    cudnn = re.search(r"""cudnn_version['"]\s*[,:]\s*['"](\d+)""", build)
    return _open_by_name(mapped, cuda.partition(".")[0], cudnn[1] if cudnn else "", process, caller=0)


def _open_by_name(
    mapped: list[Mapped | None], major: str, cudnn: str, process: Process, caller: int = -1
) -> tuple[list[Mapped], Process]:
    own = [one for one in mapped if one is not None]
    for name in (*_OPENED.get(major, ()), *([f"libcudnn.so.{cudnn}"] if cudnn and major in _OPENED else ())):
        if own:
            process.open(name, own[caller])
    _open_parts(process)
    return own, process


def _open_parts(process: Process) -> None:
    """Open cuDNN's parts as the mapped cuDNN does: by name, those that lie beside it, the graph part first."""
    for name, main in list(process.names.items()):
        match = re.fullmatch(r"libcudnn\.so\.(\d+)", name)
        if match:
            parts = _glob(main.path.parent, f"libcudnn_*.so.{match[1]}")
            for part in sorted((path.name for path in parts), key=_rank):
                process.open(part, main)


def _rank(part: str) -> tuple[int, str]:
    return next((index for index, word in enumerate(_PARTS) if f"_{word}" in part), len(_PARTS)), part


def _glob(folder: Path, pattern: str) -> list[Path]:
    with contextlib.suppress(OSError, ValueError):
        return list(folder.glob(pattern))
    return []
