"""The layers of an image: which packages go where, and what makes each of them."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from . import finish
from .safe import check_distribution, check_hash, check_reference, check_version
from .steps import environment_step, packages_step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...compat.lock import Lock, Package
    from ..bases.base import Base
    from .settings import ImageSettings

LayerName = Literal["environment", "cuda", "framework", "application"]

# What the sort of a package is told by; anything else is of the application.
_CUDA: Final = re.compile(r"(nvidia|cuda)-.+")
_FRAMEWORK: Final = re.compile(
    r"torch|triton|pytorch-triton|jaxlib|jax-cuda\d+-(plugin|pjrt)|tensorflow|tensorflow-(cpu|gpu)"
)
# Of the packages of CUDA, those that bring no library of it: they stay where the base brings the libraries.
_NO_LIBRARIES: Final = re.compile(r"nvidia-ml-py|cuda-(bindings|core|pathfinder|python)")


@dataclass(frozen=True)
class Layer:
    """One layer of an image: its own Dockerfile, built `FROM` the layer before.

    Attributes:
        name: What it holds.
        parent: What `FROM` takes: the base's reference, or the tag of the layer before.
        packages: Distributions that it installs, sorted by name; none for the environment.
        body: The instructions after `FROM`.
        key: SHA-256 over all that makes it, the layers before included: equal keys are equal layers.
    """

    name: LayerName
    parent: str
    packages: tuple[Package, ...]
    body: str
    key: str

    @property
    def tag(self) -> str:
        """Return the name that it has in the engine."""
        return f"stackproof/layer:{self.key[:16]}"

    @property
    def requirements(self) -> str:
        """Return its packages as a requirements file with hashes, one a line."""
        return "".join(_requirement(package) for package in self.packages)


def plan_layers(lock: Lock, base: Base, settings: ImageSettings) -> tuple[Layer, ...]:
    """Return the layers of an image, the lowest first; layers without packages are left out.

    Args:
        lock: What to install, resolved for the base's Python.
        base: What the lowest layer is built from.
        settings: How images are made.

    Raises:
        InputError: A name, version or hash of the lock, or the base's reference or interpreter, is none.
    """
    environment = environment_step(base, settings)
    layers = [_layer("environment", check_reference(base.reference, "base"), (), environment, base.digest)]
    for name, packages in split_packages(lock, settings):
        if packages:
            layers.append(_layer(name, layers[-1].tag, packages, packages_step(name, base), layers[-1].key))
    return tuple(layers)


def split_packages(lock: Lock, settings: ImageSettings) -> tuple[tuple[LayerName, tuple[Package, ...]], ...]:
    """Return the packages of each layer; by route `base`, those that bring CUDA's libraries are in none of them."""
    kept = [package for package in lock.packages if settings.cuda == "wheels" or not brings_cuda(package.name)]
    names: tuple[LayerName, ...] = ("cuda", "framework", "application")
    return tuple((name, tuple(package for package in kept if _sort(package.name) == name)) for name in names)


def brings_cuda(name: str) -> bool:
    """Return whether a distribution, by its normalised name, brings libraries of CUDA."""
    return _CUDA.fullmatch(name) is not None and _NO_LIBRARIES.fullmatch(name) is None


def context_files(layers: Iterable[Layer], uv: Path, wheels: Mapping[str, Path]) -> dict[str, Path | bytes]:
    """Return the build context of layers: what their steps find below `in`.

    Args:
        layers: One layer, or all of an image.
        uv: The uv program, of the version that the keys of the layers were made with.
        wheels: The file of each distribution, by its name.

    Raises:
        KeyError: A wheel is missing.
    """
    files: dict[str, Path | bytes] = {"in/uv": uv, "in/finish.py": _finisher()}
    for layer in layers:
        if layer.packages:
            files[f"in/{layer.name}.txt"] = layer.requirements.encode()
        for package in layer.packages:
            files[f"in/wheels/{wheels[package.name].name}"] = wheels[package.name]
    return files


def _layer(name: LayerName, parent: str, packages: tuple[Package, ...], body: str, below: str) -> Layer:
    layer = Layer(name, parent, packages, body, "")
    made_of = [below, body, layer.requirements, importlib.metadata.version("uv"), _finisher().decode()]
    return Layer(name, parent, packages, body, hashlib.sha256(json.dumps(made_of).encode()).hexdigest())


def _sort(name: str) -> LayerName:
    if _CUDA.fullmatch(name):
        return "cuda"
    return "framework" if _FRAMEWORK.fullmatch(name) else "application"


def _requirement(package: Package) -> str:
    name = check_distribution(package.name, "lock")
    version = check_version(package.version, f"lock: {name}")
    hashes = [f" --hash={check_hash(value, f'lock: {name}')}" for value in package.hashes]
    if not hashes:
        check_hash("", f"lock: {name}")
    return f"{name}=={version}{''.join(hashes)}\n"


def _finisher() -> bytes:
    return Path(finish.__file__).read_bytes()
