"""conda: rows of `conda list`, specs of environment files and commands, and virtual packages of `conda info`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..known import parse_known
from .names import FRAMEWORKS, package_name
from .patterns import Lazy

if TYPE_CHECKING:
    from .reading import Reading

_HEADER: Final = Lazy(
    r"# packages in environment at\b|#\s*Name\s+Version\s+Build|\s*Name\s+Version\s+Build\s+Channel|"
    r"List of packages in environment"
)
_ROW: Final = Lazy(
    r"\s*([A-Za-z_][\w.\-]*)\s+(\d[\w.+!\-]*|\d{4}\w*)(?:\s+([\w.+\-*]+))?(?:\s+\[\w+\])?(?:\s+(\S+))?\s*"
)
# A row without the table's head: what grep leaves of it. Its build is like none but conda's.
_BARE_ROW: Final = Lazy(
    r"([A-Za-z_][\w.\-]*)\s+(\d[\w.+!]*)\s+((?:[\w.]*_)?(?:h[0-9a-f]{7,}_\d+|py\d[\w.]*|pyh?[0-9a-f]*_\d+|pypi_0)|"
    r"\d+|cpu|cuda)(?:\s+(?:\[\w+\]\s+)?([\w./<>-]+))?"
)
_CHANNELS: Final = frozenset({"pypi", "<pip>", "conda-forge", "pytorch", "nvidia", "anaconda", "defaults", "main"})
_EXPORTED: Final = Lazy(r"([a-z_][\w.\-]*)=([\w.+!]+)=([\w.+\-]+)")
_EXPLICIT: Final = Lazy(r"https?://\S+/([\w.+\-]+)-([\w.+!]+)-([\w.+]+)\.(?:conda|tar\.bz2)(?:#\S*)?")
_SPEC: Final = Lazy(r"(?:[\w.\-/]+::)?([A-Za-z_][\w.\-]*)\s*(?:\[[^\]]*\])?\s*(.*)")
_VIRTUAL: Final = Lazy(r"(?:virtual packages\s*:\s*)?(__[a-z0-9]+)=([^=\s]+)(?:=\S+)?")
_BUILD_CUDA: Final = Lazy(r"cuda_?(\d+\.\d+|\d{2,3})|(?:^|_)cu(\d{2,3})(?!\d)")

_EXPORT_MARKS: Final = 2  # equal signs in name=version=build

# conda packages that are components and no packages of Python.
_COMPONENTS: Final = {
    "python": "python",
    "cudatoolkit": "cuda",
    "cuda-toolkit": "cuda",
    "cuda-nvcc": "cuda",
    "pytorch-cuda": "cuda",
    "cuda-version": "cuda",
    "cudnn": "cudnn",
    "nccl": "nccl",
    "libstdcxx-ng": "libstdcxx",
    "libstdcxx": "libstdcxx",
    "__glibc": "glibc",
    "__cuda": "driver_cuda",
}
# Where several state the CUDA of an environment, the first that is there is taken.
_TOOLKITS: Final = ("cudatoolkit", "cuda-toolkit", "cuda-nvcc", "pytorch-cuda", "cuda-version")
_CONDA_ONLY: Final = frozenset({*_TOOLKITS, "cudnn", "nccl"})


def read_block(reading: Reading, lines: list[str], index: int) -> int:
    """Read a `conda list` that starts at a line; return the index after it."""
    if lines[index].startswith("@EXPLICIT"):
        return index + 1
    if "ackages in environment" not in lines[index] and "Version" not in lines[index]:
        return index
    if not _HEADER.match(lines[index]):
        return index
    index += 1
    while index < len(lines):
        line = lines[index]
        if (row := _ROW.fullmatch(line)) is not None:
            add_row(reading, (row[1], row[2], row[3] or "", row[4] or ""), reading.where(index))
        elif line.strip() and not line.lstrip().startswith("#") and not re.fullmatch(r"[\W_]*", line):
            break
        index += 1
    return index


def read_line(reading: Reading, line: str, where: str) -> bool:
    """Read a line of `conda list --export`, `--explicit` or `conda info`; return whether it is one."""
    if "__" in line and (match := _VIRTUAL.fullmatch(line)) is not None:
        if match[1] in _COMPONENTS:
            reading.add(_COMPONENTS[match[1]], match[2], where)
        return True
    if "  " in line and (row := _BARE_ROW.fullmatch(line)) is not None and _is_row(row[3], row[4]):
        add_row(reading, (row[1], row[2], row[3], row[4] or ""), where)
        return True
    pattern = _EXPLICIT if line.startswith("http") else _EXPORTED if line.count("=") == _EXPORT_MARKS else None
    match = pattern.fullmatch(line) if pattern is not None else None
    if match is not None:
        channel = "pypi" if match[3].startswith("pypi") else ""
        add_row(reading, (match[1], match[2], match[3], channel), where)
    return match is not None


def add_row(reading: Reading, row: tuple[str, str, str, str], where: str) -> None:
    """Note a row of `conda list`: name, version, build string and channel."""
    name, version, build, channel = row
    reading.reports = True
    if name.startswith("_"):  # names that only hold other packages apart
        return
    if channel in {"pypi", "<pip>"} or build.startswith("pypi"):
        reading.gathered.origins.add("pip")
        reading.add_package(name, version, where)
        return
    _note_origin(reading, name)
    if name in _COMPONENTS:
        _add_component(reading, name, version, where)
    else:
        _add_built(reading, name, version, build, where)


def _is_row(build: str, channel: str | None) -> bool:
    """Return whether a build and a channel can be those of a row that stands without its table's head."""
    return channel in _CHANNELS if build.isdigit() or build in {"cpu", "cuda"} else True


def read_spec(reading: Reading, spec: str, where: str) -> bool:
    """Read a spec such as `pytorch=2.1.0=*cuda12.1*` or `conda-forge::jaxlib`; return whether it is one."""
    match = _SPEC.fullmatch(spec.strip())
    if match is None:
        return False
    name, bounds = match[1], match[2].strip()
    if name.startswith("_"):  # it only holds other packages apart
        return True
    version, build = _parse_bounds(bounds)
    if version is None:
        return False
    _note_origin(reading, name)
    reading.gathered.origins.add("conda")
    if name in _COMPONENTS:
        if version != "*":
            _add_component(reading, name, version, where)
        return True
    if version[0] in "<>~!":
        reading.gathered.required.append(package_name(name) + version)
    _add_built(reading, name, version, build, where)
    if version == "*" and not build:
        reading.float(name)
    return True


def settle_toolkits(found: dict[str, tuple[str, str]]) -> tuple[str, str] | None:
    """Return the CUDA of an environment and its place, of the package that says it best."""
    return next((found[name] for name in _TOOLKITS if name in found), None)


def _parse_bounds(bounds: str) -> tuple[str | None, str]:
    """Return a spec's version in the package index's form, None where it has none, and its build string."""
    if not bounds:
        return "*", ""
    if bounds[0] in "<>~!" or bounds.startswith("=="):
        version, build = re.sub(r"\s", "", bounds).split("|", 1)[0].removeprefix("=="), ""
    else:
        version, _, build = bounds.removeprefix("=").strip().partition("=")
        version = version.strip().split("|", 1)[0]
    is_single = bounds.count("=") == 1 and bounds[0] == "="
    if is_single and re.fullmatch(r"\d+(?:\.\d+)?", version):
        version = f"{version}.*"
    return (version, build) if version and parse_known(version) is not None else (None, "")


def _note_origin(reading: Reading, name: str) -> None:
    if package_name(name) in FRAMEWORKS or name in _CONDA_ONLY or name.startswith("cuda-"):
        reading.gathered.origins.add("conda")


def _add_component(reading: Reading, name: str, version: str, where: str) -> None:
    if name in _TOOLKITS:
        reading.toolkits.setdefault(name, (version, where))
    else:
        reading.add(_COMPONENTS[name], version, where)


def _add_built(reading: Reading, name: str, version: str, build: str, where: str) -> None:
    if parse_known(version) is None:
        return
    tag = _tag(build)
    key = package_name(name)
    if tag and key in {"torch", "torchvision", "torchaudio"} and "+" not in version:
        version = f"{version}+{tag}"
    reading.add_package(name, version, where)


def _tag(build: str) -> str | None:
    if match := _BUILD_CUDA.search(build):
        return f"cu{(match[1] or match[2]).replace('.', '')}"
    return "cpu" if re.search(r"(?:^|_)cpu(?:_|$)", build) else None
