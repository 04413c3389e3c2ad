from __future__ import annotations

from operator_table import listed, registered


def test_the_table_of_operators_has_what_is_registered() -> None:
    # Where it has not: python tests/support/operator_table.py torch
    assert listed("torch") == registered("torch")
