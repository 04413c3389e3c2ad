"""Rules on NCCL and the CUDA libraries that packages link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..build_tags import read_build
from ..builds import BUILD_NEEDS, TENSORFLOW, Build, level_of, onnxruntime_row, tensorflow_builds, torch_builds
from ..facts import Row, load_table
from ..finding import Finding, because
from ..known import Holds, Known
from ..releases import known_releases
from .cudnn import CUDNN_WHEELS
from .registry import View, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

_NCCL_WHEELS: Final = ("nvidia-nccl-cu11", "nvidia-nccl-cu12", "nvidia-nccl-cu13")


@rule("SP303", needs=(*BUILD_NEEDS, *_NCCL_WHEELS), present=(("torch",), _NCCL_WHEELS))
def _nccl(view: View) -> Iterator[Finding]:
    """The installed NCCL is older than the one torch was linked with.

    torch links NCCL's functions by name. A release from before a function was added makes the import fail
    (`undefined symbol: ncclCommRegister`: torch 2.2 and newer need NCCL 2.19). No function was ever taken away, so
    that a newer NCCL of the same CUDA major serves. The CUDA minor that NCCL itself was compiled with does not matter.

    Mend it by reinstalling torch so that its own pin is met.
    """
    for name in _NCCL_WHEELS:
        known, linked = view.one(name), _linked(view, int(name.removeprefix("nvidia-nccl-cu")))
        if known is None or not linked:
            continue
        floors = [".".join(row["nccl"].split(".")[:2]) for row in linked]
        if known.holds(f">={min(floors, key=level_of)}") is Holds.NEVER:
            row = linked[0]
            yield Finding(
                "SP303",
                "error",
                ("torch", "nccl", name),
                f"{name} {known} is older than the NCCL that torch {view.one('torch')} is linked with.",
                (because(row, f"torch {row['torch']} is linked with NCCL {row['nccl']}"),),
                (f"{name}=={row['nccl']}",),
            )


def _linked(view: View, major: int) -> list[Row]:
    """Return the facts of the builds that torch may be, of one CUDA major, whose NCCL is known."""
    rows = [build.row for build in torch_builds(view) if build.row is not None and build.row.get("nccl")]
    return [row for row in rows if level_of(row["cuda"])[0] == major]


@rule(
    "SP308",
    needs=(
        "onnxruntime-gpu",
        "cuda",
        "cudnn",
        *CUDNN_WHEELS,
        *BUILD_NEEDS,
        "nvidia-cuda-runtime-cu11",
        "nvidia-cuda-runtime-cu12",
        "nvidia-cuda-runtime",
    ),
    present=(("onnxruntime-gpu",),),
)
def _onnxruntime(view: View) -> Iterator[Finding]:
    """onnxruntime-gpu links another CUDA or cuDNN major than there is.

    The package index's onnxruntime-gpu links CUDA 11 with cuDNN 8 up to 1.18, CUDA 12 with cuDNN 9 from 1.19, CUDA 13
    with cuDNN 9 from 1.27. Within a major any minor serves (before CUDA 11 the same minor only); another major is
    another library name, which is not found: the session then runs on the CPU.

    Mend it with the CUDA and cuDNN major of the release, or the release of the installed majors.
    """
    known = view.one("onnxruntime-gpu")
    row = onnxruntime_row(known) if known is not None else None
    if known is None or row is None:
        return
    toolkit, cudnn = view.one("cuda"), view.one("cudnn")
    wheels = [name for name in CUDNN_WHEELS if view.has(name)]
    brought = view.has("nvidia-cuda-runtime-cu11", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime") or wheels
    if toolkit is not None and not brought and toolkit.holds(f"=={_cuda(row)}.*") is Holds.NEVER:
        yield _wrong_major(known, row, "cuda", f"toolkit {toolkit}", f"CUDA {_cuda(row)}")
    if cudnn is not None and not wheels and cudnn.holds(f"=={row['cudnn_major']}.*") is Holds.NEVER:
        yield _wrong_major(known, row, "cudnn", f"cuDNN {cudnn}", f"cuDNN {row['cudnn_major']}")


def _cuda(row: Row) -> str:
    """Return the CUDA whose libraries a release asks for by name: a major from 11 on, a minor before."""
    return str(row.get("cuda") or row["cuda_major"])


def _wrong_major(known: Known, row: Row, component: str, found: str, wanted: str) -> Finding:
    offered = known_releases("onnxruntime-gpu")
    other = [
        entry["version"]
        for entry in load_table("onnxruntime_gpu").rows
        if entry["version"] in offered
        and (
            found.rsplit(maxsplit=1)[-1].startswith(f"{entry[f'{component}_major']}.")
            or found.rsplit(maxsplit=1)[-1] == str(entry[f"{component}_major"])
        )
    ]
    return Finding(
        "SP308",
        "error",
        ("onnxruntime-gpu", component),
        f"onnxruntime-gpu {known} links {wanted}, and {found} is installed.",
        (because(row, f"onnxruntime-gpu {row['version']} links CUDA {_cuda(row)} and cuDNN {row['cudnn_major']}"),),
        (wanted, *((f"onnxruntime-gpu=={other[-1]}",) if other else ())),
    )


_FINDS_SYSTEM_CUDA: Final = "<2.14"  # later releases may find NVIDIA's wheels beside themselves
_NAMED_BY_MAJOR: Final = (11, 0)
_RUNTIME_WHEELS: Final = ("nvidia-cuda-runtime-cu11", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime")


@rule(
    "SP311",
    needs=(*BUILD_NEEDS, *TENSORFLOW, "cuda", "cudnn", *CUDNN_WHEELS, *_RUNTIME_WHEELS),
    present=(TENSORFLOW, ("cuda", "cudnn")),
)
def _tensorflow_toolkit(view: View) -> Iterator[Finding]:
    """TensorFlow loads another CUDA release than the installed toolkit.

    TensorFlow before 2.14 brings no CUDA: it loads the system's libraries by name. Before CUDA 11 the name has the
    minor (`libcudart.so.10.1`), from 11 on the major (`libcudart.so.11.0` is that of every 11). Where the names differ
    the library is not found, and TensorFlow runs on the CPU. A cuDNN that was made for another CUDA major asks for
    libraries of that major.

    Mend it with the toolkit that the release was built with, or with the release that was built with the toolkit.
    """
    builds = [build for build in tensorflow_builds(view) if build.runtime is not None]
    known = next((known for name in TENSORFLOW if (known := view.one(name)) is not None), None)
    if not builds or known is None or known.holds(_FINDS_SYSTEM_CUDA) is not Holds.ALWAYS:
        return
    if view.has(*_RUNTIME_WHEELS, *CUDNN_WHEELS) or "conda" in view.whole.origins:
        return
    toolkit, cudnn = view.one("cuda"), view.one("cudnn")
    if toolkit is not None and all(toolkit.holds(f"=={_name_of(build)}.*") is Holds.NEVER for build in builds):
        yield _another_cuda(view, builds[0], "cuda", f"toolkit {toolkit}")
    made_for = read_build(cudnn.build if cudnn else None).cuda
    if made_for is not None and all(level_of(made_for)[0] != level_of(build.cuda or "0")[0] for build in builds):
        yield _another_cuda(view, builds[0], "cudnn", f"cuDNN {cudnn}, which is made for CUDA {made_for},")


def _name_of(build: Build) -> str:
    """Return the part of its CUDA that the names of the libraries carry."""
    level = level_of(build.cuda or "0")
    return str(level[0]) if level >= _NAMED_BY_MAJOR else f"{level[0]}.{level[1]}"


def _another_cuda(view: View, build: Build, component: str, found: str) -> Finding:
    return Finding(
        "SP311",
        "error",
        (build.package, component),
        f"{build.text} loads the libraries of CUDA {build.cuda}, and {found} is installed.",
        ((because(build.row, f"TensorFlow {build.release} is built with CUDA {build.cuda}"),) if build.row else ())
        + view.reasons(component),
        (f"CUDA {build.cuda}",),
    )
