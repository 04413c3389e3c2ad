"""From inputs and options of `check` and `doctor` to a description, and to an answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ..compat.check import Answer, check
from ..compat.described import Claim, Description, canonical, parse_name
from ..compat.errors import Fault, InputError
from ..compat.gpu_names import capability_of, near_names
from ..compat.known import Known, parse_known
from ..compat.readers import read_files, read_inputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_KINDS: Final = (
    "pip freeze, requirements.txt, pylock.toml, uv.lock, poetry.lock, conda list, environment.yml, the environment "
    "text of torch, JAX or TensorFlow, nvidia-smi, a Dockerfile, stack.toml or stack.json"
)
_QUOTED: Final = 3
_PYTHON: Final = re.compile(r"[23]\.\d")
# What an option says replaces what the inputs say, also under another name.
_REPLACES: Final[dict[str, tuple[str, ...]]] = {
    "gpu": ("gpu", "compute_capability"),
    "driver": ("driver", "driver_cuda"),
    "python": ("python",),
    "os": ("os", "glibc"),
}


@dataclass(frozen=True)
class Checked:
    """What was described, and what the rules say of it."""

    description: Description
    answer: Answer


def check_files(paths: Sequence[str], options: Mapping[str, Sequence[str]]) -> Checked:
    """Judge the stack that files describe together.

    Args:
        paths: Files; `-` is standard input.
        options: Values of `gpu`, `driver`, `python` and `os` that replace what the files say.

    Raises:
        InputError: A file cannot be read, nothing in them is understood, or an option's value is none.
    """
    inputs = read_files(paths) if paths else []
    description = with_options(read_inputs([*inputs, *_deciding(options)]).describe(), options)
    if description.is_empty:
        lines = _quote(description.not_understood)
        faults = [Fault("", f"nothing in it describes a stack: give {_KINDS}", name) for name, _ in inputs]
        faults += [Fault("", f"was not understood: {lines}", "what it says")] if lines else []
        raise InputError("check", faults or [Fault("INPUT", f"give a description: {_KINDS}; - is standard input")])
    return Checked(description, check(description))


def _quote(lines: Sequence[str]) -> str:
    """Return the first of some lines, and how many more there are."""
    more = f" and {len(lines) - _QUOTED} more" if len(lines) > _QUOTED else ""
    return ", ".join(f"{line!r:.80}" for line in lines[:_QUOTED]) + more


def _deciding(options: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, bytes]]:
    """Yield options as inputs: Python and system decide which lines of a lock file apply."""
    for name, words in (("python", "Python {}"), ("os", "OS: {}")):
        yield from (
            (f"--{name}", words.format(value).encode()) for value in options.get(name, ())[:1] if value.isprintable()
        )


def with_options(description: Description, options: Mapping[str, Sequence[str]]) -> Description:
    """Return a description with what options say in place of what it said.

    Raises:
        InputError: A value is no version, or no GPU.
    """
    faults: list[Fault] = []
    known = dict(description.known)
    claims = dict(description.claims)
    for name, values in options.items():
        if not values:
            continue
        for replaced in _REPLACES[name]:
            known.pop(replaced, None)
            claims.pop(replaced, None)
        read = [_read(name, value, faults) for value in values]
        known[name] = canonical(entry for entry in read if entry is not None)
        claims[name] = tuple(Claim(value, f"--{name}") for value in values)
    if faults:
        raise InputError("check", faults)
    return replace(description, known=known, claims=claims)


def _read(name: str, value: str, faults: list[Fault]) -> Known | None:
    fault = next(_faults_of(name, value), None)
    if fault is not None:
        faults.append(Fault(f"--{name}", fault))
        return None
    return parse_name(value.strip()) if name in {"gpu", "os"} else parse_known(value)


def _faults_of(name: str, value: str) -> Iterator[str]:
    if not value.strip() or not value.isprintable():
        yield f"{value!r:.80} says nothing"
    elif name == "gpu" and capability_of(value) is None:
        yield f"{value!r:.80} is no GPU that is known: {near_names(value[:200])}"
    elif name in {"driver", "python"}:
        known = parse_known(value)
        written = value.strip()[:1] in "0123456789" if name == "driver" else _PYTHON.match(value.strip())
        if known is None or known.is_open or not written:
            example = {"driver": "550.54.15", "python": "3.11"}[name]
            yield f"{value!r:.80} is no version: write it as {example}"
