"""Rules over the table of known conflicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from judging import say, the, verdict
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from stackproof.compat.described import COMPONENTS
from stackproof.compat.facts import load_table
from stackproof.compat.known import points
from stackproof.compat.releases import releases_of
from stackproof.compat.rules import all_rules
from stackproof.compat.rules.registry import PACKAGES

if TYPE_CHECKING:
    from stackproof.compat.facts import Row


def test_every_code_of_the_table_has_a_rule_that_may_read_what_its_rows_name() -> None:
    rules = {rule.code: rule for rule in all_rules()}
    components = set(COMPONENTS)
    for row in load_table("conflicts").rows:
        needs = rules[row["code"]].needs
        named = {*row["when"], *(row.get("needs") or {})}
        assert PACKAGES in needs, row["id"]
        assert named & components <= set(needs), row["id"]


@pytest.mark.parametrize(
    ("code", "around", "speaks", "silent"),
    [
        ("SP302", {}, {"ctranslate2": "4.4.0", "torch": "2.5.1"}, {"ctranslate2": "4.5.0", "torch": "2.5.1"}),
        ("SP509", {}, {"onnx": "1.14.0", "onnxruntime": "1.14.1"}, {"onnx": "1.13.1", "onnxruntime": "1.14.1"}),
        ("SP701", {}, {"tensorflow-text": "2.21.0"}, {"tensorflow-text": "2.20.1"}),
        ("SP702", {}, {"torch": "2.2.0", "flash-attn": "2.5.8"}, {"torch": "2.2.2", "flash-attn": "2.5.8"}),
        ("SP703", {}, {"flax": "0.6.11", "jax": "0.4.25"}, {"flax": "0.8.0", "jax": "0.4.25"}),
        ("SP703", {}, {"deepspeed": "0.14.0", "torch": "2.4.0"}, {"deepspeed": "0.14.1", "torch": "2.4.0"}),
        ("SP703", {}, {"jax": "0.4.23", "scipy": "1.13.0"}, {"jax": "0.4.23", "scipy": "1.12.0"}),
    ],
)
def test_a_known_conflict_is_an_error_and_its_neighbour_is_fine(
    code: str, around: dict[str, str], speaks: dict[str, str], silent: dict[str, str]
) -> None:
    found = [finding for finding in say(code, around, speaks) if finding.severity == "error"]
    assert found
    assert all(finding.fix and finding.because for finding in found)
    assert not [finding for finding in say(code, around, silent) if finding.severity == "error"]


def test_a_vendor_build_counts_as_the_release_it_is_on_the_way_to() -> None:
    packages = {"torch": "2.4.0a0+07cecf4168.nv24.05", "deepspeed": "0.14.0"}
    assert "error" in {finding.severity for finding in say("SP703", {}, packages)}


def test_a_package_that_is_needed_and_missing_is_said() -> None:
    packages = {"transformers": "4.49.0", "tensorflow": "2.18.0", "torch": "2.6.0"}
    finding = the("SP510", {"python": "3.12"}, packages)
    assert "tf-keras" in finding.components
    assert not say("SP510", {"python": "3.12"}, {**packages, "tf-keras": "2.18.0"})


def test_a_degraded_release_still_works() -> None:
    assert the("SP704", {}, {"torch": "2.9.0"}).severity == "note"
    assert verdict({}, {"torch": "2.9.0"}) == "compatible"
    assert not say("SP704", {}, {"torch": "2.9.1"})


def test_a_row_for_one_system_is_silent_on_others() -> None:
    packages = {"torch": "2.6.0", "triton-windows": "3.3.0"}
    assert say("SP703", {"os": "Windows 11"}, packages)
    assert not say("SP703", {"os": "Ubuntu 22.04"}, packages)


def test_nothing_is_said_of_a_release_that_is_not_known() -> None:
    assert not say("SP703", {}, {"flax": "*", "jax": "0.4.25"})
    assert not say("SP703", {}, {"flax": "0.6.11", "jax": "*"})


def test_what_follows_from_another_component_counts() -> None:
    """torch 2.5 brings cuDNN 9, which ctranslate2 4.4 does not load."""
    assert say("SP302", {}, {"ctranslate2": "4.4.0", "nvidia-cudnn-cu12": "9.1.0.70"})
    assert not say("SP302", {}, {"ctranslate2": "4.4.0", "nvidia-cudnn-cu12": "8.9.7.29"})


def test_a_libstdcxx_older_than_a_binary_needs() -> None:
    rows = [row for row in load_table("conflicts").rows if row["code"] == "SP604"]
    for row in rows:
        assert "libstdcxx" in {*row["when"], *(row.get("needs") or {})}, row["id"]
    assert not say("SP604", {"libstdcxx": "3.4.30"}, {"scipy": "1.10.0"})


# Two copies of cuDNN: `cudnn` is what the wheel brings wherever there is one.
UNHEARD = {"cudnn-cu13-9_20-system-mix"}


def _version(name: str, condition: str, *, inside: bool) -> str | None:
    """Return a version that a condition allows, or one that it does not."""
    if name == "gpu":
        return "Tesla T4"
    candidates = [*map(Version, releases_of(name)), *points(condition)]
    allowed = SpecifierSet(condition)
    return next((_full(found) for found in candidates if allowed.contains(found, prereleases=True) is inside), None)


def _full(version: Version) -> str:
    """Return a version with three numbers at least: with fewer it would mean a range."""
    return str(version) + ".0" * (3 - len(version.release)) if not version.is_prerelease else str(version)


def _stack_of(row: Row) -> tuple[dict[str, str], dict[str, str]] | None:
    """Return a stack that a row speaks of: the first of its needs is not met."""
    chosen = {name: _version(name, condition, inside=True) for name, condition in row["when"].items()}
    for name, condition in list((row.get("needs") or {}).items())[:1]:
        outside = [*map(Version, releases_of(name)), *points(condition, row["when"].get(name, ""))]
        refused = SpecifierSet(condition)
        within = SpecifierSet(row["when"].get(name, ""))
        fitting = (_full(v) for v in outside if v not in refused and within.contains(v, prereleases=True))
        chosen[name] = next(fitting, None)
    system = {"windows": "Windows 11", "macos": "macOS 15.6.1", "linux": "Ubuntu 22.04"}.get(row.get("platform") or "")
    around = {"os": system} if system else {}
    around |= {"machine": "aarch64"} if row.get("platform") == "aarch64" else {}
    if any(version is None for version in chosen.values()):
        return None
    known = {name: str(version) for name, version in chosen.items()}
    components = {name: version for name, version in known.items() if name in COMPONENTS}
    return components | around, {name: version for name, version in known.items() if name not in COMPONENTS}


def test_every_row_of_the_table_speaks() -> None:
    """A row whose rule does not read the table, or whose conditions nothing meets, would never be heard."""
    silent = []
    for row in load_table("conflicts").rows:
        built = _stack_of(row)
        origins = frozenset({row["origin"]}) if row.get("origin") else frozenset()
        if row["id"] not in UNHEARD and (built is None or not say(row["code"], *built, origins=origins)):
            silent.append(row["id"])
    assert silent == []


@pytest.mark.parametrize(("system", "wrong"), [("CentOS 7.5", 1), ("Ubuntu 18.04", 0)])
def test_a_c_library_that_follows_from_the_system_counts(system: str, wrong: int) -> None:
    assert len(say("SP703", {"os": system}, {"tensorflow": "1.14.0"})) == wrong


def test_a_gpu_that_no_release_serves_needs_no_version() -> None:
    assert verdict({"gpu": "GeForce 820M"}, {"torch": "*"}) == "incompatible"


@pytest.mark.parametrize(
    ("triton", "torch", "wrong"), [("3.5.0", "2.8.0", 1), ("2.3.1", "2.4.0.dev20240522", 1), ("3.5.0", "2.9.0", 0)]
)
def test_inductor_finds_its_key_in_triton(triton: str, torch: str, wrong: int) -> None:
    assert len(say("SP508", {}, {"triton": triton, "torch": torch})) == wrong
