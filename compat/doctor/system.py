"""Read the system around an environment: its release, C and C++ libraries, CUDA toolkit, and variables that matter."""

from __future__ import annotations

import json
import platform
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .asking import Asked, Deadline
from .elf import highest
from .installed import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..gather import Gathered
    from .place import Place
    from .search import Process

_VARIABLES: Final = re.compile(
    r"LD_LIBRARY_PATH|LD_PRELOAD|CUDA_HOME|CUDA_PATH|CUDA_VISIBLE_DEVICES|XLA_FLAGS|TF_\w*GPU\w*|(?:NCCL|PYTORCH|JAX|NVIDIA)_\w+"
)
_VENDOR_CONTAINER: Final = ("NVIDIA_PYTORCH_VERSION", "NVIDIA_TENSORFLOW_VERSION", "NVIDIA_JAX_VERSION")
_TOOLKIT: Final = Path("/usr/local/cuda")
_PATIENCE: Final = 3.0


def read_system_components(
    place: Place, process: Process, variables: Mapping[str, str], gathered: Gathered, deadline: Deadline
) -> None:
    """Note Python, the system's release, its C and C++ libraries, its CUDA toolkit and variables that matter.

    Args:
        place: The environment.
        process: Its Python as the loader would have it.
        variables: The environment variables of that Python.
        gathered: Gets the components, variables and what was not understood.
        deadline: When to stop.
    """
    if place.version:
        gathered.add_component("python", place.version, str(place.python or place.prefix))
    if place.implementation not in {None, "CPython"}:
        gathered.skip(f"the Python is {place.implementation}; facts are of CPython")
    gathered.add_component("machine", platform.machine(), "the kernel")
    _read_release(gathered)
    _read_libraries(place, process, gathered)
    _read_toolkit(variables, gathered, deadline)
    gathered.env_vars.update({name: text for name, text in sorted(variables.items()) if _VARIABLES.fullmatch(name)})
    if any(variables.get(name) for name in _VENDOR_CONTAINER):
        gathered.origins.add("container")


def _read_release(gathered: Gathered) -> None:
    for path in (Path("/etc/os-release"), Path("/usr/lib/os-release")):
        fields = dict(re.findall(r"""^(\w+)=["']?(.*?)["']?$""", read_text(path), re.MULTILINE))
        name = fields.get("PRETTY_NAME") or " ".join(filter(None, (fields.get("NAME"), fields.get("VERSION_ID"))))
        if name:
            gathered.add_component("os", name, str(path))
            return


def _read_libraries(place: Place, process: Process, gathered: Gathered) -> None:
    """Note the C library, and the C++ library that a framework would get where it brings and names none of its own."""
    libc = process.open("libc.so.6")
    if place.libc and place.libc.startswith("glibc "):
        gathered.add_component("glibc", place.libc.removeprefix("glibc "), str(place.python))
    elif libc is not None and libc.elf is not None and (version := highest(libc.elf.gives, "GLIBC_")):
        gathered.add_component("glibc", version, str(libc.path))
    else:
        gathered.skip("the C library is no glibc")
    cxx = process.open("libstdc++.so.6")
    if cxx is not None and cxx.elf is not None and (version := highest(cxx.elf.gives, "GLIBCXX_")):
        gathered.add_component("libstdcxx", version, str(cxx.path))


def _read_toolkit(variables: Mapping[str, str], gathered: Gathered, deadline: Deadline) -> None:
    """Note the toolkit that extension builds would take: CUDA_HOME, CUDA_PATH, the nvcc on PATH, the usual folder."""
    for folder, where in _toolkits(variables):
        version = _toolkit_version(folder, deadline)
        if version:
            gathered.add_component("cuda", version, f"{folder} ({where})")
            return
        if where in variables:
            gathered.skip(f"{where}={folder}: no CUDA toolkit is there")


def _toolkits(variables: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if variables.get(name):
            yield Path(variables[name]), name
    if compiler := shutil.which("nvcc", path=variables.get("PATH", "")):
        yield Path(compiler).resolve().parent.parent, "nvcc on PATH"
    yield _TOOLKIT, "the usual folder"


def _toolkit_version(folder: Path, deadline: Deadline) -> str | None:
    try:
        said = json.loads(read_text(folder / "version.json"))["cuda"]["version"]
    except (json.JSONDecodeError, RecursionError, KeyError, TypeError):
        said = None
    if said:
        return str(said)
    if match := re.search(r"CUDA Version (\d+\.\d+(?:\.\d+)?)", read_text(folder / "version.txt")):
        return match[1]
    if not (folder / "bin" / "nvcc").exists():
        return None
    written, _ = Asked([folder / "bin" / "nvcc", "--version"]).answer(deadline.left(_PATIENCE))
    match = re.search(r"\bV(\d+\.\d+\.\d+)", written) or re.search(r"release (\d+\.\d+)", written)
    return match[1] if match else None
