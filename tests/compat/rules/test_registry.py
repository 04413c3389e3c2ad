"""What holds of all rules together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from judging import missing_fixes, stack
from known_working import WORKING
from random_stacks import STACKS

from stackproof.compat.check import Checker
from stackproof.compat.described import COMPONENTS, Description
from stackproof.compat.errors import InputError
from stackproof.compat.finding import SEVERITIES
from stackproof.compat.rules import View, all_rules, find_rule
from stackproof.compat.rules.registry import PACKAGES, SURROUNDINGS, rule

CHECKER = Checker()


def test_a_rule_sees_only_what_it_declared() -> None:
    description = stack({"driver": "535.104.05"}, {"torch": "2.1.0"})
    view = View(description, frozenset({"driver"}))
    assert str(view.one("driver")) == "535.104.05"
    for read in (
        lambda: view.one("torch"),
        lambda: view.has("gpu"),
        lambda: view.claims("cuda"),
        lambda: view.packages,
        lambda: view.whole,
        lambda: view.described,
        view.libraries,
    ):
        with pytest.raises(LookupError, match="did not declare"):
            read()


@given(STACKS)
@settings(deadline=None)
def test_no_rule_reads_what_it_did_not_declare(description: Description) -> None:
    for entry in all_rules():
        list(entry.judge(View(description, frozenset(entry.needs))))


@given(STACKS)
@settings(deadline=None)
def test_every_finding_can_be_acted_upon(description: Description) -> None:
    codes = {entry.code for entry in all_rules()}
    for finding in CHECKER.check(description).findings:
        assert finding.code in codes
        assert finding.severity in SEVERITIES
        assert finding.components
        assert all(finding.components)
        assert finding.message.rstrip().endswith((".", "?", ")", "`"))
        assert "None" not in finding.message
        assert all(finding.fix)
        assert finding.fix or finding.severity != "error"
        assert all(reason.fact and reason.source for reason in finding.because)
        assert missing_fixes(finding) == [], finding


def test_every_rule_has_a_title_and_a_page() -> None:
    for entry in all_rules():
        assert entry.title, entry.code
        assert not entry.title.endswith("."), entry.code
        assert entry.page, entry.code


def test_rules_declare_names_that_exist() -> None:
    known = {*COMPONENTS, PACKAGES, SURROUNDINGS}
    for entry in all_rules():
        for name in {*entry.needs, *(name for group in entry.present for name in group)} - known:
            assert name == name.lower().replace("_", "-"), (entry.code, name)


def test_a_code_is_found_in_whatever_case() -> None:
    assert find_rule(" sp101 ").code == "SP101"


def test_an_unknown_code_names_the_nearest() -> None:
    with pytest.raises(InputError, match="SP1"):
        find_rule("SP199")


def test_a_code_is_given_once() -> None:
    with pytest.raises(ValueError, match="SP101"):
        rule("SP101", needs=())(lambda _view: iter(()))


def test_rules_speak_of_sets_that_work_without_an_error() -> None:
    for working in WORKING:
        errors = [
            finding
            for finding in CHECKER.check(stack(working.components, working.packages)).findings
            if finding.severity == "error"
        ]
        assert not errors, working.name
