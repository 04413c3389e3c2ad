"""Lines that speak for themselves: each states a fact of a machine wherever it is pasted.

A table of patterns, tried in order on every line that no other reader takes. Several may hold of one line. `word` is a
text, in lower case, that a line must contain before the pattern is tried, so that long inputs cost little.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from .actions import (
    add_arch_list,
    add_arch_range,
    add_cuda_and_cudnn,
    add_cuda_build,
    add_cudnn_mismatch,
    add_device_query,
    add_driver_level,
    add_forward_driver,
    add_gpu_and_capability,
    add_jax_devices,
    add_missing_cudnn,
    add_nccl_digits,
    add_needed_glibc,
    add_os_release,
    add_platform,
    add_python_tuple,
    add_rocm_build,
    add_smi_level,
    add_system,
    add_system_library,
    add_uname,
    add_unsupported_gpu,
    built_against,
    component,
    numbers,
    package,
)
from .patterns import Lazy

if TYPE_CHECKING:
    from collections.abc import Callable

    from .reading import Reading

    Action = Callable[[Reading, re.Match[str], str], None]


class Pattern(NamedTuple):
    """One kind of line: the word it contains, its pattern, what it says, and whether prose may look like it."""

    word: str
    pattern: Lazy
    act: Action
    loose: bool = False


def _line(word: str, pattern: str, act: Action) -> Pattern:
    return Pattern(word, Lazy(pattern, re.IGNORECASE), act)


def _loose(word: str, pattern: str, act: Action) -> Pattern:
    return Pattern(word, Lazy(pattern, re.IGNORECASE), act, loose=True)


# Words of sentences that speak of what there should be, not of what there is.
_WANTED: Final = Lazy(
    r"\b(?:requires?|required|needs?|needed|must|should|please|recommend\w*|supports?|supported|compatible|expects?|"
    r"earlier|later|newer|older|at least|minimum|instead|upgrade|downgrade|try|could not find|if you|"
    r"with kernel driver)\b",
    re.IGNORECASE,
)


_VERSION: Final = r"(\d+(?:\.\d+){1,3})"
_RELEASE: Final = r"v?(\d+\.\d+[\w.+!-]*)"

PATTERNS: Final = (
    # nvidia-smi's header and log, collect_env: the driver
    _loose("driver version", r"driver version\s*:?\s*(\d{2,3}\.\d+(?:\.\d+)?)", component("driver")),
    _line("driver branch", r"driver branch\s+R?(\d{3})\b", component("driver")),
    # /proc/driver/nvidia/version
    _line("kernel module", r"NVIDIA \w+ .*?Kernel Module.*?\s(\d{3}\.\d+(?:\.\d+)?)\s", component("driver")),
    # the banner of NVIDIA's containers, where their own libcuda stands before the kernel's driver
    _line(
        "with kernel driver version",
        r"Using CUDA (\d+\.\d+) driver version \S+ with kernel driver version (\d{3}(?:\.\d+){1,2})",
        add_forward_driver,
    ),
    # TensorFlow's diagnosis of the driver
    _line(
        "reported version is", r"(?:libcuda|kernel) reported version is:?\s*(\d{3}\.\d+(?:\.\d+)?)", component("driver")
    ),
    # nvidia-smi: the CUDA level of the driver, which is no toolkit
    _line(
        "cuda", r"(?<!torch )(?<!'s )(?<!/)\bCUDA(?: UMD)? Version\s*:?\s*(\d{1,2}\.\d{1,2})(?![\d.])", add_smi_level
    ),
    # cuDriverGetVersion and torch's complaint give the level as an integer
    _line(
        "version",
        r"(?:cuda driver version integer|cudriverget\w*|driver_?version\(\))\s*[:=]?\s*(\d{4,5})\b",
        add_driver_level,
    ),
    _line("found version", r"driver on your system is too old \(found version (\d{4,5})\)", add_driver_level),
    # XLA: the level, beside the ptxas that it found
    _line("driver's cuda version", r"driver's CUDA version is (\d+\.\d+)", component("driver_cuda")),
    # deviceQuery
    _line(
        "cuda driver version",
        r"CUDA Driver Version\s*/\s*Runtime Version\s+(\d+\.\d+)\s*/\s*(\d+\.\d+)",
        add_device_query,
    ),
    _line(
        "cuda driver version",
        r"CUDA Driver Version\s*=\s*(\d+\.\d+), CUDA Runtime Version\s*=\s*(\d+\.\d+)",
        add_device_query,
    ),
    _line(
        "capability major", r"CUDA Capability Major/Minor version number:\s*(\d+\.\d+)", component("compute_capability")
    ),
    # lists that people write by hand: Driver: 535.104.05, CUDA 11.8, GPU: RTX 3090
    _line("driver", r"^(?:[-*]\s*)?(?:NVIDIA |GPU )?driver\s*[:=]?\s*v?(\d{3}\.\d+(?:\.\d+)?)$", component("driver")),
    _line("cuda", r"^(?:[-*]\s*)?CUDA\s*[:=]?\s*v?(\d{1,2}\.\d(?:\.\d+)?)$", component("cuda")),
    _line("gpu", r"^(?:[-*]\s*)?GPUs?\s*:\s*(\D.*)$", component("gpu")),
    # nvcc --version
    _line(
        "release",
        r"(?:compilation tools,|nvcc:?)\s*(?:\w+ )?release\s+\d+\.\d+,\s*V(\d+\.\d+(?:\.\d+)?)",
        component("cuda"),
    ),
    _line("release", r"nvcc:?\s+release\s+(\d+\.\d+(?:\.\d+)?)(?!\S*,\s*V)", component("cuda")),
    _line("nvcc version", r"\bnvcc version\s*:?\s*(\d+\.\d+(?:\.\d+)?)", component("cuda")),
    # collect_env takes this from nvcc
    _line("cuda runtime version", r"CUDA runtime version\s*:\s*(\d+\.\d+(?:\.\d+)?)", component("cuda")),
    # the runtime library of a toolkit, as `find` and `ldconfig -p` show it
    _line("libcudart", r"libcudart\.so\.(\d+\.\d+)\.\d+", add_system_library("cuda")),
    # prose and forms: CUDA toolkit 12.1; the banner of NVIDIA's containers
    _loose("toolkit", r"\bCUDA[ -]?toolkit(?: version)?\s*[:=]?\s*(\d+\.\d+(?:\.\d+)?)", component("cuda")),
    _line("cuda version", r"^CUDA Version (\d+\.\d+\.\d+)$", component("cuda")),
    # TensorFlow's issue form: CUDA/cuDNN version: 11.2/8.1
    _line("cuda/cudnn", r"CUDA/cuDNN version\s*:?\s*(.+)$", add_cuda_and_cudnn),
    # which CUDA a torch was built with
    _line("cuda used to build pytorch", r"CUDA used to build PyTorch\s*:\s*(\S+)", add_cuda_build),
    _line("rocm used to build pytorch", r"ROCM used to build PyTorch\s*:\s*(\d+\.\d+)", add_rocm_build),
    _line("torch", r"\b(?:torch\.version\.cuda|torch cuda version)\b\W{0,20}(\d+\.\d+|None)", add_cuda_build),
    _line("deepspeed", r"^deepspeed info: (\d+\.\d+\.[\w.+]+),", package("deepspeed")),
    # torch and TensorFlow by other words than a requirement
    _loose("torch", r"\b(?:PyTorch|torch) version(?:\s*\([^)]{0,20}\))?\s*:?\s*" + _RELEASE, package("torch")),
    _line("torch", r"\btorch\.__version__\b\W{0,20}?" + _RELEASE, package("torch")),
    _line("pytorch", r"^(?:[-*]\s*)?PyTorch " + _RELEASE + "$", package("torch")),
    _line("tf", r"\btf\.(?:version\.VERSION|VERSION|__version__)\b\W{0,20}?" + _RELEASE, package("tensorflow")),
    _loose(
        "tensorflow",
        r"\bTensorFlow version(?:\s*\([^)]{0,60}\))?\s*:?\s*(?:(?:tf|tensorflow)[ =-]*)?" + _RELEASE,
        package("tensorflow"),
    ),
    _line(
        "tensorflow-gpu",
        r"\bTensorFlow version(?:\s*\([^)]{0,60}\))?\s*:?\s*tensorflow-gpu[ =-]*" + _RELEASE,
        package("tensorflow-gpu"),
    ),
    _line("v2.", r"^v\d+\.\d+\.\d+\S*-g[0-9a-f]{6,} (\d+\.\d+\.\S+)$", package("tensorflow")),
    # cuDNN: what a process loaded and what it wanted
    _line("cudnn", r"Loaded runtime CuDNN library: (\S+) but source was compiled with: (\d[\d.]*)", add_cudnn_mismatch),
    _line("cudnn", r"^(jaxlib|torch|tensorflow|[\w-]{2,40}): built against cuDNN " + _VERSION, built_against("cudnn")),
    _line("nccl", r"^([\w-]{2,40}): built against NCCL " + _VERSION, built_against("nccl")),
    _line("torch", r"^([\w-]{2,40}): built against (?:torch|PyTorch) " + _RELEASE, built_against("torch")),
    _line("cuda", r"^([\w-]{2,40}): built against CUDA " + _VERSION, built_against("cuda")),
    _line(
        "was compiled against",
        r"PyTorch was compiled against\s+(\([\d, ]+\)) but found runtime version (\([\d, ]+\))",
        numbers("cudnn"),
    ),
    _line("libcudnn", r"(libcudnn\w*\.so\.\d+): cannot open shared object", add_missing_cudnn),
    _line("libcudnn", r"libcudnn(?:_\w+)?\.so\.(\d+\.\d+\.\d+)", add_system_library("cudnn")),
    _loose(
        "cudnn", r"(?<!against )(?<!with )(?<!/)\bcuDNN(?: version)?(?:\s*[:=]+\s*|\s+)" + _VERSION, component("cudnn")
    ),
    _line("cudnn", r"\bcudnn(?:\.version\(\)| version)\s*[:=]?\s*(\d{4,6})\b", component("cudnn")),
    # NCCL
    _line("libnccl", r"libnccl\.so\.(\d+\.\d+\.\d+)", add_system_library("nccl")),
    _loose("nccl", r"(?<!against )(?<!with )\bNCCL(?: version)?\s*[:=]?\s*v?(\d+\.\d+(?:\.\d+)?)", component("nccl")),
    _line("nccl", r"nccl\.version\(\)\W{0,10}(\d+), (\d+), (\d+)", add_nccl_digits),
    # GPUs
    _line(
        "gpu",
        r"^(?:GPU models and configuration:\s*)?GPU (?:#\s?)?\d{1,3}\s*:\s*(?![0-9a-f]{2}:)(.+)$",
        component("gpu"),
    ),
    _line("accelerator", r"^- Accelerator: (NVIDIA .+?)(?:, \d+ MiB)?$", component("gpu")),
    _line("gpu", r"^(?:- )?GPU (?:type|name|model)(?: and memory)?s?\s*:\s*(.+)$", component("gpu")),
    _line("product name", r"^\s*Product Name\s+:\s*(.+)$", component("gpu")),
    _line("device", r'^Device \d+: "([^"]+)"$', component("gpu")),
    _line(
        "compute capability",
        r"name: ([^,]{2,60}), pci bus id: [^,]+, compute capability: (\d+\.\d+)",
        add_gpu_and_capability,
    ),
    _line("capability", r"^(?:CUDA )?compute[ _]capability\s*[:=]?\s*(\d{1,2}\.\d)$", component("compute_capability")),
    _line(
        "nvidia corporation",
        r"(?:VGA compatible|3D) controller: NVIDIA Corporation [^\[]*\[([^\]]+)\]",
        component("gpu"),
    ),
    # JAX: kind of the devices and their number
    _line("device info", r"^device info: (.+)-(\d+), \d+ local devices", add_jax_devices),
    # torch's complaints about a GPU
    _line(
        "sm_",
        r"^(?:.*?UserWarning:)?\s*(.+?) with CUDA capability sm_(\d{2,3})a? is not compatible",
        add_unsupported_gpu,
    ),
    _line("sm_", r"supports? CUDA capabilities\s+((?:(?:sm|compute)_\w+[\s,.]*)+)", add_arch_list),
    _line(
        "sm_", r"arch(?:itecture)?[ _]list(?:\(\))?\W{0,10}((?:['\"]?(?:sm|compute)_\w+['\"]?[\s,.]*)+)", add_arch_list
    ),
    _line(
        "capability",
        r"Found GPU\d+ (.+?) which is of (?:cuda|compute) capability \(?(\d+\.\d+)",
        add_gpu_and_capability,
    ),
    _line(
        "(",
        r"cuda capability supported by this (?:version|library) .{0,60}?\((\d+\.\d+)\)\s*-\s*\((\d+\.\d+)\)",
        add_arch_range,
    ),
    _line("(", r"^\s*\(?(\d+\.\d+)\)\s*-\s*\((\d+\.\d+)\)$", add_arch_range),
    # libc
    _line("libc version", r"Libc version\s*:\s*glibc-(\d+\.\d+)", component("glibc")),
    _line("ldd", r"^ldd \(.+\) (\d+\.\d+)$", component("glibc")),
    _line("glibc", r"(?:^|\s)glibc(?: version)?\s*[:=-]?\s*(\d\.\d+)\b", component("glibc")),
    _line("gnu c library", r"GNU C Library .*? version (\d\.\d+)", component("glibc")),
    _line("glibc_", r"version `GLIBC_(\d+\.\d+)' not found", add_needed_glibc),
    # Python and the system
    _line("'final'", r"^\((\d), (\d+), (\d+), 'final', \d+\)$", add_python_tuple),
    _line(
        "freedesktop",
        r"freedesktop os release: \{.*?'NAME': '([^']+)'.*?'VERSION(?:_ID)?': '(\d+[\d.]*)",
        add_os_release,
    ),
    _line(
        "python",
        r"^(?:[-*]\s*)?`?(?:C?Python)`?(?:[ _]version)?(?: is|\s*[:=])?\s*v?(\d\.\d+(?:\.\w+)?)(?=\.?$|[\s,|(+])",
        component("python"),
    ),
    _line("linux distribution", r"^linux distribution: \('(\w+)', '([\d.]+)'", add_os_release),
    _line("platform", r"^(?:[-*]\s*)?(?:Python |os )?platform\s*:\s*(\S+)$", add_platform),
    _line(
        "os",
        r"^(?:[-*]\s*)?(?:OS|OS Platform(?: and Distribution)?(?: \([^)]*\))?|OS version)\s*:\s*(.+)$",
        add_system,
    ),
    _line("distro", r"^Distro(?: version)?\s*:\s*(.+)$", add_system),
    _line("pretty_name", r'^PRETTY_NAME="?([^"]+)"?$', add_system),
    _line(
        "description",
        r"^Description:\s+((?:Ubuntu|Debian|CentOS|Red Hat|Rocky|Fedora|Amazon|SUSE|openSUSE).*)$",
        add_system,
    ),
    _line("linux", r"^Linux \S+ \d+\.\d+\S* .*?\b(x86_64|aarch64|ppc64le)\b", add_uname),
    _line("machine", r"\bmachine\s*[:=]\s*'?(x86_64|aarch64|arm64|AMD64|ppc64le)\b", component("machine")),
    _line("architecture", r"^Architecture:\s+(x86_64|aarch64|arm64|ppc64le)$", component("machine")),
    # fabric manager
    _line(
        "fabric",
        r"fabric[ -]?manager(?: version)?(?: is)?\s*:?\s*(\d{3}\.\d+(?:\.\d+)?)",
        component("nvidia-fabricmanager"),
    ),
)


def read_line(reading: Reading, line: str, where: str) -> bool:
    """Note what a line states by itself; return whether it stated anything."""
    lowered = line.lower()
    used = False
    for word, pattern, act, loose in PATTERNS:
        if word in lowered and (match := pattern.search(line)) is not None:
            if loose and _WANTED.search(line) is not None:
                continue
            act(reading, match, where)
            used = True
    return used
