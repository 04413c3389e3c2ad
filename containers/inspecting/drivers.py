"""Put the driver question to the CUDA runtime of an image, inside it, and hold the answers against the rules."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from ...compat.builds import level_of
from ...compat.doctor.elf import highest, read_elf
from ...compat.driver_levels import format_level, runtime_loads
from ...compat.driver_twin import build_twin, environment
from ...compat.driver_twin.ask import INSUFFICIENT_DRIVER, NO_DEVICE, QUESTION
from ...compat.errors import OutsideError
from ...compat.verdict import Check
from .running import run_inspector

if TYPE_CHECKING:
    import threading
    from collections.abc import Collection, Mapping, Sequence

    from ...compat.driver_levels import Level
    from ..engine.connect import Engine

SCHEMA_VERSION: Final = 1
_TWIN: Final = "/job/twin"
_PROGRAM: Final = "/job/question.py"
_LOADS: Final = {NO_DEVICE: True, INSUFFICIENT_DRIVER: False}


def ask_drivers(  # noqa: PLR0913 - an image, what is known of it, and what is asked: nothing of it is optional
    engine: Engine,
    image: str,
    python: str,
    document: Mapping[str, Any],
    levels: Sequence[tuple[str, Level]],
    cache: Path,
    *,
    cancel: threading.Event | None = None,
) -> dict[str, Any]:
    """Return what the CUDA runtimes of an image answer on drivers, asked inside it with a stand-in driver.

    Args:
        engine: The engine that has the image.
        image: Its name or id.
        python: The Python of its environment.
        document: What `inspect_image` returned: it names the runtimes.
        levels: Drivers, as they are called, with their CUDA levels.
        cache: The folder that the stand-in is compiled into.
        cancel: Stops it when set.

    Returns:
        `answers`, one for each runtime and driver: `driver`, `level`, `runtime` (its path), `version`, `code`, `name`,
        `loads`, `predicted` and `error`. Empty where the image has no runtime.

    Raises:
        OutsideError: The engine or the compiler failed, or the stand-in does not load in the image.
        StoppedError: `cancel` was set.
    """
    runtimes = {one["path"]: one["version"] for one in document["libraries"] if one["component"] == "cudart"}
    if not runtimes or not levels:
        return {"schema_version": SCHEMA_VERSION, "answers": []}
    folder, drivers = build_twin(cache), dict(levels)
    _require_loadable(folder, image, document)
    request = {
        "question": _PROGRAM,
        "twin": f"{_TWIN}/libcuda.so.1",
        "runtimes": sorted(runtimes),
        "drivers": [{"name": name, "variables": _variables(folder, level)} for name, level in drivers.items()],
    }
    files: dict[str, Path | bytes] = {f"{_TWIN}/{path.name}": path for path in folder.iterdir()}
    files[_PROGRAM] = QUESTION.encode()
    said = run_inspector(engine, image, (python, "drivers"), request, files, cancel)
    answers = _read(said, runtimes, drivers)
    if answers is None:
        raise OutsideError(
            f"asking the CUDA runtime of {image} gave no answers that can be read: build the image again."
        )
    return {"schema_version": SCHEMA_VERSION, "answers": [_note(one, runtimes, drivers) for one in answers]}


def judge_drivers(answers: Mapping[str, Any], required: Collection[str] = ()) -> Check:
    """Judge whether an image's runtimes answer as the rules predict.

    Args:
        answers: What `ask_drivers` returned.
        required: Drivers that every runtime must start on, whatever is predicted.
    """
    asked = answers["answers"]
    if not asked:
        return Check("drivers", "skip", None, None, "the image has no CUDA runtime to ask, or no driver is named")
    faults = [fault for one in asked if (fault := _fault(one, required))]
    starts = sorted({one["driver"] for one in asked if one["loads"]})
    refuses = sorted({one["driver"] for one in asked if one["loads"] is False})
    measured = f"starts on {', '.join(starts) or 'none'}; refuses {', '.join(refuses) or 'none'}"
    allowed = "every answer as the rules predict" + (f", and starts on {', '.join(required)}" if required else "")
    why = "; ".join(faults) or f"{len(asked)} answers of the real runtime are what the rules predict"
    return Check("drivers", "fail" if faults else "pass", measured, allowed, why)


def _variables(folder: Path, level: Level) -> dict[str, str]:
    """Return the stand-in's variables; where it lies, the inside knows."""
    found = environment(folder, format_level(level))
    return {name: value for name, value in found.items() if name != "LD_LIBRARY_PATH"}


def _require_loadable(folder: Path, image: str, document: Mapping[str, Any]) -> None:
    needs = highest(read_elf(folder / "libcuda.so.1").needs, "GLIBC_")
    has = (document["symbols"].get("GLIBC") or {}).get("has")
    if needs and has and level_of(needs) > level_of(has):
        raise OutsideError(
            f"the stand-in driver compiled here needs glibc {needs}, and {image} has {has}: compile it on an older"
            " system (set PATH so that its compiler is found first), or take a newer base."
        )


def _read(said: object, runtimes: Collection[str], drivers: Collection[str]) -> list[dict[str, Any]] | None:
    """Return what came out of the image, where it answers every question, and each in its form; else None."""
    if not isinstance(said, list) or not all(isinstance(one, dict) and _is_answer(one) for one in said):
        return None
    asked = sorted((runtime, driver) for runtime in runtimes for driver in drivers)
    return said if sorted((one["runtime"], one["driver"]) for one in said) == asked else None


def _is_answer(one: Mapping[str, Any]) -> bool:
    return (
        isinstance(one.get("runtime"), str)
        and isinstance(one.get("driver"), str)
        and isinstance(one.get("code"), (int, type(None)))
        and isinstance(one.get("error"), (str, type(None)))
        and (one["error"] is not None or isinstance(one.get("name"), str))
    )


def _note(one: Mapping[str, Any], runtimes: Mapping[str, str | None], levels: Mapping[str, Level]) -> dict[str, Any]:
    level, version = levels[one["driver"]], runtimes[one["runtime"]]
    return {
        **one,
        "level": format_level(level),
        "version": version,
        "loads": _LOADS.get(one["code"]),
        "predicted": runtime_loads(level_of(version), level) if version else None,
    }


def _fault(one: Mapping[str, Any], required: Collection[str]) -> str:
    name = f"{PurePosixPath(one['runtime']).name} {one['version'] or 'of unknown version'}"
    driver = f"driver {one['driver']} (CUDA {one['level']})"
    if one["error"]:
        return f"{name} could not be asked about {driver}: {one['error']}"
    if one["loads"] is None:
        return f"{name} answered {one['code']} ({one['name']}) on {driver}, which says neither"
    if one["predicted"] is not None and one["loads"] != one["predicted"]:
        does, would = ("starts on", "refuse it") if one["loads"] else ("refuses", "start on it")
        return f"{name} {does} {driver}, and the rules say that it would {would}"
    return f"{name} refuses {driver}" if one["driver"] in required and not one["loads"] else ""
