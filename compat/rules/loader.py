"""Rules on what the loader finds: wheels that overwrite each other, and directories that come first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..builds import BUILD_NEEDS, all_builds, level_of
from ..finding import Because, Finding
from ..known import Holds
from .conflict_table import say_conflicts
from .registry import PACKAGES, View, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

_SUFFIX: Final = re.compile(r"(nvidia-.+)-cu(11|12|13)")
_SAME_FILE: Final = frozenset({"nvidia-nccl", "nvidia-cudnn", "nvidia-nvshmem", "nvidia-cusparselt"})
_CONDA: Final = re.compile(r"(^|[:/])(mini|ana|mamba|micro)?(conda|forge|mamba)\d?(/envs/[^/:]+)?/lib", re.IGNORECASE)
_CUDA_DIR: Final = re.compile(r"cuda-?(\d+\.\d+)?[^:]*/(lib|lib64|targets)", re.IGNORECASE)


@rule("SP304", needs=(PACKAGES, "os", "machine"))
def _colliding_wheels(view: View) -> Iterator[Finding]:
    """Two library wheels write the same files.

    `nvidia-nccl-cu11` and `nvidia-nccl-cu12` both bring `nvidia/nccl/lib/libnccl.so.2`: the one installed last is the
    one on disk, whatever metadata says, and uninstalling either takes the file away. The same goes for the cuDNN wheels
    of one major.

    Mend it by keeping the wheel of the framework's CUDA major and installing it again; `stackproof doctor` reads the
    version from the library itself.
    """
    yield from say_conflicts(view, "SP304")
    groups: dict[str, list[str]] = {}
    for name in sorted(view.packages):
        if (match := _SUFFIX.fullmatch(name)) is not None and match[1] in _SAME_FILE:
            groups.setdefault(match[1], []).append(name)
    for names in groups.values():
        if len(names) > 1:
            yield Finding(
                "SP304",
                "warning",
                tuple(names),
                f"{' and '.join(names)} write the same files: the order of installation decides which one is on disk.",
                tuple(Because(f"{name} is {claim.text}", claim.where) for name in names for claim in view.claims(name)),
                ("keep one, and install it again", "read the version from the library itself: stackproof doctor"),
                undetermined=True,
            )


@rule("SP305", needs=(*BUILD_NEEDS, "cudnn"))
def _search_path(view: View) -> Iterator[Finding]:
    """LD_LIBRARY_PATH puts other CUDA libraries before those of the wheels.

    Wheels find their CUDA libraries beside themselves, but the directories of `LD_LIBRARY_PATH` come first. Libraries
    of another CUDA release there are mixed with the wheels': an older libnvJitLink, cuBLAS or cuDNN lacks symbols
    (`undefined symbol: __nvJitLinkComplete_12_4`). conda's library folder brings a whole set of its own, with its own
    libstdc++. A toolkit that is as new as the build's CUDA usually does no harm.

    Mend it by taking the directory off `LD_LIBRARY_PATH`.
    """
    path = view.whole.env_vars.get("LD_LIBRARY_PATH", "")
    builds = [build for builds in all_builds(view) for build in builds if build.cuda is not None]
    if not path or not builds or ("conda" in view.whole.origins and not _CONDA.search(path)):
        return
    if view.whole.libraries:
        return  # of a live environment it is known what would be mapped (SP306, SP307)
    build, toolkit = builds[0], view.one("cuda")
    conda = _CONDA.search(path)
    named = _CUDA_DIR.search(path)
    known = toolkit if toolkit is not None else None
    if conda is not None:
        other = known is not None and known.holds(f"=={build.cuda}.*") is Holds.NEVER
        yield _shadowed(view, path, build.text, build.cuda, certain=other, what="conda's library folder")
    elif named is not None and named[1] is not None and build.runtime is not None:
        older = level_of(named[1])[0] == build.runtime[0] and level_of(named[1]) < build.runtime
        if older:
            yield _shadowed(view, path, build.text, build.cuda, certain=False, what=f"CUDA {named[1]}")


def _shadowed(view: View, path: str, build: str, cuda: str | None, *, certain: bool, what: str) -> Finding:
    package = build.split(maxsplit=1)[0]
    return Finding(
        "SP305",
        "error" if certain else "warning",
        ("LD_LIBRARY_PATH", package, *(("cuda",) if certain else ())),
        f"LD_LIBRARY_PATH puts {what} before the libraries of {build} (CUDA {cuda})"
        + (f", and the CUDA there is {view.one('cuda')}: libraries of two releases are mixed." if certain else "."),
        (
            Because(f"LD_LIBRARY_PATH is {path}", "the description"),
            Because("the loader searches it before a wheel's own folders", "ld.so(8) (documented)"),
        ),
        ("take the directory off LD_LIBRARY_PATH",),
        undetermined=not certain,
    )
