"""What an image says of itself and sets for what runs in it: variables, labels, user, folder."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ...compat.errors import Fault, InputError
from .layers import brings_cuda, split_packages
from .safe import check_label, check_text, check_variable, exec_form, quote
from .settings import PREFIX, PYTHON, USER
from .steps import COMPAT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...compat.lock import Lock
    from ..bases.base import Base
    from .settings import ImageSettings

SCHEMA_VERSION: Final = 1
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_RUNTIME: Final = re.compile(r"nvidia-cuda-runtime(-cu\d+)?")
_TAKEN: Final = re.compile(
    r"stackproof\..*|org\.opencontainers\.image\.(title|version|description|base\.(name|digest))"
)
_BUILD: Final = re.compile(r"cu(\d+)\d")


def configure(lock: Lock, base: Base, settings: ImageSettings, key: str) -> str:
    """Return the instructions that configure an image.

    Args:
        lock: What is installed.
        base: What it was built from.
        settings: How images are made.
        key: Key of the last layer.

    Raises:
        InputError: A label is none.
    """
    variables = {check_variable(name, "variables"): value for name, value in _variables(lock, settings).items()}
    labels = {**_labels(lock, base, key), **_given_labels(settings)}
    return "".join(
        (
            *(f"ENV {name}={quote(check_text(value, name))}\n" for name, value in variables.items()),
            *(f"LABEL {quote(name)}={quote(check_text(value, name))}\n" for name, value in sorted(labels.items())),
            f"USER {USER}:{USER}\nWORKDIR /home/stack\nENTRYPOINT []\nCMD {exec_form((PYTHON,))}\n",
        )
    )


def cuda_major(lock: Lock) -> str:
    """Return the major version of the CUDA libraries that a lock asks for, such as `13`; empty where it asks none."""
    for package in lock.packages:
        if _RUNTIME.fullmatch(package.name):
            return package.version.partition(".")[0]
    built = _BUILD.fullmatch(lock.build)
    return built[1] if built else ""


def _variables(lock: Lock, settings: ImageSettings) -> dict[str, str]:
    """Return variables: those that the container toolkit reads only where the image computes on a GPU."""
    found = {"PATH": f"{PREFIX}/bin:{_PATH}"}
    if not _computes_on_gpu(lock, settings):
        return found
    found |= {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
    # With forward compatibility, an older driver is what the image is for: asking for a newer one would stop it.
    if not settings.forward_compat and (major := cuda_major(lock)):
        found["NVIDIA_REQUIRE_CUDA"] = f"cuda>={major}.0"
    if folders := [
        *([COMPAT] if settings.forward_compat else []),
        *(["/usr/local/cuda/lib64"] if settings.cuda == "base" else []),
    ]:
        found["LD_LIBRARY_PATH"] = ":".join(folders)
    return found


def _computes_on_gpu(lock: Lock, settings: ImageSettings) -> bool:
    installed = [package.name for _, packages in split_packages(lock, settings) for package in packages]
    return settings.cuda == "base" or settings.forward_compat or any(map(brings_cuda, installed))


def _labels(lock: Lock, base: Base, key: str) -> dict[str, str]:
    return {
        "org.opencontainers.image.title": lock.stack,
        "org.opencontainers.image.version": lock.digest[:16],
        "org.opencontainers.image.description": f"Training stack {lock.stack}: {len(lock.packages)} locked packages",
        "org.opencontainers.image.base.name": base.name,
        "org.opencontainers.image.base.digest": base.digest,
        "stackproof.key": key,
        "stackproof.lock-digest": lock.digest,
        "stackproof.schema": str(SCHEMA_VERSION),
        "stackproof.stack": lock.stack,
    }


def _given_labels(settings: ImageSettings) -> Mapping[str, str]:
    """Return the user's labels, which may not take the place of those that say what an image is."""
    given = {check_label(name, "image.labels"): value for name, value in settings.labels.items()}
    taken = [name for name in given if _TAKEN.fullmatch(name)]
    if taken:
        why = "says what an image is and is set by stackproof: take another key"
        raise InputError("image.labels", [Fault(name, why) for name in taken])
    return given
