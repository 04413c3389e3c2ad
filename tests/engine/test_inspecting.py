"""Real images, looked into by a real engine: one as it should be, and one with a fault of every kind planted."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from real_engines import missing_docker, missing_program, private_podman
from required import need
from shared_libraries import build
from small_wheels import write_wheel

from stackproof.compat.driver_levels import parse_level
from stackproof.compat.errors import OutsideError, StoppedError
from stackproof.compat.lock import Lock, Package
from stackproof.containers.bases.pins import load_pins
from stackproof.containers.bases.provide import provide_base
from stackproof.containers.engine.build import BuildRequest, build_image
from stackproof.containers.engine.connect import connect
from stackproof.containers.engine.images import remove_image
from stackproof.containers.inspecting.drivers import ask_drivers, judge_drivers
from stackproof.containers.inspecting.inspect import inspect_image
from stackproof.containers.inspecting.judge import judge_inspection
from stackproof.containers.uv import find_uv

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackproof.containers.engine.connect import Engine

PYTHON = "/opt/stack/bin/python"
SITE = "/opt/stack/lib/python3.13/site-packages"
# Two real wheels of a few megabytes: one that can be asked about drivers, one with device code.
REAL = {"nvidia-cuda-runtime": "13.2.86", "nvidia-cufile": "1.17.1.22"}
INSTALL = """FROM {base}
RUN --mount=type=bind,source=in,target=/mnt \\
    mkdir -p /opt/stack && export HOME=/opt/stack/home UV_CACHE_DIR=/opt/stack/cache && \\
    /mnt/uv venv --allow-existing --python /usr/bin/python3 /opt/stack && \\
    /mnt/uv pip install --no-index --find-links /mnt/wheels --python /opt/stack/bin/python {packages} && \\
    rm -rf /opt/stack/home /opt/stack/cache /opt/stack/.lock
"""
PLANT = f"""FROM {{parent}}
RUN --mount=type=bind,source=in,target=/mnt \\
    cp /bin/true /opt/tool && chmod 4755 /opt/tool && \\
    touch /opt/open && chmod 666 /opt/open && \\
    cp /mnt/libbroken.so /opt/libbroken.so && \\
    export HOME=/mnt UV_CACHE_DIR=/opt/cache && \\
    /mnt/uv pip install --no-index --find-links /mnt/wheels --python {PYTHON} not-locked && \\
    rm -rf /opt/cache /opt/stack/.lock && \\
    echo 'pip install things' > /home/.bash_history && \\
    echo left > /tmp/left
"""


@contextlib.contextmanager
def closing(engine: Engine) -> Iterator[Engine]:
    yield engine
    engine.client.close()


@pytest.fixture(scope="module", params=["docker", "podman"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    if request.param == "docker":
        need("engine", missing_docker())
        with closing(connect("docker")) as connected:
            yield connected
        return
    need("podman", missing_program("podman", "podman"))
    with pytest.MonkeyPatch.context() as patch, private_podman(tmp_path_factory.mktemp("p")) as address:
        patch.setenv("CONTAINER_HOST", address)
        with closing(connect("podman")) as connected:
            yield connected


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    pinned = [f"{name}=={version}" for name, version in REAL.items()]
    options = ["--no-deps", "--only-binary", ":all:", "--dest", folder, "--quiet", "--disable-pip-version-check"]
    where = ["--platform", "manylinux_2_27_x86_64", "--platform", "manylinux2014_x86_64"]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, *where, *pinned], check=True)
    write_wheel(folder, "not-locked", "1.0")
    return folder


@pytest.fixture(scope="module")
def image(engine: Engine, wheels: Path, cache: Path) -> Iterator[str]:
    need("mmdebstrap", missing_program("mmdebstrap", "mmdebstrap"))
    base = provide_base(engine, load_pins()["debian:trixie"], cache)
    files: dict[str, Path | bytes] = {"in/uv": Path(find_uv())}
    files |= {f"in/wheels/{path.name}": path for path in wheels.iterdir()}
    tag = "stackproof-test/inspected:whole"
    text = INSTALL.format(base=base.reference, packages=" ".join(f"{n}=={v}" for n, v in REAL.items()))
    build_image(engine, BuildRequest(text, files, tag))
    yield tag
    remove_image(engine, tag)


@pytest.fixture(scope="module")
def faulty(engine: Engine, image: str, wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("planted")
    gone = build(folder / "libgone.so.1")
    broken = build(folder / "libbroken.so", "", [gone])
    files: dict[str, Path | bytes] = {"in/uv": Path(find_uv()), "in/libbroken.so": broken}
    files |= {f"in/wheels/{path.name}": path for path in wheels.glob("not_locked*")}
    tag = "stackproof-test/inspected:faulty"
    build_image(engine, BuildRequest(PLANT.format(parent=image), files, tag))
    yield tag
    remove_image(engine, tag)


def lock() -> Lock:
    packages = tuple(Package(name, version, ()) for name, version in REAL.items())
    return Lock("a-stack", "3.13.5", "linux_x86_64", packages, "cpu", "none")


def test_an_image_as_it_should_be_has_no_fault(engine: Engine, image: str) -> None:
    document = inspect_image(engine, image, PYTHON)
    json.dumps(document, allow_nan=False).encode("ascii")
    checks = {check.name: check for check in judge_inspection(document, lock(), (9, 0))}
    assert {name: check.why for name, check in checks.items() if check.outcome == "fail"} == {}
    assert document["python"].startswith("3.13.")
    assert document["packages"] == REAL
    assert document["elf"]["files"] > 500
    assert document["symbols"]["GLIBC"]["has"] == "2.41"
    assert [(one["soname"], one["version"]) for one in document["libraries"]] == [("libcudart.so.13", "13.2")]
    # cuobjdump 13.4 lists the same.
    assert document["kernels"]["nvidia-cufile"] == {
        **{f"sm_{arch}": 1 for arch in (75, 80, 86, 87, 89, 90)},
        "compute_90": 1,
    }
    explained = {(one["file"].rpartition("/")[2], one["needs"]) for one in document["elf"]["unresolved"]}
    rdma = ("libmlx5.so.1", "librdmacm.so.1", "libibverbs.so.1")
    assert explained == {("libcufile_rdma.so.1", needs) for needs in rdma}
    assert document["seconds"] < 30


def test_every_planted_fault_is_found_and_nothing_else(engine: Engine, faulty: str) -> None:
    document = inspect_image(engine, faulty, PYTHON)
    checks = judge_inspection(document, lock(), (9, 0))
    assert {check.name: check.why for check in checks if check.outcome == "fail"} == {
        "linking": "/opt/libbroken.so needs libgone.so.1, which is nowhere to be found",
        "packages": "not-locked 1.0 is there and not locked",
        "hygiene": (
            "/opt/tool runs as its owner or group; /opt/open may be written by anybody; "
            "/home/.bash_history: history of commands; /tmp/left: temporary file"
        ),
    }


def test_the_runtime_inside_is_asked_about_drivers(engine: Engine, image: str, tmp_path: Path) -> None:
    need("compiler", "" if shutil.which("cc") else "the driver twin is C: install gcc or clang")
    document = inspect_image(engine, image, PYTHON)
    drivers = {"535.183.01": "12.2", "580.65.06": "13.0", "610": "13.3"}
    levels = [(name, parse_level(level)) for name, level in drivers.items()]
    answers = ask_drivers(engine, image, PYTHON, document, levels, tmp_path)
    said = {one["driver"]: (one["code"], one["loads"], one["predicted"]) for one in answers["answers"]}
    assert said == {"535.183.01": (35, False, False), "580.65.06": (100, True, True), "610": (100, True, True)}
    assert judge_drivers(answers).outcome == "pass"
    assert judge_drivers(answers, ["535.183.01"]).outcome == "fail"


def test_nothing_is_left_behind(engine: Engine, image: str) -> None:
    before = [one["Id"] for one in engine.client.api.containers(all=True)]
    inspect_image(engine, image, PYTHON)
    left = {one["Id"] for one in engine.client.api.containers(all=True)} - set(before)
    assert left == set()


def test_an_image_without_such_a_python_says_what_to_do(engine: Engine, image: str) -> None:
    with pytest.raises(OutsideError, match="/opt/other/bin/python"):
        inspect_image(engine, image, "/opt/other/bin/python")


def test_an_image_whose_python_lies_is_refused(engine: Engine, image: str) -> None:
    tag = "stackproof-test/inspected:lying"
    program = "#!/bin/sh\\necho '{\"schema_version\": 1}'\\n"
    text = f"FROM {image}\nRUN rm {PYTHON} && printf '{program}' > {PYTHON} && chmod 755 {PYTHON}\n"
    text = text.replace("'{", "'\\''{").replace("}'", "}'\\''")
    build_image(engine, BuildRequest(text, {}, tag))
    try:
        with pytest.raises(OutsideError, match="not of the form"):
            inspect_image(engine, tag, PYTHON)
    finally:
        remove_image(engine, tag)


def test_it_stops_when_it_is_told_to(engine: Engine, image: str) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(StoppedError):
        inspect_image(engine, image, PYTHON, cancel)
