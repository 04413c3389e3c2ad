"""Reading the `[model]` table of a model that comes from an ONNX file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .readers import Bounds, Refusal, flag, integer, show, text
from .spec import Onnx

if TYPE_CHECKING:
    from .tables import Table

LARGEST = 2**31
_SIZE = integer(Bounds(least=1, most=LARGEST))
_BOUND = integer(Bounds(least=1, most=2**62))
_MOST_SIZES = 16
_MOST_PATTERNS = 1000
_DIGEST = re.compile(r"[0-9a-f]{64}")


def read_onnx(table: Table) -> Onnx:
    """Read the table of a model from a file; whether the file is there is asked later."""
    if "onnx" not in table.content:
        table.fault("onnx", 'missing: name the file, such as onnx = "my_model.onnx"')
    return Onnx(
        onnx=table.one("onnx", Onnx.onnx, _path),
        digest=table.one("digest", Onnx.digest, _digest),
        output=table.one("output", Onnx.output, text),
        shapes=_read_shapes(table.table("shapes")),
        bounds=_read_bounds(table.table("bounds")),
        train=table.many("train", Onnx.train, text, (0, _MOST_PATTERNS)),
        freeze=table.many("freeze", Onnx.freeze, text, (0, _MOST_PATTERNS)),
        training=table.one("training", Onnx.training, flag),
    )


def _read_shapes(table: Table) -> dict[str, tuple[int, ...]]:
    return {name: table.many(name, (), _SIZE, (0, _MOST_SIZES)) for name in table.content}


def _read_bounds(table: Table) -> dict[str, int]:
    return {name: table.one(name, 0, _BOUND) for name in table.content}


def _path(value: object) -> str:
    given = text(value)
    if not given or not given.isprintable():
        raise Refusal(f"must be the path of an .onnx file, not {show(given)}")
    return given


def _digest(value: object) -> str:
    given = text(value)
    if given and not _DIGEST.fullmatch(given):
        raise Refusal(f"must be a SHA-256, 64 digits of 0 to 9 and a to f, not {show(given)}")
    return given
