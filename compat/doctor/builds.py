"""Read what frameworks were built with, from the text of the files that they write it to; nothing is imported."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .installed import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ..gather import Gathered
    from .installed import Installed

_ASSIGNED: Final = r"""^{name}(?:\s*:[^=\n]*)?\s*=\s*['"]([^'"\n]+)['"]"""
_TENSORFLOW: Final = ("tensorflow", "tensorflow-cpu", "tf-nightly")
_PAIR: Final = re.compile(r"""\(?['"](cuda_version|cudnn_version)['"]\s*[,:]\s*['"]([\d.]+)['"]""")
_ARCHITECTURES: Final = re.compile(r"""['"]cuda_compute_capabilities['"]\s*[,:]\s*(\[[^\]]*\])""")


def read_builds(installed: Iterable[Installed], gathered: Gathered) -> None:
    """Note what the installed frameworks were built with.

    Args:
        installed: The packages of the environment.
        gathered: Gets versions with their build, and what each was built against.
    """
    by_name = {one.name: one for one in installed}
    if (torch := by_name.get("torch")) is not None:
        _read_torch(torch.site / "torch" / "version.py", gathered)
    tensorflow = next((by_name[name] for name in _TENSORFLOW if name in by_name), None)
    if tensorflow is not None:
        alone = not by_name.keys() & {"torch", "jaxlib"}
        _read_tensorflow(tensorflow, gathered, tells_architectures=alone)
    if (jaxlib := by_name.get("jaxlib")) is not None:
        _read_jaxlib(jaxlib.site / "jaxlib" / "version.py", gathered)


def _read_torch(path: Path, gathered: Gathered) -> None:
    text = read_text(path)
    version, cuda = _assigned("__version__", text), _assigned("cuda", text)
    if version:
        build = f"+cu{cuda.replace('.', '')}" if cuda and "+" not in version else ""
        gathered.add_package("torch", f"{version}{build}", str(path))
    if cuda:
        gathered.built_against.append(("torch", "cuda", cuda))
    if hip := _assigned("hip", text):
        gathered.skip(f"{path}: torch is built for HIP {hip}; AMD's stack is not read")


def _read_tensorflow(tensorflow: Installed, gathered: Gathered, *, tells_architectures: bool) -> None:
    """Read the build; a description has one list of architectures, so only a framework on its own may give it."""
    text = read_text(tensorflow.site / "tensorflow/python/platform/build_info.py")
    for key, version in _PAIR.findall(text):
        gathered.built_against.append((tensorflow.name, key.removesuffix("_version"), version))
    if tells_architectures and (match := _ARCHITECTURES.search(text)):
        gathered.arch_list.extend(re.findall(r"(?:sm|compute)_\w+", match[1]))


def _read_jaxlib(path: Path, gathered: Gathered) -> None:
    text = read_text(path)
    version = _assigned("_release_version", text) or _assigned("__version__", text) or _assigned("_version", text)
    if version:
        gathered.add_package("jaxlib", version, str(path))


def _assigned(name: str, text: str) -> str | None:
    match = re.search(_ASSIGNED.format(name=re.escape(name)), text, re.MULTILINE)
    return match[1] if match else None
