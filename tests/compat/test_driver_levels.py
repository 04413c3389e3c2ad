"""What a level is written like, and which runtimes it lets start by NVIDIA's own statements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.compat.driver_levels import format_level, least_level, level_number, parse_level, runtime_loads
from stackproof.compat.errors import InputError

LEVELS = st.tuples(st.integers(1, 99), st.integers(0, 99))


@pytest.mark.parametrize(
    ("written", "level"),
    [
        ("12.4", (12, 4)),
        (12040, (12, 4)),
        ("12040", (12, 4)),
        (" CUDA 12.4\r\n", (12, 4)),
        ("CUDA Version: 13.2", (13, 2)),
        ("cuda12.4", (12, 4)),
        (9020, (9, 2)),
        ("10.2", (10, 2)),
        (12100, (12, 10)),
    ],
)
def test_a_level_is_read_as_people_and_programs_write_it(written: str | int, level: tuple[int, int]) -> None:
    assert parse_level(written) == level


@given(LEVELS)
def test_what_is_written_is_read_back(level: tuple[int, int]) -> None:
    assert parse_level(format_level(level)) == level
    assert parse_level(level_number(level)) == level


@pytest.mark.parametrize(
    "written", ["", 12, "12.4.1", 12045, "0.4", "12,4", -12040, 120400, "latest", "12.4 13.0", "12.\u0664", "9" * 5000]
)
def test_what_is_no_level_is_refused(written: str | int) -> None:
    with pytest.raises(InputError, match=r"^driver: '.*' is not a CUDA level such as 12\.4 or 12040$"):
        parse_level(written, "driver")


@pytest.mark.parametrize("written", ["550.54.14", "550", 535, "580.65"])
def test_a_drivers_own_version_is_refused_by_that_name(written: str | int) -> None:
    with pytest.raises(InputError, match=r"is a driver's own version; give the CUDA level"):
        parse_level(written)


@pytest.mark.parametrize(
    ("runtime", "level", "loads"),
    [
        ((13, 2), (13, 0), True),
        ((13, 0), (12, 9), False),
        ((12, 8), (12, 0), True),
        ((12, 0), (11, 8), False),
        ((11, 8), (11, 0), True),
        ((11, 7), (10, 2), False),
        ((10, 2), (10, 1), False),
        ((10, 1), (10, 1), True),
        ((9, 0), (13, 0), True),
    ],
)
def test_minor_version_compatibility_holds_since_11(
    runtime: tuple[int, int], level: tuple[int, int], *, loads: bool
) -> None:
    assert runtime_loads(runtime, level) is loads


@given(LEVELS, LEVELS)
def test_the_least_level_is_the_border(runtime: tuple[int, int], level: tuple[int, int]) -> None:
    assert runtime_loads(runtime, least_level(runtime))
    assert runtime_loads(runtime, level) is (level >= least_level(runtime))
    assert runtime_loads(runtime, runtime)
