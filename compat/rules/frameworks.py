"""Rules between frameworks: jax and its parts, and frameworks that share libraries in one environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..builds import BUILD_NEEDS, JAX_PLUGINS, jax_row, torch_builds
from ..driver_facts import DRIVER_NEEDS
from ..finding import Because, Finding, because
from ..known import Holds, Known
from ..names import normalise
from ..releases import known_releases, row_of
from ..requirements import Demand, demands_of, exclude_each_other, platform_of
from .cudnn import CUDNN_WHEELS, cudnn_wanted
from .registry import View, rule
from .requirements import NEEDS, say_unmet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..facts import Row

_GPU: Final = (*DRIVER_NEEDS, "gpu", "compute_capability")
_JAX_GPU_EXTRAS: Final = ("cuda12", "cuda12-pip", "cuda13", "cuda11-pip")


@rule("SP401", needs=(*NEEDS, "jax", "jaxlib"), present=(("jax",), ("jaxlib",)))
def _jax_and_jaxlib(view: View) -> Iterator[Finding]:
    """The jaxlib beside jax does not belong to it.

    jax drives one jaxlib: not newer than itself, and not older than the oldest that the release names. Beside another,
    importing jax fails, or names are missing.

    Mend it by installing jaxlib of the same release as jax.
    """
    declared = list(say_unmet(view, "SP401"))
    yield from declared
    jax, jaxlib = view.one("jax"), view.one("jaxlib")
    if declared or jax is None or jaxlib is None or jax.version is None or _names_jaxlib(str(jax.version)):
        return
    row = jax_row(jax)
    oldest = row.get("min_jaxlib") if row is not None else None
    condition = f"<={jax.version}" + (f",>={oldest}" if oldest else "")
    if jaxlib.holds(condition) is Holds.NEVER:
        words = f"jax {jax.version} takes jaxlib{condition}"
        yield Finding(
            "SP401",
            "error",
            ("jax", "jaxlib"),
            f"jaxlib {jaxlib} does not belong to jax {jax}: {words}.",
            (because(row, words),) if row is not None else (Because(words, "jaxlib is never newer than jax"),),
            (f"jaxlib=={jax.version}",),
        )


def _names_jaxlib(release: str) -> bool:
    """Return whether a jax release's metadata names its jaxlib: then that counts."""
    row = row_of("jax", release)
    return row is not None and any(line.startswith("jaxlib") for line in row.get("requires") or ())


@rule("SP402", needs=(*NEEDS, "jax", "jaxlib", *JAX_PLUGINS), present=(JAX_PLUGINS,))
def _jax_plugin(view: View) -> Iterator[Finding]:
    """A JAX plugin and jaxlib do not belong together.

    jax-cuda12-plugin, jax-cuda12-pjrt (and those of CUDA 13) and jaxlib are built together. A plugin of another release
    is refused when JAX starts, which then runs on the CPU without an error.

    Mend it by pinning plugin, pjrt and jaxlib to one release.
    """
    yield from say_unmet(view, "SP402")
    jaxlib = view.one("jaxlib")
    plugins = {name: known for name in JAX_PLUGINS if (known := view.one(name)) is not None}
    if jaxlib is None or jaxlib.version is None:
        return
    odd = {name: known for name, known in plugins.items() if _differs(known, jaxlib)}
    if odd:
        listed = " and ".join(f"{name} {known}" for name, known in odd.items())
        yield Finding(
            "SP402",
            "error",
            ("jaxlib", *odd),
            f"{listed} {'is' if len(odd) == 1 else 'are'} not of jaxlib's release {jaxlib}: JAX refuses them and runs "
            "on the CPU.",
            (Because("plugin, pjrt and jaxlib are of one release", "jax-ml/jax docs/installation.md (documented)"),),
            tuple(_same_release(jaxlib, odd)) or ("plugin, pjrt and jaxlib of one release",),
        )


def _same_release(jaxlib: Known, odd: dict[str, Known]) -> Iterator[str]:
    """Yield the plugins of jaxlib's release, and the jaxlib of a plugin's where that release has no such plugin."""
    for name, known in odd.items():
        there = known_releases(name)
        if not there or str(jaxlib.version) in there:
            yield f"{name}=={jaxlib.version}"
        elif known.version is not None:
            yield f"jaxlib=={known.version}"


def _differs(plugin: Known, jaxlib: Known) -> bool:
    """Return whether a plugin is certainly not of jaxlib's release; patches behind a fourth number (0.9.0.1) count."""
    return jaxlib.version is not None and plugin.holds(f"=={jaxlib.version}") is Holds.NEVER


def _pins_narrow(names: frozenset[str]) -> tuple[str, ...]:
    """The GPU matters only where torch and jax are both there."""
    return (*NEEDS, *_GPU) if {"torch", "jax"} <= names else NEEDS


@rule("SP403", needs=(*NEEDS, "torch", "jax", "jaxlib", *JAX_PLUGINS, *_GPU), narrow=_pins_narrow)
def _nvidia_pins(view: View) -> Iterator[Finding]:
    """Packages ask for different releases of NVIDIA's library wheels.

    torch pins each `nvidia-*` wheel exactly; TensorFlow's `and-cuda` extra pinned them exactly up to 2.19; JAX asks for
    lower bounds. Where two of these exclude each other no installer finds a set, and forcing one leaves the other with
    libraries that it was not built with.

    Mend it with separate environments, with releases whose ranges meet, or without the extra.
    """
    yield from say_unmet(view, "SP403")
    jax, torch = view.one("jax"), view.one("torch")
    if jax is None or torch is None or jax.version is None or torch.version is None or not view.has(*_GPU):
        return
    if view.has("jaxlib", *JAX_PLUGINS):
        return  # what is installed says itself whether JAX runs on the GPU, and through which libraries
    pair = _exclusive_pair(view, jax, torch)
    if pair is not None:
        first, second = pair
        yield Finding(
            "SP403",
            "error",
            ("torch", "jax", first.on),
            f"On the GPU torch {torch} and jax {jax} exclude each other: {first.text}, {second.text}.",
            tuple(because(demand.row, demand.text) for demand in pair if demand.row is not None),
            ("separate environments", "jax with a local CUDA instead of its CUDA extra", "jax on the CPU"),
        )


def _exclusive_pair(view: View, jax: Known, torch: Known) -> tuple[Demand, Demand] | None:
    """Return a demand of torch and one of every CUDA extra of jax that exclude each other."""
    ours, theirs = row_of("torch", str(torch.version)), row_of("jax", str(jax.version))
    if ours is None or theirs is None:
        return None
    environment = platform_of(view.described)
    pinned = {demand.on: demand for demand in demands_of("torch", ours, torch, frozenset(), environment)}
    found: list[tuple[Demand, Demand]] = []
    extras = [extra for extra in theirs.get("extras", {}) if extra.replace("_", "-") in _JAX_GPU_EXTRAS]
    for extra in extras:
        demands = demands_of("jax", theirs, jax, frozenset({normalise(extra)}), environment)
        shared = [(pinned[demand.on], demand) for demand in demands if demand.on in pinned and demand.extra]
        if not any(demand.on.startswith("nvidia-") for _, demand in shared):
            continue  # of another CUDA major than torch: its libraries would overwrite torch's
        clashing = [pair for pair in shared if exclude_each_other(pair[0].condition, pair[1].condition)]
        if not clashing:
            return None
        found += clashing
    return found[0] if found else None


@rule(
    "SP404",
    needs=(*BUILD_NEEDS, *_GPU, *CUDNN_WHEELS),
    present=(("torch",), ("tensorflow", "jax")),
)
def _shared_cudnn(view: View) -> Iterator[Finding]:
    """Two frameworks share one cuDNN, which is too old for one of them.

    In one environment, and in one process, there is one cuDNN: the one that torch pins, or the first that was loaded. A
    framework built with a newer minor refuses it (`Loaded runtime CuDNN library: 9.1.0 but source was compiled with:
    9.3.0`).

    Mend it with separate environments, or with releases whose cuDNN meet.
    """
    builds = torch_builds(view)
    if not view.has(*_GPU) or view.has(*CUDNN_WHEELS):
        return  # an installed cuDNN is judged as it is (SP301)
    pins = {str(build.row["cudnn"]) for build in builds if build.row is not None and build.row.get("cudnn")}
    if len(pins) != 1 or len(builds) != 1:
        return
    (pin,), torch = pins, builds[0]
    for wanted in cudnn_wanted(view):
        package = wanted.package
        if package != "torch" and _is_older(pin, wanted.version):
            yield Finding(
                "SP404",
                "error",
                ("torch", package, "cudnn"),
                f"{torch.text} brings cuDNN {pin}, and {package} {view.one(package)} needs {wanted.version} or newer.",
                _reasons(torch.row, f"torch {torch.release} is built with cuDNN {pin}")
                + _reasons(wanted.row, f"{package} is built with cuDNN {wanted.version}"),
                ("separate environments", f"a torch whose cuDNN is {wanted.version} or newer"),
            )


def _reasons(row: Row | None, words: str) -> tuple[Because, ...]:
    return (because(row, words),) if row is not None else ()


def _is_older(found: str, wanted: str) -> bool:
    return tuple(map(int, found.split(".")[:2])) < tuple(map(int, (wanted + ".0").split(".")[:2]))
