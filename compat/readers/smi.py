"""nvidia-smi: the table, the log of `-q`, the list of `-L` and CSV queries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .lines import read_line
from .patterns import Lazy

if TYPE_CHECKING:
    from .reading import Reading

_HEADER: Final = Lazy(r"\|?\s*NVIDIA-SMI\s+\d|\|\s*NVIDIA-SMI")
# Where the head of the table is cut off, and the tables that follow it.
_PART: Final = Lazy(r"\|\s*(?:GPU\s+(?:Name|GI)\s|(?:MIG devices|Processes|GPU instance profiles):|MIG M\.)")
_ROW: Final = Lazy(r"^\|?\s*\d+\s+(\S.*?)\s+(?:On|Off|N/A|ERR!|WDDM|TCC|MCDM)\s+\|\s+[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:")
_FRAME: Final = Lazy(r"^\s*[|+].*$")
_LOG: Final = Lazy(r"=+\s*NVSMI LOG\s*=+")
_CSV: Final = Lazy(
    r"(?:index|name|driver_version|count|uuid|gpu_name|compute_cap|timestamp|pci\.bus_id)\b[^|]*", re.IGNORECASE
)
_FIRST: Final = frozenset("indcugtp")  # of the columns that a query may begin with
_CSV_COLUMNS: Final = {
    "name": "gpu",
    "gpu_name": "gpu",
    "driver_version": "driver",
    "compute_cap": "compute_capability",
}


def read_block(reading: Reading, lines: list[str], index: int) -> int:
    """Read an nvidia-smi output that starts at a line; return the index after it."""
    line = lines[index].strip()
    if "NVIDIA-SMI" in line and _HEADER.match(line):
        return _read_table(reading, lines, index)
    if line[:1] == "|" and (_PART.match(line) or _ROW.match(line)):
        return _read_table(reading, lines, index)
    if line.startswith("Attached GPUs") and ":" in line:
        return _read_log(reading, lines, index)
    if "NVSMI LOG" in line and _LOG.match(line):
        return _read_log(reading, lines, index)
    if "," in line and line[:1].lower() in _FIRST and _CSV.fullmatch(line) and _columns(line):
        return _read_csv(reading, lines, index)
    return index


def _read_table(reading: Reading, lines: list[str], index: int) -> int:
    reading.in_smi = True
    if "NVIDIA-SMI" in lines[index]:
        read_line(reading, lines[index].strip(), reading.where(index))
        index += 1
    while index < len(lines) and (not lines[index].strip() or _FRAME.match(lines[index])):
        if match := _ROW.match(lines[index].strip()):
            reading.add("gpu", match[1], reading.where(index))
        elif not lines[index].strip() and not _goes_on(lines, index):
            break
        index += 1
    reading.in_smi = False
    return index


def _goes_on(lines: list[str], index: int) -> bool:
    return any(_FRAME.match(line) for line in lines[index + 1 : index + 3])


def _read_log(reading: Reading, lines: list[str], index: int) -> int:
    reading.in_smi = True
    index += 1
    while index < len(lines):
        line = lines[index]
        if line.strip() and " : " not in line and not line[:1].isspace() and not re.match(r"GPU [0-9A-F]{8}:", line):
            break
        if re.match(r"\s*(?:Product Name|Driver Version|CUDA Version)\s+:", line):
            read_line(reading, line.strip(), reading.where(index))
        index += 1
    reading.in_smi = False
    return index


def _columns(line: str) -> list[str]:
    names = [re.sub(r"\s*\[.*", "", name).strip().lower() for name in line.split(",")]
    return names if sum(name in _CSV_COLUMNS for name in names) > 0 and len(names) > 1 else []


def _read_csv(reading: Reading, lines: list[str], index: int) -> int:
    names = _columns(lines[index].strip())
    index += 1
    while index < len(lines) and lines[index].count(",") == len(names) - 1:
        for name, value in zip(names, lines[index].split(","), strict=True):
            if name in _CSV_COLUMNS and value.strip() not in {"[N/A]", "N/A"}:
                reading.add(_CSV_COLUMNS[name], value.strip(), reading.where(index))
        index += 1
    return index
