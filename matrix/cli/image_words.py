"""The words of `stackproof images`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .words import add_command


def add_images(commands: Any) -> None:
    """Add the command `images`."""
    parser = add_command(
        commands,
        "images",
        "make and pull bases, keep their pins, and move images to and from registries",
        "base NAME... provides bases; list shows their pins; update [NAME...] renews pins; "
        "push IMAGE REPOSITORY[:TAG] and pull REPOSITORY@DIGEST go through the engine.",
    )
    parser.add_argument("action", choices=("base", "list", "update", "push", "pull"))
    parser.add_argument("names", metavar="NAME", nargs="*", help="bases, or an image and where it goes")
    parser.add_argument(
        "--engine", choices=("docker", "podman"), default="docker", help="the engine (default: %(default)s)"
    )
    parser.add_argument("--pins", metavar="FILE", type=Path, help="file of pins (default: bases.toml, if there is one)")
    parser.add_argument(
        "--include",
        metavar="PACKAGE",
        action="append",
        default=[],
        help="a system package that the bases get, too; may be given again",
    )
    parser.add_argument("--check", action="store_true", help="with update: write nothing, exit 1 where a pin has moved")
