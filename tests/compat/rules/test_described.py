"""Rules on the description itself."""

from __future__ import annotations

import pytest
from judging import say, stack, the, verdict

from stackproof.compat.check import check
from stackproof.compat.gather import Gathered


def contradicting(*versions: str, **components: str) -> Gathered:
    gathered = Gathered()
    for index, version in enumerate(versions):
        gathered.add_package("torch", version, f"dump {index + 1}")
    for name, text in components.items():
        gathered.add_component(name, text, "stack.json")
    return gathered


def test_contradicting_reports_are_said_with_their_places() -> None:
    answer = check(contradicting("2.3.0+cu121", "2.0.1+cu118").describe())
    (finding,) = [finding for finding in answer.findings if finding.code == "SP001"]
    assert (finding.severity, finding.components, finding.undetermined) == ("warning", ("torch",), True)
    assert [reason.source for reason in finding.because] == ["dump 1", "dump 2"]
    assert answer.verdict == "undetermined"


def test_what_holds_of_one_reading_only_leaves_the_question_open() -> None:
    answer = check(contradicting("2.1.0+cu118", "2.1.0+cu121", driver="470.182.03").describe())
    assert answer.verdict == "undetermined"
    (finding,) = [finding for finding in answer.findings if finding.code == "SP101"]
    assert (finding.severity, finding.undetermined) == ("warning", True)


def test_what_holds_of_every_reading_is_an_error() -> None:
    answer = check(contradicting("2.3.0+cu121", "2.1.0+cu121", driver="470.182.03").describe())
    assert answer.verdict == "incompatible"


def test_two_environments_are_never_merged() -> None:
    """Neither reading has both the new torch and the old companion, so nothing is said of the pair."""
    gathered = Gathered()
    for torch, vision in (("2.3.0", "0.18.0"), ("2.0.1", "0.15.2")):
        gathered.add_package("torch", torch, torch)
        gathered.add_package("torchvision", vision, torch)
    assert check(gathered.describe()).verdict == "undetermined"


def test_reports_that_agree_are_no_contradiction() -> None:
    answer = check(contradicting("2.3.0+cu121", "2.3.0", "*").describe())
    assert answer.verdict == "compatible"


def test_an_unknown_framework_version_beside_a_driver_leaves_the_question_open() -> None:
    finding = the("SP002", {"driver": "470.182.03"}, {"torch": "*"})
    assert (finding.severity, finding.components, finding.undetermined) == ("note", ("torch",), True)


@pytest.mark.parametrize("torch", ["2.1.0", "*+cu118"])
def test_a_version_or_a_build_is_enough(torch: str) -> None:
    assert not say("SP002", {"driver": "535.104.05"}, {"torch": torch})


def test_without_driver_or_gpu_the_version_does_not_matter() -> None:
    assert not say("SP002", {"python": "3.11"}, {"torch": "*"})


def test_an_unknown_gpu_is_said_with_the_nearest_name() -> None:
    finding = the("SP003", {"gpu": "GeForce RTX 4O90"})
    assert (finding.severity, finding.undetermined) == ("warning", True)
    assert "RTX 4090" in finding.message


@pytest.mark.parametrize("around", [{"gpu": "NVIDIA L4"}, {"gpu": "prototype", "compute_capability": "9.0"}])
def test_a_known_gpu_or_capability_is_enough(around: dict[str, str]) -> None:
    assert not say("SP003", around)


def test_a_release_that_never_was_is_said() -> None:
    assert the("SP004", packages={"torch": "2.1.9"}).components == ("torch",)


@pytest.mark.parametrize("torch", ["2.1.2", "2.1.2+cu118", "2.4.0a0+07cecf4168.nv24.05", "2.*", "*"])
def test_releases_and_vendor_builds_are_not_called_unknown(torch: str) -> None:
    assert not say("SP004", packages={"torch": torch})


def test_what_is_newer_than_the_facts_leaves_the_question_open() -> None:
    assert the("SP004", packages={"torch": "99.0.0"}).undetermined


@pytest.mark.parametrize("torch", ["99", "99.0", "99.*", ">=99", "2.99.*"])
def test_a_range_in_which_no_release_lies_is_open(torch: str) -> None:
    assert the("SP004", packages={"torch": torch}).undetermined


@pytest.mark.parametrize("torch", ["2", "2.1", ">=2", "*", "*+cu121", "!=2.1.0"])
def test_a_range_in_which_a_release_lies_is_known(torch: str) -> None:
    assert not say("SP004", packages={"torch": torch})
    assert verdict({}, {"torch": "99.0.0"}) == "undetermined"


@pytest.mark.parametrize("driver", ["12.4", "1"])
def test_what_is_no_driver_version_is_said(driver: str) -> None:
    assert the("SP005", {"driver": driver}).undetermined


@pytest.mark.parametrize("driver", ["550.54.15", "535", "580.65.06"])
def test_driver_versions_are_known_by_their_branch(driver: str) -> None:
    assert not say("SP005", {"driver": driver})


def test_an_empty_description_has_no_finding() -> None:
    assert check(stack()).findings == ()


def test_a_build_that_a_release_never_had_leaves_it_open() -> None:
    (finding,) = say("SP004", {}, {"torch": "2.1.0+cu999"})
    assert finding.undetermined
    assert finding.fix == ("torch==2.1.0+cu121", "torch==2.1.0+cu118")
    assert not say("SP004", {}, {"torch": "2.1.0+cu118"})
