"""Rules over the table of known conflicts: limits that no metadata declares, bad releases and bad pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .conflict_table import CONFLICT_NEEDS, narrow_to_conflicts, say_conflicts
from .registry import View, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..finding import Finding


@rule("SP302", needs=CONFLICT_NEEDS, narrow=narrow_to_conflicts("SP302"))
def _cudnn_major(view: View) -> Iterator[Finding]:
    """A package links another cuDNN major than there is.

    cuDNN 8 and 9 have different library names and do not stand in for each other. A package that links cuDNN 8 looks
    for `libcudnn_ops_infer.so.8`, which no cuDNN 9 brings.

    Mend it with a release of the package that links the major that is there.
    """
    yield from say_conflicts(view, "SP302")


@rule("SP509", needs=CONFLICT_NEEDS, narrow=narrow_to_conflicts("SP509"))
def _onnx_formats(view: View) -> Iterator[Finding]:
    """The installed onnxruntime does not read the models that onnx writes.

    Each onnx release writes a newest IR and operator set version; each onnxruntime reads up to one. A model saved with
    newer ones is refused when it is loaded.

    Mend it by saving with an older `ir_version` and opset, or with a newer onnxruntime.
    """
    yield from say_conflicts(view, "SP509")


@rule("SP510", needs=CONFLICT_NEEDS, narrow=narrow_to_conflicts("SP510"))
def _missing(view: View) -> Iterator[Finding]:
    """A package that is needed is missing.

    What is installed uses a package that its metadata does not ask for, and the description does not have it.

    Mend it by installing the package, or by taking a release that does not need it.
    """
    yield from say_conflicts(view, "SP510")


@rule("SP604", needs=CONFLICT_NEEDS, narrow=narrow_to_conflicts("SP604"))
def _libstdcxx(view: View) -> Iterator[Finding]:
    """The C++ standard library that is loaded is older than a binary needs.

    Binaries name the newest `GLIBCXX` symbols that they use; a libstdc++ from before these are defined is refused.
    Which one is loaded depends on the order of the search path: conda brings its own, the system has another.

    Mend it by putting the newer libstdc++ first, or by taking all packages from one channel.
    """
    yield from say_conflicts(view, "SP604")


@rule("SP701", needs=CONFLICT_NEEDS, narrow=narrow_to_conflicts("SP701"))
def _bad_release(view: View) -> Iterator[Finding]:
    """A release is known to be bad.

    It was withdrawn, or its published binary is defective. No range of versions shows it.

    Mend it by taking the release before or after.
    """
    yield from say_conflicts(view, "SP701")


@rule("SP702", needs=CONFLICT_NEEDS, narrow=narrow_to_conflicts("SP702"))
def _bad_pair(view: View) -> Iterator[Finding]:
    """Two releases are known to fail together.

    Each works on its own; together they crash or give wrong results, and no metadata says so.

    Mend it by changing one of the two, as the finding says.
    """
    yield from say_conflicts(view, "SP702")


@rule("SP703", needs=CONFLICT_NEEDS, narrow=narrow_to_conflicts("SP703"))
def _removed_name(view: View) -> Iterator[Finding]:
    """A package uses names that another one no longer has, or not yet.

    One project removed, renamed or added something that another uses, and the metadata of the older release could not
    know. Importing fails with `ImportError` or `AttributeError`.

    Mend it with a release from after the change, or with the other package from before it.
    """
    yield from say_conflicts(view, "SP703")


@rule("SP704", needs=CONFLICT_NEEDS, narrow=narrow_to_conflicts("SP704"))
def _degraded(view: View) -> Iterator[Finding]:
    """It works, but a part of it is slow, limited or wrong in some use.

    The finding says which part. Nothing has to be done where that part is not used.
    """
    yield from say_conflicts(view, "SP704")
