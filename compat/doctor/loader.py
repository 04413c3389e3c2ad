"""Compare what packages claim with what the loader would map: pure functions over a description's libraries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..described import Description, Library

# Libraries that only work in one version together.
_SETS: Final = {"cuDNN": re.compile(r"libcudnn(?:_\w+)?\.so"), "cuBLAS": re.compile(r"libcublas(?:Lt)?\.so")}


class Shadowed(NamedTuple):
    """A library that the loader would map, and that is another than the installed package brings.

    Attributes:
        soname: The library.
        claimed_version: The version of the package that brings it, by its metadata.
        claimed_owner: That package.
        mapped_path: What the loader would map.
        mapped_version: The version that this one says it is; None where it could not be asked.
        mapped_by: The framework whose libraries have it mapped.
    """

    soname: str
    claimed_version: str
    claimed_owner: str
    mapped_path: str
    mapped_version: str | None
    mapped_by: str


class Mixed(NamedTuple):
    """Libraries that only work together in one version, and are of several.

    Attributes:
        name: `cuDNN` or `cuBLAS`.
        mapped_by: The framework whose libraries have them mapped; None where they lie in one folder.
        versions: Each library's path and version.
    """

    name: str
    mapped_by: str | None
    versions: tuple[tuple[str, str], ...]


class Overwritten(NamedTuple):
    """A file that several installed packages claim: the one installed last wrote it, removing either removes it.

    Attributes:
        path: The file.
        owners: The packages; first the one whose record fits the file, if that can be told.
        version: What the library itself says it is.
        missing: Whether the file is gone.
    """

    path: str
    owners: tuple[str, ...]
    version: str | None
    missing: bool


class Absent(NamedTuple):
    """A library that should be there and is not.

    Attributes:
        soname: The library.
        path: Where a package claims it; empty where the loader finds none.
        wanted_by: The package that claims it, or the framework that asks for it.
        why: `claimed`: a package's record names a file that is gone. `needed`: a framework's library needs it, so that
            its import fails. `opened`: a framework opens it by name when a GPU is used, and runs on CPU without it.
    """

    soname: str
    path: str
    wanted_by: str
    why: Literal["claimed", "needed", "opened"]


def mapped_and_claimed(description: Description) -> list[Shadowed]:
    """Return the libraries where the loader would map another version than the installed package brings.

    Another file of the same version is no difference. A file at the package's own place that says it is another version
    than the metadata is one, because it was overwritten.

    Args:
        description: A live environment.
    """
    brought = {
        one.soname: one
        for one in reversed(description.libraries)
        if one.mapped_by is None and one.owner is not None and not one.missing
    }
    found = []
    for one in description.libraries:
        claimed = brought.get(one.soname)
        if one.mapped_by is None or one.missing or claimed is None or claimed.owner is None:
            continue
        version = _version_of(claimed.owner, description)
        if version is not None and _differs(one, claimed, version):
            found.append(Shadowed(one.soname, version, claimed.owner, one.path, one.version, one.mapped_by))
    return found


def mixed_sets(description: Description) -> list[Mixed]:
    """Return the sets of libraries that must be of one version and are not, as mapped or as they lie in one folder.

    A library that cannot be asked counts as its owner's version, where its file is the one that the owner recorded.

    Args:
        description: A live environment.
    """
    groups: dict[tuple[str, str | None, str], list[Library]] = {}
    for one in description.libraries:
        for name, pattern in _SETS.items():
            if not one.missing and pattern.match(one.soname):
                place = "" if one.mapped_by else one.path.rpartition("/")[0]
                major = one.soname.rpartition(".so")[2]
                groups.setdefault((name, one.mapped_by, place + major), []).append(one)
    found = []
    for (name, mapped_by, _), libraries in groups.items():
        versions = tuple((one.path, version) for one in libraries if (version := _best_version(one, description)))
        if not all(agree(versions[0][1], version) for _, version in versions):
            found.append(Mixed(name, mapped_by, versions))
    mapped = [one for one in found if one.mapped_by is not None]
    told = {path for one in mapped for path, _ in one.versions}
    return mapped + [one for one in found if one.mapped_by is None and not {path for path, _ in one.versions} <= told]


def overwritten_files(description: Description) -> list[Overwritten]:
    """Return the files that several installed packages claim.

    Args:
        description: A live environment.
    """
    return [
        Overwritten(one.path, (one.owner, *one.also_owned_by), one.version, one.missing)
        for one in description.libraries
        if one.owner is not None and one.also_owned_by and one.mapped_by is None
    ]


def absent_libraries(description: Description) -> list[Absent]:
    """Return the libraries that packages claim and that are gone, and those that frameworks need and nothing brings.

    Args:
        description: A live environment.
    """
    return list(_absent(description.libraries))


def agree(one: str, other: str) -> bool:
    """Return whether two versions are the same as far as both go: `9.1.0` and `9.1.0.70`, `12.4` and `12.4.127`."""
    pairs = zip(one.split("."), other.split("."), strict=False)
    return all(left == right for left, right in pairs)


def _absent(libraries: Iterable[Library]) -> Iterator[Absent]:
    for one in libraries:
        if one.missing and one.mapped_by is not None:
            yield Absent(one.soname, "", one.mapped_by, "opened" if one.optional else "needed")
        elif one.missing and one.owner is not None:
            yield Absent(one.soname, one.path, one.owner, "claimed")


def _differs(mapped: Library, claimed: Library, version: str) -> bool:
    if mapped.version is not None:
        return not agree(mapped.version, version)
    return mapped.path != claimed.path


def _best_version(one: Library, description: Description) -> str | None:
    if one.version is not None or one.owner is None or one.altered or one.also_owned_by:
        return one.version
    return _version_of(one.owner, description)


def _version_of(package: str, description: Description) -> str | None:
    known = description.known.get(package, ())
    return known[0].text.partition("+")[0] if len(known) == 1 and known[0].is_exact else None
