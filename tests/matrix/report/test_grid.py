from __future__ import annotations

from typing import Any

from stackproof.matrix.report.grid import describe, lay_out
from stackproof.matrix.report.model import as_report


def test_rows_are_stacks_grouped_by_package_in_the_matrix_order(certified: dict[str, Any]) -> None:
    grid = lay_out(as_report(certified))
    assert grid.specs == ("gpt_tiny", "mlp_tiny")
    assert [group.package for group in grid.groups] == ["torch", "tensorflow-cpu", "jax"]
    assert [row.id for row in grid.groups[2].rows] == ["jax0.9.2-py311", "jax0.10.2-py311"]
    assert [cell["id"] for row in grid.rows for cell in row.cells if cell] == [c["id"] for c in certified["cells"]]


def test_cell_that_the_matrix_leaves_out_is_a_gap(every_verdict: dict[str, Any]) -> None:
    row = next(row for row in lay_out(as_report(every_verdict)).rows if row.id == "jax0.10.2-py311")
    assert [cell["verdict"] if cell else None for cell in row.cells] == ["certified", None, None]


def test_further_pins_tell_stacks_apart(large: dict[str, Any]) -> None:
    rows = lay_out(as_report(large)).groups[0].rows
    assert [row.rest for row in rows[:3]] == [
        "Python 3.11, numpy 2.1.3",
        "Python 3.11, numpy 2.2.6",
        "Python 3.11, numpy 2.4.6",
    ]


def test_extras_and_base_image_tell_stacks_apart() -> None:
    plain: Any = {"package": "jax", "version": "0.10.2", "python": "3.11", "packages": {}, "framework": "jax"}
    assert describe(plain) == "Python 3.11"
    full: Any = {**plain, "packages": {"numpy": "2.4.6"}, "extras": ["cuda12", "k8s"], "os": "debian:bookworm"}
    assert describe(full) == "extra cuda12, extra k8s, Python 3.11, numpy 2.4.6, debian:bookworm"
