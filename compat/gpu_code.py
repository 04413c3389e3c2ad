"""How the GPU code in a binary serves a GPU."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from .builds import Build, level_of
from .facts import Row, load_table
from .gpu_names import capability_of

if TYPE_CHECKING:
    from .rules.registry import View

Capability: TypeAlias = tuple[int, int]
Coverage: TypeAlias = Literal["compiled", "ptx", "none"]

# What a rule has to declare to ask for the GPUs.
GPU_NEEDS: Final = ("gpu", "compute_capability")

# Integrated GPUs, whose code and that of other GPUs of the same major exclude each other (findings of torch.cuda).
_INTEGRATED: Final = frozenset({(5, 3), (6, 2), (7, 2), (8, 7), (10, 1)})


def capabilities(view: View) -> dict[Capability, str]:
    """Return the compute capabilities of all GPUs described, with what to call each."""
    found: dict[Capability, str] = {}
    for known in view.known("gpu"):
        if (capability := capability_of(known.text)) is not None:
            found.setdefault(level_of(capability), f"{known.text} (compute capability {capability})")
    for known in view.known("compute_capability"):
        if re.match(r"\d+\.\d+", known.text):
            found.setdefault(level_of(known.text.removesuffix(".*")), f"a GPU of compute capability {known.text}")
    return found


@lru_cache(maxsize=4096)
def covers(archs: tuple[str, ...], ptx: tuple[str, ...], capability: Capability) -> Coverage:
    """Return how architectures in a binary serve a GPU.

    Compiled code runs on its major from its own minor on; PTX is compiled by the driver for any newer GPU. Code for
    `sm_90a` runs on exactly 9.0, that for `sm_100f` on the family of 10.0, its major (NVIDIA, CUDA Programming Guide,
    compute capabilities).
    """
    for arch in archs:
        parsed = _parse(arch)
        if parsed is None or arch.startswith("compute"):
            continue
        (major, minor), suffix = parsed
        if (major, minor) == capability or (
            suffix != "a"
            and major == capability[0]
            and minor <= capability[1]
            and (capability not in _INTEGRATED)
            and ((major, minor) not in _INTEGRATED)
        ):
            return "compiled"
    virtual = [*ptx, *(arch for arch in archs if arch.startswith("compute"))]
    floors = [parsed[0] for arch in virtual if (parsed := _parse(arch)) is not None and not parsed[1]]
    return "ptx" if any(floor <= capability for floor in floors) else "none"


def _parse(arch: str) -> tuple[Capability, str] | None:
    match = re.fullmatch(r"(?:sm|compute)_(\d{2,3})([af]?)", arch)
    return ((int(match[1][:-1]), int(match[1][-1])), match[2]) if match else None


def build_archs(build: Build) -> tuple[str, ...]:
    """Return what a build has code for; empty where that is not known."""
    return sum(build_code(build), ())


def build_code(build: Build) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the architectures and the PTX in a build; both empty where they are not known."""
    if build.package in {"torch", "tensorflow", "tensorflow-gpu"} or build.row is None:
        return build.archs, build.ptx
    by_major = build.row.get("archs") or {}
    return tuple(by_major.get(str(level_of(build.cuda or "0")[0]), ())), ()


@lru_cache(maxsize=256)
def architecture_row(capability: Capability) -> Row | None:
    """Return the facts of a compute capability."""
    text = f"{capability[0]}.{capability[1]}"
    return next((row for row in load_table("architectures").rows if row["compute_capability"] == text), None)
