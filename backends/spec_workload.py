"""A training command of the user's own, in place of a model: what a spec says of it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Workload:
    """A command that trains, and reports its steps; see `docs/workload.md`.

    Attributes:
        command: The program and its arguments; `python` stands for the interpreter of the environment.
        files: Files and folders beside the spec that the command needs, each relative to the spec file. Where none
            are given, those arguments of the command that are files there: filled in when the spec file is read.
        digest: SHA-256 over those files. Filled in when the spec file is read; where it is given, it must be theirs.
        seconds: Seconds after which the command is ended.
        silence: Seconds without a new step after which the command is ended.
        tolerance: Largest relative difference of losses that counts as none.
        reference: A JSON file with the losses that are expected, relative to the spec file; empty for none.
        losses: Those losses, one for each step; empty where there is no reference.
    """

    command: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    digest: str = ""
    seconds: float = 600.0
    silence: float = 300.0
    tolerance: float = 1e-3
    reference: str = ""
    losses: tuple[float, ...] = ()


# What is filled in from a file, and is no key.
FILLED_IN = ("losses",)


def workload_tables(workload: Workload, steps: int, seed: int) -> dict[str, Any]:
    """Return the tables of a spec that has a command, as JSON-ready content of its TOML file."""
    keys = [field.name for field in fields(Workload) if field.name not in FILLED_IN]
    table = {key: getattr(workload, key) for key in keys}
    loaded: dict[str, Any] = json.loads(json.dumps({"workload": table, "train": {"steps": steps, "seed": seed}}))
    return loaded


def workload_digest(workload: Workload, steps: int, seed: int) -> str:
    """Return the SHA-256 of a spec that has a command, in hexadecimal; of the reference, what it holds counts."""
    tables = workload_tables(workload, steps, seed)
    tables["workload"]["reference"] = list(workload.losses)
    return hashlib.sha256(json.dumps(tables, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
