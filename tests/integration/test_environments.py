"""Real stacks, resolved and made by the real uv from the configured index."""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from required import need

from stackproof.compat.cell import Stack
from stackproof.compat.errors import InputError, OutsideError, UnsolvableError
from stackproof.compat.lock import Lock
from stackproof.containers.interpreter import Interpreter, find_python
from stackproof.containers.resolve import has_driver, resolve
from stackproof.containers.venv import build_venv

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
JAX = Stack("jax", "0.10.2", PYTHON)
TORCH = Stack("torch", "2.13.0", PYTHON)
LIST = (
    "import importlib.metadata, json;"
    "print(json.dumps({d.name.lower().replace('_', '-'): d.version for d in importlib.metadata.distributions()}))"
)


@pytest.fixture
def may_mount() -> None:
    need("mounts", "" if os.geteuid() == 0 else "a small file system is mounted, which only root may do")


@pytest.fixture(scope="session")
def python() -> Interpreter:
    return find_python(PYTHON)


@pytest.fixture(scope="session")
def jax_lock(python: Interpreter) -> Lock:
    return resolve(JAX, python)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 6 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.fixture
def closed_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let uv look for its index where nothing listens, and remember nothing."""
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://user:s3cret@127.0.0.1:9/simple")
    monkeypatch.delenv("UV_INDEX", raising=False)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.setenv("UV_NO_CACHE", "1")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")


def test_running_interpreter_is_found(python: Interpreter) -> None:
    assert python.path == Path(sys.executable)
    assert python.version.startswith(f"{PYTHON}.")
    assert python.platform.startswith("linux_")


def test_python_that_is_not_here() -> None:
    with pytest.raises(UnsolvableError, match=r"(?s)looking for Python 3\.99.*Install that Python"):
        find_python("3.99")


def test_lock_is_exact_and_the_same_each_time(jax_lock: Lock, python: Interpreter) -> None:
    assert jax_lock.version("jax") == "0.10.2"
    assert (jax_lock.build, jax_lock.build_source) == ("cpu", "no accelerator plugin")
    assert {"jax", "jaxlib", "numpy", "scipy"} <= {package.name for package in jax_lock.packages}
    assert all(package.hashes and package.hashes[0].startswith("sha256:") for package in jax_lock.packages)
    assert resolve(JAX, python) == jax_lock


def test_further_pins_are_kept(python: Interpreter) -> None:
    assert resolve(replace(JAX, packages=(("numpy", "2.2.6"),)), python).version("numpy") == "2.2.6"


def test_environment_holds_what_the_lock_says_and_is_reused(
    jax_lock: Lock, python: Interpreter, tmp_path: Path
) -> None:
    made = build_venv(jax_lock, python, tmp_path)
    assert not made.reused
    assert made.lock_digest == jax_lock.digest
    assert _installed(made.python) == {package.name: package.version for package in jax_lock.packages}
    assert not [*made.path.glob("lib/python*/site-packages/jax/__pycache__")]
    assert build_venv(jax_lock, python, tmp_path) == replace(made, reused=True)


def test_half_made_and_damaged_environments_are_made_again(jax_lock: Lock, python: Interpreter, tmp_path: Path) -> None:
    half = tmp_path / "envs" / jax_lock.digest[:16]
    (half / "bin").mkdir(parents=True)
    (half / "bin" / "python").symlink_to(sys.executable)
    (half / "left-over").write_text("x")
    made = build_venv(jax_lock, python, tmp_path)
    assert made.path == half
    assert not made.reused
    assert not (half / "left-over").exists()
    made.python.unlink()
    assert not build_venv(jax_lock, python, tmp_path).reused
    assert "jax" in _installed(made.python)


def test_torch_build_is_named_and_installs_with_its_hashes(python: Interpreter, tmp_path: Path) -> None:
    lock = resolve(TORCH, python)
    version = lock.version("torch") or ""
    assert version.startswith("2.13.0")
    assert lock.build == "cpu" or has_driver() or "+" not in version
    assert _installed(build_venv(lock, python, tmp_path).python)["torch"] == version


def test_version_that_does_not_exist(python: Interpreter) -> None:
    with pytest.raises(UnsolvableError, match=r"there is no version of torch==99\.0"):
        resolve(replace(TORCH, version="99.0"), python)


def test_pins_that_exclude_each_other(python: Interpreter) -> None:
    with pytest.raises(UnsolvableError, match=r"jax==0\.10\.2 depends on numpy>=2"):
        resolve(replace(JAX, packages=(("numpy", "1.26.4"),)), python)


def test_wheel_that_this_python_lacks(python: Interpreter) -> None:
    with pytest.raises(UnsolvableError, match=r"no wheels with a matching Python ABI tag"):
        resolve(Stack("tensorflow-cpu", "2.5.0", PYTHON), python)


def test_torch_backend_that_uv_does_not_know(python: Interpreter) -> None:
    with pytest.raises(InputError, match="cu999"):
        resolve(TORCH, python, "cu999")


@pytest.mark.usefixtures("closed_index")
def test_index_that_cannot_be_reached(jax_lock: Lock, python: Interpreter, tmp_path: Path) -> None:
    with pytest.raises(OutsideError, match="could not be reached") as resolving:
        resolve(JAX, python)
    with pytest.raises(OutsideError, match="could not be reached") as building:
        build_venv(jax_lock, python, tmp_path)
    for caught in (resolving, building):
        assert "UV_DEFAULT_INDEX" in str(caught.value)
        assert "s3cret" not in str(caught.value)
    assert not (tmp_path / "envs" / jax_lock.digest[:16]).exists()


def test_files_other_than_those_locked(jax_lock: Lock, python: Interpreter, tmp_path: Path) -> None:
    forged = tuple(replace(package, hashes=("sha256:" + "0" * 64,)) for package in jax_lock.packages)
    with pytest.raises(OutsideError, match="other files than those locked"):
        build_venv(replace(jax_lock, packages=forged), python, tmp_path)


@pytest.mark.usefixtures("may_mount")
def test_full_disk(jax_lock: Lock, python: Interpreter, small_disk: Path) -> None:
    with pytest.raises(OutsideError, match="no space is left on the disk") as caught:
        build_venv(jax_lock, python, small_disk)
    assert str(small_disk) in str(caught.value).splitlines()[0]
    assert not (small_disk / "envs" / jax_lock.digest[:16]).exists()


@pytest.mark.usefixtures("may_mount")
def test_full_download_cache(
    jax_lock: Lock, python: Interpreter, small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_CACHE_DIR", str(small_disk / "uv"))
    with pytest.raises(OutsideError, match="no space is left on the disk") as caught:
        build_venv(jax_lock, python, tmp_path / "cache")
    assert str(small_disk) in str(caught.value).splitlines()[0]


@pytest.mark.usefixtures("may_mount")
def test_read_only_disk(jax_lock: Lock, python: Interpreter, small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(OutsideError, match="the file system is read-only") as caught:
        build_venv(jax_lock, python, small_disk / "cache")
    assert str(small_disk) in str(caught.value).splitlines()[0]


def test_two_processes_make_one_environment(jax_lock: Lock, tmp_path: Path) -> None:
    lock_file = tmp_path / "lock.json"
    lock_file.write_text(json.dumps(jax_lock.to_dict()))
    code = textwrap.dedent(f"""
        import json
        from pathlib import Path
        from stackproof.compat.lock import Lock
        from stackproof.containers.interpreter import find_python
        from stackproof.containers.venv import build_venv
        lock = Lock.from_dict(json.loads(Path({str(lock_file)!r}).read_text()))
        made = build_venv(lock, find_python({PYTHON!r}), Path({str(tmp_path / "cache")!r}))
        print(made.path, made.reused)
    """)
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    both = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environ) for _ in range(2)
    ]
    answers = [one.communicate(timeout=120)[0].split() for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert answers[0][0] == answers[1][0]
    assert sorted(answer[1] for answer in answers) == ["False", "True"]
    assert "jax" in _installed(Path(answers[0][0]) / "bin" / "python")


def test_uv_is_the_one_of_the_package() -> None:
    from stackproof.containers.uv import find_uv, run_uv  # noqa: PLC0415 - the one test that needs them

    assert shutil.which(find_uv())
    assert importlib.metadata.version("uv") in run_uv(["--version"]).stdout


def _installed(python: Path) -> dict[str, str]:
    listed = subprocess.run([python, "-I", "-c", LIST], capture_output=True, check=True, text=True).stdout
    return {str(name): str(version) for name, version in json.loads(listed).items()}
