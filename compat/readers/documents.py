"""JSON documents, whole or cut, alone or among other text."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from . import conda
from .locks import read_lock
from .patterns import Lazy
from .reading import MOST_TRIES
from .stack import is_stack, read_stack

if TYPE_CHECKING:
    from .reading import Reading

_START: Final = Lazy(r'\{\s*(?:"|$|\})|\[\s*(?:$|[{"\[])')
_TOKEN: Final = Lazy(r'"(?:[^"\\\n]|\\.)*"|[{}\[\],]')
_CLOSERS: Final = {"{": "}", "[": "]"}
_DEEPEST: Final = 200


def read_json(reading: Reading, lines: list[str], index: int) -> int:
    """Read a JSON document that starts at a line; return the index after it."""
    if lines[index].lstrip()[:1] not in {"{", "["} or not _START.match(lines[index].lstrip()):
        return index
    if reading.tries >= MOST_TRIES:
        return index
    reading.tries += 1
    text = "\n".join(lines[index:])
    repeated: list[str] = []
    document, length = _decode(text, repeated)
    if document is None:
        document, length = _decode_cut(text)
        if document is None or not _read(reading, document):
            return index
        after = index + text.count("\n", 0, length) + 1
        reading.skip(f"{reading.name}: the JSON document is cut or broken at line {after}")
        return after
    after = index + text.count("\n", 0, length) + 1
    if not _read(reading, document):
        reading.skip(f"{reading.where(index)}: a JSON document of an unknown kind")
    else:
        reading.tries -= 1
    for key in dict.fromkeys(repeated):
        reading.skip(
            f"{reading.where(index)}: {key[:60]} stands in one JSON object more than once; the last one is used"
        )
    return after


def _decode(text: str, repeated: list[str]) -> tuple[Any, int]:
    """Return the document at the start of a text, and its length; note the keys that an object has more than once."""

    def note(items: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(items)
        if len(table) < len(items):
            counts = Counter(key for key, _ in items)
            repeated.extend(key for key, count in counts.items() if count > 1)
        return table

    try:
        return json.JSONDecoder(object_pairs_hook=note).raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return None, 0


def _decode_cut(text: str) -> tuple[Any, int]:
    """Return a document that is cut, without what is not whole, and how far it could be read."""
    bound = len(text)
    try:
        json.JSONDecoder().raw_decode(text.lstrip())
    except json.JSONDecodeError as error:
        bound = error.pos
    except (ValueError, RecursionError):
        return None, 0
    open_at: list[str] = []
    cut: tuple[int, str] | None = None
    end = 0
    for match in _TOKEN.finditer(text, 0, bound):
        mark = match[0]
        if mark in _CLOSERS:
            open_at.append(_CLOSERS[mark])
            if len(open_at) > _DEEPEST:
                return None, 0
        elif mark[0] == '"' and open_at and text[end : match.start()].strip() == ":":
            cut = (match.end(), "".join(reversed(open_at)))  # a value that is whole
        elif mark == "," and open_at:
            cut = (match.start(), "".join(reversed(open_at)))
        elif mark in "}]" and open_at:
            open_at.pop()
            cut = (match.end(), "".join(reversed(open_at)))
        end = match.end()
    if cut is None:
        return None, 0
    document, _ = _decode(text[: cut[0]] + cut[1], [])
    return document, cut[0]


def _read(reading: Reading, document: object) -> bool:
    if isinstance(document, list):
        return _read_list(reading, document)
    return isinstance(document, dict) and any(read(reading, document) for read in _KINDS)


def _read_list(reading: Reading, items: list[Any]) -> bool:
    """Read `pip list --format json` or `conda list --json`."""
    if not any(_is_package(item) for item in items[:50]):
        return not items
    for item in items:
        if not _is_package(item):
            reading.skip(f"{reading.name}: {str(item)[:100]}")
            continue
        where = f"{reading.name}: {item['name']}"
        if "build_string" in item or "channel" in item:
            build, channel = (str(item.get(key, "")) for key in ("build_string", "channel"))
            conda.add_row(reading, (item["name"], item["version"], build, channel), where)
        else:
            reading.gathered.origins.add("pip")
            reading.add_package(item["name"], item["version"], where)
    return True


def _is_package(item: object) -> bool:
    return isinstance(item, dict) and isinstance(item.get("name"), str) and isinstance(item.get("version"), str)


def _read_inspected(reading: Reading, document: dict[str, Any]) -> bool:
    """Read `pip inspect`."""
    if not isinstance(document.get("installed"), list) or "pip_version" not in document:
        return False
    reading.gathered.origins.add("pip")
    for item in document["installed"]:
        metadata = item.get("metadata") if isinstance(item, dict) else None
        if isinstance(metadata, dict) and _is_package(metadata):
            reading.add_package(metadata["name"], metadata["version"], f"{reading.name}: {metadata['name']}")
    surroundings = document.get("environment")
    version = surroundings.get("python_full_version") if isinstance(surroundings, dict) else None
    if isinstance(version, str):
        reading.add("python", version, f"{reading.name}: environment.python_full_version")
    return True


def _read_conda_info(reading: Reading, document: dict[str, Any]) -> bool:
    """Read `conda info --json`."""
    if not isinstance(document.get("virtual_pkgs"), list):
        return False
    for item in document["virtual_pkgs"]:
        if isinstance(item, list) and len(item) > 1 and all(isinstance(part, str) for part in item[:2]):
            conda.read_line(reading, f"{item[0]}={item[1]}", f"{reading.name}: virtual_pkgs")
    return True


def _read_cuda(reading: Reading, document: dict[str, Any]) -> bool:
    """Read the version.json of a CUDA toolkit."""
    cuda = document.get("cuda")
    if not isinstance(cuda, dict) or not isinstance(cuda.get("version"), str):
        return False
    reading.add("cuda", cuda["version"], f"{reading.name}: cuda.version")
    return True


def _read_stack(reading: Reading, document: dict[str, Any]) -> bool:
    if not is_stack(document):
        return False
    read_stack(reading, document)
    return True


# Kinds of JSON objects, told by their keys, in the order tried.
_KINDS: Final = (read_lock, _read_inspected, _read_conda_info, _read_cuda, _read_stack)
