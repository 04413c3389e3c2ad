"""What workers are asked, and the keys of what they answer: they change with what matters, and with nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackproof.backends.spec import Data, Mlp, Optimizer, Schedule, Spec, Train
from stackproof.compat.cell import Stack
from stackproof.compat.lock import Lock, Package
from stackproof.matrix import jobs
from stackproof.matrix.config import RunSettings, ThroughputSettings
from stackproof.matrix.jobs import (
    NOISE_DRAWS,
    NOISE_UNIT,
    Program,
    failure_key,
    lock_key,
    make_job,
    measure_key,
    plan_measured,
    plan_runs,
    run_key,
)
from stackproof.matrix.machine import Machine

SPEC = Spec("tiny", Mlp(), Data(), Optimizer(), Schedule(), Train())
PROGRAM = Program(SPEC, "program digest", "data digest", Path("evidence/program.npz"))
LOCK = Lock("torch2.13.0-py311", "3.11.7", "linux_x86_64", (Package("torch", "2.13.0", ("sha256:1",)),), "cpu", "why")
MACHINE = Machine("Debian 12", "a processor", 2, 2**34, None, None, "3.11.7")
STACK = Stack("torch", "2.13.0", "3.11", (("scipy", "1.16.0"),))
JAX = Stack("jax", "0.10.2", "3.11")


def job(
    program: Program = PROGRAM, stack: Stack = STACK, settings: RunSettings | None = None, folder: str = "a"
) -> Any:
    runs = plan_runs(program.spec, stack)
    return make_job(program, stack.framework, settings or RunSettings(), runs, Path(folder))


def key(**changes: Any) -> str:
    given = {"lock": LOCK, "worker": "worker", "program": PROGRAM, "job": job(), "machine": MACHINE, **changes}
    return run_key(**given)


def test_a_job_is_what_the_worker_reads() -> None:
    made = job(settings=RunSettings(device="cpu", threads=3))
    assert {name: made[name] for name in ("schema_version", "target", "device", "threads", "serve")} == {
        "schema_version": 1,
        "target": "torch",
        "device": "cpu",
        "threads": 3,
        "serve": False,
    }
    assert (made["program"], made["tensors"], made["spec"]) == ("evidence/program.npz", "a", SPEC.to_dict())


@pytest.mark.parametrize(
    ("stack", "compiled"), [(STACK, False), (Stack("tensorflow-cpu", "2.21.0", "3.11"), False), (JAX, True)]
)
def test_the_judged_run_comes_first_then_the_reference_and_its_noise(stack: Stack, *, compiled: bool) -> None:
    judged, reference, *noise = plan_runs(SPEC, stack)
    assert judged == plan_measured(SPEC)
    assert reference == {"name": "reference", "precision": "float64", "compile": compiled, "noise": None}
    assert [run["name"] for run in noise] == [f"noise{place}" for place in range(NOISE_DRAWS)]
    assert all((run["precision"], run["compile"]) == ("float64", compiled) for run in noise)
    assert {run["noise"]["unit"] for run in noise} == {NOISE_UNIT}
    assert len({run["noise"]["seed"] for run in noise}) == NOISE_DRAWS


def test_every_stack_has_draws_of_its_own_and_the_same_ones_each_time() -> None:
    def seeds(stack: Stack) -> set[int]:
        return {run["noise"]["seed"] for run in plan_runs(SPEC, stack)[2:]}

    stacks = [STACK, JAX, replace(STACK, version="2.15.0"), replace(STACK, python="3.12"), replace(STACK, packages=())]
    assert len(set.union(*map(seeds, stacks))) == len(stacks) * NOISE_DRAWS
    assert seeds(STACK) == seeds(replace(STACK))
    assert all(0 <= seed < 2**64 for stack in stacks for seed in seeds(stack))


def test_a_float64_spec_needs_no_noise() -> None:
    wide = replace(SPEC, train=Train(precision="float64"))
    assert [run["name"] for run in plan_runs(wide, JAX)] == ["measured", "reference"]


@pytest.mark.parametrize("compiled", [True, False])
def test_the_judged_run_is_what_the_spec_asks(*, compiled: bool) -> None:
    asked = replace(SPEC, train=Train(compile=compiled))
    run = {"name": "measured", "precision": "float32", "compile": compiled, "execution": "auto", "noise": None}
    assert plan_measured(asked) == run
    assert plan_measured(asked, "graph-last") == {**run, "execution": "graph-last"}


@pytest.mark.parametrize(
    "changes",
    [
        {"lock": replace(LOCK, python="3.11.8")},
        {"lock": replace(LOCK, packages=(Package("torch", "2.13.0", ("sha256:2",)),))},
        {"worker": "another worker"},
        {"program": replace(PROGRAM, digest="another")},
        {"program": replace(PROGRAM, data_digest="another")},
        {"program": replace(PROGRAM, spec=replace(SPEC, optimizer=Optimizer(lr=0.1)))},
        {"job": job(settings=RunSettings(threads=2))},
        {"job": job(settings=RunSettings(device="cpu"))},
        {"job": job(stack=JAX)},
        {"job": job(replace(PROGRAM, spec=replace(SPEC, train=Train(compile=False))))},
        {"machine": replace(MACHINE, cpu="another processor")},
        {"machine": replace(MACHINE, cores=4)},
        {"machine": replace(MACHINE, gpu="a GPU")},
        {"machine": replace(MACHINE, driver="550.54.15")},
        {"machine": replace(MACHINE, memory_bytes=2**35)},
    ],
)
def test_a_runs_key_changes_with_what_can_change_its_numbers(changes: dict[str, Any]) -> None:
    assert key(**changes) != key()


@pytest.mark.parametrize(
    "changes",
    [
        {"lock": replace(LOCK, stack="another id", build="default", build_source="not stated")},
        {"program": replace(PROGRAM, path=Path("elsewhere/program.npz"))},
        {"program": replace(PROGRAM, spec=replace(SPEC, name="another"))},
        {"job": job(folder="elsewhere")},
        {"job": job(replace(PROGRAM, path=Path("elsewhere/program.npz")))},
        {"job": job(settings=RunSettings(time_limit=1, memory_limit=1, torch_backend="cpu"))},
        {"machine": replace(MACHINE, python="3.12.1")},
    ],
)
def test_a_runs_key_does_not_change_with_names_places_and_limits(changes: dict[str, Any]) -> None:
    assert key(**changes) == key()


def test_a_failures_key_changes_with_the_limits_that_may_have_caused_it() -> None:
    settings = [RunSettings(), RunSettings(time_limit=601), RunSettings(memory_limit=1)]
    assert len({failure_key("run", entry) for entry in settings} | {failure_key("other", RunSettings())}) == 4
    assert failure_key("run", RunSettings(threads=7)) == failure_key("run", RunSettings())


def test_a_measurements_key_changes_with_its_cells_their_order_and_how_it_is_made() -> None:
    made = [
        measure_key(["a", "b"], ThroughputSettings()),
        measure_key(["b", "a"], ThroughputSettings()),
        measure_key(["a"], ThroughputSettings()),
        measure_key(["a", "b"], ThroughputSettings(rounds=5)),
        measure_key(["a", "b"], ThroughputSettings(seconds=1.0)),
    ]
    assert len(set(made)) == 5
    # From which ratio on a cell has regressed is judged afterwards: nothing has to be measured again for it.
    assert measure_key(["a", "b"], ThroughputSettings(minimum_ratio=0.5)) == made[0]


LOCKED: dict[str, Any] = {
    "stack": STACK,
    "python": "3.11.7",
    "platform": "linux_x86_64",
    "torch_backend": "auto",
    "environ": {"HOME": "/home/someone", "PATH": "/usr/bin"},
}


@pytest.mark.parametrize(
    "changes",
    [
        {"stack": replace(STACK, version="2.15.0")},
        {"stack": replace(STACK, packages=(("scipy", "1.16.1"),))},
        {"stack": replace(STACK, packages=())},
        {"stack": replace(STACK, extras=("opt-einsum",))},
        {"stack": replace(STACK, packages=(("jax", "0.10.2"), ("scipy", "1.16.0")))},
        {"python": "3.11.8"},
        {"platform": "linux_aarch64"},
        {"torch_backend": "cpu"},
        *({"environ": {name: "x"}} for name in ("UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_FIND_LINKS", "PIP_INDEX_URL")),
        *({"environ": {name: "x"}} for name in ("PIP_FIND_LINKS", "UV_EXCLUDE_NEWER", "UV_TORCH_BACKEND")),
    ],
)
def test_a_locks_key_changes_with_what_is_resolved_and_from_where(changes: dict[str, Any]) -> None:
    assert lock_key(**{**LOCKED, **changes}) != lock_key(**LOCKED)


@pytest.mark.parametrize("environ", [{}, {"HOME": "/root"}, {"UV_CACHE_DIR": "/tmp"}, {"PIP_QUIET": "1"}])  # noqa: S108 - a value
def test_a_locks_key_does_not_change_with_other_variables(environ: dict[str, str]) -> None:
    assert lock_key(**{**LOCKED, "environ": environ}) == lock_key(**LOCKED)


def test_a_locks_key_tells_on_which_of_several_frameworks_specs_run() -> None:
    torch = Stack("torch", "2.13.0", "3.11", (("jax", "0.10.2"),))
    jax = Stack("jax", "0.10.2", "3.11", (("torch", "2.13.0"),))
    assert torch.requirements == jax.requirements
    assert lock_key(**{**LOCKED, "stack": torch}) != lock_key(**{**LOCKED, "stack": jax})


def test_the_key_of_a_lock_that_older_releases_kept_is_the_same() -> None:
    asked = {"stack": STACK, "torch_backend": "cpu", "environ": {}}
    assert lock_key(**{**LOCKED, **asked}) == "7bf06f7f239556fcb67f57cc762c710bfeea83f3846cf2da7f3c86407bc0362c"


def test_keys_are_digests() -> None:
    assert all(len(made) == 64 for made in (key(), lock_key(**LOCKED), failure_key("run", RunSettings())))


def test_a_driver_that_appears_means_another_lock_where_the_build_depends_on_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = {}
    for driver in (False, True):
        monkeypatch.setattr(jobs, "has_driver", lambda driver=driver: driver)
        made[driver] = [lock_key(**{**LOCKED, "torch_backend": choice}) for choice in ("auto", "cpu")]
    assert made[False][0] != made[True][0]
    assert made[False][1] == made[True][1]
