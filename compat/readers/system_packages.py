"""Packages of the system: dpkg, apt and rpm lists, and names such as `cuda-toolkit-12-1`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .patterns import Lazy

if TYPE_CHECKING:
    from .reading import Reading

_DPKG: Final = Lazy(r"[a-zA-Z]{2,3}\s+([a-z0-9][\w.+-]*)(?::\w+)?\s+(\S+)\s+(?:amd64|arm64|all|ppc64el|i386)\b.*")
_APT: Final = Lazy(r"([a-z0-9][\w.+-]*)/\S+\s+(\S+)\s+(?:amd64|arm64|all|ppc64el|i386)\b.*")
_RPM: Final = Lazy(r"([a-zA-Z][\w.+-]*?)-(\d[\w.+~]*)-(\S+?)\.(?:x86_64|noarch|aarch64)")
_PLAIN: Final = Lazy(r"([a-z][\w.+-]*)[\s=]+(?:\d:)?(\d[\w.+~:-]*)")
_WORDS: Final = (
    "amd64",
    "arm64",
    " all",
    "ppc64el",
    "i386",
    "x86_64",
    "noarch",
    "aarch64",
    "cuda",
    "cudnn",
    "nccl",
    "nvidia",
)
_MINOR: Final = Lazy(r"-(\d{1,2})-(\d{1,2})$")
_RELEASE: Final = Lazy(r"(?:\d+:)?(\d+(?:\.\d+)*)")

# Names of system packages, and the component whose version they have. Tried in order.
_NAMES: Final[tuple[tuple[Lazy, str], ...]] = tuple(
    (Lazy(pattern), component)
    for pattern, component in (
        (r"(?:cuda-fabric-?manager|nvidia-fabric-?manager)(?:-dev)?(?:-\d+)?", "nvidia-fabricmanager"),
        (r"(?:nvidia-(?:driver|utils|dkms|headless)|cuda-drivers)(?:-\d{3})?(?:-server)?(?:-open)?", "driver"),
        (r"libnvidia-compute(?:-\d{3})?(?:-server)?", "driver"),
        (r"(?:nvidia-driver-cuda|nvidia-driver-cuda-libs|kmod-nvidia\S*|nvidia-kmod|nvidia-open)(?:-\d{3})?", "driver"),
        (r"cuda-compat-\d+-\d+", "cuda-compat"),
        (r"(?:cuda-toolkit|cuda-nvcc|cuda|cuda-compiler)-\d+-\d+", "cuda"),
        (r"cuda-toolkit|nvidia-cuda-toolkit", "cuda"),
        (r"(?:lib)?cudnn\d+(?:-(?:dev|devel|cuda-\d+|dev-cuda-\d+|headers-cuda-\d+))?", "cudnn"),
        (r"libnccl(?:2|-dev|-devel)?", "nccl"),
        (r"libc6|libc-bin|glibc", "glibc"),
        (r"libstdc\+\+6|libstdc\+\+", "libstdcxx"),
    )
)
# Only lists of installed packages say these; a bare line `glibc 2.31` is another reader's.
_ONLY_LISTED: Final = frozenset({"glibc", "libstdcxx"})


def read_line(reading: Reading, line: str, where: str) -> bool:
    """Read a line of a list of system packages; return whether it is one."""
    if not any(word in line for word in _WORDS):
        return False
    for pattern in (_DPKG, _APT, _RPM):
        if (match := pattern.fullmatch(line)) is not None:
            _note(reading, match[1], match[2], where)
            return True
    match = _PLAIN.fullmatch(line)
    component = _component(match[1]) if match is not None else None
    if match is None or component is None or component in _ONLY_LISTED:
        return False
    _note(reading, match[1], match[2], where)
    return True


def read_installed(reading: Reading, word: str, where: str) -> None:
    """Note what `apt-get install` is asked for: `libcudnn8=8.9.7.29-1+cuda12.2` or `cuda-toolkit-12-1`."""
    name, _, version = word.partition("=")
    component = _component(name)
    if component is None:
        return
    if version:
        _note(reading, name, version, where)
    elif component == "cuda" and (match := _MINOR.search(name)):
        reading.add("cuda", f"{match[1]}.{match[2]}", where)
    elif component == "driver" and (match := re.search(r"-(\d{3})(?:-|$)", name)):
        reading.add("driver", match[1], where)


def _component(name: str) -> str | None:
    return next((component for pattern, component in _NAMES if pattern.fullmatch(name)), None)


def _note(reading: Reading, name: str, version: str, where: str) -> None:
    reading.reports = True
    component = _component(name)
    match = _RELEASE.match(version)
    if component is None or match is None:
        return
    if component == "cuda-compat":
        level = _MINOR.search(name)
        reading.add_package("cuda-compat", f"{level[1]}.{level[2]}" if level else match[1], where)
    else:
        reading.add(component, match[1], where)
