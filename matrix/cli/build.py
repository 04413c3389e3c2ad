"""`stackproof build`: images only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

from ..building import Order, build_images
from ..config import load_matrix
from ..progress import choose_reporter
from ..report.wording import clean, size
from ..report.write import render_json
from ..site import Settings
from .certify import output_folder
from .output import standard_output

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


def run(options: argparse.Namespace) -> int:
    """Build the images of a matrix, or write their build folders."""
    matrix = load_matrix(options.matrix)
    reporter = choose_reporter(quiet=options.quiet, verbose=options.verbose)
    settings = Settings(reporter=reporter, engine=options.engine)
    folder = output_folder(options, matrix)
    made = build_images(Order(matrix, folder, options.cell, options.write, settings, reproduce=options.reproduce))
    with standard_output() as stream:
        if options.json:
            stream.write(render_json(made))
        else:
            _show(made, stream)
    return _exit_code(made)


def _show(made: Mapping[str, Any], stream: TextIO) -> None:
    for image in made["images"]:
        stream.write(f"{image['stack']}\n")
        stream.writelines(f"  {clean(line)}\n" for line in _lines(image))


def _lines(image: Mapping[str, Any]) -> list[str]:
    if image["built"]:
        how = "nothing changed, reused" if image["reused"] else f"built in {image['seconds']:.1f} s"
        shared = [f"  {size(count):>9}  {what}" for what, count in image["layers"]]
        return [
            f"{image['reference']}  {size(image['size'])}, {how}",
            f"content sha256:{image['content_digest']}",
            *shared,
            *_again(image),
        ]
    return [f"written to {image['folder']}"] if "folder" in image else _why(image, "not built")


def _again(image: Mapping[str, Any]) -> list[str]:
    """Return what building it once more showed, where that was asked for."""
    if "why" in image:
        return _why(image, "not built again")
    if "differences" not in image:
        return []
    return [f"built again: {line}" for line in image["differences"]] or ["built again, and the same"]


def _why(image: Mapping[str, Any], what: str) -> list[str]:
    return [f"{what}: {image['why']}", *(f"  {line}" for line in image["log"])]


def _exit_code(made: Mapping[str, Any]) -> int:
    failed = [image for image in made["images"] if "why" in image]
    if any(image.get("differences") for image in made["images"]):
        return 1
    if not failed:
        return 0
    return 3 if all(image["outside"] for image in failed) else 1
