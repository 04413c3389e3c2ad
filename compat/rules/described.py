"""Rules on the description itself: contradictions, names and versions that do not exist."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ..build_tags import read_build, tag_of
from ..builds import torch_rows
from ..described import COMPONENTS
from ..driver_facts import DRIVER_NEEDS, branch_row, driver_branch
from ..facts import load_table
from ..finding import Because, Finding
from ..gpu_names import capability_of, near_names
from ..known import Holds
from ..releases import known_releases, newest_release, package_rows, releases_of
from .registry import PACKAGES, View, rule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ..described import Description
    from ..known import Known

_CONTRADICTION: Final = "SP001"
_OPEN: Final = ("torch", "tensorflow", "jax")


def say_contradictions(description: Description) -> Iterator[Finding]:
    """Say which components are described in more than one way."""
    contradictions = description.contradictions()
    aside = sorted(name for name in contradictions if not decides(name))
    if aside:
        yield _said_aside(aside)
    for name, found in contradictions.items():
        if name in aside:
            continue
        claims = description.claims.get(name, ())
        texts = " and ".join(str(known) for known in found)
        yield Finding(
            _CONTRADICTION,
            "warning",
            (name,),
            f"{name} is described in more than one way: {texts}. What holds of one may not hold of the other, and they "
            "may be two environments.",
            tuple(Because(f"{name} is {claim.text}", claim.where) for claim in claims),
            (f"describe one environment at a time, or run `stackproof doctor` in it: which {name} is loaded?",),
            undetermined=True,
        )


def decides(name: str) -> bool:
    """Return whether any rule may read a component; of other packages it does not matter which version is there."""
    return name in COMPONENTS or bool(package_rows(name)) or name in _named_in_conflicts()


@lru_cache(maxsize=1)
def _named_in_conflicts() -> frozenset[str]:
    rows = load_table("conflicts").rows
    return frozenset(name for row in rows for name in (*row["when"], *(row.get("needs") or ())))


def _said_aside(names: list[str]) -> Finding:
    more = len(names) - _FEW
    return Finding(
        _CONTRADICTION,
        "note",
        tuple(names[:_FEW]),
        f"{', '.join(names[:_FEW])}{f' and {more} more' if more > 0 else ''} "
        f"{'is' if len(names) == 1 else 'are'} described in more than one way; no rule reads it.",
    )


_FEW: Final = 5


@rule(_CONTRADICTION, needs=())
def _contradiction(_view: View) -> Iterator[Finding]:
    """A component is described in more than one way.

    Two places of the input say different things of one component: two dumps were pasted together, package metadata and
    a loaded library differ, or several versions are installed. stackproof judges each reading on its own and never
    merges two environments into one: what holds of every reading is an answer, what holds of some leaves it open.

    Mend it by describing one environment, or run `stackproof doctor` inside it, which asks the libraries themselves.
    """
    yield from ()  # `check` says it before rules are asked, from the whole description


@rule(
    "SP002",
    needs=("torch", "tensorflow", "jax", "jaxlib", "cudnn", *DRIVER_NEEDS, "gpu", "surroundings"),
    present=(("torch", "tensorflow", "jax", "jaxlib"),),
)
def _open_version(view: View) -> Iterator[Finding]:
    """A framework's version is not known, and its releases differ in what they need.

    The driver or the GPU is described, but not which release or build of the framework runs on it. Old builds start on
    old drivers and lack code for new GPUs, new ones the other way round: without the version there is no answer. The
    same goes for jaxlib beside a cuDNN: each release is built with another one.

    Mend it by giving the version with its build tag, as `pip freeze` prints it (`torch==2.1.0+cu121`).
    """
    on_gpu = view.has(*DRIVER_NEEDS, "gpu") and not (view.whole.arch_list or view.whole.arch_range)
    built_with_cudnn = view.has("cudnn") and not view.whole.built_against
    for name in (*(_OPEN if on_gpu else ()), *(("jaxlib",) if built_with_cudnn else ())):
        known = view.one(name)
        if known is not None and known.is_open and known.build is None:
            what = "which cuDNN it is built with" if name == "jaxlib" else "what it needs of the driver and the GPU"
            yield Finding(
                "SP002",
                "note",
                (name, *(("cudnn",) if name == "jaxlib" else ())),
                f"The version of {name} is not known, and with it {what}.",
                view.reasons(name),
                (f"give its version and build, as pip freeze prints them: {name}=={newest_release(name)}",),
                undetermined=True,
            )


@rule("SP003", needs=("gpu", "compute_capability"), present=(("gpu",),))
def _unknown_gpu(view: View) -> Iterator[Finding]:
    """A GPU's name is not known.

    Rules on GPU code need the compute capability behind the name. The name is not among NVIDIA's names, and no
    compute capability is given with it.

    Mend it by spelling the name as `nvidia-smi -L` does, or by giving the compute capability
    (`nvidia-smi --query-gpu=compute_cap --format=csv`).
    """
    if view.has("compute_capability"):
        return
    for name in view.known("gpu"):
        if capability_of(name.text) is None:
            yield Finding(
                "SP003",
                "warning",
                ("gpu",),
                f"The GPU {name.text!r} is not known: {near_names(name.text)}",
                view.reasons("gpu"),
                ("give its compute capability: nvidia-smi --query-gpu=compute_cap --format=csv",),
                undetermined=True,
            )


@rule("SP004", needs=(PACKAGES,))
def _unknown_release(view: View) -> Iterator[Finding]:
    """A release is not among those known to exist.

    The package index had no such release when stackproof's facts were read: the version is misspelt, was withdrawn, is
    a vendor's own, or is newer than the facts. Rules on that release have no say.

    Mend it by checking the version, or bring stackproof up to date.
    """
    yield from _unknown_build(view)
    for name in sorted(filter(known_releases, view.packages)):
        known, there = view.one(name), known_releases(name)
        if known is None or known.is_open or known.vendor or len(there) < _SOLID or _is_among(known, there):
            continue
        releases = releases_of(name)
        newer = known.holds(f">{releases[-1]}") is Holds.ALWAYS
        if not (newer or name in _COMPLETE):
            continue
        yield Finding(
            "SP004",
            "note",
            (name,),
            f"{name} {known} is not among the releases known"
            + (f": the newest of these is {releases[-1]}." if newer else "."),
            view.reasons(name)[:_SHOWN],
            (f"check the version of {name}",),
            undetermined=newer and name in _COMPLETE,
        )


def _unknown_build(view: View) -> Iterator[Finding]:
    """Say where a torch release has no build for the CUDA that a tag names."""
    torch = view.one("torch") if "torch" in view.packages else None
    tag = read_build(torch.build if torch is not None else None)
    rows = (
        torch_rows(str(torch.version)) if torch is not None and torch.version is not None and not torch.vendor else []
    )
    if torch is None or not rows or tag.cuda is None or tag.cuda in {row["cuda"] for row in rows}:
        return
    offered = [f"torch=={row['torch']}+{tag_of(row['cuda'])}" for row in rows]
    yield Finding(
        "SP004",
        "note",
        ("torch",),
        f"torch {torch.version} is not known to have a build for CUDA {tag.cuda}: what it needs is not known.",
        view.reasons("torch")[:_SHOWN],
        tuple(offered),
        undetermined=True,
    )


def _is_among(known: Known, there: Collection[str]) -> bool:
    """Return whether one of the releases may be meant."""
    if known.version is not None:
        return str(known.version) in there
    return any(known.allowed is None or known.allowed.contains(release, prereleases=True) for release in there)


_SOLID: Final = 5
_SHOWN: Final = 20
_COMPLETE: Final = frozenset({"torch", "tensorflow", "jax", "jaxlib"})


@rule("SP005", needs=("driver",), present=(("driver",),))
def _unknown_driver(view: View) -> Iterator[Finding]:
    """A driver's version is older than every branch known, or no driver version at all.

    Driver versions look like 550.54.15: the branch, then its releases. Without the branch the driver's CUDA level is
    not known, and rules on drivers have no say.

    Mend it by giving the version as `nvidia-smi` prints it beside `Driver Version`.
    """
    driver = view.one("driver")
    branch = driver_branch(driver) if driver else None
    if driver is not None and (branch is None or branch_row(branch) is None or branch > _HIGHEST):
        yield Finding(
            "SP005",
            "warning",
            ("driver",),
            f"{driver} is no driver version of a branch that is known.",
            view.reasons("driver"),
            ("give the driver as nvidia-smi prints it, such as 550.54.15",),
            undetermined=True,
        )


_HIGHEST: Final = 999
