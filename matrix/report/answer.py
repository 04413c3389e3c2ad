"""Show on a terminal what rules say of a stack."""

from __future__ import annotations

import os
import shutil
import textwrap
from typing import TYPE_CHECKING, Final, TextIO

from .wording import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...compat.check import Answer
    from ...compat.described import Description
    from ...compat.finding import Finding

_COLOURS: Final = {
    "error": "31",
    "incompatible": "31",
    "warning": "33",
    "undetermined": "33",
    "note": "36",
    "compatible": "32",
}
_LEAST: Final = 60
_MOST: Final = 120
_SHOWN: Final = (
    "python",
    "os",
    "machine",
    "glibc",
    "driver",
    "driver_cuda",
    "gpu",
    "compute_capability",
    "cuda",
    "cudnn",
    "nccl",
)
_FEW: Final = 5


def show_answer(answer: Answer, description: Description, stream: TextIO, *, verbose: bool = False) -> None:
    """Write the verdict, each finding with its reasons and mends, and what was not understood."""
    colour = stream.isatty() and not os.environ.get("NO_COLOR")
    width = max(_LEAST, min(_MOST, shutil.get_terminal_size((100, 24)).columns))
    counts = [
        f"{number} {word}{'s' if number > 1 else ''}"
        for word in ("error", "warning", "note")
        if (number := sum(finding.severity == word for finding in answer.findings))
    ]
    head = _paint(answer.verdict, answer.verdict, colour=colour)
    stream.write(f"{head}{': ' + ', '.join(counts) if counts else ''}\n")
    judged = textwrap.wrap(clean(f"judged: {_summary(description)}"), width, subsequent_indent="  ")
    stream.writelines(f"{line}\n" for line in judged)
    for finding in answer.findings:
        lines = _lines(finding, width, colour=colour, verbose=verbose)
        stream.writelines(["\n", *(f"{line}\n" for line in lines)])
    _show_rest(description, stream, width, verbose=verbose)
    if answer.findings:
        stream.write(f"\nstackproof explain {answer.findings[0].code} says more.\n")


def _paint(text: str, kind: str, *, colour: bool) -> str:
    return f"\x1b[1;{_COLOURS[kind]}m{text}\x1b[0m" if colour else text


def _summary(description: Description) -> str:
    """Return what was judged: the components, and the packages that most decide."""
    texts = {name: ", ".join(str(entry) for entry in known) for name, known in description.known.items()}
    parts = [f"{name.replace('_', ' ')} {texts[name]}" for name in _SHOWN if name in texts]
    packages = sorted(description.packages)
    leading = [name for name in packages if name in {"torch", "tensorflow", "jax", "jaxlib"}] or packages[:_FEW]
    parts = [*(f"{name} {texts[name]}" for name in leading), *parts]
    others = len(packages) - len(leading)
    more = [f"{others} other package{'s' if others > 1 else ''}"] if others > 0 else []
    return "; ".join([*parts, *more]) or "nothing"


def _lines(finding: Finding, width: int, *, colour: bool, verbose: bool) -> Iterator[str]:
    kind = "undetermined" if finding.undetermined else finding.severity
    label = f"{finding.severity}, leaves it open" if finding.undetermined else finding.severity
    yield f"{_paint(label, kind, colour=colour)} {finding.code}  {', '.join(finding.components)}"
    yield from _wrapped(finding.message, "  ", "  ", width)
    reasons = finding.because if verbose else finding.because[:_FEW]
    for reason in reasons:
        yield from _wrapped(
            f"{reason.fact} [{reason.source if verbose else _short(reason.source)}]", "  because  ", " " * 11, width
        )
    for number, fix in enumerate(finding.fix):
        yield from _wrapped(fix, "  mend     " if number == 0 else "     or    ", " " * 11, width)


def _short(source: str) -> str:
    """Return the first of several sources, with what is said of all of them."""
    first, more, rest = source.partition("; ")
    return f"{first} and more{rest[rest.rindex(' (') :]}" if more and " (" in rest else source


def _wrapped(text: str, first: str, rest: str, width: int) -> list[str]:
    return textwrap.wrap(clean(text), width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def _show_rest(description: Description, stream: TextIO, width: int, *, verbose: bool) -> None:
    lines = description.not_understood
    if not lines:
        return
    hint = "" if verbose or len(lines) <= _FEW else " (--verbose shows all)"
    stream.write(f"\nnot understood, and not used: {len(lines)} {'line' if len(lines) == 1 else 'lines'}{hint}\n")
    shown = lines if verbose else lines[:_FEW]
    stream.writelines(f"  {clean(line)[: width - 2]}\n" for line in shown)
