"""What certify would do, told without doing it."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from numpy_fleet import PYTHON, SPEC, Fleet, make_source

from stackproof.compat.cell import Stack
from stackproof.compat.errors import InputError
from stackproof.matrix import planning
from stackproof.matrix.config import Matrix, RunSettings
from stackproof.matrix.expand import expand, find_baselines
from stackproof.matrix.planning import plan
from stackproof.matrix.report.plan import show_plan
from stackproof.matrix.site import Settings

if TYPE_CHECKING:
    from pathlib import Path

TAG = f"py{PYTHON.replace('.', '')}"
UNPRUNED = RunSettings(prune=False)


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch, source: Path, tmp_path: Path) -> Fleet:
    monkeypatch.setattr(planning, "Settings", partial(Settings, source=source))
    # A name that is special in addresses and patterns.
    return Fleet(monkeypatch, source, tmp_path / "out?mode=rw#1 [100%]")


def states(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(cell["lock"], cell["run"]) for cell in found["cells"]]


def test_before_anything_was_done_everything_is_to_be_made(fleet: Fleet) -> None:
    found = plan(fleet.matrix(), fleet.folder)
    assert states(found) == [("to be resolved", "to be made")] * 2
    assert found["totals"] == {"cells": 2, "pruned": 0, "runs_reused": 0, "estimated_seconds": None}
    assert [cell["baseline"] for cell in found["cells"]] == [f"torch1.0-{TAG}-tiny"] * 2
    assert found["cells"][0]["requirements"] == ["torch==1.0", "numpy"]
    assert not fleet.folder.exists()


def test_afterwards_only_what_is_new_is_to_be_made_and_has_a_price(fleet: Fleet) -> None:
    fleet.certify(fleet.matrix())
    done = plan(fleet.matrix(), fleet.folder)
    assert states(done) == [("reused", "reused")] * 2
    assert done["totals"] == {"cells": 2, "pruned": 0, "runs_reused": 2, "estimated_seconds": 0.0}
    wider = plan(fleet.matrix(torch=("1.0", "2.0", "3.0")), fleet.folder)
    assert states(wider) == [("reused", "reused")] * 2 + [("to be resolved", "to be made")]
    assert wider["cells"][2]["estimated_seconds"] > 0.1
    # Nothing is known of what another framework takes.
    other = Matrix("m", "m.toml", (SPEC,), {"jax": ("1.0",), "python": (PYTHON,)}, {"jax": "1.0"}, run=UNPRUNED)
    assert plan(other, fleet.folder)["totals"]["estimated_seconds"] is None


def test_a_python_that_is_not_there_is_said_and_stops_no_other(fleet: Fleet) -> None:
    matrix = Matrix(
        "m", "m.toml", (SPEC,), {"torch": ("1.0",), "python": (PYTHON, "3.99")}, {"torch": "1.0"}, run=UNPRUNED
    )
    found = plan(matrix, fleet.folder)
    assert states(found) == [("to be resolved", "to be made"), ("impossible", "impossible")]
    assert "3.99" in found["cells"][1]["why"]
    stream = io.StringIO()
    show_plan(found, stream)
    assert f"torch1.0-py399-tiny: {found['cells'][1]['why']}" in stream.getvalue()


def test_a_stack_that_a_rule_rules_out_is_pruned_with_code_message_and_mends(fleet: Fleet) -> None:
    """PyTorch 1.0 has wheels for Python 3.5 to 3.7; of 99.0 nothing is known."""
    found = plan(fleet.matrix(torch=("1.0", "99.0"), prune=True), fleet.folder)
    assert states(found) == [("pruned", "pruned"), ("to be resolved", "to be made")]
    ruled_out, tried = (cell["pruned"] for cell in found["cells"])
    assert tried is None
    assert set(ruled_out) == {"code", "message", "fix"}
    assert ruled_out["code"] == "SP601"
    assert "torch 1.0 has no wheel" in ruled_out["message"]
    assert ruled_out["fix"]
    assert found["cells"][0]["why"] == f"SP601: {ruled_out['message']}"
    assert found["cells"][0]["estimated_seconds"] == 0.0
    assert found["totals"]["pruned"] == 1
    stream = io.StringIO()
    show_plan(found, stream)
    text = stream.getvalue()
    assert f"torch1.0-{TAG}-tiny: SP601: {ruled_out['message']}" in text
    assert f"mend: {'; or '.join(ruled_out['fix'])}" in text
    assert "stackproof explain SP601 says more" in text
    assert text.splitlines()[-1].startswith("2 cells, 1 of them pruned, 0 run already")


def test_what_is_ruled_out_needs_no_python_and_is_looked_at_where_pruning_is_off(fleet: Fleet) -> None:
    axes = {"torch": ("1.0",), "python": ("3.99",)}
    pruned = plan(Matrix("m", "m.toml", (SPEC,), axes, {"torch": "1.0"}), fleet.folder)
    assert states(pruned) == [("pruned", "pruned")]
    tried = plan(Matrix("m", "m.toml", (SPEC,), axes, {"torch": "1.0"}, run=UNPRUNED), fleet.folder)
    assert states(tried) == [("impossible", "impossible")]
    assert tried["cells"][0]["pruned"] is None


def test_a_base_image_without_an_engine_is_refused_as_certify_would(fleet: Fleet) -> None:
    matrix = replace(fleet.matrix(), include=(Stack("jax", "1.0", "3.13", os="debian:trixie"),))
    with pytest.raises(InputError, match="--engine docker"):
        plan(matrix, fleet.folder)
    assert len(plan(matrix, fleet.folder, "torch*")["cells"]) == 2
    assert not fleet.folder.exists()


def test_cells_can_be_chosen(fleet: Fleet) -> None:
    assert [cell["id"] for cell in plan(fleet.matrix(), fleet.folder, "*2.0*")["cells"]] == [f"torch2.0-{TAG}-tiny"]
    with pytest.raises(InputError, match="matches no cell"):
        plan(fleet.matrix(), fleet.folder, "jax*")


def test_a_plan_is_shown_cell_by_cell(fleet: Fleet) -> None:
    stream = io.StringIO()
    show_plan(plan(fleet.matrix(), fleet.folder), stream)
    head, first, second, last = stream.getvalue().splitlines()
    assert head.split() == ["cell", "lock", "run", "about", "baseline"]
    assert first.split()[0] == f"torch1.0-{TAG}-tiny"
    assert first.endswith("itself")
    assert second.endswith(f"torch1.0-{TAG}-tiny")
    assert last.startswith("2 cells, 0 of them run already")


def test_baselines_of_a_large_matrix_are_found_in_time() -> None:
    axes = {
        "torch": tuple(f"2.{minor}.0" for minor in range(100)),
        "numpy": tuple(f"2.{minor}.0" for minor in range(100)),
        "python": ("3.11",),
    }
    matrix = Matrix("m", "m.toml", (SPEC,), axes, {"torch": "2.7.0"}, include=(Stack("torch", "3.0.0", "3.11"),))
    cells = expand(matrix)
    found = find_baselines(matrix, cells)
    assert len(found) == 10_001
    for cell in cells[:-1]:
        partner = found[cell]
        assert partner is not None
        assert (partner.stack.version, partner.stack.packages) == ("2.7.0", cell.stack.packages)
    # An included stack without a partner: the first with the baseline version.
    assert found[cells[-1]] == cells[700]
