"""Mends are tried on the whole stack before they are offered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from judging import stack

from stackproof.compat.check import check
from stackproof.compat.finding import Finding
from stackproof.compat.mends import apply_mend, sift_mends

if TYPE_CHECKING:
    from stackproof.compat.described import Description


def mends(code: str, components: dict[str, str], packages: dict[str, str]) -> tuple[str, ...]:
    (finding,) = [entry for entry in check(stack(components, packages)).findings if entry.code == code]
    return finding.fix


def test_a_release_that_the_driver_refuses_is_not_offered_for_the_gpu() -> None:
    # torch from 2.11 on is built for CUDA 13, which needs driver 580.
    offered = mends("SP201", {"gpu": "H100", "driver": "550.54.15"}, {"torch": "1.10.0+cu113"})
    assert offered
    assert not any(mend.startswith(("torch==2.11", "torch==2.15")) for mend in offered)


def test_a_driver_that_dropped_the_gpu_is_not_offered() -> None:
    # NVIDIA: the last driver branch for Kepler is 470, and CUDA 12 starts on 525.
    offered = mends("SP101", {"gpu": "Tesla K80", "driver": "450.80.02"}, {"torch": "2.1.0+cu121"})
    assert offered == ("torch==2.1.0+cu118",)


def test_a_mend_that_breaks_something_else_is_left_out_where_there_is_a_better_one() -> None:
    # jaxlib 0.4.34 has wheels for Python 3.13, but jax 0.4.30 does not take it.
    assert mends("SP601", {"python": "3.13"}, {"jax": "0.4.30", "jaxlib": "0.4.30"}) == ("Python 3.12",)


def test_a_mend_that_breaks_something_else_says_so_where_there_is_no_better_one() -> None:
    one = Finding("SP101", "error", ("driver", "torch"), "One.", fix=("torch==2.0.0", "torch==1.0.0"))
    other = Finding("SP502", "error", ("torchvision", "torch"), "Other.", fix=("torchvision==0.15.1",))

    def judge(changed: Description) -> tuple[Finding, ...]:
        return (other,) if str(changed.known["torch"][0]) == "2.0.0" else (one,)

    (sifted,) = sift_mends((one,), stack({}, {"torch": "2.1.0"}), judge)
    assert sifted.fix == ("torch==2.0.0, which needs more changes (SP502)",)


def test_every_offered_version_mends_its_error() -> None:
    described = stack({"driver": "470.182.03", "gpu": "A100"}, {"torch": "2.4.0+cu121", "torchvision": "0.20.1"})
    for finding in check(described).findings:
        for mend in finding.fix if finding.severity == "error" else ():
            changed = apply_mend(mend, described)
            after = check(changed).findings if changed is not None else ()
            assert (finding.code, finding.components) not in {
                (entry.code, entry.components) for entry in after if entry.severity == "error"
            }


def test_what_names_no_version_is_not_tried() -> None:
    assert apply_mend("hide the GPU with CUDA_VISIBLE_DEVICES", stack({}, {"torch": "2.4.0"})) is None
    assert apply_mend("numpy<2", stack({}, {"numpy": "2.0.0"})) is None
