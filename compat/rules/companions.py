"""Rules on companions of torch: releases, CUDA tags, and companions without a version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..build_tags import read_build
from ..builds import level_of
from ..finding import Because, Finding, because
from ..known import Holds, Known, parse_known
from ..releases import package_rows
from ..requirements import Platform, demands_of, platform_of
from .conflict_table import broken_by
from .registry import View, rule
from .requirements import NEEDS, TORCH_COMPANIONS, say_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..facts import Row

_TAGGED: Final = ("torchvision", "torchaudio", "torchtext")
_MINOR_ACCEPTED: Final = ">=0.16"
_ACCEPTS: Final = "pytorch/vision#7726, in 0.16 (documented, 2023-08-17)"
# Packages whose binaries fit one release of another.
_LOCKSTEP: Final = (*TORCH_COMPANIONS, "flash-attn", "transformer-engine", "triton-windows", "tensorflow-text")


@rule("SP502", needs=(*NEEDS, "torch", *TORCH_COMPANIONS, "surroundings"), present=(("torch",),))
def _torch_companion(view: View) -> Iterator[Finding]:
    """A companion of torch was built for another release of torch.

    torchvision, torchaudio, torchtext, xformers and other compiled extensions are built against one release of torch,
    and up to a release of each their metadata pins it exactly. Beside another torch they fail with an undefined symbol,
    or operators are missing (`operator torchvision::nms does not exist`).

    Mend it by taking the companion's release that belongs to the installed torch.
    """
    yield from say_all(view, "SP502")
    torch = view.one("torch")
    for package, component, version in view.whole.built_against:
        wanted = parse_known(version)
        if component != "torch" or torch is None or wanted is None or not wanted.is_exact:
            continue
        if torch.holds(f"=={wanted.version}") is Holds.NEVER:
            yield Finding(
                "SP502",
                "error",
                (package, "torch"),
                f"{package} was built against torch {version}, and torch {torch} is there.",
                (Because(f"{package} says that it was built against torch {version}", "the description"),),
                (f"a build of {package} for torch {torch}", f"torch=={version}"),
            )


@rule("SP503", needs=("torch", *_TAGGED), present=(("torch",), _TAGGED))
def _cuda_tags(view: View) -> Iterator[Finding]:
    """A companion of torch is a build for another CUDA release than torch.

    Builds of torch, torchvision, torchaudio and torchtext of one set carry the same tag. A companion for another CUDA
    looks for libraries and symbols that torch does not bring. torchaudio refuses at import, and so did torchvision up
    to 0.15; from 0.16 on torchvision takes another minor of the same CUDA major.

    Mend it by installing all of them from one index, with one tag.
    """
    torch = view.one("torch")
    ours = read_build(torch.build if torch else None)
    for name in _TAGGED:
        known = view.one(name)
        theirs = read_build(known.build if known else None)
        if torch is None or known is None or None in {ours.cuda, theirs.cuda} or ours.cuda == theirs.cuda:
            continue
        same_major = level_of(ours.cuda or "0")[0] == level_of(theirs.cuda or "0")[0]
        accepted = same_major and name == "torchvision" and known.holds(_MINOR_ACCEPTED) is Holds.ALWAYS
        yield Finding(
            "SP503",
            "warning" if accepted else "error",
            (name, "torch"),
            f"torch {torch} is a build for CUDA {ours.cuda}, {name} {known} one for CUDA {theirs.cuda}"
            + (": another minor of one major, which torchvision accepts." if accepted else "."),
            (
                Because("the tags name the CUDA of each build", "the description"),
                *([Because("torchvision compares the CUDA major only", _ACCEPTS)] if accepted else []),
            ),
            (f"{name} with the tag +{torch.build}", f"torch with the tag +{known.build}"),
        )


@rule("SP505", needs=(*NEEDS, *_LOCKSTEP), present=(_LOCKSTEP,))
def _floating(view: View) -> Iterator[Finding]:
    """A package that fits one release of another is asked for without a version.

    An installer takes the newest release whose metadata allows what is pinned beside it. Where that metadata stopped
    naming the other package (torchaudio from 2.11), or never did, it takes one that was built for something else.

    Where the package is installed, in a version that the description does not say, the question stays open.

    Mend it by pinning the companion too, or by giving its version.
    """
    for name in _LOCKSTEP:
        known = view.one(name)
        if known is None or not known.is_open:
            continue
        if name not in view.described.floating:
            yield from _not_known(view, name)
            continue
        chosen = _chosen(view, name)
        reasons = broken_by(view, name, chosen[0]) if chosen is not None else []
        if chosen is not None and reasons:
            release, row = chosen
            fits = _fitting(view, name)
            yield Finding(
                "SP505",
                "error",
                (name, *dict.fromkeys(reason["needs_name"] for reason in reasons)),
                f"{name} has no version: an installer takes {release}, which {reasons[0]['effect']}",
                (
                    because(
                        row,
                        f"{name} {release} declares {', '.join(row.get('requires') or ()) or 'nothing of the others'}",
                    ),
                ),
                (f"{name}=={fits}",) if fits else (f"pin {name}",),
            )


def _not_known(view: View, name: str) -> Iterator[Finding]:
    """Leave it open where a package that fits one release of another is there, in a version that is not known."""
    partner = "tensorflow" if name == "tensorflow-text" else "torch"
    other = view.described.known.get(partner, ())
    if not other or other[0].is_open:
        return
    fits = _fitting(view, name)
    yield Finding(
        "SP505",
        "note",
        (name, partner),
        f"The version of {name} is not known, and each of its builds fits one release of {partner}"
        + (f": for {partner} {other[0]} that is {name} {fits}." if fits else "."),
        view.reasons(name),
        (f"give the version and build of {name}, as pip freeze prints them",),
        undetermined=True,
    )


def _chosen(view: View, name: str) -> tuple[str, Row] | None:
    """Return the release that an installer would take, and its facts."""
    environment = platform_of(view.described)
    for row in reversed(package_rows(name)):
        release = row["versions"][-1]
        known = parse_known(release)
        if known is not None and not _refused(view, name, row, known, environment):
            return release, row
    return None


def _refused(view: View, name: str, row: Row, known: Known, environment: Platform) -> bool:
    demands = demands_of(name, row, known, frozenset(), environment)
    return any(
        (found := view.described.known.get(demand.on)) is not None
        and demand.on in view.described.packages
        and found[0].holds(demand.condition) is Holds.NEVER
        for demand in demands
    )


def _fitting(view: View, name: str) -> str:
    """Return the newest release that names, and so was built for, the pinned torch."""
    torch = view.described.known.get("torch", ())
    for row in reversed(package_rows(name)):
        for line in row.get("requires") or ():
            if (
                line.startswith("torch==")
                and torch
                and torch[0].holds(line.removeprefix("torch").split(";")[0]) is Holds.ALWAYS
            ):
                return str(row["versions"][-1])
    return ""
