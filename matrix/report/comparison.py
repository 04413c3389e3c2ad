"""A comparison of frameworks, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Mapping


def show_comparison(found: Mapping[str, Any], stream: TextIO) -> None:
    """Write a comparison to a stream: one line per backend, then the reasons of those that do not agree.

    Args:
        found: The tables of `compare --json`.
        stream: Where to write.
    """
    stream.write(f"{found['spec']}: {found['reference']['why']}\n")
    stream.write(f"  {'backend':<24}{'version':<10}{'mode':<10}{'float64':>10}{'as asked':>12}  verdict\n")
    for name, backend in found["backends"].items():
        wide, asked = backend["float64"]["max_relative_difference"], backend["max_relative_difference"]
        figures = f"{_number(wide):>10}{_number(asked):>12}"
        stream.write(
            f"  {name:<24}{backend['version']:<10}{backend['mode'] or '-':<10}{figures}  {backend['verdict']}\n"
        )
    for name, backend in found["backends"].items():
        stream.writelines(f"  {name}: {reason}\n" for reason in backend["reasons"])
    stream.write(
        "largest relative differences to the float64 consensus: of the float64 run, over everything recorded; "
    )
    stream.write("of the run as asked, over its losses\n")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1e}"
