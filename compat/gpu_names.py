"""GPU names: the compute capability behind a name as people and tools write it."""

from __future__ import annotations

import difflib
import re
from functools import lru_cache
from typing import Final

from .facts import Row, load_table

_LONGEST: Final = 200
_SHORTEST: Final = 8  # of a cut name, below which it names a whole line of products
_NOISE: Final = re.compile(
    r"\b(nvidia|tesla|geforce|quadro|grid|gpu|graphics|card|laptop|mobile|max ?q|pcie|sxm\d?|nvl|hbm\d?e?|vram"
    r"|generation|edition|corporation|with|design|series|super|ac|\d+[qbca]|\d+\s*(?:gi?b?|mi?b)|\d+g)\b"
)
# What stands around a name: how many of them, and which part of one is used.
_COUNT: Final = re.compile(r"^\s*\d+\s*[x\u00d7]\s+", re.IGNORECASE)
_PART: Final = re.compile(r"\bmig\b.*")
_SERIES: Final = (
    (re.compile(r"rtx\s*50\s*(series|xx)|rtx 50$"), "12.0"),
    (re.compile(r"rtx\s*40\s*(series|xx)|rtx 40$"), "8.9"),
    (re.compile(r"rtx\s*30\s*(series|xx)|rtx 30$"), "8.6"),
    (re.compile(r"rtx\s*20\s*(series|xx)|rtx 20$|gtx\s*16\s*(series|xx)"), "7.5"),
    (re.compile(r"gtx\s*10\s*(series|xx)"), "6.1"),
    (re.compile(r"blackwell$"), "12.0"),
    (re.compile(r"\borin\b"), "8.7"),
    (re.compile(r"\bxavier\b"), "7.2"),
)


@lru_cache(maxsize=4096)
def find_gpu(name: str) -> Row | None:
    """Return the fact of a GPU by its name, however it is dressed: `NVIDIA A100-SXM4-80GB`, `RTX 3090`, `T4`."""
    table = _by_name()
    for text in (_plain(name), _stripped(name)):
        if text in table:
            return table[text]
    words = _stripped(name).split()
    for end in range(len(words), 0, -1):
        for start in range(len(words) - end + 1):
            if (row := table.get(" ".join(words[start : start + end]))) is not None and end * 2 > len(words):
                return row
    return None


@lru_cache(maxsize=4096)
def capability_of(name: str) -> str | None:
    """Return the compute capability of a GPU, or of a series such as `RTX 30 series`; None for a name not known."""
    row = find_gpu(name)
    if row is not None:
        return str(row["compute_capability"])
    plain = _plain(name)
    return next((found for pattern, found in _SERIES if pattern.search(plain)), None) or _capability_of_cut(name)


def _capability_of_cut(name: str) -> str | None:
    """Return the compute capability of a name that nvidia-smi cut off, where all names that it may be have the same."""
    if not name.rstrip().endswith(("...", "\u2026")):
        return None
    start = re.sub(r"^nvidia\s+", "", _plain(name))
    if len(start) < _SHORTEST:
        return None
    found = {
        str(row["compute_capability"])
        for row in load_table("gpus").rows
        if re.sub(r"^nvidia\s+", "", _plain(row["name"])).startswith(start)
    }
    return found.pop() if len(found) == 1 else None


def near_names(name: str) -> str:
    """Return what to offer for a name that is not known, as a sentence's end."""
    if name.rstrip().endswith(("...", "\u2026")):
        return "nvidia-smi cut it off; `nvidia-smi -L` prints it whole."
    names = {row["name"].lower(): str(row["name"]) for row in load_table("gpus").rows}
    close = difflib.get_close_matches(name[:_LONGEST].lower(), names, n=3)
    if not close:
        return "it is none of NVIDIA's names."
    return f"did you mean {' or '.join(repr(names[found]) for found in close)}?"


@lru_cache(maxsize=1)
def _by_name() -> dict[str, Row]:
    table: dict[str, Row] = {}
    for row in load_table("gpus").rows:
        for text in (_plain(row["name"]), _stripped(row["name"])):
            table.setdefault(text, row)
            table.setdefault(re.sub(r"^rtx (?=a\d)", "", text), row)  # A6000, as people write the RTX A6000
            if row["kind"] == "geforce":  # 1080 Ti, as people write the GTX 1080 Ti
                table.setdefault(re.sub(r"^(?:geforce )?[rg]tx (?=\d{4})", "", text), row)
    return table


def _plain(name: str) -> str:
    words = re.sub(r"[-_/(),.]+", " ", _COUNT.sub("", name[:_LONGEST].lower()))
    words = re.sub(r"\b(rtx|gtx)(?=\d)", r"\1 ", re.sub(r"\bv100s\b", "v100", words))
    return " ".join(re.sub(r"(?<=\d)(ti|super)\b", r" \1", _PART.sub("", words)).split())


def _stripped(name: str) -> str:
    return " ".join(_NOISE.sub(" ", _plain(name)).split())
