"""A trained program kept in a folder, and weights to start from."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..backends.npz import unpack
from ..backends.program import Program, dump, load
from ..compat.errors import Fault, InputError
from .exporting.weights import with_weights
from .store import outside, replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy as np

PROGRAM: Final = "program.npz"
AVERAGED: Final = "averaged.npz"
RUN: Final = "run.json"


def keep_run(
    folder: Path, program: Path, run: Mapping[str, Any], blob: Callable[[str], bytes], tables: Mapping[str, Any]
) -> None:
    """Keep a trained program in a folder, with what `train --json` says of the run.

    Where the run has moving averages, the program with these as its parameters is kept beside it.

    Args:
        folder: Where; made if it is not there.
        program: The program's file, as it was before training.
        run: The run's evidence, which names its final tensors.
        blob: Returns a stored file's content by its name.
        tables: Tables of `train --json`.

    Raises:
        OutsideError: The folder cannot be written.
    """
    untrained = load(program.read_bytes())
    trained = replace(
        untrained,
        parameters=_ordered(unpack(blob(run["parameters_blob"])), untrained.parameters),
        state=_ordered(unpack(blob(run["state_blob"])), untrained.state) if "state_blob" in run else untrained.state,
    )
    programs = {PROGRAM: trained}
    if "averages_blob" in run:
        averages = _ordered(unpack(blob(run["averages_blob"])), untrained.parameters)
        programs[AVERAGED] = replace(trained, parameters=averages)
    with outside(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, program_of in programs.items():
            replace_file(folder / name, dump(program_of))
        if AVERAGED not in programs:
            (folder / AVERAGED).unlink(missing_ok=True)
        replace_file(folder / RUN, json.dumps(tables, indent=1).encode())


def read_kept(path: Path) -> Program:
    """Read a program from the folder that `keep_run` wrote, or from a program's own file.

    Raises:
        InputError: There is none, or it cannot be read.
    """
    file = path / PROGRAM if path.is_dir() else path
    if file.exists() and not file.is_file():
        raise InputError(str(file), [Fault("", f"is no file: name the folder of train --out, or its {PROGRAM}")])
    try:
        return load(file.read_bytes())
    except FileNotFoundError:
        what = f"no such file: train --out makes a folder with {PROGRAM}, and import --out such a file"
        raise InputError(str(file), [Fault("", what)]) from None
    except OSError as error:
        raise InputError(str(file), [Fault("", f"cannot be read ({error.strerror or error})")]) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(str(file), [Fault("", f"is no program that this version wrote: {error}")]) from None


def files_of(path: Path) -> list[Path]:
    """Return the files that belong to what `read_kept` reads."""
    return [path / name for name in (PROGRAM, AVERAGED, RUN)] if path.is_dir() else [path]


def start_from(program: Program, weights: Path, names: str) -> Program:
    """Return a program that starts from the weights of a safetensors file.

    Raises:
        InputError: The file does not fit the program.
    """
    return with_weights(program, weights, names)


def _ordered(
    arrays: Mapping[str, np.ndarray[Any, Any]], order: Mapping[str, object]
) -> dict[str, np.ndarray[Any, Any]]:
    return {name: arrays[name] for name in order}
