"""The words of the command line."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ... import __version__
from .image_words import add_images
from .model_words import add_checkpoints, add_export, add_import, add_weights
from .words import CODES, Parser, add_command


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = Parser(
        prog="stackproof",
        description="Know that a training stack works before it costs a cluster-week.",
        epilog=CODES,
    )
    parser.add_argument("--version", action="version", version=f"stackproof {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (
        _add_certify,
        _add_plan,
        _add_build,
        _add_check,
        _add_doctor,
        _add_explain,
        _add_facts,
        add_images,
        _add_train,
        _add_compare,
        add_import,
        add_export,
        _add_report,
    ):
        add(commands)
    return parser


def _add_certify(commands: Any) -> None:
    parser = add_command(
        commands,
        "certify",
        "take every cell of a matrix all the way to its verdict",
        "Expands, locks, builds, runs and judges; writes reports and certificates. "
        "What did not change is not done again.",
    )
    parser.add_argument("matrix", metavar="MATRIX.toml", type=Path)
    _add_out(parser)
    parser.add_argument(
        "--cell", metavar="GLOB", default="", help="only cells whose id matches, such as 'torch*-gpt_tiny'"
    )
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--resume", action="store_true", help="go on with the interrupted run of the output folder")
    either.add_argument("--fresh", action="store_true", help="do everything again, whatever the store has")
    _add_engine(parser)
    parser.add_argument("--jobs", metavar="N", type=_positive, help="workers at once (default: cores / run.threads)")


def _add_plan(commands: Any) -> None:
    parser = add_command(
        commands, "plan", "show what certify would do: cells, baselines, what is reused, what it may cost"
    )
    parser.add_argument("matrix", metavar="MATRIX.toml", type=Path)
    _add_out(parser)
    parser.add_argument("--cell", metavar="GLOB", default="", help="only cells whose id matches")
    _add_engine(parser)


def _add_build(commands: Any) -> None:
    parser = add_command(
        commands,
        "build",
        "build the images of a matrix, without running anything in them",
        "Layers that were built before are shared. What is built is printed with its digest.",
    )
    parser.add_argument("matrix", metavar="MATRIX.toml", type=Path)
    _add_out(parser)
    parser.add_argument("--cell", metavar="GLOB", default="", help="only stacks of cells whose id matches")
    parser.add_argument(
        "--engine", choices=("docker", "podman"), default="docker", help="what builds them (default: %(default)s)"
    )
    either = parser.add_mutually_exclusive_group()
    either.add_argument(
        "--write",
        metavar="DIR",
        type=Path,
        help="write a folder with Dockerfile and wheels for each, in place of building",
    )
    either.add_argument(
        "--reproduce", action="store_true", help="build each once more from nothing, and name what differs"
    )


def _add_check(commands: Any) -> None:
    parser = add_command(
        commands,
        "check",
        "give a verdict on a described environment, without running anything",
        "Kinds of input are recognised by their content: pip freeze, requirements.txt, lock files, conda list, "
        "environment.yml, torch's collect_env, nvidia-smi, a Dockerfile, stack.toml, stack.json and what people paste. "
        "Several inputs describe one environment.",
    )
    parser.add_argument("inputs", metavar="INPUT", nargs="*", help="a file, or - for standard input")
    for name, value, text in (
        ("gpu", "NAME", "the GPU, such as A100, in place of what the inputs say; may be given again"),
        ("driver", "V", "the driver's version, such as 550.54.15, in place of what the inputs say"),
        ("python", "V", "the Python, such as 3.11, in place of what the inputs say"),
        ("os", "NAME", "the system, such as 'Ubuntu 22.04', in place of what the inputs say"),
    ):
        parser.add_argument(f"--{name}", metavar=value, action="append", default=[], help=text)


def _add_doctor(commands: Any) -> None:
    parser = add_command(
        commands,
        "doctor",
        "give a verdict on the live environment, with a GPU or without",
        "Reads packages, driver and libraries without importing a framework, and compares what packages claim with "
        "what the loader would map.",
    )
    parser.add_argument("--env", metavar="PATH", type=Path, help="another venv, or its Python, instead of this one")


def _add_explain(commands: Any) -> None:
    parser = add_command(commands, "explain", "say what a rule finds, why, and how to mend it")
    parser.add_argument("code", metavar="CODE", nargs="?", default="", help="such as SP101; all rules where left out")
    parser.add_argument("--write", metavar="DIR", type=Path, help="write the pages of all rules into a folder")


def _add_facts(commands: Any) -> None:
    parser = add_command(commands, "facts", "show what is known, with sources and dates, or check it for faults")
    parser.add_argument("action", choices=("show", "check"))
    parser.add_argument("subject", metavar="SUBJECT", nargs="?", default="", help="such as torch, drivers, flax, A100")
    parser.add_argument("version", metavar="VERSION", nargs="?", default="", help="such as 2.15")


def _add_train(commands: Any) -> None:
    parser = add_command(commands, "train", "run one spec on one framework")
    parser.add_argument("spec", metavar="SPEC.toml", type=Path)
    parser.add_argument(
        "--backend", required=True, metavar="NAME", help="torch, tensorflow or jax; or with a version: torch==2.13.0"
    )
    _add_set(parser)
    parser.add_argument(
        "--env", metavar="VENV|IMAGE", help="a venv of your own instead of one made for the backend, or an image"
    )
    parser.add_argument(
        "--engine",
        choices=("venv", "docker", "podman"),
        default="venv",
        help="the engine that has the image of --env (default: %(default)s)",
    )
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--threads", metavar="N", type=_positive, default=1, help="CPU threads (default: 1)")
    add_weights(parser)
    add_checkpoints(parser)


def _add_compare(commands: Any) -> None:
    parser = add_command(
        commands, "compare", "run the same spec on several frameworks and hold them against each other"
    )
    parser.add_argument("spec", metavar="SPEC.toml", type=Path)
    parser.add_argument(
        "--backends", metavar="NAMES", default="torch,tensorflow,jax", help="comma-separated (default: %(default)s)"
    )
    _add_set(parser)
    parser.add_argument("--fresh", action="store_true", help="run again, whatever was run before")


def _add_report(commands: Any) -> None:
    parser = add_command(commands, "report", "show a certified matrix, and write its reports again")
    parser.add_argument("folder", metavar="DIR", type=Path, help="the output folder of certify")


def _add_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="output folder and store (default: stackproof-out/<matrix name>)"
    )


def _add_engine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--engine",
        choices=("venv", "docker", "podman"),
        default="venv",
        help="what cells run in: a venv, or an image that this engine builds and runs (default: %(default)s)",
    )


def _add_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        dest="settings",
        action="append",
        default=[],
        help="change a key of the spec, such as train.compile=false; may be given again",
    )


def _positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return value
