"""From bytes to lines: encodings, colours, quotes and fences, and what is mere ornament."""

from __future__ import annotations

import codecs
import re
from typing import Final

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS: Final = bytes(set(range(32)) - {7, 8, 9, 10, 12, 13, 27}) + b"\x7f"
_BINARY: Final = 0.08  # share of control bytes above which data is no text; of random bytes it is 0.11
_SMALLEST: Final = 1024  # bytes below which a share says nothing
_SAMPLE: Final = 4096
_ZEROS: Final = 0.4  # share of zeros in every second byte of UTF-16
_FEWEST: Final = 3

_ESCAPE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_INVISIBLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u2060\ufeff]")
_QUOTE: Final = re.compile(r"(?:[ \t]*>)+[ \t]?")
_FENCE: Final = re.compile(r"[ \t]*(?:```|~~~)")
_TAG: Final = re.compile(r"</?(?:details|summary|pre|code|br|p|div|b|sub|sup)\b[^>]{0,200}>", re.IGNORECASE)
_ENTITIES: Final = (("&nbsp;", " "), ("&gt;", ">"), ("&lt;", "<"), ("&quot;", '"'), ("&#39;", "'"), ("&amp;", "&"))
_ORNAMENT: Final = re.compile(r"[\W_]*")


def is_binary(data: bytes) -> bool:
    """Return whether data is no text at all."""
    if len(data) < _SMALLEST or data.startswith(tuple(bom for bom, _ in _BOMS)) or _is_bare_utf16(data):
        return False
    return len(data) - len(data.translate(None, _CONTROLS)) > _BINARY * len(data)


def decode(data: bytes) -> str:
    """Return data as text: by its byte order mark, else UTF-8 with what is not UTF-8 replaced."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data.decode(encoding, errors="replace")
    return data.decode("utf-16-le" if _is_bare_utf16(data) else "utf-8", errors="replace")


def split_lines(text: str) -> list[str]:
    """Return a text's lines without colours, invisible characters, quote marks, tags and a common indent."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " ")
    if "\x1b" in plain:
        plain = _ESCAPE.sub("", plain)
    plain = _INVISIBLE.sub("", plain)
    if "</" in plain or "<br" in plain or "<details" in plain:
        plain = _TAG.sub("", plain)
    if "&gt;" in plain or "&lt;" in plain or "&nbsp;" in plain:
        for entity, mark in _ENTITIES:
            plain = plain.replace(entity, mark)
    marked = "`" in plain
    lines = _dedent([_unquote(line) if ">" in line[:20] else line.rstrip() for line in plain.split("\n")])
    return [_bare(line) for line in lines] if marked else lines


def is_fence(line: str) -> bool:
    """Return whether a line opens or closes a fenced block."""
    return _FENCE.match(line) is not None


def is_ornament(line: str) -> bool:
    """Return whether a line holds no letter and no digit: a rule, a frame, or nothing."""
    return _ORNAMENT.fullmatch(line) is not None


def _is_bare_utf16(data: bytes) -> bool:
    sample = data[:_SAMPLE]
    return sample[1::2].count(0) > max(_FEWEST, _ZEROS * len(sample[1::2])) and sample[::2].count(0) == 0


def _unquote(line: str) -> str:
    match = _QUOTE.match(line)
    return line[match.end() if match else 0 :].rstrip()


def _bare(line: str) -> str:
    """Return a line without the one mark that opens or closes code that goes on over several lines."""
    return line.strip("`") if line.count("`") == 1 else line


def _dedent(lines: list[str]) -> list[str]:
    indents = [len(line) - len(line.lstrip(" ")) for line in lines if line]
    common = min(indents, default=0)
    return [line[common:] for line in lines] if common else lines
