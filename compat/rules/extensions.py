"""Rules on compiled extensions of torch: wheel tags, and toolkits that compile extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..build_tags import read_build
from ..builds import BUILD_NEEDS, level_of, torch_builds
from ..finding import Because, Finding, Severity, because
from ..gpu_names import capability_of
from ..known import Holds
from .registry import View, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

# Packages that compile code against torch on the user's machine, when they are installed or first used.
BUILDERS: Final = (
    "deepspeed",
    "apex",
    "flash-attn",
    "transformer-engine-torch",
    "detectron2",
    "pytorch3d",
    "mmcv-full",
)
_WHEELS: Final = ("flash-attn", "mmcv-full")  # of these an installed release may be a wheel, compiled elsewhere
_EXACT_MINOR: Final = "<0.6.0"
_EXTENSIONS: Final = ("flash-attn", "torch-scatter", "torch-sparse", "torch-cluster", "mmcv-full", "xformers")
_AMPERE: Final = (8, 0)


@rule("SP504", needs=(*BUILD_NEEDS, *_EXTENSIONS), present=(("torch",), _EXTENSIONS))
def _wheel_tag(view: View) -> Iterator[Finding]:
    """An extension's wheel was built for another torch, CUDA or C++ ABI.

    Wheels of extensions such as flash-attn name what they were built for: `+cu12torch2.5cxx11abiFALSE`. torch's minor,
    the CUDA major and the C++ ABI have to be those of the installed torch, else importing fails with an undefined
    symbol. torch's own wheels have the old ABI up to 2.6 and the new one from 2.7.

    Mend it by taking the file whose tags match, or by building from source.
    """
    builds = torch_builds(view)
    torch = view.one("torch")
    for name in _EXTENSIONS:
        known = view.one(name)
        tag = read_build(known.build if known else None)
        if known is None or torch is None:
            continue
        if tag.torch is not None and torch.holds(f"=={tag.torch}.*") is Holds.NEVER:
            yield _wrong_tag(view, name, f"torch {tag.torch}", f"torch {torch}")
        abis = {build.row["cxx11_abi"] for build in builds if build.row is not None}
        if tag.cxx11_abi is not None and abis and tag.cxx11_abi not in abis:
            has = "new" if abis == {True} else "old"
            yield _wrong_tag(
                view, name, f"the {'new' if tag.cxx11_abi else 'old'} C++ ABI", f"torch {torch} with the {has} one"
            )
        majors = {build.runtime[0] for build in builds if build.runtime is not None}
        if tag.cuda is not None and majors and level_of(tag.cuda)[0] not in majors:
            yield _wrong_tag(
                view, name, f"CUDA {tag.cuda}", f"torch {torch} for CUDA {' or '.join(map(str, sorted(majors)))}"
            )


def _wrong_tag(view: View, name: str, built: str, found: str) -> Finding:
    return Finding(
        "SP504",
        "error",
        (name, "torch"),
        f"{name} {view.one(name)} is built for {built}, and {found} is there.",
        view.reasons(name),
        (f"the file of {name} whose tags match torch {view.one('torch')}", f"{name} built from source"),
    )


@rule("SP506", needs=(*BUILD_NEEDS, *BUILDERS), present=(("torch",), ("cuda",)))
def _toolkit_for_extensions(view: View) -> Iterator[Finding]:
    """The installed toolkit cannot compile extensions for the installed torch.

    torch's extension builder compares `nvcc` with the CUDA that torch was built with, and refuses another major. Within
    a major another minor is accepted with a warning; DeepSpeed before 0.6 demanded the same minor too. torch itself
    does not use the toolkit: without extensions to compile this does not matter. An installed release of flash-attn or
    mmcv-full may be a wheel, which somebody else compiled: then it is a warning.

    Mend it with a toolkit of torch's CUDA major, or a torch build for the toolkit's.
    """
    toolkit, torch = view.one("cuda"), view.one("torch")
    builders = [name for name in BUILDERS if view.has(name) and not _may_be_wheel(view, name)]
    builds = [build for build in torch_builds(view) if build.runtime is not None]
    if toolkit is None or torch is None or not builds or "conda" in view.whole.origins:
        return
    majors = {build.runtime[0] for build in builds if build.runtime is not None}
    odd = all(toolkit.holds(f"=={major}.*") is Holds.NEVER for major in majors)
    old = view.one("deepspeed")
    strict = (
        old is not None
        and old.holds(_EXACT_MINOR) is Holds.ALWAYS
        and all(toolkit.holds(f"=={build.cuda}.*") is Holds.NEVER for build in builds)
    )
    minor = all(toolkit.holds(f"=={build.cuda}.*") is Holds.NEVER for build in builds)
    if not (odd or strict or (minor and builders)):
        return
    build = builds[0]
    severity: Severity = "error" if (odd or strict) and builders else ("warning" if odd else "note")
    yield Finding(
        "SP506",
        severity,
        (*(builders or ()), "cuda", "torch"),
        f"Toolkit {toolkit} "
        + ("cannot compile" if odd or strict else "is of another minor, and compiles")
        + f" extensions for {build.text} (CUDA {build.cuda})"
        + (f", which {', '.join(builders)} do." if builders and (odd or strict) else "."),
        ((because(build.row, f"torch {build.release} has a build for CUDA {build.cuda}"),) if build.row else ())
        + view.reasons("cuda", "toolkit"),
        (f"toolkit {build.cuda}", f"a torch build for CUDA {toolkit}") if odd or strict else (),
    )


def _may_be_wheel(view: View, name: str) -> bool:
    known = view.one(name)
    return name in _WHEELS and known is not None and known.is_exact


@rule(
    "SP206", needs=("flash-attn", "gpu", "compute_capability"), present=(("flash-attn",), ("gpu", "compute_capability"))
)
def _kernel_floor(view: View) -> Iterator[Finding]:
    """An extension's kernels do not run on the GPU.

    FlashAttention 2 needs compute capability 8.0 (Ampere) or newer: on Turing and older it raises when it is called,
    although torch works.

    Mend it with attention that the GPU has, such as torch's own `scaled_dot_product_attention`.
    """
    flash = view.one("flash-attn")
    if flash is None or flash.holds(">=2") is not Holds.ALWAYS:
        return
    texts = [capability_of(known.text) for known in view.known("gpu")]
    for text in [*texts, *(known.text for known in view.known("compute_capability"))]:
        if text is not None and "." in text and level_of(text.removesuffix(".*")) < _AMPERE:
            yield Finding(
                "SP206",
                "error",
                ("flash-attn", "gpu"),
                f"flash-attn {flash} needs compute capability 8.0 or newer, and the GPU has {text}.",
                (
                    Because(
                        "FlashAttention 2 supports Ampere and newer", "Dao-AILab/flash-attention README (documented)"
                    ),
                ),
                ("torch's own scaled_dot_product_attention",),
            )
            return
