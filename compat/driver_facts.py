"""What a driver can do: its CUDA level, by what it reports or by its branch."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from .builds import level_of
from .facts import Row, load_table

if TYPE_CHECKING:
    from .driver_levels import Level
    from .known import Known
    from .rules.registry import View

DRIVER_NEEDS: Final = ("driver", "driver_cuda")


def driver_branch(known: Known) -> int | None:
    """Return a driver's branch: 550 for 550.54.15."""
    if known.version is not None:
        return known.version.release[0]
    digits = known.text.split(".")[0].strip("=~ ")  # a bound, such as >=535, is no branch
    return int(digits) if digits.isdigit() else None


@lru_cache(maxsize=1024)
def branch_row(branch: int) -> Row | None:
    """Return the facts of a branch; of the next older known one for a branch between."""
    rows = [row for row in load_table("drivers").rows if row["branch"] <= branch]
    return max(rows, key=lambda row: int(row["branch"])) if rows else None


def driver_level(view: View) -> Level | None:
    """Return the CUDA level of the described driver: what it reports, else what its branch brings."""
    if (reported := view.one("driver_cuda")) is not None and (level := read_level(reported)) is not None:
        return level
    driver = view.one("driver")
    branch = driver_branch(driver) if driver is not None else None
    row = branch_row(branch) if branch is not None else None
    return level_of(row["cuda"]) if row is not None else None


@lru_cache(maxsize=1024)
def read_level(known: Known) -> Level | None:
    """Return a reported level: `12.4`, or the driver API's integer 12040."""
    text = known.text.strip().removesuffix(".*")
    if text.isdigit() and len(text) >= len("9000"):
        number = int(text)
        return (number // 1000, number % 1000 // 10) if len(text) < len("1000000") else None
    parts = text.split(".")
    return (int(parts[0]), int(parts[1])) if len(parts) > 1 and parts[0].isdigit() and parts[1].isdigit() else None


@lru_cache(maxsize=64)
def major_row(major: int) -> Row | None:
    """Return the oldest driver of a CUDA major."""
    return next((row for row in load_table("cuda_majors").rows if row["major"] == major), None)


@lru_cache(maxsize=256)
def oldest_driver(runtime: Level, *, windows: bool = False) -> str | None:
    """Return the oldest driver version that a CUDA runtime starts on; None where it is not known."""
    key = "driver_windows" if windows else "driver_linux"
    row = major_row(runtime[0])
    if row is not None and row.get(key):
        return str(row[key])
    rows = [row for row in load_table("cuda").rows if level_of(row["cuda"]) == runtime and row.get(key)]
    return str(rows[0][key]) if rows else None


def describe_driver(view: View) -> str:
    """Return the driver in words, for a message."""
    driver, level = view.one("driver"), driver_level(view)
    shown = f"CUDA {level[0]}.{level[1]}" if level else "a CUDA level that is not known"
    return f"driver {driver} ({shown})" if driver is not None else f"the driver, which reports {shown}"
