"""What packages declare, held against a description."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import stack
from packaging.specifiers import SpecifierSet

from stackproof.compat.known import parse_known
from stackproof.compat.releases import newest_release, package_rows, releases_of, row_of, whole_releases
from stackproof.compat.requirements import (
    demands_of,
    exclude_each_other,
    find_exclusive,
    find_unmet,
    parse_requirement,
    platform_of,
    rows_meant,
)

NUMBERS = st.integers(0, 9)
RELEASES = st.builds("{}.{}".format, NUMBERS, NUMBERS)
CLAUSES = st.builds("{}{}".format, st.sampled_from(["<", "<=", ">", ">=", "=="]), RELEASES)
CONDITIONS = st.lists(CLAUSES, min_size=1, max_size=2).map(",".join)


def demanded(name: str, version: str, **components: str) -> dict[str, str]:
    """Return what a release declares, by package, on the described platform."""
    known, row = parse_known(version), row_of(name, version.partition("+")[0])
    assert known is not None
    assert row is not None
    platform = platform_of(stack(components))
    return {demand.on: demand.condition for demand in demands_of(name, row, known, frozenset(), platform)}


def unmet(packages: dict[str, str], **components: str) -> set[tuple[str, str]]:
    return {(entry.demand.package, entry.demand.on) for entry in find_unmet(stack(components, packages))}


def test_a_release_declares_what_its_metadata_says() -> None:
    assert demanded("torchvision", "0.20.1")["torch"] == "==2.5.1"
    assert demanded("tensorflow", "2.18.0")["ml-dtypes"] == "<0.5.0,>=0.4.0"


@pytest.mark.parametrize(
    ("components", "pinned"),
    [
        ({}, True),
        ({"os": "Ubuntu 22.04", "machine": "x86_64"}, True),
        ({"os": "Windows 11"}, False),
        ({"os": "macOS 15.6.1"}, False),
        ({"machine": "aarch64"}, False),
    ],
)
def test_markers_are_those_of_the_described_platform(components: dict[str, str], *, pinned: bool) -> None:
    assert ("nvidia-cudnn-cu12" in demanded("torch", "2.5.1", **components)) is pinned


def test_markers_on_python_are_those_of_the_described_python() -> None:
    assert demanded("tensorflow", "2.16.1", python="3.11")["numpy"] == "<2.0.0,>=1.23.5"
    assert demanded("tensorflow", "2.16.1", python="3.12.1")["numpy"] == "<2.0.0,>=1.26.0"


@pytest.mark.parametrize(
    ("version", "pinned"), [("2.6.0", True), ("2.6.0+cu124", True), ("2.6.0+cu126", False), ("2.6.0+cpu", False)]
)
def test_a_build_off_the_package_index_has_other_pins_on_nvidia_wheels(version: str, *, pinned: bool) -> None:
    assert ("nvidia-cudnn-cu12" in demanded("torch", version)) is pinned


def test_what_is_outside_a_range_is_not_met() -> None:
    assert unmet({"torch": "2.4.0", "torchvision": "0.20.1"}) == {("torchvision", "torch")}
    assert unmet({"torch": "2.5.1", "torchvision": "0.20.1"}) == set()


def test_of_a_range_of_releases_only_what_none_of_them_meets_counts() -> None:
    assert ("tensorflow", "numpy") in unmet({"tensorflow": "2.17.*", "numpy": "2.0.0"})
    assert ("tensorflow", "ml-dtypes") not in unmet({"tensorflow": "2.18.*", "ml-dtypes": "0.5.0"})


@pytest.mark.parametrize("protobuf", ["*", ">=3.20", "4.*"])
def test_a_package_of_which_few_releases_are_known_is_not_guessed(protobuf: str) -> None:
    assert whole_releases("protobuf") == ()
    assert unmet({"tensorflow": "2.15.0", "protobuf": protobuf}) == set()


def test_an_extra_counts_where_it_is_asked_for() -> None:
    packages = {"tensorflow": "2.15.1", "torch": "2.4.1"}
    assert not find_exclusive(stack({}, packages))
    extras = {"tensorflow": frozenset({"and-cuda"})}
    pairs = find_exclusive(stack({}, packages, extras=extras))
    assert {first.on for first, _ in pairs} >= {"nvidia-cudnn-cu12", "nvidia-nccl-cu12"}
    assert any("tensorflow[and-cuda] 2.15.1 requires" in demand.text for pair in pairs for demand in pair)


def test_an_exact_version_is_judged_by_itself_and_not_by_pairs() -> None:
    packages = {"tensorflow": "2.18.0", "onnx": "1.20.0"}
    assert [first.on for first, _ in find_exclusive(stack({}, packages))] == ["ml-dtypes"]
    assert not find_exclusive(stack({}, {**packages, "ml-dtypes": "0.4.1"}))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("<0.5.0,>=0.4.0", ">=0.5.0", True),
        ("==9.1.0.70", "==8.9.4.25", True),
        ("==9.1.0.70", "<10,>=9.1", False),
        ("<2", ">=2", True),
        ("<=2", ">=2", False),
        ("~=3.8.0", "==3.8.4", False),
        ("~=3.8.0", "==3.9.0", True),
        ("!=2.0", "==2.0", True),
        ("", ">=1", False),
    ],
)
def test_ranges_exclude_each_other_or_meet(first: str, second: str, *, expected: bool) -> None:
    assert exclude_each_other(first, second) is expected
    assert exclude_each_other(second, first) is expected


@given(CONDITIONS, CONDITIONS, RELEASES)
def test_what_both_allow_is_never_called_excluded(first: str, second: str, release: str) -> None:
    if SpecifierSet(first).contains(release) and SpecifierSet(second).contains(release):
        assert not exclude_each_other(first, second)


@pytest.mark.parametrize("line", ["torch =>= 2", "", "a b c", "torch; python_version >"])
def test_what_is_no_requirement_is_none(line: str) -> None:
    assert parse_requirement(line) is None


def test_releases_are_in_the_order_of_pep_440() -> None:
    releases = releases_of("torch")
    assert releases.index("2.9.1") < releases.index("2.10.0")
    assert newest_release("torch") == releases[-1]
    assert newest_release("no-such-package") == ""


def test_a_description_means_the_rows_of_its_releases() -> None:
    exact, prefix, present = parse_known("2.5.1"), parse_known("2.5.*"), parse_known("*")
    assert exact is not None
    assert prefix is not None
    assert present is not None
    assert [row["versions"] for row in rows_meant("torch", exact) if "2.5.1" not in row["versions"]] == []
    assert {release for row in rows_meant("torch", prefix) for release in row["versions"]} >= {"2.5.0", "2.5.1"}
    assert rows_meant("torch", present) == ()
    assert package_rows("no-such-package") == ()
