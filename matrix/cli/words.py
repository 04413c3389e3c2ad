"""What every command of the command line has."""

from __future__ import annotations

import argparse
from typing import Any, Final, NoReturn

CODES: Final = (
    "exit codes: 0 holds; 1 the answer is no (incompatible, regressed, incorrect, broken); 2 the input or usage is "
    "wrong; 3 something outside failed (package index, disk, engine, network); 4 interrupted, --resume goes on"
)


class Parser(argparse.ArgumentParser):
    """A parser without abbreviations, so that new options never change what old scripts mean."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **settings})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse words; those that follow an option belong to a list of names that stands last, too."""
        found, rest = super().parse_known_args(args, namespace)
        names = [action.dest for action in self._actions if action.nargs == argparse.ZERO_OR_MORE][-1:]
        for name in names:
            words = [word for word in rest if word == "-" or not word.startswith("-")]
            setattr(found, name, [*getattr(found, name), *words])
            rest = [word for word in rest if word not in words]
        return found, rest

    def error(self, message: str) -> NoReturn:
        """End with a usage error, without what words of the command line would do to a terminal."""
        super().error("".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in message))


def add_command(commands: Any, name: str, text: str, detail: str = "") -> argparse.ArgumentParser:
    """Add a command with the options of every command.

    Args:
        commands: What `add_subparsers` returned.
        name: The command's name.
        text: What it does, in a line.
        detail: What else there is to say.
    """
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=f"{text[0].upper()}{text[1:]}. {detail}".strip(), epilog=CODES
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document on standard output")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--verbose", action="store_true", help="show every stage as a line")
    parser.add_argument("--debug", action="store_true", help="show the trace of an error")
    return parser
