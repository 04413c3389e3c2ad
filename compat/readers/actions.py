"""What lines of the table in `lines` say: each function notes the facts of one match."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .names import package_name
from .patterns import Lazy
from .reading import cuda_build, cuda_level

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..gather import Gathered
    from .markers import Surroundings
    from .reading import Reading

    Action = Callable[[Reading, re.Match[str], str], None]

_CONDA: Final = Lazy(r"\bconda(?:-forge)?\b", re.IGNORECASE)
_GLIBC: Final = Lazy(r"glibc(\d+\.\d+)")
_MACHINE: Final = Lazy(r"\b(x86_64|aarch64|arm64|amd64|ppc64le)\b", re.IGNORECASE)
_PLATFORM_MACHINE: Final = Lazy(r"-(x86_64|aarch64|arm64|amd64|ppc64le)(?=-with|-[^-]*bit|$)", re.IGNORECASE)
_SO_MAJOR: Final = Lazy(r"\.so\.(\d+)$")


def component(name: str) -> Action:
    """Make the action that notes a component's value."""

    def act(reading: Reading, match: re.Match[str], where: str) -> None:
        reading.add(name, match[1], where)
        if _CONDA.search(match.string[match.end() :][:100]):
            reading.gathered.origins.add("conda")

    return act


def package(name: str) -> Action:
    """Make the action that notes a package's version."""

    def act(reading: Reading, match: re.Match[str], where: str) -> None:
        reading.reports = True
        reading.add_package(name, match[1].rstrip(".,;:"), where)

    return act


def built_against(name: str) -> Action:
    """Make the action that notes what a package says it was built against."""

    def act(reading: Reading, match: re.Match[str], where: str) -> None:
        reading.reports = True
        reading.add_package(match[1], "*", where)
        reading.gathered.built_against.append((package_name(match[1]), name, match[2]))

    return act


def numbers(name: str) -> Action:
    """Make the action that notes torch's `compiled against (8, 3, 2) but found runtime version (8, 0, 3)`."""

    def act(reading: Reading, match: re.Match[str], where: str) -> None:
        wanted, found = (".".join(re.findall(r"\d+", text)) for text in match.groups())
        reading.add(name, found, where)
        reading.add_package("torch", "*", where)
        reading.gathered.built_against.append(("torch", name, wanted))

    return act


def add_smi_level(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note `CUDA Version: 12.2`: of the driver beside a driver or in nvidia-smi's output, else of a toolkit."""
    lowered = match.string.lower()
    is_smi = any(word in lowered for word in ("driver", "nvidia-smi", "|", "  :", "umd"))
    reading.add("driver_cuda" if is_smi or reading.in_smi else "cuda", match[1], where)


def add_driver_level(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note the driver's CUDA level that is given as an integer."""
    reading.add("driver_cuda", cuda_level(match[1]), where)


def add_forward_driver(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note the kernel's driver, and the package through which a container runs a newer CUDA on it."""
    reading.add("driver", match[2], where)
    reading.add_package("cuda-compat", match[1], where)


def add_device_query(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note deviceQuery's line: the driver's level, and the runtime that the sample was built with."""
    reading.add("driver_cuda", match[1], where)
    reading.add("cuda", match[2], where)


def add_cuda_and_cudnn(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note CUDA and cuDNN as people fill in a form: `11.2/8.1`, `CUDA 11.8, cuDNN 8.6`."""
    answer = match[1][:200]
    if "driver" in answer.lower() or "smi" in answer.lower():  # other lines of the table say it better
        return
    found = re.findall(r"(?<![\d.])\d{1,2}(?:\.\d+){0,3}(?![\d.]*\d)", answer)
    if not found:
        reading.skip(match.string)
    for name, value in zip(("cuda", "cudnn"), found, strict=False):
        reading.add(name, value, where)


def add_cuda_build(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note the CUDA that torch was built with; `None` is a build without."""
    reading.reports = True
    text = match[1].strip("'\"")
    if text == "None":
        reading.later.append(_CpuBuild(where).settle)
        reading.gathered.add_package("torch", "*", where)
    elif build := cuda_build(text):
        reading.add_build("torch", build, where)


def add_rocm_build(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note the ROCm that torch was built with."""
    reading.reports = True
    reading.add_build("torch", f"rocm{match[1]}", where)


def add_cudnn_mismatch(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note TensorFlow's and XLA's complaint: the cuDNN that was loaded, and the one compiled with."""
    reading.add("cudnn", match[1], where)
    owner = _owner(reading)
    if owner:
        reading.gathered.built_against.append((owner, "cudnn", match[2].rstrip(".")))
    else:
        reading.skip(f"compiled with cuDNN {match[2].rstrip('.')}, of a package that is not named")


def add_missing_cudnn(reading: Reading, match: re.Match[str], _where: str) -> None:
    """Note the major version of cuDNN that something needs and the loader does not find."""
    if major := _SO_MAJOR.search(match[1]):
        reading.gathered.required.append(f"cudnn=={major[1]}.*")


def add_nccl_digits(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note `torch.cuda.nccl.version()`."""
    reading.add("nccl", ".".join(match.groups()), where)


def add_gpu_and_capability(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note a GPU's name with its compute capability."""
    reading.add("gpu", match[1], where)
    reading.add("compute_capability", match[2], where)


def add_jax_devices(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note JAX's devices, such as `NVIDIA A100-SXM4-40GB-8`: their kind and how many there are."""
    if not match[1].lower().startswith(("cpu", "tpu")):
        reading.add("gpu", f"{match[2]}x {match[1]}", where)


def add_unsupported_gpu(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note the GPU that torch says it has no code for."""
    reading.add_package("torch", "*", where)
    reading.add("gpu", match[1], where)
    reading.add("compute_capability", f"{match[2][:-1]}.{match[2][-1]}", where)


def add_arch_list(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note the architectures that a torch says it has code for."""
    reading.reports = True
    reading.add_package("torch", "*", where)
    reading.gathered.arch_list += re.findall(r"(?:sm|compute)_\w+", match[1])


def add_arch_range(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note the lowest and highest compute capability that a torch says it supports."""
    reading.reports = True
    reading.add_package("torch", "*", where)
    reading.gathered.arch_range = (match[1], match[2])


def add_needed_glibc(reading: Reading, match: re.Match[str], _where: str) -> None:
    """Note the glibc that a library needs and the loader does not find."""
    reading.gathered.required.append(f"glibc>={match[1]}")


def add_platform(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note glibc and architecture from Python's platform text, such as `Linux-5.15-x86_64-with-glibc2.35`."""
    if found := _GLIBC.search(match[1]):
        reading.add("glibc", found[1], where)
    if found := _PLATFORM_MACHINE.search(match[1]):
        reading.add("machine", found[1], where)
    system = re.match(r"(Linux|Windows|macOS|Darwin)", match[1])
    if named := re.search(r"-with-(Ubuntu|debian|centos)-(\d+(?:\.\d+)*)", match[1], re.IGNORECASE):
        reading.add("os", f"{named[1]} {named[2]}", where)
    elif system:
        reading.later.append(_System(system[1], where).settle)


def add_system(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note the system's name, and the architecture that may stand behind it."""
    note_system(reading, match[1].strip(), where)


def note_system(reading: Reading, text: str, where: str) -> None:
    """Note a system's name as people and tools write it: `Ubuntu 20.04.6 LTS (x86_64)`, `Linux x86_64`."""
    found = _MACHINE.search(text)
    if found:
        reading.add("machine", found[1], where)
    text = re.sub(
        r"^Linux (?=Ubuntu|Debian|CentOS|Red Hat|RHEL|Fedora|Rocky|Mint|SUSE|Arch)", "", text, flags=re.IGNORECASE
    )
    name = re.sub(r"\s*\((?:x86_64|aarch64|arm64|amd64|ppc64le|64-?bit)\)$", "", text, flags=re.IGNORECASE)
    if re.match(r"linux(?: \d|\b(?!.*(?:ubuntu|debian|centos|red hat|rhel|mint)))", name, re.IGNORECASE):
        reading.later.append(_System("Linux", where).settle)
    else:
        reading.add("os", name, where)


def add_os_release(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note the system as Python's `platform.freedesktop_os_release()` gives it: name, then version."""
    reading.add("os", f"{match[1]} {match[2]}", where)


def add_python_tuple(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note Python's `sys.version_info`."""
    reading.add("python", ".".join(match.groups()), where)


def add_system_library(component: str) -> Action:
    """Make the action that notes the version of a library of the system; a copy inside a package is the package's."""

    def act(reading: Reading, match: re.Match[str], where: str) -> None:
        if "site-packages" in match.string or "dist-packages" in match.string:
            reading.skip(match.string)
        else:
            reading.add(component, match[1], where)

    return act


def add_uname(reading: Reading, match: re.Match[str], where: str) -> None:
    """Note the architecture that `uname -a` ends with."""
    reading.add("machine", match[1], where)
    reading.later.append(_System("Linux", where).settle)


def _owner(reading: Reading) -> str | None:
    """Return the one package of a description that complains in TensorFlow's and XLA's words."""
    named = [name for name in ("tensorflow", "tensorflow-gpu", "jaxlib", "jax") if name in reading.gathered.packages]
    return named[0] if named else None


def note_system_roughly(reading: Reading, name: str, where: str) -> None:
    """Note a system that is named only roughly, where nothing says it better."""
    reading.later.append(_System(name, where).settle)


class _System:
    """A system that is named only roughly: noted where nothing says it better."""

    def __init__(self, name: str, where: str) -> None:
        self._name = name
        self._where = where

    def settle(self, gathered: Gathered, _surroundings: Surroundings) -> None:
        if "os" not in gathered.claims:
            gathered.add_component("os", self._name, self._where)


class _CpuBuild:
    """A torch that was built with no CUDA: one for CPUs unless it is for ROCm."""

    def __init__(self, where: str) -> None:
        self._where = where

    def settle(self, gathered: Gathered, _surroundings: Surroundings) -> None:
        if not any("+" in claim.text for claim in gathered.claims.get("torch", ())):
            gathered.add_package("torch", "*+cpu", self._where)
