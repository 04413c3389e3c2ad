"""Rules on what packages declare of each other."""

from __future__ import annotations

import pytest
from judging import missing_fixes, say, the, verdict


@pytest.mark.parametrize(
    ("tensorflow", "keras"), [("2.13.1", "3.1.1"), ("2.11.0", "2.13.1"), ("2.16.1", "2.15.0"), ("2.17.0", "2.15.0")]
)
def test_keras_of_another_time_is_an_error(tensorflow: str, keras: str) -> None:
    found = say("SP405", {}, {"tensorflow": tensorflow, "keras": keras})
    assert {finding.severity for finding in found} == {"error"}
    assert all({"tensorflow", "keras"} == set(finding.components) for finding in found)
    assert all(missing_fixes(finding) == [] for finding in found)


@pytest.mark.parametrize(
    ("tensorflow", "keras"), [("2.13.1", "2.13.1"), ("2.15.0", "2.15.0"), ("2.16.1", "3.1.1"), ("2.17.0", "3.5.0")]
)
def test_keras_of_its_time_is_fine(tensorflow: str, keras: str) -> None:
    assert not say("SP405", {}, {"tensorflow": tensorflow, "keras": keras})


def test_what_runs_against_the_metadata_is_a_warning() -> None:
    """Keras 3 beside TensorFlow 2.15 is supported by its makers."""
    found = say("SP405", {}, {"tensorflow": "2.15.0", "keras": "3.0.2"})
    assert {finding.severity for finding in found} == {"warning"}
    assert verdict({}, {"tensorflow": "2.15.0", "keras": "3.0.2"}) == "compatible"


def test_tf_keras_has_tensorflow_s_minor() -> None:
    assert say("SP405", {}, {"tensorflow": "2.18.0", "tf-keras": "2.16.0"})
    assert not say("SP405", {}, {"tensorflow": "2.18.0", "tf-keras": "2.18.0"})


@pytest.mark.parametrize(
    ("packages", "on"),
    [
        ({"tensorflow": "2.11.0", "protobuf": "3.20.3"}, "protobuf"),
        ({"tensorflow": "2.15.0", "protobuf": "5.26.1"}, "protobuf"),
        ({"tensorflow": "2.18.0", "ml-dtypes": "0.3.2"}, "ml-dtypes"),
        ({"onnx": "1.20.0", "ml-dtypes": "0.4.1"}, "ml-dtypes"),
    ],
)
def test_a_shared_dependency_outside_a_range_is_an_error(packages: dict[str, str], on: str) -> None:
    finding = the("SP406", {}, packages)
    assert (finding.severity, on in finding.components) == ("error", True)


@pytest.mark.parametrize(
    "packages",
    [
        {"tensorflow": "2.11.0", "protobuf": "3.19.6"},
        {"tensorflow": "2.15.0", "protobuf": "4.25.3"},
        {"tensorflow": "2.15.0", "protobuf": "*"},
        {"tensorflow": "2.15.0", "protobuf": ">=3.20"},
        {"tensorflow": "*", "protobuf": "7.36.2"},
    ],
)
def test_within_the_range_or_not_known_it_is_fine(packages: dict[str, str]) -> None:
    assert not say("SP406", {}, packages)


def test_two_packages_may_leave_no_release_of_a_third() -> None:
    finding = the("SP406", {}, {"tensorflow": "2.18.0", "onnx": "1.20.0"})
    assert finding.severity == "error"
    assert set(finding.components) == {"tensorflow", "onnx", "ml-dtypes"}
    assert not say("SP406", {}, {"tensorflow": "2.19.0", "onnx": "1.20.0"})


def test_what_the_description_states_counts_as_a_demand() -> None:
    stated = ("ml-dtypes>=0.5.0",)
    assert the("SP406", {}, {"tensorflow": "2.18.0"}, required=stated).severity == "error"
    assert not say("SP406", {}, {"tensorflow": "2.18.1"}, required=stated)


def test_too_old_a_release_is_an_error_and_names_real_releases() -> None:
    finding = the("SP501", {}, {"accelerate": "1.0.0", "safetensors": "0.3.0"})
    assert (finding.severity, finding.components) == ("error", ("accelerate", "safetensors"))
    assert missing_fixes(finding) == []


def test_above_a_cap_installers_object_and_it_may_run() -> None:
    finding = the("SP501", {}, {"tensorflow": "2.21.0", "h5py": "3.15.1"})
    assert finding.severity == "warning"
    assert verdict({}, {"tensorflow": "2.21.0", "h5py": "3.15.1"}) == "compatible"


def test_above_a_cap_that_is_known_to_break_it_is_an_error() -> None:
    assert the("SP501", {}, {"transformers": "4.46.3", "tokenizers": "0.21.0"}).severity == "error"


def test_a_marker_of_another_python_or_system_does_not_count() -> None:
    old = {"tensorflow": "2.16.1", "numpy": "1.24.4"}
    assert not say("SP507", {"python": "3.11"}, old)
    assert the("SP507", {"python": "3.12"}, old).severity == "error"
    assert not say("SP508", {"os": "Windows 11"}, {"torch": "2.5.1", "triton": "3.2.0"})


@pytest.mark.parametrize(
    "packages",
    [
        {"torch": "2.2.0", "numpy": "2.0.1"},
        {"torch": "2.2.*", "numpy": "2.*"},
        {"tensorflow": "2.17.0", "numpy": "2.0.0"},
        {"tensorflow": "2.10.0", "numpy": "2.0.0"},
        {"jaxlib": "0.4.25", "numpy": "2.0.0"},
    ],
)
def test_what_was_compiled_for_numpy_1_does_not_take_numpy_2(packages: dict[str, str]) -> None:
    found = say("SP507", {}, packages)
    assert "error" in {finding.severity for finding in found}


@pytest.mark.parametrize(
    "packages",
    [
        {"torch": "2.2.0", "numpy": "1.26.4"},
        {"torch": "2.3.0", "numpy": "2.0.1"},
        {"tensorflow": "2.18.0", "numpy": "2.0.2"},
        {"torch": "2.2.0", "numpy": "*"},
    ],
)
def test_numpy_of_the_time_is_fine(packages: dict[str, str]) -> None:
    assert not say("SP507", {}, packages)


def test_one_pair_is_said_once() -> None:
    assert len(say("SP507", {}, {"tensorflow": "2.17.0", "numpy": "2.0.0"})) == 1


def test_triton_is_torch_s_own() -> None:
    finding = the("SP508", {}, {"torch": "2.2.2", "triton": "3.0.0"})
    assert (finding.severity, finding.components) == ("error", ("torch", "triton"))
    assert "triton==2.2.0" in finding.fix
    assert not say("SP508", {}, {"torch": "2.2.2", "triton": "2.2.0"})
    assert not say("SP508", {}, {"torch": "2.14.0", "triton": "3.8.1"})


def test_what_a_resolver_says_is_a_warning_and_what_the_loader_says_an_error() -> None:
    (said,) = say("SP501", {}, {"gast": "0.2.2"}, required=("gast==0.3.3",))
    assert (said.severity, said.components, said.fix) == ("warning", ("gast",), ("gast==0.3.3",))
    (missing,) = say("SP501", {"glibc": "2.31"}, {"flash-attn": "2.7.4.post1"}, required=("glibc>=2.32",))
    assert (missing.severity, missing.components) == ("error", ("glibc",))
    assert not say("SP501", {"glibc": "2.35"}, {"flash-attn": "2.7.4.post1"}, required=("glibc>=2.32",))
