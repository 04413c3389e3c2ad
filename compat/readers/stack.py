"""stack.json and stack.toml: a stack in the contract's own form, every field optional."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ..errors import did_you_mean
from ..known import parse_known
from .actions import note_system
from .names import package_name
from .patterns import Lazy
from .requirement import add_requirement, parse_requirement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .reading import Reading

# Keys that hold one component: key -> component.
_COMPONENTS: Final = {
    "os": "os",
    "glibc": "glibc",
    "libstdcxx": "libstdcxx",
    "machine": "machine",
    "python": "python",
    "gpu": "gpu",
    "compute_capability": "compute_capability",
    "driver": "driver",
    "driver_cuda": "driver_cuda",
    "cuda_toolkit": "cuda",
    "cuda": "cuda",
    "cudnn": "cudnn",
    "nccl": "nccl",
    "fabricmanager": "nvidia-fabricmanager",
    "nvidia-fabricmanager": "nvidia-fabricmanager",
}
_ORIGINS: Final = ("pip", "conda", "source", "container")
_CONDA: Final = Lazy(r"\bconda\b|\bconda-forge\b|\bpytorch-cuda\b|\bminiconda\b|\banaconda\b", re.IGNORECASE)
_CONTAINER: Final = Lazy(r"\bcontainer\b|\bdocker\b", re.IGNORECASE)
_FABRIC: Final = Lazy(r"fabric[ -]?manager\s+(?:version\s+)?(\d{3}(?:\.\d+){1,2})", re.IGNORECASE)
_FLOATS: Final = Lazy(r"\b(?:unpinned|floating|latest|not pinned|any version|no version)\b", re.IGNORECASE)
_MOST: Final = 20_000


def is_stack(tables: dict[str, Any]) -> bool:
    """Return whether tables are a stack's: most of their keys are a stack's keys."""
    known = sum(key in _READERS or key in _COMPONENTS for key in tables)
    return known > 0 and 2 * known >= len(tables)


def read_stack(reading: Reading, tables: dict[str, Any]) -> None:
    """Note all that a stack's tables say; keys that are none of a stack's are not understood."""
    for key, value in tables.items():
        where = f"{reading.name}: {key}"
        if key in _COMPONENTS:
            for text in _texts(reading, key, value):
                _add_component(reading, _COMPONENTS[key], text, where)
        elif key in _READERS:
            _READERS[key](reading, key, value)
        else:
            reading.skip(f"{reading.name}: {key[:60]}: {did_you_mean(key[:60], [*_COMPONENTS, *_READERS])}")


def _add_component(reading: Reading, component: str, text: str, where: str) -> None:
    if component == "os":
        note_system(reading, text, where)
    else:
        reading.add(component, text, where)
    if component in {"cuda", "cudnn", "nccl"} and _CONDA.search(text):
        reading.gathered.origins.add("conda")
    if component in {"cuda", "os"} and _CONTAINER.search(text):
        reading.gathered.origins.add("container")


def _texts(reading: Reading, key: str, value: object) -> Iterator[str]:
    """Give a value as texts: itself, or each of a list; null and empty ones say nothing."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str | int | float) and not isinstance(item, bool):
            text = _written(item)
            if text.strip():
                yield text
        elif item is not None:
            reading.skip(f"{reading.name}: {key}: wants text, not {type(item).__name__}")


def _written(item: str | float) -> str:
    try:
        return str(item)
    except ValueError:  # an integer with more digits than Python writes
        return "a number too large to read"


def _table(reading: Reading, key: str, value: object) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    if value is not None:
        reading.skip(f"{reading.name}: {key}: wants a table, not {type(value).__name__}")
    return {}


def _read_packages(reading: Reading, key: str, value: object) -> None:
    if isinstance(value, list):
        _read_package_list(reading, key, value)
        return
    for name, versions in _table(reading, key, value).items():
        match = re.fullmatch(r"([A-Za-z0-9][\w.\-]*)(?:\[([\w.,\- ]*)\])?", name)
        for text in _texts(reading, f"{key}.{name[:60]}", "*" if versions is None else versions):
            if match is None:
                reading.skip(f"{reading.name}: {key}.{name[:60]}: is no package name")
            else:
                _read_package(reading, match, text)


def _read_package(reading: Reading, match: re.Match[str], text: str) -> None:
    where = f"{reading.name}: packages.{match[1]}"
    extras = [extra.strip() for extra in (match[2] or "").split(",") if extra.strip()]
    if parse_known(text) is not None:
        reading.add_package(match[1], text.removeprefix("=="), where, extras)
        if text.strip()[0] in "<>~!":
            reading.gathered.required.append(package_name(match[1]) + text.strip())
        return
    found = re.match(r"\s*v?(\d[\w.+!]*)", text[:200])
    if found is not None and parse_known(found[1]) is not None:
        reading.add_package(match[1], found[1], where, extras)
    else:
        reading.skip(f"{where}: {text}")
        reading.add_package(match[1], "*", where, extras)


def _read_package_list(reading: Reading, key: str, items: list[Any]) -> None:
    for item in items[:_MOST]:
        found = parse_requirement(item) if isinstance(item, str) else None
        if found is None:
            reading.skip(f"{reading.name}: {key}: {str(item)[:100]}")
        else:
            add_requirement(reading, found, f"{reading.name}: {key}.{found.name}")


def _read_extras(reading: Reading, key: str, value: object) -> None:
    for name, extras in _table(reading, key, value).items():
        for extra in _texts(reading, f"{key}.{name}", extras):
            reading.gathered.extras.setdefault(package_name(name), set()).add(extra.strip())


def _read_env_vars(reading: Reading, key: str, value: object) -> None:
    for name, texts in _table(reading, key, value).items():
        for text in _texts(reading, f"{key}.{name}", texts):
            reading.gathered.env_vars[name] = text


def _read_arch_list(reading: Reading, key: str, value: object) -> None:
    for text in _texts(reading, key, value):
        reading.gathered.arch_list += [arch for arch in re.split(r"[\s,;]+", text) if arch]


def _read_arch_range(reading: Reading, key: str, value: object) -> None:
    table = _table(reading, key, value)
    low, high = (next(_texts(reading, key, table.get(end)), None) for end in ("min", "max"))
    if low is not None and high is not None:
        reading.gathered.arch_range = (low, high)
    elif table:
        reading.skip(f"{reading.name}: {key}: wants min and max")


def _read_built_against(reading: Reading, key: str, value: object) -> None:
    for package, components in _table(reading, key, value).items():
        for component, versions in _table(reading, f"{key}.{package}", components).items():
            for text in _texts(reading, f"{key}.{package}.{component}", versions):
                reading.gathered.built_against.append((package_name(package), component, text))


def _read_package_notes(reading: Reading, key: str, value: object) -> None:
    for name, notes in _table(reading, key, value).items():
        for text in _texts(reading, f"{key}.{name}", notes):
            _read_prose(reading, f"{key}.{name}", text)
            if _FLOATS.search(text):
                reading.gathered.floating.add(package_name(name))


def _read_notes(reading: Reading, key: str, value: object) -> None:
    for text in _texts(reading, key, value):
        _read_prose(reading, key, text)


def _read_prose(reading: Reading, key: str, text: str) -> None:
    """Take from prose only what cannot be misread: that packages are conda's, and the fabric manager's version."""
    if _CONDA.search(text[:2000]):
        reading.gathered.origins.add("conda")
    if match := _FABRIC.search(text[:2000]):
        reading.add("nvidia-fabricmanager", match[1], f"{reading.name}: {key}")
    reading.skip(f"{reading.name}: {key}: {text}")


def _read_required(reading: Reading, key: str, value: object) -> None:
    for text in _texts(reading, key, value):
        found = parse_requirement(text)
        if found is None or not found.is_range:
            reading.skip(f"{reading.name}: {key}: {text}")
        else:
            reading.gathered.required.append(package_name(found.name) + found.version)


def _read_origins(reading: Reading, key: str, value: object) -> None:
    for text in _texts(reading, key, value):
        if text in _ORIGINS:
            reading.gathered.origins.add(text)
        else:
            reading.skip(f"{reading.name}: {key}: {text[:60]}: {did_you_mean(text[:60], _ORIGINS)}")


def _ignore(_reading: Reading, _key: str, _value: object) -> None:
    """Read a key that says nothing of the stack."""


_READERS: Final[dict[str, Callable[[Reading, str, object], None]]] = {
    "packages": _read_packages,
    "extras": _read_extras,
    "env_vars": _read_env_vars,
    "arch_list": _read_arch_list,
    "arch_range": _read_arch_range,
    "built_against": _read_built_against,
    "package_notes": _read_package_notes,
    "notes": _read_notes,
    "required": _read_required,
    "origins": _read_origins,
    "schema_version": _ignore,
}
