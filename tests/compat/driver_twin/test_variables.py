"""The variables that show the stand-in driver to a program."""

from pathlib import Path

import pytest

from stackproof.compat.driver_twin import environment
from stackproof.compat.errors import InputError

TWIN = Path("/twin")


def test_the_stand_in_comes_before_what_the_loader_searches_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/usr/local/cuda/lib64:/opt/lib")
    assert environment(TWIN, "12.4")["LD_LIBRARY_PATH"] == "/twin:/usr/local/cuda/lib64:/opt/lib"
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    assert environment(TWIN, "12.4")["LD_LIBRARY_PATH"] == "/twin"
    monkeypatch.delenv("LD_LIBRARY_PATH")
    assert environment(TWIN, "12.4")["LD_LIBRARY_PATH"] == "/twin"


def test_level_gpu_and_driver_are_written_as_the_stand_in_reads_them() -> None:
    variables = environment(TWIN, "12.4", gpu="8.0:NVIDIA A100", driver="550.54.14")
    assert variables["STACKPROOF_TWIN_CUDA"] == "12040"
    assert variables["STACKPROOF_TWIN_GPU"] == "8.0:NVIDIA A100"
    assert variables["STACKPROOF_TWIN_DRIVER"] == "550.54.14"


def test_what_is_not_asked_for_is_undone() -> None:
    variables = environment(TWIN, 12040)
    assert (variables["STACKPROOF_TWIN_GPU"], variables["STACKPROOF_TWIN_DRIVER"]) == ("", "")


@pytest.mark.parametrize("gpu", ["", "A100", "8.0", "8.0:", "80:NVIDIA A100", "8.0:\n", "8.0:" + "x" * 96])
def test_a_gpu_of_another_form_is_refused(gpu: str) -> None:
    with pytest.raises(InputError, match=r"driver twin: gpu: .* is not of the form '8\.0:NVIDIA A100'"):
        environment(TWIN, "12.4", gpu=gpu)


def test_all_faults_are_said_at_once() -> None:
    with pytest.raises(InputError) as caught:
        environment(TWIN, "12.4", gpu="A100", driver="newest")
    assert [fault.where for fault in caught.value.faults] == ["gpu", "driver"]


def test_a_drivers_version_is_no_level() -> None:
    with pytest.raises(InputError, match="driver's own version"):
        environment(TWIN, "550.54.14")
