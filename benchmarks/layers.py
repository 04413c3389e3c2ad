"""What shared layers save: twelve images with two sets of CUDA libraries, beside the same twelve with nothing shared.

Both are built alike, from wheels that were fetched before. Before each independent image, the layers of the one before
are removed. Bytes are those that the engine counts for its layers, each layer once for the shared images;
`bytes_ratio_upon_base` leaves the base out of both. The base itself is there before. A re-build reaches the engine and
looks for the base anew, as a command does, and finds the image. One set is measured after the other, and removed, to
need less disk: what both sets share is then built twice, the shared images are not favoured by that.

All stand on a base of their own, a link and a file upon that of Debian: so none of their layers is there before, or is
another's. They, and what Docker's builder keeps of them, are removed before and after.

Full: JAX with CUDA 12 and with CUDA 13, each with six versions of numpy. --quick: two small sets of CUDA wheels, three
images each; one independent image of each set is built, and stands for the three; wall time is shown without being
required, for the seconds that the engine takes for any step outweigh those of small wheels.

    python benchmarks/layers.py [--json] [--quick] [--engine podman]
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from figures import finish
from own_images import layers_of, open_own

from stackproof.compat.cell import Stack
from stackproof.compat.errors import StackproofError
from stackproof.containers.bases.pins import load_pins
from stackproof.containers.bases.provide import provide_base
from stackproof.containers.chain import ImageRequest, Workshop, build_stack_image
from stackproof.containers.engine.connect import connect
from stackproof.containers.holding import hold
from stackproof.containers.interpreter import interpreter_of
from stackproof.containers.resolve import resolve
from stackproof.containers.venv import cache_folder
from stackproof.containers.wheels import fetch_wheels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from own_images import Layers

    from stackproof.compat.lock import Lock
    from stackproof.containers.bases.base import Base

OS: Final = "debian:trixie"
PYTHON: Final = "3.13"
NUMPY: Final = ("2.3.0", "2.3.1", "2.3.2", "2.3.3", "2.3.4", "2.3.5")
PACKAGING: Final = ("24.2", "25.0", "26.0")
SMALL: Final = (
    (("nvidia-cuda-nvrtc-cu12", "12.9.86"), ("nvidia-cuda-runtime-cu12", "12.9.79"), ("nvidia-nvtx-cu12", "12.9.79")),
    (("nvidia-cuda-nvrtc", "13.0.88"), ("nvidia-cuda-runtime", "13.0.96"), ("nvidia-nvtx", "13.0.85")),
)
_MARK: Final = "stackproof-benchmark-layers"
_REQUIRED: Final = {
    "bytes_ratio": {"at_most": 0.3333},
    "wall_ratio": {"at_most": 0.5},
    "rebuild_seconds": {"at_most": 3.0},
}


@dataclass(frozen=True)
class Built:
    """An image: its stack, how long it took, and its layers."""

    stack: str
    seconds: float
    layers: Layers


@dataclass(frozen=True)
class Taken:
    """All that was measured: images that share, images alone, seconds of re-builds, and the layers of the base."""

    shared: list[Built]
    alone: list[Built]
    again: list[float]
    base: Layers


def main() -> int:
    """Measure, print, and say whether the figures hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--quick", action="store_true", help="six images with small wheels, two of them independently; says so"
    )
    parser.add_argument("--engine", choices=("docker", "podman"), default="docker", help="default: %(default)s")
    options = parser.parse_args()
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with hold(cache / f"{_MARK}.lock", "measuring layers", None):
        taken = measure(Workshop(connect(options.engine), cache), quick=options.quick)
    if options.quick and not options.json:
        print("--quick: six images with small wheels, two of them independently")
    required = {name: _REQUIRED[name] for name in _REQUIRED if not (options.quick and name == "wall_ratio")}
    return finish("layers", summarise(taken), required, as_json=options.json, rows=_rows(taken))


def measure(workshop: Workshop, *, quick: bool) -> Taken:
    """Build everything in both ways; what was built is removed."""
    debian = provide_base(workshop.engine, load_pins().find(OS), workshop.cache, _tell)
    locks = list(make_locks(workshop, debian, quick=quick))
    own = open_own(workshop.engine, _MARK)
    own.remove(base=True)
    try:
        base = own.make_base(debian)
        taken = Taken([], [], [], layers_of(workshop.engine, base.reference))
        half = len(locks) // 2
        for some in (locks[:half], locks[half:]):
            own.remove(base=False)
            requests = [ImageRequest(lock, base) for lock in some]
            taken.shared.extend([build(workshop, request, "shared") for request in requests])
            taken.again.extend([rebuild(workshop, request) for request in requests])
            for request in requests[:1] if quick else requests:
                own.remove(base=False)
                taken.alone.append(build(workshop, request, "alone"))
        return taken
    finally:
        own.remove(base=True)


def make_locks(workshop: Workshop, base: Base, *, quick: bool) -> Iterator[Lock]:
    """Lock the twelve stacks, and fetch their wheels."""
    interpreter = interpreter_of(base.python, base.glibc, base.machine)
    for stack in small_stacks() if quick else stacks():
        lock = resolve(stack, interpreter, "default", base=f"{base.name}@{base.digest}")
        if quick:  # every program needs numpy, which is larger than all else in these images
            lock = replace(lock, packages=tuple(package for package in lock.packages if package.name != "numpy"))
        _tell(f"wheels: {stack.id}")
        fetch_wheels(lock, lock.packages, workshop.cache)
        yield lock


def stacks() -> list[Stack]:
    """Return the stacks of the full measurement, one set of CUDA libraries after the other."""
    sets = itertools.product(("cuda12", "cuda13"), NUMPY)
    return [Stack("jax", "0.10.2", PYTHON, (("numpy", numpy),), (cuda,), OS) for cuda, numpy in sets]


def small_stacks() -> list[Stack]:
    """Return the stacks of the quick one."""
    sets = itertools.product(SMALL, PACKAGING)
    return [Stack(*cuda[0], PYTHON, (*cuda[1:], ("packaging", pin)), os=OS) for cuda, pin in sets]


def build(workshop: Workshop, request: ImageRequest, how: str) -> Built:
    """Build an image, and ask the engine for its layers."""
    start = time.perf_counter()
    image = build_stack_image(workshop, request)
    seconds = time.perf_counter() - start
    if image.reused:
        raise SystemExit(f"{image.reference} was there already: let nothing else build on {request.base.reference}")
    _tell(f"{how}: {request.lock.stack}, {seconds:.1f} s")
    return Built(request.lock.stack, seconds, layers_of(workshop.engine, image.reference))


def rebuild(workshop: Workshop, request: ImageRequest) -> float:
    """Return the seconds of a re-build in which nothing changed."""
    start = time.perf_counter()
    engine = connect(workshop.engine.kind)
    provide_base(engine, load_pins().find(OS), workshop.cache)
    image = build_stack_image(replace(workshop, engine=engine), request)
    seconds = time.perf_counter() - start
    if not image.reused:
        raise SystemExit(f"{image.reference} was built again, though nothing changed")
    return seconds


def summarise(taken: Taken) -> dict[str, float]:
    """Return the figures; where fewer were built alone, each stands for the others of its set."""
    unique: Layers = {}
    for built in taken.shared:
        unique |= built.layers
    count = len(taken.shared)
    times, base, bytes_shared = count / len(taken.alone), sum(taken.base.values()), sum(unique.values())
    bytes_alone = times * sum(sum(built.layers.values()) for built in taken.alone)
    seconds, seconds_alone = sum(built.seconds for built in taken.shared), sum(built.seconds for built in taken.alone)
    return {
        "bytes_ratio": bytes_shared / bytes_alone,
        "bytes_ratio_upon_base": (bytes_shared - base) / (bytes_alone - base * count),
        "unique_gb": bytes_shared / 1e9,
        "independent_gb": bytes_alone / 1e9,
        "wall_ratio": seconds / (times * seconds_alone),
        "shared_seconds": seconds,
        "independent_seconds": times * seconds_alone,
        "rebuild_seconds": max(taken.again),
    }


def _rows(taken: Taken) -> list[list[str]]:
    apart = {built.stack: f"{built.seconds:.1f} s" for built in taken.alone}
    rows = [["stack", "MB", "shared", "alone", "re-build"]]
    for built, again in zip(taken.shared, taken.again, strict=True):
        size = f"{sum(built.layers.values()) / 1e6:.0f}"
        rows.append([built.stack, size, f"{built.seconds:.1f} s", apart.get(built.stack, "-"), f"{again:.2f} s"])
    return rows


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except StackproofError as error:
        sys.exit(str(error))
