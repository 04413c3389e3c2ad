"""Stacks that a rule calls incompatible are found before anything is tried, and no others."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.compat.cell import Stack
from stackproof.compat.finding import Finding
from stackproof.containers.bases.pins import Pin, Pins, load_pins
from stackproof.matrix import pruning
from stackproof.matrix.machine import Machine
from stackproof.matrix.pruning import find_impossible
from stackproof.matrix.settings import RunSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackproof.compat.gather import Gathered

# Wheels of TensorFlow 2.15 are for Python 3.9 to 3.11; torch 2.2 has none for Python 3.13.
NO_WHEEL = Stack("tensorflow", "2.15.0", "3.13")
SOUND = Stack("tensorflow", "2.15.0", "3.11")
# PyTorch 2.4 was published for CUDA 11.8, 12.1 (on the package index) and 12.4.
TORCH = Stack("torch", "2.4.0", "3.11")


def machine(gpu: str | None = None, driver: str | None = None) -> Machine:
    return Machine("Debian GNU/Linux 12 (bookworm)", "a processor", 2, 2**30, gpu, driver, "3.11.7")


def codes(*stacks: Stack, run: RunSettings | None = None, on: Machine | None = None) -> dict[str, list[str]]:
    found = find_impossible(stacks, run or RunSettings(), on or machine())
    return {stack.id: [finding.code for finding in findings] for stack, findings in found.items()}


@pytest.fixture(autouse=True)
def level(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Hide this machine's driver, system and settings; return what lets its driver report a CUDA level."""
    reported: list[str] = []

    class Asked:
        def __init__(self, _: Any) -> None:
            return

        def note(self, gathered: Gathered, _: Any) -> None:
            for text in reported:
                gathered.add_component("driver_cuda", text, "libcuda")

    monkeypatch.setattr(pruning, "AskedDriver", Asked)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.36"))
    for name in ("UV_TORCH_BACKEND", "LD_LIBRARY_PATH"):
        monkeypatch.delenv(name, raising=False)
    return reported.append


def test_only_the_impossible_stack_is_found_with_rule_and_mends() -> None:
    found = find_impossible([NO_WHEEL, SOUND, NO_WHEEL], RunSettings(), machine())
    assert list(found) == [NO_WHEEL]
    (finding,) = found[NO_WHEEL]
    assert finding.code == "SP601"
    assert finding.severity == "error"
    assert "Python 3.11" in finding.fix
    assert "tensorflow 2.15.0 has no wheel for Python 3.13" in finding.message


def test_what_is_said_of_python_is_said_to_be_from_the_matrix() -> None:
    (finding,) = find_impossible([NO_WHEEL], RunSettings(), machine())[NO_WHEEL]
    assert "the matrix" in {reason.source for reason in finding.because}


def test_pins_beside_the_framework_are_judged() -> None:
    pinned = Stack("jax", "0.10.2", "3.11", (("jaxlib", "0.4.20"),))
    assert codes(pinned, Stack("jax", "0.10.2", "3.11")) == {pinned.id: ["SP401"]}


def test_what_the_rules_do_not_know_is_tried() -> None:
    assert codes(Stack("jax", "99.0.0", "3.11"), Stack("torch", "2.13.0", "3.11", (("no-such-thing", "1.0"),))) == {}


def test_nothing_is_asked_without_pruning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(pruning, "Checker")
    assert codes(NO_WHEEL, run=RunSettings(prune=False)) == {}


@pytest.mark.parametrize(
    ("severity", "code", "undetermined"),
    [("warning", "SP507", False), ("note", "SP004", True), ("error", "SP510", False)],
)
def test_warnings_open_questions_and_missing_packages_prune_nothing(
    monkeypatch: pytest.MonkeyPatch, severity: Any, code: str, *, undetermined: bool
) -> None:
    answer = pruning.Checker().check(pruning._describe(SOUND, "", []))
    finding = Finding(code, severity, ("torch",), "Something.", undetermined=undetermined)
    said = type(answer)("incompatible", (finding,))
    monkeypatch.setattr(pruning.Checker, "check", lambda *_: said)
    assert codes(NO_WHEEL) == {}


def test_a_c_library_that_is_too_old_prunes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.17"))
    assert codes(Stack("torch", "2.13.0", "3.11")) == {"torch2.13.0-py311": ["SP602"]}


def test_without_glibc_nothing_is_said_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    assert codes(Stack("torch", "2.13.0", "3.11")) == {}


OLD = machine("Tesla V100-SXM2-16GB", "440.33.01")  # CUDA 10.2: too old for every build of torch 2.4
MIDDLE = machine("Tesla V100-SXM2-16GB", "470.57.02")  # CUDA 11.4: for the build of CUDA 11.8, and no other


@pytest.mark.parametrize(
    ("run", "on", "expected"),
    [
        # A GPU counts only where cells would run on it.
        (RunSettings(device="cpu"), OLD, []),
        (RunSettings(torch_backend="cpu"), OLD, []),
        (RunSettings(torch_backend="xpu"), OLD, []),
        (RunSettings(), machine(), []),
        (RunSettings(), OLD, ["SP101"]),
        (RunSettings(device="cuda"), OLD, ["SP101"]),
        # Where uv chooses the build, one that fits is enough; a build that is named is held to.
        (RunSettings(), MIDDLE, []),
        (RunSettings(torch_backend="default"), MIDDLE, []),
        (RunSettings(torch_backend="cu118"), MIDDLE, []),
        (RunSettings(torch_backend="cu121"), MIDDLE, ["SP101"]),
    ],
)
def test_the_driver_counts_for_the_build_that_would_be_taken(
    run: RunSettings, on: Machine, expected: list[str]
) -> None:
    assert codes(TORCH, run=run, on=on).get(TORCH.id, []) == expected


def test_the_build_may_be_chosen_by_a_variable_or_by_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    tagged = Stack("torch", "2.4.0+cu121", "3.11")
    assert codes(tagged, on=MIDDLE) == {tagged.id: ["SP101"]}
    monkeypatch.setenv("UV_TORCH_BACKEND", "cu121")
    assert codes(TORCH, on=MIDDLE) == {TORCH.id: ["SP101"]}
    assert codes(TORCH, run=RunSettings(torch_backend="cu118"), on=MIDDLE) == {}


def test_the_level_that_the_driver_library_reports_counts_before_its_branch(level: Callable[[str], None]) -> None:
    level("12.4")  # as with a forward compatibility package
    assert codes(TORCH, run=RunSettings(torch_backend="cu121"), on=MIDDLE) == {}


def test_frameworks_that_train_on_the_cpu_by_default_are_not_held_to_the_gpu() -> None:
    plain = [Stack("jax", "0.10.2", "3.11"), Stack("tensorflow", "2.15.0", "3.11")]
    assert codes(*plain, on=OLD) == {}
    plugin = Stack("jax", "0.10.2", "3.11", (("jax-cuda13-plugin", "0.10.2"), ("jaxlib", "0.10.2")))
    assert "SP101" in codes(plugin, on=OLD)[plugin.id]
    assert codes(plugin, run=RunSettings(device="cpu"), on=OLD) == {}


def test_a_gpu_that_a_build_has_no_code_for_prunes_unless_another_kind_is_beside_it() -> None:
    stack, run = Stack("torch", "2.13.0+cu126", "3.11"), RunSettings(device="cuda")
    assert codes(stack, run=run, on=machine("Tesla K80", "580.65.06"))[stack.id]
    assert codes(stack, run=run, on=machine("Tesla K80, NVIDIA H200", "580.65.06")) == {}
    assert codes(stack, run=run, on=machine("NVIDIA H200, NVIDIA H200", "580.65.06")) == {}


def imaged(*stacks: Stack, **settings: Any) -> dict[str, list[str]]:
    given: dict[str, Any] = {"run": RunSettings(), "machine": machine(), "bases": load_pins(), **settings}
    return {stack.id: [finding.code for finding in found] for stack, found in find_impossible(stacks, **given).items()}


OLD_BASE = Pin("team/old:1", "registry", python="3.11", glibc="2.17", repository="team/old", tag="1")


def test_an_image_is_judged_by_the_system_of_its_base_and_a_venv_by_this_machines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stack, old = Stack("torch", "2.13.0", "3.11"), Stack("torch", "2.13.0", "3.11", os="team/old:1")
    bases = Pins({**load_pins(), OLD_BASE.name: OLD_BASE})
    assert imaged(stack, old, bases=bases) == {"torch2.13.0-py311-team-old-1": ["SP602"]}
    (finding,) = find_impossible([old], RunSettings(), machine(), bases)[old]
    assert "the base image team/old:1" in {reason.source for reason in finding.because}
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.17"))
    assert codes(stack) == {stack.id: ["SP602"]}
    assert imaged(stack) == {}


def test_a_stack_without_a_base_image_is_judged_by_the_one_that_it_is_built_on() -> None:
    assert imaged(Stack("torch", "2.13.0", "3.11"), bases=Pins({OLD_BASE.name: OLD_BASE})) == {
        "torch2.13.0-py311": ["SP602"]
    }


def test_of_a_base_image_that_is_named_by_its_digest_no_c_library_is_known() -> None:
    stack = Stack("torch", "2.13.0", "3.11", os=f"team/base@sha256:{'0' * 64}")
    assert imaged(stack) == {}
    assert imaged(Stack("tensorflow", "2.15.0", "3.13", os=stack.os)) != {}


def test_the_driver_counts_for_images_too_unless_they_bring_its_library() -> None:
    stack, run = Stack("torch", "2.4.0", "3.11", os="debian:bookworm"), RunSettings(torch_backend="cu121")
    assert imaged(stack, run=run, machine=MIDDLE) == {stack.id: ["SP101"]}
    assert imaged(stack, run=run, machine=MIDDLE, forward_compat=True) == {}
    assert codes(TORCH, run=run, on=MIDDLE) == {TORCH.id: ["SP101"]}


def test_this_machines_loader_path_says_nothing_of_images(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    check = pruning.Checker.check

    def note(checker: Any, description: Any) -> Any:
        asked.append(description.env_vars)
        return check(checker, description)

    monkeypatch.setattr(pruning.Checker, "check", note)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/usr/local/cuda/compat")
    imaged(TORCH)
    codes(TORCH)
    assert asked == [{}, {"LD_LIBRARY_PATH": "/usr/local/cuda/compat"}]


def test_an_extra_with_gpu_code_is_held_to_the_gpu_and_known_to_the_rules() -> None:
    extra = Stack("jax", "0.10.2", "3.11", extras=("cuda13",))
    assert "SP101" in codes(extra, on=OLD)[extra.id]
    assert codes(extra, run=RunSettings(device="cpu"), on=OLD) == {}
    assert codes(Stack("jax", "0.10.2", "3.11", extras=("k8s",)), on=OLD) == {}


def test_a_framework_beside_the_one_that_specs_run_on_is_judged_too() -> None:
    both = Stack("jax", "0.10.2", "3.13", (("tensorflow", "2.15.0"),))
    assert "SP601" in codes(both)[both.id]
    torch = Stack("jax", "0.10.2", "3.11", (("torch", "2.4.0"),))
    assert "SP101" in codes(torch, on=OLD)[torch.id]
    assert codes(torch, run=RunSettings(torch_backend="cpu"), on=OLD) == {}
