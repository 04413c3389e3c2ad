"""Judge what an inspection found of libraries: that they are found, fit together and have code for the GPU."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ...compat.builds import level_of
from ...compat.doctor.loader import agree
from ...compat.gpu_code import covers
from ...compat.verdict import Check
from .words import judge, list_some

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...compat.gpu_code import Capability
    from ...compat.lock import Lock

# Libraries of several files that only work in one version together.
_FAMILIES: Final = {"cudnn": "cuDNN", "cublas": "cuBLAS", "cublasLt": "cuBLAS"}
_SHOWN: Final = {"cudart": "CUDA runtime", "cudnn": "cuDNN", "nccl": "NCCL", "cublas": "cuBLAS"}
# NVIDIA's libraries choose among kernels of many kinds: how many there are for an architecture says nothing of one GPU.
_OF_NVIDIA: Final = re.compile(r"nvidia-|cuda-")


def judge_linking(document: Mapping[str, Any]) -> Check:
    """Judge whether the loader finds all that every binary needs."""
    elf = document["elf"]
    missing = [one for one in elf["unresolved"] if not one["optional"] and not one["beside"]]
    faults = [f"{one['file']} needs {one['needs']}, which is nowhere to be found" for one in missing]
    faults += [f"{one['file']} cannot be loaded: {one['error']}" for one in elf["damaged"]]
    faults += [f"{path} could not be read" for path in document["unreadable"]]
    explained = len(elf["unresolved"]) - len(missing)
    measured = f"{elf['files']} binaries: {len(faults)} faults, {explained} needs that may be absent"
    reasons = sorted({one["optional"] or "loaded before by its package" for one in elf["unresolved"]})
    sound = f"all found; {explained} may be absent: {list_some(reasons, '; ')}" if explained else "all found"
    return judge("linking", faults, measured, "0 faults", sound)


def judge_cuda_libraries(document: Mapping[str, Any], lock: Lock) -> Check:
    """Judge whether CUDA's libraries load, are what the lock names, and fit together."""
    libraries = document["libraries"]
    if not libraries:
        return Check("cuda-libraries", "skip", None, None, "the image has no CUDA libraries")
    faults = [f"{one['path']} says no version: {one['error']}" for one in libraries if one["error"]]
    for one in libraries:
        locked = lock.version(one["owner"]) if one["owner"] else None
        if one["version"] and locked and not agree(one["version"], locked.partition("+")[0]):
            faults.append(f"{one['path']} is {one['version']}, and {one['owner']} is locked at {locked}")
    faults += _mixed(libraries)
    said = {one["component"]: one["version"] for one in libraries if one["version"]}
    measured = ", ".join(f"{name} {said[key]}" for key, name in _SHOWN.items() if key in said) or "no version"
    silent = sum(1 for one in libraries if not one["version"] and not one["error"])
    sound = f"{len(libraries)} libraries load and are the locked ones" + (
        f"; {silent} parts hold no version of their own, and their symbols fit" if silent else ""
    )
    return judge("cuda-libraries", faults, measured, "all load, in the locked versions, one of each set", sound)


def _mixed(libraries: list[dict[str, Any]]) -> Iterator[str]:
    sets: dict[tuple[str, str], dict[str, str]] = {}
    for one in libraries:
        if one["version"] and one["component"] in _FAMILIES:
            folder = one["path"].rpartition("/")[0]
            major = one["soname"].rpartition(".so")[2]
            sets.setdefault((_FAMILIES[one["component"]], folder + major), {})[one["soname"]] = one["version"]
    for (name, _), versions in sets.items():
        first = next(iter(versions.values()))
        if not all(agree(first, version) for version in versions.values()):
            listed = ", ".join(f"{soname} {version}" for soname, version in sorted(versions.items()))
            yield f"{name} is of several versions: {listed}"


def judge_architectures(document: Mapping[str, Any], lock: Lock, gpu: Capability | None) -> Check:
    """Judge whether each distribution with code for GPUs has it for one GPU.

    Args:
        document: The inspection.
        lock: What the image was made from.
        gpu: Compute capability; None where no GPU is named.
    """
    found = {owner: archs for owner, archs in document["architectures"].items() if not _OF_NVIDIA.match(owner)}
    measured = "; ".join(f"{owner}: {' '.join(archs)}" for owner, archs in found.items()) or "no GPU code"
    if not found and lock.build.startswith("cu"):
        why = f"the lock names the build {lock.build}, and no binary has GPU code"
        return Check("architectures", "fail", measured, "GPU code", why)
    if not found:
        return Check("architectures", "skip", measured, None, "the image has no GPU code")
    if gpu is None:
        return Check("architectures", "skip", measured, None, "no GPU is named to hold it against")
    served = {owner: covers(tuple(archs), (), gpu) for owner, archs in found.items()}
    shown = f"compute capability {gpu[0]}.{gpu[1]}"
    faults = [
        f"{owner} has no code for {shown}: {' '.join(found[owner])}" for owner, how in served.items() if how == "none"
    ]
    through = [owner for owner, how in served.items() if how == "ptx"]
    sound = f"all have compiled code for {shown}"
    if through:
        sound = f"{', '.join(through)}: the driver compiles PTX for {shown} when it is first used"
    return judge("architectures", faults, measured, f"code for {shown}", sound)


def judge_symbols(document: Mapping[str, Any]) -> Check:
    """Judge whether the C and C++ libraries have the versions of symbols that binaries need."""
    faults = [
        f"{one['file']} needs {one['version']}, which {one['library']} does not have"
        for one in document["elf"]["unmet"]
    ]
    # The loader answers for each file with the library that it gets; the C library is one for all.
    glibc = document["symbols"].get("GLIBC", {})
    has, needs = glibc.get("has"), glibc.get("needs")
    if not faults and has and needs and level_of(needs) > level_of(has):
        faults = [f"{glibc['by']} needs glibc {needs}, and the image has {has}"]
    shown = {
        name: f"{name} {one['has']} (needed: {one['needs']})"
        for name, one in document["symbols"].items()
        if one["has"] and one["needs"]
    }
    measured = ", ".join(shown.values()) or "no versions"
    if not has:
        return Check("symbols", "skip", measured, None, "the image has no glibc that could be asked")
    allowed = "every version that a binary needs"
    return judge("symbols", faults, measured, allowed, "every binary's versions are there")
