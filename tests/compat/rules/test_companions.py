"""Rules on companions of torch."""

from __future__ import annotations

import pytest
from judging import missing_fixes, say, the, verdict


@pytest.mark.parametrize(
    ("companion", "version", "torch"),
    [
        ("torchvision", "0.20.1", "2.4.0"),
        ("torchvision", "0.11.1+cu111", "1.11.0"),
        ("torchaudio", "2.5.1", "2.6.0"),
        ("xformers", "0.0.23.post1", "2.2.0"),
        ("torchtext", "0.16.0", "2.2.0"),
    ],
)
def test_a_companion_built_for_another_torch_is_an_error(companion: str, version: str, torch: str) -> None:
    finding = the("SP502", {}, {companion: version, "torch": torch})
    assert (finding.severity, finding.components) == ("error", (companion, "torch"))
    assert missing_fixes(finding) == []


@pytest.mark.parametrize(
    ("companion", "version", "torch"),
    [
        ("torchvision", "0.19.0+cu121", "2.4.0+cu121"),
        ("torchaudio", "2.6.0", "2.6.0+cu124"),
        ("xformers", "0.0.23.post1", "2.1.2"),
        ("torchvision", "0.19.0a0", "2.4.0a0+07cecf4168.nv24.05"),
        ("torchvision", "0.20.1", "*"),
    ],
)
def test_the_companion_of_the_set_is_fine(companion: str, version: str, torch: str) -> None:
    assert verdict({}, {companion: version, "torch": torch}) == "compatible"


@pytest.mark.parametrize(
    ("companion", "version", "torch"),
    [
        ("torchvision", "0.19.0", "2.4.1"),
        ("torchvision", "0.15.2+cu118", "2.0.0+cu118"),
        ("torchaudio", "2.0.2+cu118", "2.0.0+cu118"),
        ("torchaudio", "2.5.1", "2.5.0"),
    ],
)
def test_another_patch_of_the_torch_minor_is_a_warning(companion: str, version: str, torch: str) -> None:
    finding = the("SP502", {}, {companion: version, "torch": torch})
    assert (finding.severity, finding.components) == ("warning", (companion, "torch"))
    assert verdict({}, {companion: version, "torch": torch}) == "compatible"


def test_xformers_is_of_one_torch_exactly() -> None:
    assert the("SP502", {}, {"xformers": "0.0.23.post1", "torch": "2.1.0"}).severity == "error"


def test_what_a_binary_says_it_was_built_against_counts() -> None:
    built = (("xformers", "torch", "2.2.0+cu121"),)
    finding = the("SP502", {}, {"torch": "2.3.0+cu121", "xformers": "*"}, built_against=built)
    assert (finding.severity, finding.components) == ("error", ("xformers", "torch"))
    assert not say("SP502", {}, {"torch": "2.2.0+cu121", "xformers": "*"}, built_against=built)


@pytest.mark.parametrize(
    ("torch", "companion", "version"),
    [
        ("2.5.1+cu118", "torchvision", "0.20.1+cu124"),
        ("2.0.1+cu117", "torchvision", "0.15.2+cu118"),
        ("2.4.0+cu121", "torchaudio", "2.4.0+cu124"),
    ],
)
def test_a_companion_for_another_cuda_is_refused_at_import(torch: str, companion: str, version: str) -> None:
    finding = the("SP503", {}, {"torch": torch, companion: version})
    assert (finding.severity, finding.components) == ("error", (companion, "torch"))


def test_torchvision_takes_another_minor_of_the_major_since_0_16() -> None:
    finding = the("SP503", {}, {"torch": "2.4.0+cu121", "torchvision": "0.19.0+cu124"})
    assert finding.severity == "warning"


@pytest.mark.parametrize("version", ["0.19.0+cu121", "0.19.0", "0.19.0+cpu"])
def test_the_same_tag_or_none_is_fine(version: str) -> None:
    assert not say("SP503", {}, {"torch": "2.4.0+cu121", "torchvision": version})


def test_a_companion_without_a_version_is_chosen_by_the_installer() -> None:
    floating = frozenset({"torchaudio"})
    packages = {"torch": "2.6.0+cu124", "torchaudio": "*"}
    found = say("SP505", {}, packages, floating=floating)
    assert all(finding.severity == "error" and finding.components[0] == "torchaudio" for finding in found)
    assert all("torchaudio==2.6.0" in finding.fix for finding in found)


def test_a_pinned_companion_does_not_float() -> None:
    assert not say("SP505", {}, {"torch": "2.6.0+cu124", "torchaudio": "2.6.0"}, floating=frozenset({"torchaudio"}))


def test_an_installed_companion_of_an_unknown_version_leaves_it_open() -> None:
    (finding,) = say("SP505", {}, {"torch": "2.6.0+cu124", "torchaudio": "*"})
    assert finding.undetermined
    assert (finding.severity, finding.components) == ("note", ("torchaudio", "torch"))
    assert not say("SP505", {}, {"torch": "*", "torchaudio": "*"})
