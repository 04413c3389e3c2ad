"""The command line. Importing it loads nothing heavy: each command brings what it needs when it is called."""

from __future__ import annotations

import contextlib
import importlib
import signal
import sys
import traceback
from typing import TYPE_CHECKING

from ...compat.errors import StackproofError, StoppedError
from .output import escape_what_has_no_character, finish_standard_error, open_missing_streams
from .parser import make_parser

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_INTERRUPTED = StoppedError.exit_code
_OUTSIDE = StackproofError.exit_code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: Words of the command line; those of the process if not given.

    Returns:
        The exit code: 0 holds, 1 the answer is no, 2 the input or usage is wrong, 3 something outside failed,
        4 interrupted.
    """
    open_missing_streams()
    escape_what_has_no_character()
    options = make_parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _call(options)
    except KeyboardInterrupt:
        if arguments is None:
            _heed_no_more()
        kept = "; what was finished is kept, and certify --resume goes on from there"
        _say(options, "interrupted" + (kept if options.command == "certify" else ""))
        return _INTERRUPTED
    except StackproofError as error:
        _say(options, str(error))
        return error.exit_code
    except OSError as error:
        _say(options, f"the system refused something: {error}; --debug shows where")
        return _OUTSIDE
    except Exception as error:  # noqa: BLE001 - no traceback reaches a user
        _say(options, f"this is a fault of stackproof itself: {type(error).__name__}: {error}\n--debug shows where")
        return _OUTSIDE
    finally:
        finish_standard_error()


def _call(options: argparse.Namespace) -> int:
    # A command whose name is a word of Python has a module of another name.
    module = importlib.import_module(f".{getattr(options, 'module', options.command)}", __package__)
    code: int = module.run(options)
    return code


def _say(options: argparse.Namespace, text: str) -> None:
    from ..report.wording import clean  # noqa: PLC0415 - only errors need it

    first, *rest = clean(text).splitlines() or [""]
    with contextlib.suppress(OSError):  # standard error, too, may be a pipe without reader or a full disk
        if options.debug:
            traceback.print_exc()
        sys.stderr.write("\n".join([f"stackproof: {first}", *(f"  {line}" for line in rest), ""]))


def _heed_no_more() -> None:
    """Let a process that is ending as it was told to come to its end, with its exit code, however often it is told."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt
