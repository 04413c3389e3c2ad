"""Tables of facts as they are shipped."""

from __future__ import annotations

import pytest

from stackproof.compat.facts import CONFIDENCES, load_table, table_names


def test_every_table_can_be_read_and_says_where_each_row_is_from() -> None:
    for name in table_names():
        table = load_table(name)
        assert table.rows, name
        assert all(row.sources and row.confidence in CONFIDENCES and row.date >= "2020" for row in table.rows), name


def test_a_table_that_does_not_exist_is_a_mistake_of_the_program() -> None:
    with pytest.raises(KeyError):
        load_table("drivers_of_tomorrow")


def test_a_row_tells_a_reader_its_source_confidence_and_date() -> None:
    row = next(row for row in load_table("cuda_majors").rows if row["major"] == 12)
    assert "minor-version-compatibility" in row.source
    assert f"({row.confidence}, {row.date})" in row.source


@pytest.mark.parametrize(
    ("major", "linux", "windows"), [(11, "450.80.02", "452.39"), (12, "525.60.13", "527.41"), (13, "580.65.06", None)]
)
def test_the_oldest_driver_of_a_cuda_major_is_that_of_the_vendor_s_table(
    major: int, linux: str, windows: str | None
) -> None:
    row = next(row for row in load_table("cuda_majors").rows if row["major"] == major)
    assert (row["driver_linux"], row.get("driver_windows")) == (linux, windows)


@pytest.mark.parametrize(
    ("branch", "cuda"),
    [(450, "11.0"), (470, "11.4"), (525, "12.0"), (535, "12.2"), (550, "12.4"), (570, "12.8"), (580, "13.0")],
)
def test_a_driver_branch_brings_the_cuda_that_nvidia_smi_prints(branch: int, cuda: str) -> None:
    row = next(row for row in load_table("drivers").rows if row["branch"] == branch)
    assert row["cuda"] == cuda


@pytest.mark.parametrize(
    ("capability", "first", "last"),
    [
        ("3.5", "5.0", "11.8"),
        ("7.0", "9.0", "12.9"),
        ("8.6", "11.1", None),
        ("8.9", "11.8", None),
        ("12.0", "12.8", None),
    ],
)
def test_an_architecture_is_known_to_the_toolkits_of_its_time(capability: str, first: str, last: str | None) -> None:
    row = next(row for row in load_table("architectures").rows if row["compute_capability"] == capability)
    assert (row["first_cuda"], row.get("last_cuda")) == (first, last)


def test_each_torch_release_has_one_default_build() -> None:
    defaults: dict[str, int] = {}
    for row in load_table("torch").rows:
        defaults[row["torch"]] = defaults.get(row["torch"], 0) + bool(row["default"])
    assert set(defaults.values()) == {1}
