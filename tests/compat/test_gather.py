"""What several places say of one component."""

from __future__ import annotations

import time

import pytest

from stackproof.compat.gather import Gathered


def versions(gathered: Gathered, name: str) -> list[str]:
    return [str(known) for known in gathered.describe().known[name]]


def test_the_more_exact_of_two_that_agree_is_kept() -> None:
    gathered = Gathered()
    for version in ("*", "2.1", "2.1.0", "2.1.0+cu121"):
        gathered.add_package("torch", version, "freeze.txt")
    assert versions(gathered, "torch") == ["2.1.0+cu121"]
    assert not gathered.describe().contradictions()


def test_two_spellings_of_one_range_are_one() -> None:
    gathered = Gathered()
    gathered.add_package("torch", "2.2", "a")
    gathered.add_package("torch", "2.2.*", "b")
    assert len(versions(gathered, "torch")) == 1


def test_reports_that_contradict_each_other_are_both_kept() -> None:
    gathered = Gathered()
    gathered.add_package("torch", "2.3.0+cu121", "pip list")
    gathered.add_package("torch", "2.0.1+cu118", "message")
    assert versions(gathered, "torch") == ["2.3.0+cu121", "2.0.1+cu118"]
    assert set(gathered.describe().contradictions()) == {"torch"}
    assert [claim.where for claim in gathered.describe().claims["torch"]] == ["pip list", "message"]


def test_two_builds_of_one_release_contradict_each_other() -> None:
    gathered = Gathered()
    gathered.add_package("torch", "2.1.0+cu118", "a")
    gathered.add_package("torch", "2.1.0+cu121", "b")
    assert set(gathered.describe().contradictions()) == {"torch"}


def test_several_gpus_of_one_host_are_no_contradiction() -> None:
    gathered = Gathered()
    gathered.add_component("gpu", "Tesla K40c", "a")
    gathered.add_component("gpu", "Tesla K80", "a")
    assert len(versions(gathered, "gpu")) == 2
    assert not gathered.describe().contradictions()


def test_a_system_named_twice_keeps_its_longer_name() -> None:
    gathered = Gathered()
    gathered.add_component("os", "Ubuntu 20.04", "a")
    gathered.add_component("os", "Ubuntu 20.04.6 LTS", "b")
    assert versions(gathered, "os") == ["Ubuntu 20.04.6 LTS"]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("cuda", "12.1 (container)", ["12.1"]),
        ("cudnn", "8.5.0 (loaded)", ["8.5.0"]),
        ("cuda", "12.4 (12.4.131, conda)", ["12.4"]),
        ("driver", "550.163.01 / 570.158.01", ["550.163.01", "570.158.01"]),
        ("glibc", "glibc-2.35", ["2.35"]),
        ("driver_cuda", "12080", ["12080"]),
    ],
)
def test_words_around_a_version_are_left_out(name: str, text: str, expected: list[str]) -> None:
    gathered = Gathered()
    gathered.add_component(name, text, "stack.json")
    assert versions(gathered, name) == expected


def test_what_is_no_version_is_listed_and_not_dropped() -> None:
    gathered = Gathered()
    gathered.add_package("torch", "latest", "a")
    gathered.add_component("driver", "none", "a")
    gathered.skip("  ")
    described = gathered.describe()
    assert described.is_empty
    assert described.not_understood == ("torch latest", "driver: none")


def test_a_long_line_that_was_not_understood_is_cut() -> None:
    gathered = Gathered()
    gathered.skip("x" * 10_000)
    assert len(gathered.describe().not_understood[0]) < 400


def test_names_are_compared_as_package_indexes_do() -> None:
    gathered = Gathered()
    gathered.add_package("Flash_Attn", "2.5.8", "a", extras=["Some_Extra"])
    assert gathered.describe().packages == {"flash-attn"}
    assert gathered.describe().extras["flash-attn"] == {"some-extra"}


def test_a_component_that_is_none_is_a_mistake_of_the_reader() -> None:
    with pytest.raises(KeyError):
        Gathered().add_component("gpus", "A100", "a")


def test_thousands_of_reports_of_one_package_are_settled_in_time() -> None:
    gathered = Gathered()
    for number in range(20_000):
        gathered.add_package("torch", f"2.{number}.0", "paste.txt")
    started = time.process_time()
    assert len(gathered.describe().known["torch"]) == 20_000
    assert time.process_time() - started < 2
