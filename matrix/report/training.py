"""One training run, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHOWN = 12


def show_training(made: Mapping[str, Any], stream: TextIO) -> None:
    """Write a run's trajectory and figures to a stream.

    Args:
        made: The tables of `train --json`.
        stream: Where to write.
    """
    package = made["versions"].get(made["backend"]) or made["versions"].get(f"{made['backend']}-cpu", "")
    stream.write(f"{made['spec']} on {made['backend']} {package} ({made['device']}, {_mode(made)})\n")
    steps = len(made["losses"])
    stride = max(1, -(-steps // _SHOWN))
    for step in sorted({*range(0, steps, stride), steps - 1}):
        norm = f"  gradient norm {_number(made['grad_norms'][step])}" if made["grad_norms"] else ""
        stream.write(f"  step {step + 1:>5}  loss {_number(made['losses'][step])}{norm}\n")
    stream.write("\n".join(f"  {name:<21}{value}" for name, value in _figures(made)) + "\n")


def _mode(made: Mapping[str, Any]) -> str:
    return f"{made['mode']}: {made['mode_why']}" if made["mode_why"] else str(made["mode"])


def _figures(made: Mapping[str, Any]) -> list[tuple[str, str]]:
    pace, digest = made["steps_per_second"], made["final_params_digest"]
    return [
        ("first step", f"{made['time_to_first_step_s']:.2f} s, with compilation"),
        ("steps per second", f"{pace:.1f}" if pace else "needs a second step"),
        ("peak memory", f"{made['peak_memory_bytes'] / 2**20:.0f} MiB"),
        ("final parameters", f"sha256 {digest[:16]}" if digest else "not stated"),
    ]


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:<12.8g}"
