"""`stackproof check`: a verdict on a described environment."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from ...compat.answer import answer_document
from ..checking import Checked, check_files
from ..report.answer import show_answer
from .output import standard_output

if TYPE_CHECKING:
    import argparse

_CODES: Final = {"compatible": 0, "incompatible": 1, "undetermined": 1}


def run(options: argparse.Namespace) -> int:
    """Judge what the inputs describe."""
    said = {"gpu": options.gpu, "driver": options.driver, "python": options.python, "os": options.os}
    return show(check_files(options.inputs, said), options)


def show(checked: Checked, options: argparse.Namespace, remark: str = "") -> int:
    """Write an answer as asked for, for people with a remark, and return its exit code."""
    with standard_output() as stream:
        if options.json:
            stream.write(json.dumps(answer_document(checked.answer, checked.description), indent=1) + "\n")
        else:
            show_answer(checked.answer, checked.description, stream, verbose=options.verbose)
            stream.write(f"\n{remark}\n" if remark else "")
    return _CODES[checked.answer.verdict]
