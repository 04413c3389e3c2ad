"""The rule on the cuDNN that frameworks load, and which one each of them wants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..build_tags import read_build
from ..builds import (
    BUILD_NEEDS,
    JAX_PLUGINS,
    TENSORFLOW,
    Build,
    jax_builds,
    jax_row,
    level_of,
    tensorflow_builds,
    torch_builds,
)
from ..facts import Row, load_table
from ..finding import Finding, because
from ..known import Holds, Known
from .registry import PACKAGES, View, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

CUDNN_WHEELS: Final = ("nvidia-cudnn-cu11", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13")
_FINDS_WHEELS: Final = ">=2.14"  # TensorFlow looks beside itself for NVIDIA's wheels since then
_BUNDLED: Final = (2, 2)  # before it, torch's CUDA 11 builds off the package index have cuDNN inside


@dataclass(frozen=True, slots=True)
class Wanted:
    """The cuDNN that a framework is built with, or names as its floor.

    Attributes:
        package: The framework.
        version: The cuDNN.
        row: The fact that says so, if one does.
        cuda: The CUDA major of the framework's build, where it is known.
    """

    package: str
    version: str
    row: Row | None = None
    cuda: int | None = None

    @property
    def major(self) -> int:
        """Return the major of the cuDNN, which its library's name carries."""
        return _numbers(self.version)[0]

    @property
    def condition(self) -> str:
        """Return which cuDNN serves: the major, from the minor on."""
        return f">={'.'.join(map(str, _numbers(self.version)[:2]))},<{self.major + 1}"

    @property
    def spoken(self) -> str:
        """Return which cuDNN serves, for a reader."""
        return f"{'.'.join(self.version.split('.')[:3])} or newer, below {self.major + 1}"


def cudnn_wanted(view: View) -> Iterator[Wanted]:
    """Yield which cuDNN each framework is built with or names as its floor."""
    for package, component, version in view.whole.built_against:
        if component == "cudnn" and _numbers(version) and view.has(package):
            yield Wanted(package, version)
    for builds in (torch_builds(view), tensorflow_builds(view)):
        for build in builds[:1]:
            if build.row is not None and build.row.get("cudnn"):
                yield Wanted(build.package, str(build.row["cudnn"]), build.row, _cuda_major(build))
    yield from _jax_wanted(view)


def _jax_wanted(view: View) -> Iterator[Wanted]:
    jaxlib = view.one("jaxlib")
    tag = read_build(jaxlib.build if jaxlib else None)
    if tag.cudnn is not None:
        yield Wanted("jaxlib", tag.cudnn, None, level_of(tag.cuda)[0] if tag.cuda else None)
        return
    for build in jax_builds(view)[:1]:
        major = _cuda_major(build)
        if build.row is not None and str(major) in build.row.get("cudnn", {}):
            yield Wanted(build.package, _floor(build.row["cudnn"][str(major)]), build.row, major)
        elif (row := _paired(build.cuda or "")) is not None:
            yield Wanted(build.package, str(row["cudnn"]), row, major)
        return
    jax = view.one("jax")
    if jax is None or jax.version is None or (jaxlib is not None and jaxlib.is_exact):
        return  # jaxlib without a tag or plugin runs on the CPU
    row = jax_row(jax)
    floors = [_floor(text) for text in (row.get("cudnn") or {}).values()] if row is not None else []
    if floors:
        yield Wanted("jax", min(floors, key=_numbers), row)


def _cuda_major(build: Build) -> int | None:
    return build.runtime[0] if build.runtime is not None else None


def _floor(text: str) -> str:
    return text.partition(",")[0]


def _paired(cuda: str) -> Row | None:
    """Return the oldest cuDNN that NVIDIA's support matrices list for a CUDA."""
    return next((row for row in load_table("cudnn_for_cuda").rows if row["cuda"] == cuda), None)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))


@rule("SP301", needs=(*BUILD_NEEDS, PACKAGES, "cudnn", *CUDNN_WHEELS), present=(("cudnn", *CUDNN_WHEELS),))
def _cudnn(view: View) -> Iterator[Finding]:
    """The cuDNN that is loaded is not one that the framework was built for.

    cuDNN has to be of the major that the framework was built with, and of the same or a newer minor; patches do not
    matter. Frameworks check it when they start and refuse another one. A jaxlib tag names the floor
    (`0.4.13+cuda11.cudnn86`). torch's wheels bring their own cuDNN: one installed elsewhere counts only where the
    loader finds it first. A wheel of cuDNN serves frameworks of its own CUDA major. TensorFlow without its `and-cuda`
    extra may find another cuDNN in the system, which is not described: then the question stays open.

    Mend it with a cuDNN of the framework's major that is not older than the one it was built with.
    """
    wheels = [(name, known) for name in CUDNN_WHEELS if (known := view.one(name)) is not None]
    system = view.one("cudnn")
    sources = wheels or ([("cudnn", system)] if system is not None else [])
    for wanted in cudnn_wanted(view):
        for source, known in sources:
            if not _counts(view, wanted, source) or known.holds(wanted.condition) is not Holds.NEVER:
                continue
            certain = _is_loaded(view, wanted, source, known)
            if certain or system is None or system.holds(wanted.condition) is Holds.NEVER:
                yield _wrong(view, wanted, source, known, certain=certain)


def _counts(view: View, wanted: Wanted, source: str) -> bool:
    """Return whether a described cuDNN is the one that a package would load."""
    if source != "cudnn":
        return _takes_wheels(view, wanted, int(source.removeprefix("nvidia-cudnn-cu")))
    if any(entry[:2] == (wanted.package, "cudnn") for entry in view.whole.built_against):
        return True
    if wanted.package == "torch":
        return _is_on_path(view)
    return wanted.package in {*TENSORFLOW, "jaxlib", "jax"} or wanted.package in JAX_PLUGINS


def _takes_wheels(view: View, wanted: Wanted, cuda: int) -> bool:
    if wanted.cuda not in {None, cuda}:
        return False
    row = wanted.row
    bundled = wanted.package == "torch" and row is not None and not row["default"] and cuda == _ELEVEN
    return not (bundled and row is not None and level_of(row["torch"]) < _BUNDLED) or _is_on_path(view)


_ELEVEN: Final = 11


def _is_loaded(view: View, wanted: Wanted, source: str, known: Known) -> bool:
    """Return whether it is certain that a framework would load this cuDNN, and no other one of the system."""
    if source == "cudnn" or wanted.package not in TENSORFLOW or _is_on_path(view):
        return True
    if "and-cuda" in view.described.extras.get(wanted.package, ()):
        return True
    framework = view.one(wanted.package)
    finds = framework is not None and framework.holds(_FINDS_WHEELS) is Holds.ALWAYS
    return finds and known.holds(f"=={wanted.major}.*") is Holds.ALWAYS  # another major has another file name


def _is_on_path(view: View) -> bool:
    return "cudnn" in view.whole.env_vars.get("LD_LIBRARY_PATH", "").lower()


def _wrong(view: View, wanted: Wanted, source: str, known: Known, *, certain: bool) -> Finding:
    package, found = wanted.package, "loaded" if certain else "in the environment"
    shadowed = package == "torch" and source == "cudnn"
    components = ["cudnn", package, source, *(["LD_LIBRARY_PATH"] if shadowed else [])]
    reasons = [because(wanted.row, f"{package} is built with cuDNN {wanted.version}")] if wanted.row else []
    fixes = [f"cuDNN {wanted.spoken}", *(["take the other cuDNN off LD_LIBRARY_PATH"] if shadowed else [])]
    return Finding(
        "SP301",
        "error" if certain else "warning",
        tuple(dict.fromkeys(components)),
        f"cuDNN {known} is {found}, and {package} {view.one(package)} needs {wanted.spoken}."
        + ("" if certain else " It runs on the GPU only where the system has one."),
        (*reasons, *view.reasons(source)),
        tuple(fixes),
        undetermined=not certain,
    )
