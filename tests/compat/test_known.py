"""What is known of a version, compared as PEP 440 does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from stackproof.compat.known import Holds, parse_known

NUMBERS = st.integers(0, 12)
RELEASES = st.builds("{}.{}.{}".format, NUMBERS, NUMBERS, NUMBERS)
CLAUSES = st.builds("{}{}".format, st.sampled_from(["<", "<=", ">", ">=", "==", "!=", "~="]), RELEASES)
PREFIXES = st.builds("{}{}.{}.*".format, st.sampled_from(["==", "!="]), NUMBERS, NUMBERS)
CONDITIONS = st.lists(CLAUSES | PREFIXES, min_size=1, max_size=3).map(",".join)


@pytest.mark.parametrize(
    ("text", "release", "build"),
    [
        ("2.1.0+cu121", "2.1.0", "cu121"),
        ("2.1.0", "2.1.0", None),
        ("0.4.13+cuda11.cudnn86", "0.4.13", "cuda11.cudnn86"),
        ("2.5.5+cu118torch2.2cxx11abiTRUE", "2.5.5", "cu118torch2.2cxx11abitrue"),
        ("v2.1.0", "2.1.0", None),
        ("0.0.26.post1", "0.0.26.post1", None),
        ("2.15.0rc1", "2.15.0rc1", None),
    ],
)
def test_an_exact_version_is_its_release_and_its_build(text: str, release: str, build: str | None) -> None:
    known = parse_known(text)
    assert known is not None
    assert known.is_exact
    assert (str(known.version), known.build, known.vendor) == (release, build, False)


@pytest.mark.parametrize(
    ("text", "release"),
    [("2.4.0a0+07cecf4168.nv24.05", "2.4.0"), ("2.6.0.dev20241112+cu124", "2.6.0"), ("2.8.0a0+5228986c39", "2.8.0")],
)
def test_a_vendor_build_counts_as_the_release_it_is_on_the_way_to(text: str, release: str) -> None:
    known = parse_known(text)
    assert known is not None
    assert known.vendor
    assert str(known.version) == release
    assert known.holds(f"<{release}") is Holds.NEVER


@pytest.mark.parametrize("text", ["*", "", "*+cu128"])
def test_presence_alone_decides_no_condition(text: str) -> None:
    known = parse_known(text)
    assert known is not None
    assert known.is_open
    assert known.build == ("cu128" if "cu128" in text else None)
    assert known.holds("<2") is Holds.SOMETIMES
    assert known.holds("") is Holds.ALWAYS


@pytest.mark.parametrize(
    ("text", "condition", "expected"),
    [
        ("2.*", "<2", Holds.NEVER),
        ("2.*", ">=2", Holds.ALWAYS),
        ("2.2", "==2.2.*", Holds.ALWAYS),
        ("2.2", "==2.2.2", Holds.SOMETIMES),
        ("2.18", "<2.18", Holds.NEVER),
        (">=2.1,<3", ">=2", Holds.ALWAYS),
        (">=2.1,<3", "<2.1", Holds.NEVER),
        (">=2.1,<3", ">=2.5", Holds.SOMETIMES),
        ("2.1.0+cu121", "==2.1.0", Holds.ALWAYS),
        ("2.1.0.post1", "<=2.1.0", Holds.NEVER),
        ("2.10.0", ">2.9", Holds.ALWAYS),
    ],
)
def test_ranges_are_compared_as_a_whole(text: str, condition: str, expected: Holds) -> None:
    known = parse_known(text)
    assert known is not None
    assert known.holds(condition) is expected


def test_releases_that_exist_decide_what_a_range_leaves_open() -> None:
    known = parse_known(">=2.1.1,<2.2")
    assert known is not None
    assert known.holds("<=2.1.2") is Holds.SOMETIMES
    assert known.holds("<=2.1.2", ("2.0.1", "2.1.1", "2.1.2", "2.2.0")) is Holds.ALWAYS


def test_a_range_without_any_existing_release_decides_nothing() -> None:
    known = parse_known(">=9")
    assert known is not None
    assert known.holds("<2", ("1.0", "2.0")) is Holds.SOMETIMES


@pytest.mark.parametrize("text", ["latest", "unknown", "2..1", "=<2", ">=", "2.1 or so", "1" * 201, "9" * 199, "\x00"])
def test_what_is_no_version_is_none(text: str) -> None:
    known = parse_known(text)
    assert known is None or not known.is_exact


def test_one_text_is_one_object() -> None:
    assert parse_known("2.1.0+cu121") is parse_known("2.1.0+cu121")


@given(CONDITIONS, CONDITIONS, RELEASES)
def test_no_version_of_a_range_contradicts_the_answer(allowed: str, condition: str, release: str) -> None:
    known = parse_known(allowed)
    assert known is not None
    if not SpecifierSet(allowed).contains(release):
        return
    holds = known.holds(condition)
    assert holds is Holds.SOMETIMES or SpecifierSet(condition).contains(release) == (holds is Holds.ALWAYS)


@given(RELEASES, CONDITIONS)
def test_an_exact_version_is_never_in_doubt(release: str, condition: str) -> None:
    known = parse_known(release)
    assert known is not None
    assert known.version == Version(release)
    assert (known.holds(condition) is Holds.ALWAYS) == SpecifierSet(condition).contains(release)


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    known = parse_known(text)
    assert known is None or known.holds(">=1,<2") in set(Holds)
