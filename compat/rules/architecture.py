"""Rules on GPU architectures: what binaries carry code for, and what compilers and libraries know."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ..build_tags import tag_of
from ..builds import BUILD_NEEDS, Build, all_builds, level_of, torch_rows
from ..driver_facts import DRIVER_NEEDS, branch_row, driver_branch, driver_level
from ..facts import Row, load_table
from ..finding import Because, Finding, because
from ..gpu_code import GPU_NEEDS, Capability, architecture_row, build_archs, build_code, capabilities, covers
from .cudnn import CUDNN_WHEELS
from .registry import View, rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..known import Known

_NEEDS: Final = (*BUILD_NEEDS, *GPU_NEEDS)
# From which torch on a CUDA's NVRTC is asked for no more than it knows (pytorch/pytorch#48151, #87595); older CUDAs
# always were.
_TORCH_CLAMPS: Final = (((11, 1), (1, 13)), ((11, 0), (1, 7, 1)))
_HIDE: Final = "hide the GPU with CUDA_VISIBLE_DEVICES"


@rule("SP201", needs=_NEEDS, present=(GPU_NEEDS,))
def _no_code(view: View) -> Iterator[Finding]:
    """A framework's build has no code for the GPU.

    A binary carries compiled code for some architectures. Code for a compute capability runs on GPUs of the same major
    and the same or a higher minor: code for 8.6 runs on 8.9, code for 8.0 on 8.6. Across majors only PTX helps, which
    the driver compiles; without it the first kernel fails with `no kernel image is available for execution on the
    device`. The list differs for each release and each CUDA build of it: torch 2.10 for CUDA 12.8 has code for Volta,
    2.11 for CUDA 12.8 has none. Every visible GPU has to be covered.

    Mend it with another build of the same release, or another release, that lists the architecture; or hide the GPU
    with `CUDA_VISIBLE_DEVICES`.
    """
    listed = view.whole.arch_list
    for capability, gpu in capabilities(view).items():
        if listed:
            yield from _judge_list(view, capability, gpu, listed)
            continue
        for builds in all_builds(view):
            yield from _judge_builds(builds, capability, gpu)


def _judge_list(view: View, capability: Capability, gpu: str, listed: tuple[str, ...]) -> Iterator[Finding]:
    package = next((name for name in ("torch", "tensorflow", "jaxlib", "jax") if view.has(name)), "torch")
    if covers(listed, (), capability) == "none":
        yield Finding(
            "SP201",
            "error",
            (package, "gpu"),
            f"{package} {view.one(package) or ''}".strip() + f" has no code for {gpu}.",
            (Because(f"it lists {' '.join(listed)}", "the framework's own list"),),
            (*_others(package, capability, _release(view.one(package))), _HIDE),
        )


def _release(known: Known | None) -> str | None:
    return str(known.version) if known is not None and known.version is not None else None


def _judge_builds(builds: tuple[Build, ...], capability: Capability, gpu: str) -> Iterator[Finding]:
    listed = [build for build in builds if build_archs(build)]
    lacking = [build for build in listed if covers(*build_code(build), capability) == "none"]
    if not lacking:
        return
    certain = len(lacking) == len(builds)
    build = lacking[-1] if certain else lacking[0]
    yield Finding(
        "SP201",
        "error" if certain else "warning",
        (build.package, "gpu"),
        f"{build.text} (CUDA {build.cuda}) has no code for {gpu}" + ("." if certain else ", if it is that build."),
        tuple(because(build.row, f"it lists {' '.join(build_archs(build))}") for _ in (1,) if build.row),
        (*_same_release(build, capability), *_others(build.package, capability, build.release), _HIDE),
        undetermined=not certain,
    )


def _same_release(build: Build, capability: Capability) -> Iterator[str]:
    for row in torch_rows(build.release or "") if build.package == "torch" else ():
        if covers(tuple(row.get("archs") or ()), tuple(row.get("ptx") or ()), capability) == "compiled":
            yield f"torch=={row['torch']}+{tag_of(row['cuda'])}"


@lru_cache(maxsize=4096)
def _others(package: str, capability: Capability, release: str | None) -> tuple[str, ...]:
    """Return the nearest releases of a framework before and after one whose own build has compiled code for a GPU."""
    table = next((name for name in ("torch", "tensorflow") if package.startswith(name)), None)
    if table is None:
        return ()
    rows = [row for row in load_table(table).rows if row.get("default", True)]
    serving = [row[table] for row in rows if covers(tuple(row.get("archs") or ()), (), capability) == "compiled"]
    if not serving:
        return ()
    here = level_of(release) if release is not None else level_of(serving[-1])
    before = [text for text in serving if level_of(text) <= here]
    after = [text for text in serving if level_of(text) > here]
    chosen = dict.fromkeys((*after[:1], *before[-1:], *after[-1:]))
    return tuple(f"{table}=={text}, whose own build has it" for text in chosen)


@rule("SP202", needs=(*_NEEDS, *DRIVER_NEEDS), present=(GPU_NEEDS,))
def _only_ptx(view: View) -> Iterator[Finding]:
    """A framework serves the GPU only through PTX.

    The build has no compiled code for the GPU's major, but PTX that the driver compiles at the first use: starting
    takes minutes, and newer instructions stay unused. The driver has to be as new as the CUDA of the build, else it
    refuses the PTX (`cudaErrorUnsupportedPtxVersion`, 222).

    Mend it with a release whose build lists the architecture.
    """
    if view.whole.arch_list:
        return
    level = driver_level(view)
    for capability, gpu in capabilities(view).items():
        for builds in all_builds(view):
            if any(not build_archs(build) or covers(*build_code(build), capability) != "ptx" for build in builds):
                continue
            build = builds[0]
            refused = level is not None and build.runtime is not None and build.runtime > level
            yield Finding(
                "SP202",
                "error" if refused else "warning",
                (build.package, "gpu", *(("driver",) if refused else ())),
                f"{build.text} has only PTX for {gpu}"
                + (
                    f", and the driver (CUDA {level[0]}.{level[1]}) is too old to compile PTX of CUDA {build.cuda}."
                    if refused and level
                    else ": the driver compiles it at the first use, which takes minutes."
                ),
                (because(build.row, f"it lists {' '.join(build_archs(build))}"),) if build.row else (),
                (f"a release of {build.package} whose build lists sm_{capability[0]}{capability[1]}",),
            )


@rule("SP203", needs=_NEEDS, present=(GPU_NEEDS,))
def _lower_minor(view: View) -> Iterator[Finding]:
    """A framework serves the GPU with code for a lower minor of its major.

    Code for 8.6 runs on 8.9 and code for 12.0 on 12.1. Frameworks may warn that the GPU is above the range they list;
    it works, without what the newer minor adds.

    Nothing has to be done.
    """
    highest = view.whole.arch_range
    for capability, gpu in capabilities(view).items():
        if highest is not None and level_of(highest[1]) < capability and level_of(highest[1])[0] == capability[0]:
            yield Finding(
                "SP203",
                "note",
                ("gpu",),
                f"{gpu} is above the range {highest[0]} to {highest[1]} that the framework lists, in the same major: "
                "its code runs.",
            )


@rule("SP204", needs=_NEEDS, present=(GPU_NEEDS,))
def _compiler_unaware(view: View) -> Iterator[Finding]:
    """The compiler that a framework uses at run time does not know the GPU.

    Frameworks compile kernels while they run: torch with the NVRTC of its own CUDA, JAX and TensorFlow through `ptxas`.
    A compiler from before the GPU's architecture refuses it, although prebuilt code for a lower minor would run. torch
    has asked the NVRTC of CUDA 11.1 to 11.7 for an architecture that it knows since 1.13, and that of CUDA 11.0 since
    1.7.1; older releases fail at the first fused or jitted kernel (`invalid value for --gpu-architecture`).

    Mend it with a build for a CUDA that knows the architecture.
    """
    for capability, gpu in capabilities(view).items():
        row = architecture_row(capability)
        if row is None:
            continue
        first = level_of(row["first_cuda"])
        for builds in all_builds(view):
            if all(_cannot_compile(build, capability, first) for build in builds):
                build = builds[0]
                yield Finding(
                    "SP204",
                    "error",
                    (build.package, "gpu", "cuda"),
                    f"{build.text} compiles with CUDA {build.cuda}, which does not know {gpu}: that begins with CUDA "
                    f"{row['first_cuda']}.",
                    (
                        because(
                            row, f"compute capability {row['compute_capability']} begins with CUDA {row['first_cuda']}"
                        ),
                    ),
                    (f"a build for CUDA {row['first_cuda']} or newer",),
                )


def _cannot_compile(build: Build, capability: Capability, first: Capability) -> bool:
    if build.cuda is None or "." not in build.cuda or level_of(build.cuda) >= first:
        return False
    code = build_archs(build)
    if code and covers(*build_code(build), capability) == "none":
        return False  # SP201 says so
    if build.package == "torch":
        return build.release is not None and _asks_too_much(build.release, level_of(build.cuda))
    return build.package == "jaxlib"


def _asks_too_much(release: str, cuda: Capability) -> bool:
    """Return whether a torch release asks its NVRTC for the GPU's own architecture, known or not."""
    fixed = next((since for first, since in _TORCH_CLAMPS if cuda >= first), None)
    return fixed is not None and _numbers(release) < fixed


@rule("SP105", needs=(*GPU_NEEDS, *DRIVER_NEEDS), present=(GPU_NEEDS, ("driver",)))
def _driver_and_gpu(view: View) -> Iterator[Finding]:
    """The driver does not know the GPU any more, or not yet.

    Driver branches drop old architectures (Kepler after 470; Maxwell, Pascal and Volta after 580) and know new ones
    from the branch that came out with them. On a GPU that the driver does not know there is no CUDA at all.

    Mend it with a branch that knows both the GPU and the CUDA that you need.
    """
    driver = view.one("driver")
    branch = driver_branch(driver) if driver is not None else None
    if branch is None or branch_row(branch) is None:
        return
    for capability, gpu in capabilities(view).items():
        row = architecture_row(capability)
        if row is None:
            continue
        dropped = row.get("last_driver") is not None and branch > row["last_driver"]
        early = row.get("first_driver") is not None and branch < row["first_driver"]
        if dropped or early:
            bound = row["last_driver"] if dropped else row["first_driver"]
            which = "last" if dropped else "first"
            yield Finding(
                "SP105",
                "error" if dropped or row.confidence != "reported" else "warning",
                ("driver", "gpu"),
                f"Driver branch {branch} does not know {gpu}: the {which} one that does is {bound}.",
                (
                    because(row, f"{row['architecture']}: {which} driver branch {bound}")
                    if dropped
                    else _early(row, bound),
                ),
                (f"a driver of branch {bound}" + (" or older" if dropped else " or newer"),),
            )


def _early(row: Row, branch: int) -> Because:
    fact = f"the first toolkit for compute capability {row['compute_capability']} came with driver branch {branch}"
    return Because(fact, f"toolkits and their drivers (derived, {row.date})")


@rule(
    "SP205",
    needs=(*_NEEDS, *CUDNN_WHEELS),
    present=(GPU_NEEDS, CUDNN_WHEELS),
)
def _library_dropped(view: View) -> Iterator[Finding]:
    """The installed cuDNN has no code for the GPU.

    cuDNN's wheels drop architectures too: Kepler with 8.8, Maxwell, Pascal and Volta with 9.11. Convolutions and
    attention fail although the framework itself has code for the GPU.

    Mend it with the last cuDNN that has the architecture, within what the framework allows.
    """
    for capability, gpu in capabilities(view).items():
        for package in CUDNN_WHEELS:
            known = view.one(package)
            if known is None or known.version is None:
                continue
            row = _measured(package, known.version.release)
            if row is not None and covers(tuple(row["archs"]), _virtual(row["archs"]), capability) == "none":
                yield Finding(
                    "SP205",
                    "error",
                    ("cudnn", package, "gpu"),
                    f"{package} {known} has no code for {gpu}.",
                    (because(row, f"{package} {row['version']} has {' '.join(row['archs'])}"),),
                    (_last_cudnn(package, capability) or _HIDE,),
                )


def _virtual(archs: Iterable[str]) -> tuple[str, ...]:
    return tuple(arch.replace("ptx_", "compute_") for arch in archs if arch.startswith("ptx_"))


def _measured(package: str, release: tuple[int, ...]) -> Row | None:
    """Return the newest measured cuDNN up to a release; none where the next measured one differs."""
    rows = [row for row in load_table("cudnn_archs").rows if row["package"] == package]
    below = [row for row in rows if _numbers(row["version"]) <= release]
    above = [row for row in rows if _numbers(row["version"]) > release]
    if not below or (
        above and below[-1]["version"] != ".".join(map(str, release)) and above[0]["archs"] != below[-1]["archs"]
    ):
        return None
    return below[-1]


def _last_cudnn(package: str, capability: Capability) -> str:
    rows = [
        row
        for row in load_table("cudnn_archs").rows
        if row["package"] == package and covers(tuple(row["archs"]), _virtual(row["archs"]), capability) != "none"
    ]
    return f"{package}=={rows[-1]['version']}" if rows else ""


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))
