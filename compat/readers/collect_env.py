"""torch's collect_env and its kin: rows of packages, and the many keys that say nothing of compatibility."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .conda import add_row
from .patterns import Lazy

if TYPE_CHECKING:
    from .reading import Reading

_PIP: Final = Lazy(r"\[pip3?\]\s+([A-Za-z0-9][\w.\-]*)(?:==|\s+)(\S+)")
_CONDA: Final = Lazy(r"\[conda\]\s+(\S+)\s+(\S+)(?:\s+(\S+))?(?:\s+(\S+))?")
_LOADER_PATH: Final = Lazy(r"LD_LIBRARY_PATH:?\s+(\S+)")
_NONE: Final = Lazy(r"\[(?:pip3?|conda)\]\s+(?:No relevant packages|Could not collect)", re.IGNORECASE)
_ENV_VAR: Final = Lazy(r"(?:export\s+|set\s+|ENV\s+)?([A-Z][A-Z0-9_]+)=(.*)")
_OS_RELEASE: Final = frozenset(
    {"NAME", "VERSION", "ID", "VERSION_ID", "ID_LIKE", "PLATFORM_ID", "CPE_NAME", "ANSI_COLOR", "LOGO"}
)


def read_line(reading: Reading, line: str, where: str) -> bool:
    """Read a row of packages or an environment variable; return whether the line is one."""
    if line[:1] == "[":
        return _read_row(reading, line, where)
    if "=" in line and (match := _ENV_VAR.fullmatch(line)) is not None and match[2][:1] != "=":
        return _read_variable(reading, match[1], match[2].strip().strip("\"'"), where)
    return False


def _read_row(reading: Reading, line: str, where: str) -> bool:
    if match := _PIP.match(line):
        reading.reports = True
        reading.gathered.origins.add("pip")
        reading.add_package(match[1], match[2], where)
        return True
    if match := _CONDA.fullmatch(line):
        add_row(reading, (match[1], match[2], match[3] or "", match[4] or ""), where)
        return True
    return _NONE.match(line) is not None


def read_loader_path(reading: Reading, line: str, _where: str) -> bool:
    """Read `LD_LIBRARY_PATH /usr/lib`, as TensorFlow's report writes it; return whether the line is one."""
    match = _LOADER_PATH.fullmatch(line) if line.startswith("LD_") else None
    if match is not None and "/" in match[1]:
        reading.gathered.env_vars["LD_LIBRARY_PATH"] = match[1]
    return match is not None and "/" in match[1]


def _read_variable(reading: Reading, name: str, value: str, where: str) -> bool:
    if name == "PRETTY_NAME":
        return False
    if name in _OS_RELEASE or name.endswith(("_URL", "_CODENAME")):
        return True
    reading.reports = True
    reading.gathered.env_vars[name] = value
    if name == "CUDA_VERSION":
        reading.add("cuda", value, where)
    return True
