"""Settings of a matrix: how its runs are made and how speed is compared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..backends.readers import Bounds, Refusal, choice, flag, integer, number, show, text

if TYPE_CHECKING:
    from ..backends.tables import Table

_BACKEND = re.compile(r"auto|default|cpu|xpu|cu[0-9]{2,3}|rocm[0-9]{1,2}(\.[0-9]{1,2}){0,2}")


@dataclass(frozen=True)
class RunSettings:
    """How a cell's runs are made.

    Attributes:
        device: `auto` (a GPU where there is one), `cpu` or `cuda`.
        threads: CPU threads of one worker process.
        time_limit: Seconds after which a worker process is ended.
        memory_limit: MiB that a worker process may use; 0 for no limit.
        torch_backend: PyTorch build to install: `auto` (the CPU build where there is no NVIDIA driver and one is
            offered, else the index's default), `default`, or a name of uv's `--torch-backend`, such as `cpu` or
            `cu126`.
        prune: Whether stacks that the rules call incompatible are left untried.
    """

    device: str = "auto"
    threads: int = 1
    time_limit: int = 600
    memory_limit: int = 0
    torch_backend: str = "auto"
    prune: bool = True


@dataclass(frozen=True)
class ThroughputSettings:
    """How speed is compared with the baseline.

    Attributes:
        rounds: Alternating rounds of baseline and candidate; 0 where speed is not measured.
        seconds: Aimed length of one block of steps.
        minimum_ratio: Ratio below which the whole interval must lie to be `regressed`.
    """

    rounds: int = 15
    seconds: float = 0.3
    minimum_ratio: float = 0.9


def read_run(top: Table) -> RunSettings:
    """Read the table `run`."""
    table = top.table("run")
    settings = RunSettings(
        device=table.one("device", RunSettings.device, choice("auto", "cpu", "cuda")),
        threads=table.one("threads", RunSettings.threads, integer(Bounds(least=1, most=1024))),
        time_limit=table.one("time_limit", RunSettings.time_limit, integer(Bounds(least=1, most=604_800))),
        memory_limit=table.one("memory_limit", RunSettings.memory_limit, integer(Bounds(least=0, most=2**24))),
        torch_backend=table.one("torch_backend", RunSettings.torch_backend, _torch_backend),
        prune=table.one("prune", RunSettings.prune, flag),
    )
    table.finish()
    return settings


def _torch_backend(value: object) -> str:
    given = text(value)
    if not _BACKEND.fullmatch(given):
        raise Refusal(
            f"unknown build {show(given)}: write auto, default, cpu, xpu, or a build such as cu126 or rocm6.4"
        )
    return given


def read_throughput(top: Table) -> ThroughputSettings:
    """Read the table `throughput`."""
    table, defaults = top.table("throughput"), ThroughputSettings
    settings = ThroughputSettings(
        rounds=table.one("rounds", defaults.rounds, integer(Bounds(least=0, most=1000))),
        seconds=table.one("seconds", defaults.seconds, number(Bounds(above=0, most=60))),
        minimum_ratio=table.one("minimum_ratio", defaults.minimum_ratio, number(Bounds(above=0, most=1))),
    )
    table.finish()
    return settings
