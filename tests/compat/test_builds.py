"""Which binary a version stands for; values from the published wheels."""

from __future__ import annotations

import pytest
from judging import stack

from stackproof.compat.builds import BUILD_NEEDS, all_builds, jax_builds, level_of, tensorflow_builds, torch_builds
from stackproof.compat.rules.registry import View


def view(components: dict[str, str] | None = None, packages: dict[str, str] | None = None, **around: object) -> View:
    return View(stack(components, packages, **around), frozenset(BUILD_NEEDS))


@pytest.mark.parametrize(
    ("release", "cuda"),
    [
        ("1.7.1", "10.2"),
        ("1.13.1", "11.7"),
        ("2.0.1", "11.7"),
        ("2.1.0", "12.1"),
        ("2.4.1", "12.1"),
        ("2.5.1", "12.4"),
        ("2.6.0", "12.4"),
        ("2.7.1", "12.6"),
        ("2.8.0", "12.8"),
        ("2.10.0", "12.8"),
        ("2.11.0", "13.0"),
    ],
)
def test_an_untagged_torch_is_the_default_build_of_its_release(release: str, cuda: str) -> None:
    (build,) = torch_builds(view(packages={"torch": release}))
    assert (build.cuda, build.assumed) == (cuda, True)


def test_a_tag_names_another_build_of_the_release() -> None:
    (build,) = torch_builds(view(packages={"torch": "2.10.0+cu126"}))
    assert build.runtime == (12, 6)
    assert not build.assumed
    assert "sm_50" in build.archs


def test_one_cuda_build_has_other_architectures_in_the_next_release() -> None:
    (older,) = torch_builds(view(packages={"torch": "2.10.0+cu128"}))
    (newer,) = torch_builds(view(packages={"torch": "2.11.0+cu128"}))
    assert "sm_70" in older.archs
    assert "sm_70" not in newer.archs


def test_a_tag_without_a_release_leaves_its_releases_possible() -> None:
    builds = torch_builds(view(packages={"torch": "*+cu128"}))
    assert {build.cuda for build in builds} == {"12.8"}
    assert len({build.release for build in builds}) > 3


def test_a_build_that_no_table_has_is_known_by_its_tag() -> None:
    (build,) = torch_builds(view(packages={"torch": "2.1.0+cu115"}))
    assert (build.cuda, build.row) == ("11.5", None)


@pytest.mark.parametrize("version", ["2.1.0+cpu", "2.4.0+rocm6.1"])
def test_a_build_without_cuda_has_no_runtime(version: str) -> None:
    (build,) = torch_builds(view(packages={"torch": version}))
    assert build.runtime is None


@pytest.mark.parametrize("components", [{"os": "macOS 15.6.1"}, {"machine": "aarch64"}])
def test_the_package_index_has_no_cuda_for_some_platforms(components: dict[str, str]) -> None:
    (build,) = torch_builds(view(components, {"torch": "2.6.0"}))
    assert build.cuda is None


def test_since_2_11_torch_for_aarch64_has_cuda() -> None:
    (build,) = torch_builds(view({"machine": "aarch64"}, {"torch": "2.11.0"}))
    assert build.cuda == "13.0"


def test_of_conda_every_build_of_the_release_is_possible() -> None:
    builds = torch_builds(view(packages={"torch": "2.4.0"}, origins=frozenset({"conda"})))
    assert {build.cuda for build in builds} == {"11.8", "12.1", "12.4"}


def test_a_toolkit_makes_the_build_for_it_possible_too() -> None:
    builds = torch_builds(view({"cuda": "11.8"}, {"torch": "2.4.0"}))
    assert {build.cuda for build in builds} == {"12.1", "11.8"}


def test_a_nightly_is_known_by_its_tag_alone() -> None:
    (build,) = torch_builds(view(packages={"torch": "2.6.0.dev20241112+cu124"}))
    assert (build.runtime, build.row) == ((12, 4), None)


@pytest.mark.parametrize("version", ["*", "2.4.0a0+07cecf4168.nv24.05"])
def test_nothing_is_assumed_of_an_unknown_torch(version: str) -> None:
    assert torch_builds(view(packages={"torch": version})) == ()


@pytest.mark.parametrize(
    ("release", "cuda"), [("2.15.0", "12.2"), ("2.17.1", "12.3"), ("2.18.0", "12.5"), ("2.11.0", "11.2")]
)
def test_tensorflow_is_built_for_one_cuda(release: str, cuda: str) -> None:
    (build,) = tensorflow_builds(view(packages={"tensorflow": release}))
    assert build.runtime == level_of(cuda)


def test_before_2_1_tensorflow_without_gpu_in_its_name_has_no_gpu_code() -> None:
    assert tensorflow_builds(view(packages={"tensorflow": "1.15.0"})) == ()
    (build,) = tensorflow_builds(view(packages={"tensorflow-gpu": "1.15.0"}))
    assert build.cuda == "10.0"


def test_jaxlib_without_tag_or_plugin_runs_on_the_cpu() -> None:
    assert jax_builds(view(packages={"jax": "0.4.30", "jaxlib": "0.4.30"})) == ()


def test_jax_has_the_cuda_of_its_tag_or_of_its_plugin() -> None:
    (tagged,) = jax_builds(view(packages={"jaxlib": "0.4.13+cuda11.cudnn86"}))
    (plugged,) = jax_builds(view(packages={"jaxlib": "0.4.30", "jax-cuda12-plugin": "0.4.30"}))
    assert (tagged.runtime, plugged.runtime) == ((11, 0), (12, 0))


def test_frameworks_that_share_an_environment_are_told_apart() -> None:
    found = all_builds(view(packages={"torch": "2.5.1", "tensorflow": "2.18.0"}))
    assert [[build.package for build in builds] for builds in found] == [["torch"], ["tensorflow"]]


@pytest.mark.parametrize(("text", "level"), [("12.4", (12, 4)), ("12.4.131", (12, 4)), ("12", (12, 0))])
def test_a_cuda_version_is_its_major_and_minor(text: str, level: tuple[int, int]) -> None:
    assert level_of(text) == level


def test_a_toolkit_of_the_default_build_leaves_no_other_possible() -> None:
    assert [build.cuda for build in torch_builds(view({"cuda": "10.2"}, {"torch": "1.7.1"}))] == ["10.2"]
