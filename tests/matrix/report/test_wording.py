from __future__ import annotations

from typing import Any

import pytest

from stackproof.compat.verdict import LEVELS, VERDICTS
from stackproof.matrix.report import wording
from stackproof.matrix.report.model import as_report, finite, unsettled


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "\N{EN DASH}"),
        (0.0, "0"),
        (1.0, "1"),
        (12, "12"),
        (0.41234, "0.4123"),
        (123456.7, "123457"),
        (3.1e-15, "3.10e-15"),
        (-2.5e9, "-2.50e+09"),
        ("same\nbits", "same bits"),
    ],
)
def test_numbers_read_well(value: str | float | None, words: str) -> None:
    assert wording.number(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, "0 ms"),
        (0.34, "340 ms"),
        (0.9999, "1.0 s"),
        (12.34, "12.3 s"),
        (59.99, "1 min 00 s"),
        (201.2, "3 min 21 s"),
        (3599.9, "1 h 00 min"),
        (3725, "1 h 02 min"),
    ],
)
def test_durations_never_show_sixty_of_a_unit(value: float, words: str) -> None:
    assert wording.seconds(value) == words


@pytest.mark.parametrize(
    ("value", "words"), [(512, "512 B"), (1536, "1.5 KiB"), (16 * 2**30, "16.0 GiB"), (3 * 2**40, "3.0 TiB")]
)
def test_sizes_are_binary(value: float, words: str) -> None:
    assert wording.size(value) == words


def test_clean_keeps_text_and_drops_what_could_act() -> None:
    assert wording.clean("\x1b[31mred\x1b[0m\x00 a\tb\r\nc\rd \u202eevil \ud800\ufffe") == "red a\tb\nc\nd evil "
    assert wording.clean("\x1b]0;title\x07text \N{SNOWMAN}") == "text \N{SNOWMAN}"


def test_every_verdict_and_level_has_mark_and_meaning() -> None:
    assert set(wording.MARKS) == set(wording.VERDICT_MEANINGS) == set(VERDICTS)
    assert len(set(wording.MARKS.values())) == len(VERDICTS)
    assert tuple(wording.LEVEL_MEANINGS) == LEVELS


def test_headline_of_a_matrix_without_fault(certified: dict[str, Any]) -> None:
    assert wording.conclusion(as_report(certified)) == "12 of 12 cells certified"


def test_conclusion_names_the_one_cell_and_its_reason(certified: dict[str, Any], sample: dict[str, Any]) -> None:
    sample["mark_incorrect"](certified["cells"][2])
    said = wording.conclusion(as_report(certified))
    assert said.startswith("1 of 12 cells is incorrect: torch2.15.0-py311-gpt_tiny: left the envelope at step 3")


def test_headline_sums_up_after_two_verdicts(every_verdict: dict[str, Any]) -> None:
    said = wording.headline(as_report(every_verdict))
    assert said == "1 of 12 cells is incorrect, 2 are broken, 4 more are not certified"


def test_headline_of_no_cells(empty: dict[str, Any]) -> None:
    assert wording.headline(as_report(empty)) == "0 of 0 cells certified"


def test_unsettled_cells_come_most_urgent_first(every_verdict: dict[str, Any]) -> None:
    found = [cell["verdict"] for cell in unsettled(as_report(every_verdict))]
    assert found == ["incorrect", "broken", "broken", "regressed", "incompatible", "drifted", "untested"]


def test_finite_keeps_words_where_a_check_shows_them() -> None:
    nan, inf = float("nan"), float("inf")
    given = {"measured": inf, "allowed": 1.0, "loss": [1.0, nan], "rounds": (1.0, -inf), "why": "x"}
    assert finite(given) == {
        "measured": "inf",
        "allowed": 1.0,
        "loss": [1.0, None],
        "rounds": [1.0, None],
        "why": "x",
    }


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (None, ("skip", "not made")),
        ({"frameworks": ["jax", "torch"], "agrees": True}, ("pass", "yes")),
        ({"frameworks": ["torch"], "agrees": True}, ("skip", "one only")),
        ({"frameworks": [], "agrees": False}, ("fail", "no")),
    ],
)
def test_agreement_takes_more_than_one(reference: Any, said: tuple[str, str]) -> None:
    assert wording.agreement(reference) == said


def test_cells_that_ran_otherwise_than_asked_are_counted_by_reason(certified: dict[str, Any]) -> None:
    report = as_report(certified)
    for cell in report["cells"][:3]:
        cell["mode"], cell["mode_why"] = "eager", "no compiler\nhere"
    assert wording.mode_notes(report) == ["3 cells ran in mode eager: no compiler here"]
