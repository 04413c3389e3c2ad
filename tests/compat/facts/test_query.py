"""Asking for facts by subject and version."""

from __future__ import annotations

import pytest

from stackproof.compat.errors import InputError
from stackproof.compat.facts.query import as_document, find_facts, subjects


def test_a_table_is_a_subject() -> None:
    assert {row["torch"] for row in find_facts("torch", "2.10.0") if row.table == "torch"} == {"2.10.0"}


def test_the_beginning_of_a_version_asks_for_all_below_it() -> None:
    found = {row["torch"] for row in find_facts("torch", "2.1") if row.table == "torch"}
    assert found == {"2.1.0", "2.1.1", "2.1.2"}


def test_a_package_is_a_subject_with_what_it_declares() -> None:
    rows = find_facts("torchvision", "0.20.1")
    assert any("torch==2.5.1" in row["requires"] for row in rows if row.table == "packages")


def test_names_of_packages_are_normalised() -> None:
    assert find_facts("ML_Dtypes", "0.4.1") == find_facts("ml-dtypes", "0.4.1")


def test_a_gpu_is_a_subject() -> None:
    assert {row["compute_capability"] for row in find_facts("RTX 4090")} == {"8.9"}


def test_known_conflicts_of_a_package_are_among_its_facts() -> None:
    assert any(row.table == "conflicts" for row in find_facts("flax"))


def test_an_unknown_subject_names_the_nearest_one() -> None:
    with pytest.raises(InputError, match="torchvision"):
        find_facts("torchvison")


def test_an_unknown_version_says_how_to_see_all() -> None:
    with pytest.raises(InputError, match="leave the version out"):
        find_facts("torch", "99.0")


def test_hostile_questions_are_refused_in_short() -> None:
    with pytest.raises(InputError) as caught:
        find_facts("x" * 100_000, "1")
    assert len(str(caught.value)) < 20_000


def test_a_fact_for_programs_carries_source_date_and_confidence() -> None:
    document = as_document(find_facts("drivers", "535")[0])
    assert document["table"] == "drivers"
    assert document["cuda"] == "12.2"
    assert document["source"]
    assert {"date", "confidence"} <= set(document)


def test_every_subject_has_facts() -> None:
    for subject in subjects():
        assert find_facts(subject), subject
