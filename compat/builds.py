"""Which binary a framework's version stands for: the CUDA it was built with, and the GPU code in it.

An untagged version is the build that the package index serves for that release. A build tag (`+cu121`) says which
other one it is. Where a version leaves several builds possible, all of them are returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from .build_tags import BuildTag, read_build
from .facts import Row, load_table
from .known import Holds, Known, parse_known
from .names import is_windows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .rules.registry import View

TENSORFLOW: Final = ("tensorflow", "tensorflow-gpu")
JAX_PLUGINS: Final = ("jax-cuda12-plugin", "jax-cuda13-plugin", "jax-cuda12-pjrt", "jax-cuda13-pjrt")
FRAMEWORKS: Final = ("torch", *TENSORFLOW, "jax", "jaxlib", *JAX_PLUGINS)
# Packages whose name says which CUDA major they are built for, and onnxruntime-gpu, whose release does.
_NAMED: Final = {"cupy-cuda11x": "11", "cupy-cuda12x": "12", "cupy-cuda13x": "13"}
_RUNTIME: Final = "onnxruntime-gpu"
# What a rule has to declare to ask for builds.
BUILD_NEEDS: Final = (*FRAMEWORKS, _RUNTIME, *_NAMED, "cuda", "os", "machine", "surroundings")

_CPU_BEFORE: Final = "<2.11"  # torch for aarch64 on the package index has CUDA from here on
_ONE_TENSORFLOW: Final = ">=2.1"  # since then `tensorflow` itself has GPU code


@dataclass(frozen=True, slots=True)
class Build:
    """One binary that a description may mean.

    Attributes:
        package: The package that brings it.
        text: The package with its version as described, such as `torch 2.1.0+cu121`.
        cuda: The CUDA it was built with, `12.1` or only its major `12`; None for a build without GPU code.
        release: Its release, where it is known.
        row: The fact that says so; None where only the tag does.
        assumed: Whether the tag is missing and the package index's own build is taken.
    """

    package: str
    text: str
    cuda: str | None
    release: str | None = None
    row: Row | None = None
    assumed: bool = False

    @property
    def archs(self) -> tuple[str, ...]:
        """Return the architectures in it, such as `sm_80`; empty where they are not known."""
        return tuple(self.row.get("archs") or ()) if self.row and self.package in _WITH_ARCHS else ()

    @property
    def ptx(self) -> tuple[str, ...]:
        """Return the PTX in it, such as `compute_90`."""
        return tuple(self.row.get("ptx") or ()) if self.row and self.package in _WITH_ARCHS else ()

    @property
    def runtime(self) -> tuple[int, int] | None:
        """Return its CUDA as major and minor; the minor is 0 where only the major is known."""
        return None if self.cuda is None else level_of(self.cuda)


_WITH_ARCHS: Final = ("torch", *TENSORFLOW)


@lru_cache(maxsize=4096)
def level_of(text: str) -> tuple[int, int]:
    """Return `12.4` or `12.4.131` as (12, 4), and `12` as (12, 0)."""
    parts = [int(part) for part in text.split(".")[:2]]
    return (parts[0], parts[1] if len(parts) > 1 else 0)


def all_builds(view: View) -> list[tuple[Build, ...]]:
    """Return the possible builds of each package described that has GPU code, one list for each package."""
    found = [torch_builds(view), tensorflow_builds(view), jax_builds(view), *_other_builds(view)]
    return [builds for builds in found if builds]


def _other_builds(view: View) -> Iterator[tuple[Build, ...]]:
    for name, major in _NAMED.items():
        if (known := view.one(name)) is not None:
            yield (Build(name, f"{name} {known}", major, _release(known)),)
    if (known := view.one(_RUNTIME)) is not None and (row := onnxruntime_row(known)) is not None:
        yield (Build(_RUNTIME, f"{_RUNTIME} {known}", str(row["cuda_major"]), _release(known), row),)


@lru_cache(maxsize=1024)
def onnxruntime_row(known: Known) -> Row | None:
    """Return the facts of an onnxruntime-gpu release, or of the newest known one before it."""
    if known.version is None:
        return None
    rows = load_table("onnxruntime_gpu").rows
    older = [row for row in rows if known.holds(f">={row['version']}") is Holds.ALWAYS]
    return older[-1] if older else None


def torch_builds(view: View) -> tuple[Build, ...]:
    """Return the builds that the described torch may be; none where nothing is known of it."""
    known = view.one("torch")
    if known is None:
        return ()
    any_build = "conda" in view.whole.origins or _is_windows(view)
    return _torch(known, view.one("cuda"), _without_gpu(view), any_build=any_build)


@lru_cache(maxsize=65536)
def _torch(known: Known, toolkit: Known | None, without_gpu: str, *, any_build: bool) -> tuple[Build, ...]:
    if known.is_open and known.build is None:
        return ()
    tag, text = read_build(known.build), f"torch {known}"
    if known.vendor:  # a nightly names its CUDA, NVIDIA's containers do not; what code is in either is not known
        return (Build("torch", text, tag.cuda),) if tag.cuda is not None else ()
    if tag.rocm or tag.cpu or (tag.cuda is None and without_gpu and known.holds(without_gpu) is Holds.ALWAYS):
        return (Build("torch", text, None),)
    if tag.cuda is not None:
        return _tagged_torch(known, tag, text)
    rows = _torch_rows(known)
    chosen = rows if any_build else _offered(rows, toolkit)
    return tuple(Build("torch", text, row["cuda"], row["torch"], row, assumed=True) for row in chosen)


def tensorflow_builds(view: View) -> tuple[Build, ...]:
    """Return the builds that the described TensorFlow may be."""
    for name in TENSORFLOW:
        known = view.one(name)
        if known is None or known.is_open or known.vendor:
            continue
        if name == "tensorflow" and known.holds(_ONE_TENSORFLOW) is Holds.NEVER:
            return ()
        return _tensorflow(name, known)
    return ()


@lru_cache(maxsize=4096)
def _tensorflow(name: str, known: Known) -> tuple[Build, ...]:
    rows = _nearest(known, "tensorflow")
    return tuple(Build(name, f"{name} {known}", row["cuda"], row["tensorflow"], row, assumed=True) for row in rows)


def jax_builds(view: View) -> tuple[Build, ...]:
    """Return the builds that the described JAX may be: by jaxlib's tag, or by the plugin that brings its GPU code."""
    for name in JAX_PLUGINS:
        if (known := view.one(name)) is not None:
            return (Build(name, f"{name} {known}", name[len("jax-cuda") :][:2], _release(known), jax_row(known)),)
    known = view.one("jaxlib")
    tag = read_build(known.build if known else None)
    if known is None or tag.cuda is None:
        return ()
    return (Build("jaxlib", f"jaxlib {known}", tag.cuda, _release(known), jax_row(known)),)


@lru_cache(maxsize=4096)
def jax_row(known: Known) -> Row | None:
    """Return the facts of a JAX release; jaxlib and the plugins carry the same numbers."""
    rows = [row for row in load_table("jax").rows if _means(known, row["jax"])]
    return rows[-1] if rows else None


def torch_rows(release: str) -> list[Row]:
    """Return the builds offered of one torch release."""
    return _torch_by_release().get(release, [])


def _tagged_torch(known: Known, tag: BuildTag, text: str) -> tuple[Build, ...]:
    rows = [row for row in _torch_rows(known) if row["cuda"] == tag.cuda]
    builds = tuple(Build("torch", text, row["cuda"], row["torch"], row) for row in rows)
    return builds or (Build("torch", text, tag.cuda, _release(known)),)


def _torch_rows(known: Known) -> list[Row]:
    if known.version is not None:
        return _torch_by_release().get(str(known.version), [])
    return [row for row in load_table("torch").rows if _means(known, row["torch"])]


@lru_cache(maxsize=1)
def _torch_by_release() -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in load_table("torch").rows:
        found.setdefault(row["torch"], []).append(row)
    return found


def _is_windows(view: View) -> bool:
    """Return whether the package index's build has no GPU code, so that an untagged version may be any other build."""
    return is_windows(str(view.one("os") or ""))


def _without_gpu(view: View) -> str:
    """Return the releases whose build on the package index has no GPU code for this platform; empty for none."""
    system = str(view.one("os") or "").lower()
    if system.startswith(("macos", "mac os", "darwin")):
        return ">=0"
    return _CPU_BEFORE if str(view.one("machine") or "").lower() in {"aarch64", "arm64"} else ""


def _means(known: Known, release: str) -> bool:
    if known.version is not None:
        return str(known.version) == release
    return known.allowed is None or _parsed(release).holds(str(known.allowed)) is Holds.ALWAYS


@lru_cache(maxsize=4096)
def _parsed(release: str) -> Known:
    known = parse_known(release)
    if known is None:
        raise ValueError(release)
    return known


@lru_cache(maxsize=4096)
def _nearest(known: Known, table: str) -> tuple[Row, ...]:
    """Return the rows that a version means; for a patch release that no row has, those of its minor."""
    rows = load_table(table).rows
    meant = tuple(row for row in rows if _means(known, row[table]))
    if meant or known.version is None:
        return meant
    minor = known.version.release[:2]
    return tuple(row for row in rows if level_of(row[table]) == minor)[-1:]


def _offered(rows: list[Row], toolkit: Known | None) -> list[Row]:
    """Return the builds that an untagged version may mean: the package index's, or one of the installed toolkit."""
    default = [row for row in rows if row["default"]]
    if toolkit is not None and len(default) == 1 and toolkit.holds(f"=={default[0]['cuda']}.*") is Holds.ALWAYS:
        return default
    return [row for row in rows if row["default"] or _fits_toolkit(row, toolkit)]


def _fits_toolkit(row: Row, toolkit: Known | None) -> bool:
    """Return whether the installed toolkit is that of the build: then an untagged version may as well mean it."""
    if toolkit is None:
        return False
    return toolkit.holds(f"=={row['cuda']}.*") is not Holds.NEVER or _same_major(row, toolkit)


def _same_major(row: Row, toolkit: Known) -> bool:
    return not row["default"] and toolkit.holds(f"=={level_of(row['cuda'])[0]}.*") is Holds.ALWAYS


def _release(known: Known) -> str | None:
    return str(known.version) if known.version is not None else None
