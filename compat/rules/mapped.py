"""Rules on the libraries of a live environment: what the loader would map against what packages claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..doctor.loader import Absent, Shadowed, absent_libraries, mapped_and_claimed, mixed_sets, overwritten_files
from ..finding import Because, Finding
from ..known import Holds, parse_known
from .registry import PACKAGES, SURROUNDINGS, View, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

_GPU: Final = ("gpu", "driver", "driver_cuda")
# Libraries that frameworks refuse, or cannot load, in an older minor than they were built with.
_STRICT: Final = ("libcudnn", "libnccl", "libnvJitLink")
_SYSTEM: Final = {"glibc": "C library", "libstdcxx": "C++ library"}
_LIVE: Final = "the live environment"


@rule("SP306", needs=(PACKAGES, SURROUNDINGS))
def _mixed_set(view: View) -> Iterator[Finding]:
    """Libraries that only work in one version together are of several.

    All `libcudnn_*` of a process have to come from one cuDNN release (`CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH`), and
    `libcublas` and `libcublasLt` from one cuBLAS. A part that the wheel's folder lacks, or that comes first on the
    search path, is taken from elsewhere.

    Mend it by leaving one copy on the search path.
    """
    for mixed in mixed_sets(view.described):
        mapped = mixed.mapped_by is not None
        yield Finding(
            "SP306",
            "error" if mapped else "warning",
            (mixed.name.lower(), *((mixed.mapped_by,) if mixed.mapped_by else ())),
            f"{mixed.name} is mixed of several releases"
            + (f" in what {mixed.mapped_by} would load." if mapped else " in one folder."),
            tuple(Because(f"{path} is version {version}", _LIVE) for path, version in mixed.versions),
            ("leave one copy of it on the search path", "install the package that brings it again"),
        )


@rule("SP307", needs=(PACKAGES, SURROUNDINGS))
def _shadowed(view: View) -> Iterator[Finding]:
    """The loader would map another version of a library than the installed package brings.

    Package metadata says what was installed, not what is loaded: `LD_LIBRARY_PATH`, another copy that comes first, or a
    package that overwrote the file decide. cuDNN and NCCL in an older minor are refused or lack symbols; a newer one of
    the same major usually works, and is not what was pinned.

    Mend it by taking the other copy off the search path, or by installing the package again.
    """
    for found in mapped_and_claimed(view.described):
        older = _is_older(found)
        strict = found.soname.startswith(_STRICT)
        yield Finding(
            "SP307",
            "error" if older and strict else "warning",
            (found.claimed_owner, found.mapped_by, "LD_LIBRARY_PATH"),
            f"{found.mapped_by} would load {found.soname} "
            + (f"version {found.mapped_version}" if found.mapped_version else "of a version that it does not say")
            + f" from {found.mapped_path}, and {found.claimed_owner} {found.claimed_version} is installed.",
            (Because(f"{found.soname} is found first at {found.mapped_path}", _LIVE),),
            ("take the other copy off the search path", f"install {found.claimed_owner} again"),
            undetermined=older and not strict,
        )


def _is_older(found: Shadowed) -> bool:
    """Return whether what is mapped is of an older minor than what is claimed."""
    mapped = parse_known(found.mapped_version or "")
    claimed = parse_known(found.claimed_version)
    if mapped is None or claimed is None or mapped.version is None or claimed.version is None:
        return False
    return mapped.version.release[:2] < claimed.version.release[:2]


@rule("SP309", needs=(PACKAGES, SURROUNDINGS))
def _overwritten(view: View) -> Iterator[Finding]:
    """Two installed packages wrote the same library file.

    The one installed last is on disk, and removing either takes the file away from both.

    Mend it by removing both and installing the one that the framework needs.
    """
    for found in overwritten_files(view.described):
        said = f"version {found.version}" if found.version else "of a version that it does not say"
        yield Finding(
            "SP309",
            "error" if found.missing else "warning",
            found.owners,
            f"{' and '.join(found.owners)} wrote one file, {found.path}: it is "
            + ("gone." if found.missing else f"{said}, as {found.owners[0]} brought it."),
            (Because(f"{found.path} is in the records of {', '.join(found.owners)}", _LIVE),),
            ("remove both, and install the one that the framework needs",),
        )


@rule("SP310", needs=(PACKAGES, SURROUNDINGS, *_GPU))
def _absent(view: View) -> Iterator[Finding]:
    """A library is missing.

    A package's record names a file that is gone, or the loader finds no library of a name that a framework needs. Where
    the framework only opens it for the GPU, it still runs on the CPU, mostly without an error.

    Mend it by installing the package that brings the library again, or by putting its folder on the search path.
    """
    for found in absent_libraries(view.described):
        serious = found.why != "opened" or view.has(*_GPU)
        yield Finding(
            "SP310",
            "error" if serious else "note",
            (found.wanted_by, found.soname),
            f"{found.soname} is missing: {_wanted(found)}",
            (Because(f"{found.wanted_by} asks for {found.soname}", _LIVE),),
            (f"install {found.wanted_by if found.why == 'claimed' else 'the package that brings it'} again",),
        )


def _wanted(found: Absent) -> str:
    return {
        "claimed": f"{found.wanted_by} brought it as {found.path}, and the file is gone.",
        "needed": f"{found.wanted_by} cannot be imported without it.",
        "opened": f"{found.wanted_by} runs on the CPU only.",
    }[found.why]


@rule("SP606", needs=(PACKAGES, SURROUNDINGS, "glibc", "libstdcxx"))
def _system_library(view: View) -> Iterator[Finding]:
    """The system's C or C++ library is older than a framework's own libraries need.

    The framework's binaries name the newest symbol versions that they use (`GLIBC_2.28`, `GLIBCXX_3.4.29`), and the
    libraries that the loader would take do not define them: importing the framework fails.

    Mend it with a newer system or container, or, for the C++ library, with a newer one first on the search path.
    """
    for library in view.libraries():
        for name, needed in library.needs:
            known = view.one(name)
            if known is not None and known.holds(f">={needed}") is Holds.NEVER:
                owner = library.owner or library.mapped_by or library.soname
                yield Finding(
                    "SP606",
                    "error",
                    (name, owner),
                    f"{owner} needs the {_SYSTEM.get(name, name)} of {needed}, and {known} is there.",
                    (Because(f"{library.path} needs {name} {needed}", _LIVE),),
                    (f"a system or container with {name} {needed} or newer",),
                )
