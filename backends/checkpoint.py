"""A run on its way, kept in a file: what a session needs to go on, and what was recorded so far.

A file is an `.npz` of the tensors that `Session.saved` gives, of the losses and norms of the steps so far, and of a
header in JSON that says what run it belongs to and states a SHA-256 for each tensor. It is written beside its name and
put in place at once, so that a run that is ended while writing leaves the last one whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import Fault, InputError, StackproofError
from .npz import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCHEMA_VERSION = 1
# How many are kept: the last one, and the one before it should the last be damaged.
KEPT = 2
_FILE = re.compile(r"step-(\d{10})\.npz")
_HEADER, _LOSSES, _NORMS = "header", "record/losses", "record/grad_norms"


class DamagedError(InputError):
    """A checkpoint that cannot be read, or does not hold what its header says."""


@dataclass(frozen=True)
class Belonging:
    """What a checkpoint is a part of; one of another run is not gone on from.

    Attributes:
        spec: Digest of the spec.
        program: Digest of the program.
        run: Which of the spec's runs: its precision and its noise, in words.
    """

    spec: str
    program: str
    run: str


@dataclass(frozen=True)
class Checkpoint:
    """A run after some of its steps.

    Attributes:
        belonging: The run.
        step: Steps made.
        target: On which target.
        execution: How they were executed there, in the words of `session.Options`.
        tensors: What `Session.saved` gave.
        losses: float64 of shape (step,), as they were read.
        grad_norms: As the losses.
    """

    belonging: Belonging
    step: int
    target: str
    execution: str
    tensors: Mapping[str, np.ndarray]
    losses: np.ndarray
    grad_norms: np.ndarray


def dump(checkpoint: Checkpoint) -> bytes:
    """Return a checkpoint as the bytes of its file."""
    held = {**checkpoint.tensors, _LOSSES: checkpoint.losses, _NORMS: checkpoint.grad_norms}
    header = {
        "schema_version": SCHEMA_VERSION,
        **checkpoint.belonging.__dict__,
        "step": checkpoint.step,
        "target": checkpoint.target,
        "execution": checkpoint.execution,
        "tensors": {name: _described(value) for name, value in held.items()},
    }
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    return pack({_HEADER: text, **held})


def load(content: bytes, source: str) -> Checkpoint:
    """Read back what `dump` wrote.

    Args:
        content: A file's bytes.
        source: Its name, for messages.

    Raises:
        DamagedError: The bytes are no whole checkpoint, or a tensor is not what was written.
        InputError: It is one of another schema version.
    """
    try:
        held = unpack(content)
        header = json.loads(held.pop(_HEADER).tobytes())
    except (ValueError, KeyError) as error:
        raise _damaged(source, "is no whole checkpoint") from error
    if not isinstance(header, dict) or "schema_version" not in header:
        raise _damaged(source, "has no header")
    if header["schema_version"] != SCHEMA_VERSION:
        what = f"is of schema {header['schema_version']}, this version reads {SCHEMA_VERSION}"
        raise InputError(source, [Fault("", f"{what}: go on with the stackproof that wrote it, or begin anew")])
    return _checked(header, held, source)


def _checked(header: Mapping[str, Any], held: dict[str, np.ndarray], source: str) -> Checkpoint:
    try:
        stated = header["tensors"]
        belonging = Belonging(header["spec"], header["program"], header["run"])
        step, target, execution = int(header["step"]), str(header["target"]), str(header["execution"])
        wrong = [name for name in stated if name not in held or _described(held[name]) != stated[name]]
        losses, norms = held.pop(_LOSSES), held.pop(_NORMS)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(source, "has a header that is not whole") from error
    if wrong or held.keys() - stated.keys():
        raise _damaged(source, f"holds another {(wrong or sorted(held.keys() - stated.keys()))[0]} than was written")
    if losses.shape != (step,) or norms.shape != (step,):
        raise _damaged(source, f"does not hold the losses of its {step} steps")
    return Checkpoint(belonging, step, target, execution, held, losses, norms)


def _described(value: np.ndarray) -> list[Any]:
    little = np.asarray(value, order="C").astype(value.dtype.newbyteorder("<"), copy=False)
    return [list(value.shape), value.dtype.name, hashlib.sha256(little.tobytes()).hexdigest()]


def _damaged(source: str, what: str) -> DamagedError:
    mend = "remove it, to go on from the one before it or to begin anew"
    return DamagedError(source, [Fault("", f"{what}, so it was cut short or changed: {mend}")])


@dataclass(frozen=True)
class Folder:
    """The checkpoints of one run.

    Attributes:
        path: The folder; it need not be there.
        every: Steps from one checkpoint to the next.
        belonging: The run.
        target: What it runs on.
    """

    path: Path
    every: int
    belonging: Belonging
    target: str

    def found(self, *, resume: bool) -> Checkpoint | None:
        """Return what a run begins with.

        Args:
            resume: Whether it goes on from the newest checkpoint; otherwise there must be none yet.

        Raises:
            InputError: There are some already; or as for `newest`.
        """
        if resume:
            return self.newest()
        if self._files():
            what = "has checkpoints already: resume from them, remove them, or give another folder"
            raise InputError(str(self.path), [Fault("", what)])
        return None

    def newest(self) -> Checkpoint | None:
        """Return the newest sound checkpoint, or None where there is none at all.

        Raises:
            DamagedError: There are some, and none is sound.
            InputError: One is of another run, or of another version.
        """
        damage: DamagedError | None = None
        for file in self._files()[::-1]:
            try:
                found = load(file.read_bytes(), str(file))
            except DamagedError as error:
                damage = damage or error
                continue
            self._refuse_foreign(found, file)
            return found
        if damage is not None:
            raise damage
        return None

    def keep(self, checkpoint: Checkpoint) -> Path:
        """Write a checkpoint, and remove all before it but the last ones.

        Raises:
            StackproofError: The disk refuses; those that were there still are.
        """
        path = self.path / f"step-{checkpoint.step:010d}.npz"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            write_whole(path, dump(checkpoint))
        except OSError as error:
            raise StackproofError(
                f"the checkpoint {path} cannot be written ({error.strerror or error}): make room or choose another "
                "folder, then go on from the last one, which is whole"
            ) from error
        for file in [file for file in self._files() if file.name <= path.name][:-KEPT]:
            file.unlink(missing_ok=True)
        return path

    def _files(self) -> list[Path]:
        if not self.path.is_dir():
            return []
        return sorted(file for file in self.path.iterdir() if _FILE.fullmatch(file.name))

    def _refuse_foreign(self, found: Checkpoint, file: Path) -> None:
        for part, whole in (("spec", "another spec"), ("program", "another program"), ("run", "another run")):
            if getattr(found.belonging, part) != getattr(self.belonging, part):
                what = f"is a checkpoint of {whole}: go on with what it was made with, or give another folder"
                raise InputError(str(file), [Fault("", what)])


def write_whole(path: Path, content: bytes) -> None:
    """Put a file in place at once, when the disk has all of it.

    Raises:
        OSError: The disk refuses; what was there before still is.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise
    with contextlib.suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
