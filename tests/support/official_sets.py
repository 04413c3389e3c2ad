"""Sets of releases that belong together by their makers' own pins, for tests that nothing in them is called wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from packaging.requirements import Requirement
from packaging.version import Version

from stackproof.compat.facts import load_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GPUS: Final = {
    "sm_50": "GeForce GTX 750 Ti",
    "sm_60": "Tesla P100-PCIE-16GB",
    "sm_61": "GeForce GTX 1080 Ti",
    "sm_70": "Tesla V100-SXM2-16GB",
    "sm_75": "Tesla T4",
    "sm_80": "NVIDIA A100-SXM4-40GB",
    "sm_86": "NVIDIA GeForce RTX 3090",
    "sm_90": "NVIDIA H100 80GB HBM3",
    "sm_100": "NVIDIA B200",
    "sm_120": "NVIDIA GeForce RTX 5090",
}
COMPANIONS: Final = ("torchvision", "torchaudio", "xformers")
LINUX: Final = {
    "os_name": "posix",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "implementation_name": "cpython",
    "platform_release": "",
    "platform_version": "",
}


def python_of(tag: str) -> str:
    """Return `3.11` for `cp311`."""
    return f"{tag[2]}.{tag[3:]}"


def rows_of(package: str) -> list[Mapping[str, Any]]:
    return [row.values for row in load_table("packages").rows if row["package"] == package]


def row_of(package: str, release: str) -> Mapping[str, Any] | None:
    return next((row for row in rows_of(package) if release in row["versions"]), None)


def runs_on(row: Mapping[str, Any], python: str) -> bool:
    """Return whether a release has a wheel for a Python, by its own files and its own limit."""
    tags = row.get("pythons") or []
    named = [tag for tag in tags if tag.startswith("cp") and "abi3" not in tag]
    if named and f"cp{python.replace('.', '')}" not in named and not any("abi3" in tag for tag in tags):
        return False
    limit = row.get("requires_python")
    return not limit or Requirement(f"python{limit}").specifier.contains(f"{python}.2")


def demands(lines: list[str], python: str, extra: str = "") -> Iterator[Requirement]:
    """Yield the requirements that count on Linux with a Python."""
    context = {
        **LINUX,
        "python_version": python,
        "python_full_version": f"{python}.2",
        "implementation_version": f"{python}.2",
        "extra": extra,
    }
    for line in lines:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate(context):
            yield requirement


def newest(package: str, condition: str, python: str) -> str | None:
    """Return the newest release of a package that a condition allows and that has a wheel for a Python."""
    allowed = Requirement(f"x{condition}").specifier
    found = [
        release
        for row in rows_of(package)
        if runs_on(row, python)
        for release in row["versions"]
        if allowed.contains(release) and not Version(release).is_prerelease
    ]
    return max(found, key=Version, default=None)


def torch_companions(release: str, python: str) -> dict[str, str]:
    """Return the newest companion of each kind whose metadata pins exactly this torch."""
    found = {}
    for package in COMPANIONS:
        for row in rows_of(package):
            if f"torch=={release}" in (row.get("requires") or []) and runs_on(row, python):
                found[package] = row["versions"][-1]
    return found


def own_pins(package: str, release: str, python: str, extra: str = "") -> dict[str, str]:
    """Return what a release pins, as an installer would then have it: exact releases only."""
    row = row_of(package, release)
    if row is None:
        return {}
    lines = row["extras"][extra] if extra else row.get("requires") or []
    pinned = {}
    for requirement in demands(lines, python, extra):
        for specifier in requirement.specifier:
            if specifier.operator in {"==", "~="} and requirement.name.startswith(("nvidia-", "triton")):
                pinned[requirement.name] = specifier.version
    return pinned


def newest_allowed(package: str, release: str, names: tuple[str, ...], python: str) -> dict[str, str]:
    """Return of each named package the newest release that another one's metadata allows."""
    row = row_of(package, release)
    conditions: dict[str, list[str]] = {}
    for requirement in demands((row or {}).get("requires") or [], python):
        if requirement.name in names:
            conditions.setdefault(requirement.name, []).append(str(requirement.specifier))
    found = {name: newest(name, ",".join(filter(None, texts)), python) for name, texts in conditions.items()}
    return {name: chosen for name, chosen in found.items() if chosen is not None}
