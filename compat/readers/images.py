"""Container images: what their names and tags say of what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .patterns import Lazy
from .reading import cuda_build

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from .reading import Reading

    Action = Callable[[Reading, re.Match[str], str], None]

_REGISTRY: Final = Lazy(
    r"^(?:docker\.io/(?:library/)?|index\.docker\.io/|public\.ecr\.aws/docker/library/|mirror\.gcr\.io/)"
)
_DEBIANS: Final = {"buster": "10", "bullseye": "11", "bookworm": "12", "trixie": "13"}
_SYSTEMS: Final = {
    "ubuntu": "Ubuntu",
    "debian": "Debian",
    "centos": "CentOS",
    "rockylinux": "Rocky Linux",
    "ubi": "Red Hat Enterprise Linux",
    "opensuse": "openSUSE",
    "almalinux": "AlmaLinux",
    "fedora": "Fedora",
    "amazonlinux": "Amazon Linux",
}


def read_image(reading: Reading, image: str, where: str) -> None:
    """Note what an image's name says of its CUDA, system, Python and framework."""
    reading.gathered.origins.add("container")
    plain = _REGISTRY.sub("", image.split("@", maxsplit=1)[0])
    for pattern, act in _IMAGES:
        if (match := pattern.fullmatch(plain)) is not None:
            act(reading, match, where)
            return
    if plain != "scratch":
        reading.skip(f"{where}: what the image {image} holds is not known")


def _add_system(reading: Reading, name: str | None, version: str | None, where: str) -> None:
    if name and name.lower() in _SYSTEMS and version:
        reading.add("os", f"{_SYSTEMS[name.lower()]} {version}", where)


def _cuda(reading: Reading, match: re.Match[str], where: str) -> None:
    reading.add("cuda", match["cuda"], where)
    if match["cudnn"]:
        reading.add("cudnn", match["cudnn"], where)
    _add_system(reading, match["system"], match["release"], where)


def _pytorch(reading: Reading, match: re.Match[str], where: str) -> None:
    build = cuda_build(match["cuda"]) if match["cuda"] else "cpu"
    reading.add_package("torch", f"{match['torch']}+{build}", where)
    if match["cudnn"]:
        reading.add("cudnn", match["cudnn"], where)
    if match["kind"] == "devel":
        reading.add("cuda", match["cuda"], where)


def _floating(package: str) -> Action:
    def act(reading: Reading, _match: re.Match[str], where: str) -> None:
        reading.add_package(package, "*", where)
        reading.gathered.floating.add(package)

    return act


def _fixed(package: str) -> Action:
    def act(reading: Reading, match: re.Match[str], where: str) -> None:
        reading.add_package(package, match[1], where)

    return act


def _vendor(reading: Reading, match: re.Match[str], where: str) -> None:
    package = {"pytorch": "torch", "tensorflow": "tensorflow", "jax": "jax"}.get(match[1])
    if package is not None:
        reading.add_package(package, "*", where)
    reading.skip(f"{where}: which versions NVIDIA's image {match[0]} holds is not known here")


def _python(reading: Reading, match: re.Match[str], where: str) -> None:
    reading.add("python", match["python"], where)
    if match["debian"] in _DEBIANS:
        reading.add("os", f"Debian {_DEBIANS[match['debian']]}", where)


def _system(reading: Reading, match: re.Match[str], where: str) -> None:
    release = _DEBIANS.get(match["release"], match["release"])
    _add_system(reading, match["system"], release.removesuffix("-slim"), where)


def _conda(reading: Reading, _match: re.Match[str], _where: str) -> None:
    reading.gathered.origins.add("conda")


_CUDA_IMAGE: Final = (
    r"(?:nvcr\.io/)?nvidia/(?:cuda|cudagl):(?P<cuda>\d+\.\d+(?:\.\d+)?)(?:-cudnn(?P<cudnn>\d*))?"
    r"(?:-(?:tensorrt|base|runtime|devel)\w*)*(?:-(?P<system>[a-z]+)(?P<release>\d[\d.]*))?"
)
_PYTORCH_IMAGE: Final = (
    r"pytorch/pytorch:(?P<torch>\d+\.\d+(?:\.\d+)?)(?:-cuda(?P<cuda>\d+\.\d+)(?:-cudnn(?P<cudnn>\d+))?)?"
    r"(?:-(?P<kind>runtime|devel))?"
)

# Images by name, most special first.
_IMAGES: Final[tuple[tuple[Lazy, Action], ...]] = tuple(
    (Lazy(pattern), act)
    for pattern, act in (
        (
            _CUDA_IMAGE,
            _cuda,
        ),
        (
            _PYTORCH_IMAGE,
            _pytorch,
        ),
        (r"pytorch/pytorch(?::latest)?", _floating("torch")),
        (r"tensorflow/tensorflow:(\d+\.\d+\.\d+\w*)(?:-gpu)?(?:-jupyter)?", _fixed("tensorflow")),
        (r"tensorflow/tensorflow(?::(?:latest|nightly)(?:-gpu)?(?:-jupyter)?)?", _floating("tensorflow")),
        (r"vllm/vllm-openai:v(\d+\.\d+[\w.]*)", _fixed("vllm")),
        (r"nvcr\.io/nvidia/([a-z]+):[\w.-]+", _vendor),
        (r"python:(?P<python>3\.\d+(?:\.\d+)?)(?:-slim)?(?:-(?P<debian>[a-z]+))?", _python),
        (r"(?P<system>ubuntu|debian|centos|rockylinux|almalinux|fedora|amazonlinux):(?P<release>[\w.-]+)", _system),
        (r"(?:continuumio|condaforge|mambaorg)/[\w.-]+(?::[\w.-]+)?", _conda),
    )
)
