"""What uv writes becomes a lock, and the build is named from what the lock holds."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from stackproof.compat.cell import Stack
from stackproof.compat.errors import OutsideError, UnsolvableError
from stackproof.compat.lock import Package
from stackproof.containers import resolve as resolving
from stackproof.containers import uv
from stackproof.containers.interpreter import Interpreter
from stackproof.containers.resolve import find_build, parse_packages

# As uv 0.13.9 wrote it, hashes shortened.
COMPILED = """\
jax==0.10.2 \\
    --hash=sha256:bf77 \\
    --hash=sha256:724d
Opt_Einsum==3.4.0 \\
    --hash=sha256:69bb
torch==2.13.0+cpu \\
    --hash=sha256:1faa
"""


def test_packages_are_read_sorted_with_every_hash() -> None:
    assert parse_packages(COMPILED) == (
        Package("jax", "0.10.2", ("sha256:724d", "sha256:bf77")),
        Package("opt-einsum", "3.4.0", ("sha256:69bb",)),
        Package("torch", "2.13.0+cpu", ("sha256:1faa",)),
    )


@pytest.mark.parametrize(
    ("framework", "versions", "build", "source"),
    [
        ("torch", {"torch": "2.13.0+cpu"}, "cpu", "local version"),
        ("torch", {"torch": "2.12.0+cu128", "nvidia-cuda-runtime-cu12": "12.8.90"}, "cu128", "local version"),
        (
            "torch",
            {"torch": "2.15.0", "nvidia-cuda-runtime": "13.2.86"},
            "cu132",
            "dependency nvidia-cuda-runtime 13.2.86",
        ),
        (
            "jax",
            {"jax": "0.6.0", "jax-cuda12-plugin": "0.6.0", "nvidia-cuda-runtime-cu12": "12.9.79"},
            "cu129",
            "dependency nvidia-cuda-runtime-cu12 12.9.79",
        ),
        ("jax", {"jax": "0.10.2", "jaxlib": "0.10.2"}, "cpu", "no accelerator plugin"),
        ("jax", {"jax": "0.10.2", "jax-cuda13-plugin": "0.10.2"}, "default", "not stated"),
        ("tensorflow-cpu", {"tensorflow-cpu": "2.21.0"}, "cpu", "package tensorflow-cpu"),
        ("tensorflow", {"tensorflow": "2.21.0"}, "default", "not stated"),
        ("torch", {"torch": "2.15.0"}, "default", "not stated"),
    ],
)
def test_build_is_named(framework: str, versions: dict[str, str], build: str, source: str) -> None:
    packages = tuple(Package(name, version, ()) for name, version in versions.items())
    assert find_build(framework, packages) == (build, source)


# A uv that has the CPU build only in its torch index; what it is asked is written down.
TWO_INDEXES = """#!{python}
import os, sys
arguments = sys.argv[1:]
wanted = arguments[arguments.index("--torch-backend") + 1] if "--torch-backend" in arguments else ""
with open({asked!r}, "a") as file:
    file.write(f"{{wanted or 'plain'}}\\n")
pin = sys.stdin.read().split()[0]
if wanted and {unreachable}:
    sys.exit("error: Failed to fetch: https://index.invalid/cpu/torch/\\n  cause: dns error")
if pin == "torch==2.14.0" and wanted or pin == "torch==2.16.0" and not wanted:
    print("error: No solution found when resolving dependencies", file=sys.stderr)
    sys.exit(1)
print(pin + ("+cpu" if wanted or pin == "torch==2.13.0" else ""), "\\\\\\n    --hash=sha256:00")
"""


@pytest.fixture(params=[False, True], ids=["reachable", "unreachable"])
def unreachable(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def asked(unreachable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:  # noqa: FBT001 - a fixture
    program, log = tmp_path / "uv", tmp_path / "asked"
    program.write_text(TWO_INDEXES.format(python=sys.executable, asked=str(log), unreachable=unreachable))
    program.chmod(0o755)
    monkeypatch.setattr(uv, "find_uv", lambda: str(program))
    monkeypatch.setattr(resolving, "has_driver", lambda: False)
    monkeypatch.setattr(resolving, "_unreachable", set())
    monkeypatch.delenv("UV_TORCH_BACKEND", raising=False)

    def read() -> list[str]:
        lines = log.read_text().split()
        log.unlink()
        return lines

    return read


def build_of(version: str, backend: str = "auto", package: str = "torch") -> str:
    here = Interpreter(Path(sys.executable), "3.11.7", "linux_x86_64")
    return resolving.resolve(Stack(package, version, "3.11"), here, backend).build


def test_cpu_build_that_is_configured_is_taken_without_asking_further(asked: Callable[[], list[str]]) -> None:
    assert build_of("2.13.0") == "cpu"
    assert asked() == ["plain"]


def test_cpu_build_is_asked_for_where_there_is_no_driver(asked: Callable[[], list[str]], *, unreachable: bool) -> None:
    assert build_of("2.15.0") == ("default" if unreachable else "cpu")
    assert asked() == ["plain", "cpu"]


def test_unreachable_index_is_asked_once_a_process(asked: Callable[[], list[str]], *, unreachable: bool) -> None:
    for _ in range(3):
        build_of("2.15.0")
    assert asked().count("cpu") == (1 if unreachable else 3)


def test_default_build_where_the_torch_index_lacks_the_version(asked: Callable[[], list[str]]) -> None:
    assert build_of("2.14.0") == "default"
    assert asked() == ["plain", "cpu"]


def test_version_that_only_the_torch_index_has(asked: Callable[[], list[str]], *, unreachable: bool) -> None:
    if unreachable:
        with pytest.raises(UnsolvableError, match=r"torch2\.16\.0-py311"):
            build_of("2.16.0")
    else:
        assert build_of("2.16.0") == "cpu"
    assert asked() == ["plain", "cpu"]


def test_machine_with_a_driver_asks_uv_to_choose(
    asked: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch, *, unreachable: bool
) -> None:
    monkeypatch.setattr(resolving, "has_driver", lambda: True)
    build_of("2.15.0")
    assert asked() == (["auto", "plain"] if unreachable else ["auto"])


def test_named_backend_has_no_fallback(asked: Callable[[], list[str]], *, unreachable: bool) -> None:
    if unreachable:
        with pytest.raises(OutsideError, match="could not be reached"):
            build_of("2.15.0", "cpu")
    else:
        assert build_of("2.15.0", "cpu") == "cpu"
    assert asked() == ["cpu"]


def test_default_backend_asks_for_none(asked: Callable[[], list[str]]) -> None:
    assert build_of("2.15.0", "default") == "default"
    assert asked() == ["plain"]


def test_choice_of_the_user_is_left_to_uv(asked: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_TORCH_BACKEND", "cu128")
    build_of("2.15.0")
    assert asked() == ["plain"]


def test_other_frameworks_have_no_torch_backend(asked: Callable[[], list[str]]) -> None:
    build_of("0.10.2", "cpu", package="jax")
    assert asked() == ["plain"]
