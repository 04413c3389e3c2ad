"""Rules on the driver: CUDA runtimes, PTX, toolkits, forward compatibility."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..build_tags import tag_of
from ..builds import BUILD_NEEDS, FRAMEWORKS, Build, all_builds, level_of, torch_rows
from ..driver_facts import (
    DRIVER_NEEDS,
    branch_row,
    describe_driver,
    driver_branch,
    driver_level,
    major_row,
    oldest_driver,
)
from ..driver_levels import Level, format_level, runtime_loads
from ..facts import Row, load_table
from ..finding import Because, Finding, because
from ..gpu_names import find_gpu
from ..names import is_windows
from .registry import View, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

_NEEDS: Final = (*BUILD_NEEDS, *DRIVER_NEEDS, "gpu")
_DRIVER: Final = ("driver", "driver_cuda")
# Origins of frameworks that use the toolkit that is there: conda's toolkit is the one that its frameworks load.
_COMPILED: Final = frozenset({"source", "container", "conda"})
_COMPAT_PATH: Final = re.compile(r"(?:cuda-?([\d.]+)?)?/compat(?:/|:|$)")
_XLA: Final = ("tensorflow", "tensorflow-gpu", "jaxlib")


@rule("SP101", needs=_NEEDS, present=(_DRIVER,))
def _driver_below_build(view: View) -> Iterator[Finding]:
    """The driver is older than the CUDA that a framework's build brings.

    A binary wheel brings its own CUDA runtime. The runtime asks the driver for its CUDA level before anything else and
    refuses (`cudaErrorInsufficientDriver`, 35) where the level is below the least one that it accepts: for CUDA 11 and
    newer that of its major's first release (minor version compatibility), before that its own. An installed toolkit
    does not raise the driver's level; a newer driver does, or on data-centre GPUs a forward compatibility package.

    An untagged wheel has the CUDA that the package index's build of that release has.

    Mend it with a newer driver, or with a build of the framework for an older CUDA.
    """
    level = driver_level(view)
    if level is None:
        return
    for builds in all_builds(view):
        runtimes = [(build, build.runtime) for build in builds]
        refused = [build for build, runtime in runtimes if runtime is not None and not runtime_loads(runtime, level)]
        if not refused:
            continue
        lifted = _forward_package(view, refused[0].runtime or level)
        if lifted == "used":
            continue
        certain = len(refused) == len(builds)
        yield _refused(view, refused[0], level, certain=certain, offer_forward=lifted == "possible")


def _refused(view: View, build: Build, level: Level, *, certain: bool, offer_forward: bool) -> Finding:
    runtime = build.runtime or level
    system = str(view.one("os") or "")
    oldest = oldest_driver(runtime, windows=is_windows(system) or "windows" in system.lower())
    brings = f"{build.text} is built for CUDA {build.cuda}"
    if build.assumed:
        brings += f", the package index's build of {build.release}" if certain else ", if it is that build"
    fixes = [f"driver {oldest} or newer"] if oldest else [f"a driver of CUDA level {format_level(runtime)} or newer"]
    fixes += [f"{build.package}=={row['torch']}+{tag_of(row['cuda'])}" for row in _other_builds(build, level)][:2]
    if offer_forward:
        package = f"cuda-compat-{runtime[0]}-{runtime[1]}"
        fixes.append(f"the forward compatibility package {package}, with its folder on the loader path")
    reasons = (
        [because(build.row, f"{build.package} {build.release} has a build for CUDA {build.cuda}")] if build.row else []
    )
    if (row := major_row(runtime[0])) is not None:
        reasons.append(because(row, _floor_words(row)))
    return Finding(
        "SP101",
        "error" if certain else "warning",
        ("driver", build.package),
        f"{brings}, and {describe_driver(view)} is too old for it.",
        (*reasons, *_driver_claims(view)),
        tuple(fixes),
        undetermined=not certain,
    )


def _floor_words(row: Row) -> str:
    if not row.get("minor_compatibility", True):
        return f"each CUDA {row['major']}.x runtime needs a driver of its own level"
    return f"CUDA {row['major']}.x runtimes start on driver {row['driver_linux']} and newer"


def _other_builds(build: Build, level: Level) -> list[Row]:
    if build.package != "torch" or build.release is None:
        return []
    rows = [row for row in torch_rows(build.release) if runtime_loads(level_of(row["cuda"]), level)]
    return sorted(rows, key=lambda row: level_of(row["cuda"]), reverse=True)


def _driver_claims(view: View) -> list[Because]:
    return [
        Because(f"{name.replace('_', ' ')} is {claim.text}", claim.where)
        for name in _DRIVER
        for claim in view.claims(name)
    ]


def _forward_package(view: View, runtime: Level) -> str:
    """Return whether a forward compatibility package is `used`, would be `possible`, or is `no` way out."""
    driver = view.one("driver")
    branch = driver_branch(driver) if driver is not None else None
    rows = [row for row in load_table("forward_compat").rows if level_of(row["cuda"]) == runtime]
    if branch is None or not rows or branch not in rows[0]["supported"] or not _may_use_forward(view):
        return "no"
    return "used" if _COMPAT_PATH.search(view.whole.env_vars.get("LD_LIBRARY_PATH", "")) else "possible"


def _may_use_forward(view: View) -> bool:
    rows = [find_gpu(known.text) for known in view.known("gpu")]
    return bool(rows) and all(row is not None and row["kind"] in {"datacenter", "jetson"} for row in rows)


@rule("SP102", needs=_NEEDS, present=(_DRIVER,))
def _driver_below_minor(view: View) -> Iterator[Finding]:
    """The driver is older than the framework's CUDA minor.

    Within one CUDA major any driver of that major starts the runtime (minor version compatibility). Code compiled for
    the GPU runs. What the driver compiles itself does not: PTX from a newer toolkit is refused
    (`cudaErrorUnsupportedPtxVersion`, 222), and functions that are newer than the driver are missing. Frameworks that
    compile with XLA bring their own compiler and warn, or compile more slowly.

    Nothing has to be done; a newer driver takes the limits away.
    """
    level = driver_level(view)
    if level is None:
        return
    for builds in all_builds(view):
        build = builds[0]
        runtime = build.runtime
        if runtime is None or not runtime_loads(runtime, level) or runtime[0] != level[0] or runtime <= level:
            continue
        slow = build.package in _XLA
        yield Finding(
            "SP102",
            "warning" if slow else "note",
            ("driver", build.package),
            f"{build.text} is built for CUDA {build.cuda}; {describe_driver(view)} runs it by minor version "
            "compatibility: compiled kernels work, PTX that the driver would have to compile does not.",
            tuple(_driver_claims(view)),
            (f"a driver of CUDA level {format_level(runtime)} or newer takes the limit away; none is needed",),
        )


@rule("SP103", needs=_NEEDS, present=(_DRIVER, ("cuda",)))
def _driver_below_toolkit(view: View) -> Iterator[Finding]:
    """The installed toolkit is newer than the driver.

    Programs compiled with the toolkit start only on a driver of its major; within the major, only code compiled for
    the exact GPU architecture runs, and PTX (which `nvcc` emits for newer GPUs unless told otherwise) is refused with
    `cudaErrorUnsupportedPtxVersion` (222). Frameworks from wheels bring their own runtime and do not use the toolkit:
    where one of the toolkit's major is there, this is a warning about what you compile yourself.

    Mend it with a newer driver, with a toolkit no newer than the driver, or compile for the exact architecture.
    """
    level, toolkit = driver_level(view), view.one("cuda")
    if level is None or toolkit is None:
        return
    bound = level_of(toolkit.text.removesuffix(".*")) if re.match(r"\d+\.\d+", toolkit.text) else None
    if bound is None or bound <= level:
        return
    served = any(
        build.runtime is not None and build.runtime[0] == bound[0] for builds in all_builds(view) for build in builds
    )
    starts = runtime_loads(bound, level)
    wheels = bool(all_builds(view)) or (view.has(*FRAMEWORKS) and not view.whole.origins & _COMPILED)
    untouched = served or (wheels and (not starts or not all_builds(view)))
    yield Finding(
        "SP103",
        "warning" if untouched else "error",
        ("driver", "cuda"),
        f"Toolkit {toolkit} is newer than {describe_driver(view)}: "
        + ("PTX that it emits is refused by the driver." if starts else "what it compiles does not start."),
        tuple(_driver_claims(view)),
        _toolkit_fixes(bound, level),
    )


def _toolkit_fixes(bound: Level, level: Level) -> tuple[str, ...]:
    rows = [row for row in load_table("cuda").rows if level_of(row["cuda"]) == bound and row.get("driver_linux")]
    fixes = [f"driver {rows[-1]['driver_linux']} or newer" if rows else f"a driver of CUDA level {format_level(bound)}"]
    return (*fixes, f"toolkit {format_level(level)} or older")


@rule("SP104", needs=_NEEDS, present=(("driver",),))
def _forward_compatibility(view: View) -> Iterator[Finding]:
    """A forward compatibility package is on the loader path where it does not apply.

    The `cuda-compat` packages carry a newer user-mode driver for an older kernel driver. They work on data-centre GPUs
    (elsewhere: error 804), on the driver branches that each package names (else error 803), and never where the
    installed driver is as new as the package.

    Mend it by taking the `compat` folder off the loader path, or with a driver branch that the package supports.
    """
    driver = view.one("driver")
    found = _COMPAT_PATH.search(view.whole.env_vars.get("LD_LIBRARY_PATH", ""))
    branch = driver_branch(driver) if driver is not None else None
    if found is None or branch is None:
        return
    version = level_of(found[1]) if found[1] and re.match(r"\d+\.\d+", found[1]) else None
    rows = [row for row in load_table("forward_compat").rows if version is None or level_of(row["cuda"]) == version]
    geforce = [
        row for known in view.known("gpu") if (row := find_gpu(known.text)) is not None and row["kind"] == "geforce"
    ]
    if geforce:
        yield Finding(
            "SP104",
            "error",
            ("driver", "LD_LIBRARY_PATH", "gpu"),
            f"Forward compatibility does not work on {geforce[0]['name']}: only data-centre GPUs have it (error 804).",
            (because(geforce[0], f"{geforce[0]['name']} is a GeForce GPU"),),
            ("take the compat folder off LD_LIBRARY_PATH",),
        )
    elif version is not None and rows and branch in rows[0]["rejected"]:
        yield Finding(
            "SP104",
            "error",
            ("driver", "LD_LIBRARY_PATH"),
            f"{rows[0]['package']} must not be used on driver branch {branch}.",
            (because(rows[0], f"{rows[0]['package']} supports the branches {rows[0]['supported']}"),),
            ("take the compat folder off LD_LIBRARY_PATH",),
        )


@rule("SP106", needs=DRIVER_NEEDS, present=(("driver",), ("driver_cuda",)))
def _level_and_branch(view: View) -> Iterator[Finding]:
    """The driver's version and the CUDA level it reports do not belong together.

    Each driver branch brings one CUDA level. A higher reported level means a forward compatibility package is loaded; a
    lower one means that the two were read on different machines, or before and after an update without a restart.

    Mend it by reading both again, from one `nvidia-smi`.
    """
    driver, level = view.one("driver"), driver_level(view)
    branch = driver_branch(driver) if driver is not None else None
    row = branch_row(branch) if branch is not None else None
    if row is None or level is None or row["branch"] != branch or level_of(row["cuda"]) == level:
        return
    yield Finding(
        "SP106",
        "note",
        ("driver", "driver_cuda"),
        f"Driver {driver} brings CUDA {row['cuda']}, but CUDA {format_level(level)} is reported.",
        (because(row, f"driver branch {branch} brings CUDA {row['cuda']}"), *_driver_claims(view)),
        ("read both from one nvidia-smi",),
    )


@rule("SP107", needs=("driver", "nvidia-fabricmanager"), present=(("driver",), ("nvidia-fabricmanager",)))
def _fabric_manager(view: View) -> Iterator[Finding]:
    """The fabric manager's version is not the driver's.

    On NVSwitch systems (HGX, DGX) the fabric manager has to be of exactly the driver's version. Otherwise it does not
    start, and CUDA fails to initialise (error 802) although the driver looks healthy.

    Mend it by installing both from one release.
    """
    driver, manager = view.one("driver"), view.one("nvidia-fabricmanager")
    if driver is None or manager is None or driver.version is None or manager.version is None:
        return
    if driver.version != manager.version:
        yield Finding(
            "SP107",
            "error",
            ("nvidia-fabricmanager", "driver"),
            f"Fabric manager {manager} does not start beside driver {driver}: both have to be of one version.",
            tuple(
                Because(f"{name} is {claim.text}", claim.where)
                for name in ("driver", "nvidia-fabricmanager")
                for claim in view.claims(name)
            ),
            (f"nvidia-fabricmanager {driver}", f"driver {manager}"),
        )
