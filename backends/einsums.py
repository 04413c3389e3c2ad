"""The equation of an `Einsum` node in the explicit form that every framework reads."""

from __future__ import annotations

from collections import Counter


def explicit(equation: str) -> str:
    """Return an equation without spaces and with its right-hand side.

    Where there is none, the result has the axes of the ellipsis first, then each letter that occurs once, capitals
    before small letters.
    """
    equation = "".join(equation.split())
    if "->" in equation:
        return equation
    letters = Counter(equation.replace("...", "").replace(",", ""))
    once = "".join(sorted(letter for letter, times in letters.items() if times == 1))
    return f"{equation}->{'...' if '...' in equation else ''}{once}"
