"""Rules on NCCL and the CUDA libraries that packages link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..builds import BUILD_NEEDS, level_of, onnxruntime_row, torch_builds
from ..facts import Row, load_table
from ..finding import Finding, because
from ..known import Holds, Known
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
    with cuDNN 9 from 1.27. Within a major any minor serves; another major is another library name, which is not found:
    the session then runs on the CPU.

    Mend it with the CUDA and cuDNN major of the release, or the release of the installed majors.
    """
    known = view.one("onnxruntime-gpu")
    row = onnxruntime_row(known) if known is not None else None
    if known is None or row is None:
        return
    toolkit, cudnn = view.one("cuda"), view.one("cudnn")
    wheels = [name for name in CUDNN_WHEELS if view.has(name)]
    brought = view.has("nvidia-cuda-runtime-cu11", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime") or wheels
    if toolkit is not None and not brought and toolkit.holds(f"=={row['cuda_major']}.*") is Holds.NEVER:
        yield _wrong_major(known, row, "cuda", f"toolkit {toolkit}", f"CUDA {row['cuda_major']}")
    if cudnn is not None and not wheels and cudnn.holds(f"=={row['cudnn_major']}.*") is Holds.NEVER:
        yield _wrong_major(known, row, "cudnn", f"cuDNN {cudnn}", f"cuDNN {row['cudnn_major']}")


def _wrong_major(known: Known, row: Row, component: str, found: str, wanted: str) -> Finding:
    other = [
        entry["version"]
        for entry in load_table("onnxruntime_gpu").rows
        if found.rsplit(maxsplit=1)[-1].startswith(f"{entry[f'{component}_major']}.")
        or found.rsplit(maxsplit=1)[-1] == str(entry[f"{component}_major"])
    ]
    return Finding(
        "SP308",
        "error",
        ("onnxruntime-gpu", component),
        f"onnxruntime-gpu {known} links {wanted}, and {found} is installed.",
        (
            because(
                row, f"onnxruntime-gpu {row['version']} links CUDA {row['cuda_major']} and cuDNN {row['cudnn_major']}"
            ),
        ),
        (wanted, *((f"onnxruntime-gpu=={other[-1]}",) if other else ())),
    )
