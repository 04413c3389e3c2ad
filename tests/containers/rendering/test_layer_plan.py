"""Which packages go into which layer, and what makes a layer another one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from image_parts import BASE, lock, package

from stackproof.compat.errors import InputError
from stackproof.compat.lock import Lock
from stackproof.containers.rendering import layers as layers_module
from stackproof.containers.rendering.layers import Layer, context_files, plan_layers
from stackproof.containers.rendering.settings import ImageSettings

if TYPE_CHECKING:
    from pathlib import Path

WHEELS = ImageSettings()
TORCH = lock("torch", "triton", "nvidia-cudnn-cu13", "cuda-bindings", "numpy", "sympy", build="cu132")


def names(layers: tuple[Layer, ...]) -> dict[str, list[str]]:
    return {layer.name: [package.name for package in layer.packages] for layer in layers}


def test_packages_are_sorted_by_how_often_they_change() -> None:
    assert names(plan_layers(TORCH, BASE, WHEELS)) == {
        "environment": [],
        "cuda": ["cuda-bindings", "nvidia-cudnn-cu13"],
        "framework": ["torch", "triton"],
        "application": ["numpy", "sympy"],
    }


def test_several_frameworks_are_of_one_layer() -> None:
    held = lock("torch", "jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda13-pjrt", "tensorflow-cpu", "torchaudio")
    assert names(plan_layers(held, BASE, WHEELS)) == {
        "environment": [],
        "framework": ["jax-cuda12-plugin", "jax-cuda13-pjrt", "jaxlib", "tensorflow-cpu", "torch"],
        "application": ["jax", "torchaudio"],
    }


def test_layers_without_packages_are_left_out() -> None:
    assert list(names(plan_layers(lock("numpy"), BASE, WHEELS))) == ["environment", "application"]
    assert list(names(plan_layers(lock(), BASE, WHEELS))) == ["environment"]


def test_each_layer_is_built_from_the_one_before() -> None:
    planned = plan_layers(TORCH, BASE, WHEELS)
    assert [layer.parent for layer in planned] == [BASE.reference, *(layer.tag for layer in planned[:-1])]


def test_by_route_base_the_wheels_with_libraries_of_cuda_are_left_out_and_no_others() -> None:
    held = lock("torch", "nvidia-cublas", "nvidia-ml-py", "cuda-bindings", "cuda-toolkit")
    assert names(plan_layers(held, BASE, ImageSettings(cuda="base"))) == {
        "environment": [],
        "cuda": ["cuda-bindings", "nvidia-ml-py"],
        "framework": ["torch"],
    }


def test_equal_input_gives_equal_keys() -> None:
    assert plan_layers(TORCH, BASE, WHEELS) == plan_layers(TORCH, BASE, WHEELS)


def test_a_change_above_leaves_the_layers_below_shared() -> None:
    other = lock(
        "torch", "triton", "nvidia-cudnn-cu13", "cuda-bindings", package("numpy", "2.0"), "sympy", build="cu132"
    )
    before, after = plan_layers(TORCH, BASE, WHEELS), plan_layers(other, BASE, WHEELS)
    assert before[:3] == after[:3]
    assert before[3].key != after[3].key


def test_labels_do_not_make_another_layer() -> None:
    assert plan_layers(TORCH, BASE, ImageSettings(labels={"org.example.a": "b"})) == plan_layers(TORCH, BASE, WHEELS)


@pytest.mark.parametrize(
    ("base", "settings"),
    [
        (replace(BASE, digest=f"sha256:{'c' * 64}"), WHEELS),
        (replace(BASE, interpreter="/usr/local/bin/python3"), WHEELS),
        (BASE, ImageSettings(forward_compat=True)),
    ],
    ids=["base", "interpreter", "forward compatibility"],
)
def test_another_base_makes_all_layers_others(base: Any, settings: ImageSettings) -> None:
    before = {layer.key for layer in plan_layers(TORCH, BASE, WHEELS)}
    assert not before & {layer.key for layer in plan_layers(TORCH, base, settings)}


def test_another_hash_or_another_uv_makes_another_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    before = plan_layers(lock("numpy"), BASE, WHEELS)[-1].key
    assert plan_layers(lock(package("numpy", "1.0", f"sha256:{'c' * 64}")), BASE, WHEELS)[-1].key != before
    monkeypatch.setattr(layers_module.importlib.metadata, "version", lambda _: "0.0.1")
    assert plan_layers(lock("numpy"), BASE, WHEELS)[-1].key != before


def test_requirements_are_one_line_a_package_with_every_hash() -> None:
    first, second = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"
    layer = plan_layers(lock(package("numpy", "2.0+cpu", first, second)), BASE, WHEELS)[-1]
    assert layer.requirements == f"numpy==2.0+cpu --hash={first} --hash={second}\n"


EVIL = st.text(max_size=30) | st.sampled_from(
    ["a\nb==1", "a --index-url=x", "a @ file:///x", "$(id)", "a;b", "a\\\n", "a # b", "-r x", 'a"', "<<EOF"]
)


@given(name=EVIL, version=EVIL, value=EVIL)
def test_nothing_in_a_lock_writes_a_line_of_its_own(name: str, version: str, value: str) -> None:
    for held in (
        lock(package(name)),
        lock(package("a", version)),
        lock(package("a", "1.0", value)),
    ):
        try:
            layers = plan_layers(held, BASE, WHEELS)
        except InputError:
            continue
        (line,) = layers[-1].requirements.splitlines()
        (only,) = held.packages
        assert line == f"{only.name}=={only.version} --hash={only.hashes[0]}"
        assert not set(line.replace(" --hash=", "")) & set(" \t\\;#@$`'\"<>")


def test_a_package_without_hashes_is_refused() -> None:
    held = Lock("s", "3.13.5", "linux_x86_64", (package("numpy").__class__("numpy", "1.0", ()),), "default", "")
    with pytest.raises(InputError, match="numpy"):
        plan_layers(held, BASE, WHEELS)


@pytest.mark.parametrize("reference", ["base:a\nRUN id", "base", "$(id):x", "a/b:c AS d", "--platform=x"])
def test_a_base_that_is_no_reference_is_refused(reference: str) -> None:
    with pytest.raises(InputError):
        plan_layers(TORCH, replace(BASE, reference=reference), WHEELS)


def test_a_context_holds_what_the_steps_of_its_layers_read(tmp_path: Path) -> None:
    held = lock("numpy", "torch")
    wheels = {name: tmp_path / f"{name}-1.0-py3-none-any.whl" for name in ("numpy", "torch")}
    layers = plan_layers(held, BASE, WHEELS)
    files = context_files(layers[-1:], tmp_path / "uv", wheels)
    assert set(files) == {"in/uv", "in/finish.py", "in/application.txt", "in/wheels/numpy-1.0-py3-none-any.whl"}
    assert files["in/application.txt"] == layers[-1].requirements.encode()
    assert {"in/framework.txt", "in/application.txt"} < set(context_files(layers, tmp_path / "uv", wheels))
