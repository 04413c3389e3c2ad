"""The whole examination: find the environment, read what is installed, ask the driver and the libraries."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..described import Library
from ..gather import Gathered
from .asking import Deadline
from .builds import read_builds
from .conda import read_conda
from .driver import AskedDriver
from .elf import highest
from .frameworks import play_all
from .installed import read_installed
from .place import find_place
from .records import is_tracked, list_libraries, read_records
from .search import Mapped, Process, read_system
from .system import read_system_components
from .versions import Versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .records import Recorded

_LONGEST: Final = 12.0


def read_environment(env: Path | None) -> Gathered:
    """Read a live environment, as `examine` says it.

    Args:
        env: A venv's or conda environment's folder, or a Python; None for the environment that this process runs in.

    Raises:
        InputError: There is no such environment, it has no Python, or it is for another kind of machine.
    """
    variables, gathered, deadline = dict(os.environ), Gathered(), Deadline(_LONGEST)
    place = find_place(env, variables)
    driver = AskedDriver(variables)
    for unsure in place.unsure:
        gathered.skip(unsure)
    system = read_system(variables, platform.machine())
    program = (place.python or Path(sys.executable)).resolve()
    installed = read_installed(place.sites, gathered)
    read_conda(place.prefix, frozenset(one.name for one in installed), gathered)
    read_builds(installed, gathered)
    records = read_records(installed, gathered)
    lying = list_libraries(place.sites, records, gathered)
    versions = Versions(lying)
    cuda = {package: version for package, component, version in gathered.built_against if component == "cuda"}
    mapped: list[Library] = []
    for package, own, process in play_all(installed, place.sites, lambda: Process(system, program), cuda):
        mapped += _note_mapped(package, own, process, records, gathered)
    gathered.libraries += versions.give([*lying, *mapped], gathered, deadline)
    _note_unowned(gathered)
    read_system_components(place, Process(system, program), variables, gathered, deadline)
    driver.note(gathered, deadline)
    return gathered


def _note_mapped(
    package: str, own: Iterable[Mapped], process: Process, records: Iterable[Recorded], gathered: Gathered
) -> Iterator[Library]:
    """Return what a framework's process has mapped, what it asks for in vain, and what its own libraries need."""
    owners = {str(record.path): record.owner for record in records}
    for path, reason in process.damaged.items():
        gathered.skip(f"{path}: {reason}")
    for name, one in process.names.items():
        if is_tracked(name):
            place = os.path.normpath(str(one.path.absolute()))
            yield Library(name, place, None, owners.get(place), mapped_by=package)
    for name, caller in process.absent.items():
        if is_tracked(name) and name not in process.names:
            yield Library(name, "", mapped_by=package, missing=True, optional=caller is None)
    yield from _describe_own(package, list(own), process)


def _describe_own(package: str, own: list[Mapped], process: Process) -> Iterator[Library]:
    if not own:
        return
    folders = tuple({f"{one.path.parent.absolute()}/" for one in own})
    within = [one.elf for one in process.names.values() if one.elf and str(one.path.absolute()).startswith(folders)]
    versions = frozenset(version for elf in within for version in elf.needs)
    needs = [("glibc", highest(versions, "GLIBC_")), ("libstdcxx", highest(versions, "GLIBCXX_"))]
    known = tuple((name, version) for name, version in needs if version is not None)
    yield Library(own[-1].path.name, str(own[-1].path), None, package, mapped_by=package, needs=known)


def _note_unowned(gathered: Gathered) -> None:
    """Claim cuDNN and NCCL that no package brings, as a framework would get them."""
    for stem in ("cudnn", "nccl"):
        pattern = re.compile(rf"lib{stem}\.so")
        for one in gathered.libraries:
            fits = one.mapped_by is not None and one.owner is None and pattern.match(one.soname)
            if fits and one.version and stem not in gathered.claims:
                gathered.add_component(stem, one.version, one.path)
