"""Rules on what packages declare of each other: one engine, a code for each kind of pair."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..builds import JAX_PLUGINS
from ..facts import load_table
from ..finding import SEVERITIES, Because, Finding, Severity, because
from ..known import Holds, parse_known
from ..releases import releases_of
from ..requirements import STATED, STATED_COMPONENTS, Demand, Unmet, find_exclusive, find_unmet
from .conflict_table import CONFLICT_NEEDS, narrow_to_conflicts, say_conflicts
from .registry import PACKAGES, View, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..known import Known

NEEDS: Final = (PACKAGES, "python", "os", "machine", *STATED_COMPONENTS)

TORCH_COMPANIONS: Final = ("torchvision", "torchaudio", "torchtext", "xformers")
# Companions that use torch's stable parts only: another patch release of the minor they name serves them.
_PATCH_TOLERANT: Final = frozenset({"torchvision", "torchaudio", "torchtext", "torchdata"})
_JAX: Final = frozenset({"jax", "jaxlib"})
_JAX_PLUGINS: Final = frozenset(JAX_PLUGINS)
_TENSORFLOW: Final = frozenset({"tensorflow", "tensorflow-cpu", "tensorflow-gpu"})
_KERAS: Final = frozenset({"keras", "tf-keras", "tensorflow-estimator"})
_SHARED: Final = frozenset({"protobuf", "ml-dtypes"})
_NVIDIA: Final = "nvidia-"

# Packages where a release above a declared upper bound breaks its user, not only the installer.
_BREAKING: Final = frozenset(
    {*_JAX, *_JAX_PLUGINS, *_TENSORFLOW, *_KERAS, "torch", "protobuf", "triton", "tokenizers", "huggingface-hub"}
)
_STRICT_ON_NUMPY: Final = frozenset({"numba"})


def code_of(package: str, on: str) -> str:
    """Return the code under which a demand of one package on another is reported."""
    pair = {package, on}
    kinds = (
        (on.startswith(_NVIDIA), "SP403"),
        (pair & _JAX_PLUGINS, "SP402"),
        (pair <= _JAX, "SP401"),
        (on == "torch" and package in TORCH_COMPANIONS, "SP502"),
        (pair & _TENSORFLOW and pair & _KERAS, "SP405"),
        (on in _SHARED, "SP406"),
        (on == "triton", "SP508"),
        (on == "numpy", "SP507"),
    )
    return next((code for fits, code in kinds if fits), "SP501")


def say_unmet(view: View, code: str) -> Iterator[Finding]:
    """Return the findings of one code: demands not met, and demands that exclude each other."""
    for unmet in find_unmet(view.described):
        if code_of(unmet.demand.package, unmet.demand.on) == code:
            yield _unmet_finding(code, unmet)
    for first, second in find_exclusive(view.described):
        if code_of(first.package, first.on) == code:
            yield _exclusive_finding(code, first, second)


def say_all(view: View, code: str) -> Iterator[Finding]:
    """Return what is known of a code's pairs, and of the other pairs what is declared; the worst of each pair."""
    worst: dict[frozenset[str], Finding] = {}
    for finding in sorted(say_conflicts(view, code), key=lambda entry: SEVERITIES.index(entry.severity)):
        worst.setdefault(frozenset(finding.components), finding)
    yield from worst.values()
    yield from (finding for finding in say_unmet(view, code) if frozenset(finding.components) not in worst)


def say_unmet_and_known(view: View, code: str) -> Iterator[Finding]:
    """Return what packages declare and, of pairs about which they declare nothing, what is known."""
    declared = list(say_unmet(view, code))
    yield from declared
    pairs = {frozenset(finding.components) for finding in declared}
    yield from (found for found in say_conflicts(view, code) if frozenset(found.components) not in pairs)


def _unmet_finding(code: str, unmet: Unmet) -> Finding:
    demand, found = unmet.demand, unmet.found
    if demand.package == STATED:
        return _unmet_statement(code, unmet)
    severity, tolerated = _severity(demand, found)
    reason = [because(demand.row, demand.text)] if demand.row else []
    verb = "runs outside" if tolerated else ("does not meet" if severity == "error" else "is outside")
    return Finding(
        code,
        severity,
        (demand.package, demand.on),
        f"{demand.on} {found} {verb} what {demand.package} {demand.release} declares: {demand.on}{demand.condition}."
        + ("" if severity == "error" else f" {tolerated or 'Installers object; it may well run'}."),
        (*reason, Because(f"{demand.on} is {found}", STATED)),
        _fixes(demand, found),
    )


def _unmet_statement(code: str, unmet: Unmet) -> Finding:
    """Return what to say of a requirement that the description states: a missing library is one, a resolver's word not.

    An error text that names a component, such as a missing `GLIBC_2.32`, is conclusive. A package outside what an
    installer asks for may well run.
    """
    demand, found = unmet.demand, unmet.found
    certain = demand.on in STATED_COMPONENTS
    return Finding(
        code,
        "error" if certain else "warning",
        (demand.on,),
        f"{demand.on} {found} is there, and the description says that {demand.on}{demand.condition} is required."
        + ("" if certain else " Installers object; it may well run."),
        (Because(f"{demand.on}{demand.condition} is required", STATED), Because(f"{demand.on} is {found}", STATED)),
        (f"{demand.on}{demand.condition}",),
    )


def _severity(demand: Demand, found: Known) -> tuple[Severity, str]:
    for row in load_table("tolerated").rows:
        release = parse_known(demand.release)
        if (
            row["package"] == demand.package
            and row["on"] == demand.on
            and release is not None
            and release.holds(row["versions"]) is Holds.ALWAYS
            and found.holds(row["found"]) is Holds.ALWAYS
        ):
            return "warning", str(row["why"])
    if _is_other_patch(demand, found):
        return "warning", "releases of one torch minor share their binary interface"
    if demand.on.startswith(_NVIDIA):
        return "warning", ""  # what cuDNN and NCCL must be has rules of its own
    if _is_above(demand, found):
        return ("error" if _breaks_above(demand, found) else "warning"), ""
    return "error", ""


def _is_other_patch(demand: Demand, found: Known) -> bool:
    """Return whether a companion names another patch release of the torch minor that is there."""
    exact = re.fullmatch(r"==(\d+\.\d+)\.\d+", demand.condition) if demand.package in _PATCH_TOLERANT else None
    return demand.on == "torch" and exact is not None and found.holds(f"=={exact[1]}.*") is Holds.ALWAYS


def _is_above(demand: Demand, found: Known) -> bool:
    """Return whether what is found is newer than everything the demand allows."""
    allowed = [release for release in releases_of(demand.on) if _allows(demand.condition, release)]
    if not allowed:
        return "<" in demand.condition and ">" not in demand.condition
    return found.holds(f">{allowed[-1]}") is Holds.ALWAYS


def _allows(condition: str, release: str) -> bool:
    known = parse_known(release)
    return known is not None and known.holds(condition) is Holds.ALWAYS


def _breaks_above(demand: Demand, found: Known) -> bool:
    if demand.on == "numpy":
        crossing = found.holds(">=2") is Holds.ALWAYS and not _allows(demand.condition, "2.0.0")
        return crossing or demand.package in _STRICT_ON_NUMPY
    return demand.on in _BREAKING


def _fixes(demand: Demand, found: Known) -> tuple[str, ...]:
    allowed = [release for release in releases_of(demand.on) if _allows(demand.condition, release)]
    fixes = [f"{demand.on}=={allowed[-1]}"] if allowed else [f"{demand.on}{demand.condition}"]
    other = _release_for(demand, found)
    return (*fixes, f"{demand.package}=={other}") if other else tuple(fixes)


def _release_for(demand: Demand, found: Known) -> str:
    """Return the newest release of the demanding package that takes what is found."""
    from ..releases import package_rows  # noqa: PLC0415 - only for a finding
    from ..requirements import parse_requirement  # noqa: PLC0415 - only for a finding

    for row in reversed(package_rows(demand.package)):
        parsed = [parse_requirement(line) for line in row.get("requires") or ()]
        mine = [entry for entry in parsed if entry is not None and entry.name.lower().replace("_", "-") == demand.on]
        if mine and all(found.holds(str(entry.specifier)) is Holds.ALWAYS for entry in mine):
            return str(row["versions"][-1])
    return ""


def _exclusive_finding(code: str, first: Demand, second: Demand) -> Finding:
    reasons = tuple(
        because(demand.row, demand.text) if demand.row else Because(demand.text, STATED) for demand in (first, second)
    )
    named = tuple(demand.package for demand in (first, second) if demand.row)
    return Finding(
        code,
        "error",
        (*named, first.on),
        f"No release of {first.on} serves both: {first.text}, {second.text}.",
        reasons,
        (f"separate environments for {first.package} and {second.package}",),
    )


@rule(
    "SP405",
    needs=(*NEEDS, *CONFLICT_NEEDS),
    present=(tuple(sorted(_TENSORFLOW)),),
    narrow=narrow_to_conflicts("SP405", *NEEDS),
)
def _keras(view: View) -> Iterator[Finding]:
    """TensorFlow and Keras do not belong together.

    Up to 2.15 TensorFlow takes Keras of its own minor; from 2.16 it takes Keras 3, and Keras 2 lives on as tf-keras, of
    TensorFlow's own minor.

    Mend it by taking the Keras that the TensorFlow release names.
    """
    yield from say_all(view, "SP405")


@rule("SP406", needs=(*NEEDS, *CONFLICT_NEEDS), narrow=narrow_to_conflicts("SP406", *NEEDS))
def _shared(view: View) -> Iterator[Finding]:
    """Packages ask for releases of a shared dependency that exclude each other.

    protobuf and ml-dtypes are shared by TensorFlow, JAX and ONNX, and each release of these takes a narrow range.
    Generated protobuf code refuses a runtime that is too old or of another major.

    Mend it with releases whose ranges meet, or with separate environments.
    """
    yield from say_all(view, "SP406")


@rule("SP501", needs=NEEDS)
def _declared(view: View) -> Iterator[Finding]:
    """A package's declared requirement is not met.

    The metadata of an installed package names what it needs of another one, and the other one is outside. Too old a
    release lacks what is used: an error. A release above an upper bound may well run; installers object: a warning,
    except where the two are known to break.

    Mend it by installing a release within the declared range.
    """
    yield from say_all(view, "SP501")


@rule("SP507", needs=(*NEEDS, *CONFLICT_NEEDS), present=(("numpy",),), narrow=narrow_to_conflicts("SP507", *NEEDS))
def _numpy(view: View) -> Iterator[Finding]:
    """A package does not take the installed NumPy.

    Binaries compiled against NumPy 1 do not load beside NumPy 2 (`A module that was compiled using NumPy 1.x cannot be
    run in NumPy 2`). Packages built for NumPy 2 run beside NumPy 1 as far back as they declare.

    Mend it with `numpy<2`, or with the first release of the package that is built for NumPy 2.
    """
    yield from say_all(view, "SP507")


@rule(
    "SP508",
    needs=(*NEEDS, *CONFLICT_NEEDS),
    present=(("triton",),),
    narrow=narrow_to_conflicts("SP508", *NEEDS),
)
def _triton(view: View) -> Iterator[Finding]:
    """The installed triton is not the one of torch.

    torch's compiler calls into one release of triton and pins it: exactly up to torch 2.13, to a minor from 2.14.
    Another package that pins a different triton cannot be installed beside it.

    Mend it by leaving triton to torch.
    """
    yield from say_unmet_and_known(view, "SP508")
