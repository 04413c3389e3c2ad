"""The words of the commands that take models in and give them out."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any, Final

from .words import add_command

# What `exporting.names.CONVENTIONS` and `importing.loss.LOSSES` are, without loading them.
NAMES: Final = ("plain", "torch", "tensorflow", "jax")
LOSSES: Final = ("cross-entropy", "mean-squared-error", "huber", "binary-cross-entropy", "kl-divergence", "own")


def add_import(commands: Any) -> None:
    """Add the command `import`."""
    parser = add_command(
        commands,
        "import",
        "read an ONNX model and say what was understood of it",
        "Nothing is trained: name the model in a spec, onnx = 'model.onnx' under [model], to train it.",
    )
    parser.set_defaults(module="importing")
    parser.add_argument("model", metavar="MODEL.onnx", type=Path)
    for name, value, kind, text in (
        ("shape", "NAME=SIZES", _shape, "sizes of an input that are open in the file, such as x=8,3,32,32"),
        ("bound", "NAME=N", _bound, "what integers of an input stay below, where the graph does not say"),
        ("train", "GLOB", str, "names of initial tensors that are trained in any case, such as 'head.*'"),
        ("freeze", "GLOB", str, "names of initial tensors that are not trained in any case"),
    ):
        words = f"{text}; may be given again"
        parser.add_argument(f"--{name}", metavar=value, type=kind, action="append", default=[], help=words)
    parser.add_argument("--batch", metavar="N", type=_size, default=0, help="what an open first size of an input is")
    parser.add_argument("--loss", choices=LOSSES, default="", help="what is minimised; nothing if not given")
    parser.add_argument("--output", metavar="NAME", default="", help="the output that the loss is of")
    parser.add_argument(
        "--training", action="store_true", help="batch norms and dropout work as in training, whatever the file says"
    )
    parser.add_argument(
        "--allow-not-finite", action="store_true", help="let weights with NaN or infinity pass; they are refused else"
    )
    parser.add_argument("--out", metavar="PROGRAM.npz", type=Path, help="write the program into a file")


def add_export(commands: Any) -> None:
    """Add the command `export`."""
    parser = add_command(
        commands,
        "export",
        "write a trained model as ONNX, and its weights as safetensors",
        "The model is one that infers: no loss, running statistics in their place, nothing dropped.",
    )
    parser.set_defaults(module="exporting")
    parser.add_argument("run_folder", metavar="RUN", type=Path, help="the folder of train --out, or a program.npz")
    parser.add_argument("--onnx", metavar="FILE", type=Path, help="the ONNX file to write")
    parser.add_argument("--output", metavar="NAME", action="append", default=[], help="an output in place of the usual")
    parser.add_argument("--safetensors", metavar="FILE", type=Path, help="the file of weights to write")
    parser.add_argument(
        "--names", choices=NAMES, default="plain", help="whose names and layout weights have (default: %(default)s)"
    )


def add_weights(parser: argparse.ArgumentParser) -> None:
    """Add what `train` takes and keeps of weights."""
    parser.add_argument("--out", metavar="DIR", type=Path, help="keep the trained model in a folder, for export")
    parser.add_argument("--weights", metavar="FILE", type=Path, help="a safetensors file to start from")
    parser.add_argument(
        "--names", choices=NAMES, default="", help="whose names the weights have; found out if not given"
    )


def add_checkpoints(parser: argparse.ArgumentParser) -> None:
    """Add what `train` keeps on its way, and goes on from."""
    parser.add_argument("--checkpoint", metavar="DIR", type=Path, help="keep checkpoints in a folder")
    parser.add_argument("--every", metavar="N", type=_size, help="steps from one checkpoint to the next (default: 100)")
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint that is sound")


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, sizes = _halves(text)
    if not re.fullmatch(r"\d+(,\d+)*|", sizes):
        raise argparse.ArgumentTypeError(f"{text!r} has no sizes: write NAME=8,3,32,32")
    return name, tuple(_size(size) for size in sizes.split(",") if size)


def _bound(text: str) -> tuple[str, int]:
    name, bound = _halves(text)
    return name, _size(bound)


def _halves(text: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME=VALUE")
    return name, value


def _size(text: str) -> int:
    if not re.fullmatch(r"\d{1,18}", text) or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)
