"""GPU names as people and tools write them: counts, several in one line, and the compute capability behind a name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from .patterns import Lazy

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST: Final = 16
_LONGEST: Final = 300

_UUID: Final = Lazy(r"\(UUID:[^)]*\)?|\bUUID:\s*\S+", re.IGNORECASE)
_COUNT: Final = Lazy(r"(\d{1,3})\s?[x\u00d7*]\s+(?=\S)|(\d{1,3})[x\u00d7](?=[A-Za-z])", re.IGNORECASE)
_COUNT_BEHIND: Final = Lazy(r"\s+[x\u00d7*]\s?(\d{1,3})$|\s+\([x\u00d7](\d{1,3})\)$", re.IGNORECASE)
_CAPABILITY: Final = Lazy(
    r"[(,]\s*(?:(?:cuda )?(?:compute )?capability:?\s*|cc\s*|arch=|sm_?)?(\d{1,2}\.\d|(?<=sm_)\d{2,3}|"
    r"(?<=sm)\d{2,3})[a-z]?\s*\)",
    re.IGNORECASE,
)
_WITH: Final = Lazy(r"\((?:with|and|plus)\s([^()]*)\)|\(([^()]*\b(?:and|,)\b[^()]*)\)", re.IGNORECASE)
_SPLIT: Final = Lazy(r"\s*[,;]\s*|\s+(?:and|\+|&|plus)\s+", re.IGNORECASE)
# lspci: the chip, then in brackets the product.
_BRACKETED: Final = Lazy(r"NVIDIA Corporation \w+ \[([^\]]+)\]", re.IGNORECASE)
_ARTICLE: Final = Lazy(r"^(?:an?|one|the|another)\s", re.IGNORECASE)
_PLACE: Final = Lazy(r"\s(?:in|on|of) the same .*$", re.IGNORECASE)
_MEMORY: Final = Lazy(r"[\d.]+\s?(?:[MG]i?B?|vram|memory)?(?:\s+(?:of\s)?(?:vram|memory|ram))?", re.IGNORECASE)
_NOTHING: Final = frozenset({"", "none", "n/a", "no", "na", "unknown", "could not collect", "cpu", "cpu only", "-"})


@dataclass(frozen=True, slots=True)
class Card:
    """A GPU as named: its name, how many there are, and its compute capability where that is said."""

    name: str
    count: int = 1
    capability: str | None = None


@lru_cache(maxsize=4096)
def split_gpus(text: str) -> tuple[Card, ...]:
    """Return the GPUs that a text names.

    Args:
        text: Such as `8x H100 80GB HBM3`, `Tesla P100 (6.0)` or `Tesla K40c (with a Tesla K80 in the same host)`.
    """
    plain = _UUID.sub("", text[:_LONGEST]).strip(" |")
    if (bracketed := _BRACKETED.search(plain)) is not None:
        plain = bracketed[1]
    beside = [piece for match in _WITH.finditer(plain) for piece in match.groups() if piece]
    named = [_WITH.sub("", plain), *beside]
    return tuple(card for part in named for card in _cards(part))


def _cards(text: str) -> Iterator[Card]:
    capability = _CAPABILITY.search(text)
    level = _dotted(capability[1]) if capability else None
    rest = _CAPABILITY.sub("", text) if capability else text
    for piece in _SPLIT.split(_PLACE.sub("", rest)):
        count, name = _count(_ARTICLE.sub("", piece.strip(), count=1).strip())
        if name.lower() not in _NOTHING and not _MEMORY.fullmatch(name):
            yield Card(name, count, level)


def _count(text: str) -> tuple[int, str]:
    if match := _COUNT.match(text):
        return _limit(match), text[match.end() :].strip()
    if match := _COUNT_BEHIND.search(text):
        return _limit(match), text[: match.start()].strip()
    return 1, text


def _limit(match: re.Match[str]) -> int:
    return max(1, min(_MOST, int(match[1] or match[2])))


def _dotted(digits: str) -> str:
    return digits if "." in digits else f"{digits[:-1]}.{digits[-1]}"
