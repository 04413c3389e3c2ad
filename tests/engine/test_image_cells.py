"""Cells in images, by the command line: built, looked into, trained in and judged, and where that fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
from command_line import CommandLine, Ended, usual_variables
from real_engines import missing_docker, missing_program, private_podman, private_registry
from required import need
from tiny import MLP, comparable, patch_backends, read_report, write_matrix

from stackproof.containers.engine.build import BuildRequest, build_image
from stackproof.containers.engine.connect import connect
from stackproof.containers.engine.images import find_image, remove_image, walk_layers
from stackproof.containers.engine.leftovers import remove_leftovers
from stackproof.matrix.config import load_matrix
from stackproof.matrix.pipeline import Request, certify
from stackproof.matrix.site import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stackproof.containers.engine.connect import Engine

AXES = {"jax": ["0.10.2"], "os": ["debian:trixie"]}
CELL = "jax0.10.2-py313-trixie-mlp"
LOOKED = ("linking", "cuda-libraries", "architectures", "symbols", "packages", "hygiene", "drivers")
# Ends of files' names, and parts of their paths, that belong to whoever builds and not into an image.
PRIVATE = ("_history", ".netrc", "pip.conf", "uv.toml", "id_rsa", ".docker/config.json", ".whl", "requirements.txt")
PLACES = ("/.cache/", "/.make/", "/var/lib/apt/lists/", "/var/cache/apt/archives/")


@pytest.fixture(scope="module", autouse=True)
def _tools() -> None:
    need("engine", missing_docker())
    need("mmdebstrap", missing_program("mmdebstrap", "mmdebstrap"))


class Certified:
    """A matrix of one cell, certified in an image, and certified again."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self.matrix = write_matrix(folder, AXES)
        self.command = CommandLine(folder / "commands", usual_variables(cache))
        self.first = self._certify()
        started = time.monotonic()
        self.report = read_report(folder / "out")
        self.second = self._certify()
        self.again = read_report(folder / "out")
        self.seconds = time.monotonic() - started

    def _certify(self) -> Ended:
        return self.command.run("certify", self.matrix, "--engine", "docker", "--out", self.folder / "out", "--verbose")

    @property
    def cell(self) -> dict[str, Any]:
        assert self.first.code == 0, self.first.err + self.first.out
        cell: dict[str, Any] = self.report["cells"][0]
        return cell


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Certified]:
    made = Certified(tmp_path_factory.mktemp("certified"), cache)
    yield made
    made.command.stop()


def test_a_cell_in_an_image_is_certified_with_every_check_of_a_venv_and_of_the_image(certified: Certified) -> None:
    cell = certified.cell
    assert (cell["id"], cell["verdict"], cell["level"]) == (CELL, "certified", "trained-cpu")
    outcomes = {check["name"]: check["outcome"] for check in cell["checks"]}
    assert {name: outcomes.pop(name) for name in LOOKED} == {
        **dict.fromkeys(LOOKED, "pass"),
        # There is no CUDA in it.
        **dict.fromkeys(("cuda-libraries", "architectures", "drivers"), "skip"),
    }
    throughput = {"throughput": "skip"}  # it is the baseline
    assert outcomes == {**dict.fromkeys(("trajectory", "reference", "determinism", "versions"), "pass"), **throughput}


def test_the_report_names_the_image_that_the_engine_has(certified: Certified) -> None:
    image = certified.cell["image"]
    engine = connect("docker")
    found = find_image(engine, image["reference"])
    engine.client.close()
    assert found is not None
    assert found.id == image["id"]
    assert certified.cell["image_digest"] == f"sha256:{image['content_digest']}"
    assert [name for name, _ in image["layers"]] == ["base", "environment", "framework", "application"]
    assert sum(size for _, size in image["layers"]) == image["size"]
    assert found.labels["stackproof.lock-digest"] == certified.cell["lock_digest"]
    assert found.user.startswith("10001")


def test_lock_and_certificate_bind_the_base(certified: Certified) -> None:
    out = certified.folder / "out"
    lock = json.loads((out / "locks" / f"{CELL}.json").read_bytes())
    certificate = json.loads((out / "certificates" / f"{CELL}.json").read_bytes())
    assert lock["base"].startswith("debian:trixie@sha256:")
    assert certificate["image"]["base"] == lock["base"]
    assert certificate["image_digest"] == certified.cell["image_digest"]


def test_the_second_time_nothing_is_done_again(certified: Certified) -> None:
    assert certified.second.code == 0, certified.second.err
    assert comparable(certified.again) == comparable(certified.report)
    assert all(certified.again["cells"][0]["reused"].values())
    assert "layer" not in certified.second.err


def test_no_layer_holds_what_belongs_to_the_builder(certified: Certified) -> None:
    engine = connect("docker")
    names = [f"/{info.name}" for _, info, _ in walk_layers(engine, certified.cell["image"]["reference"])]
    found = [
        info.name
        for _, info, content in walk_layers(engine, certified.cell["image"]["reference"])
        if content is not None and info.size < 1 << 20 and str(certified.folder).encode() in content.read()
    ]
    engine.client.close()
    assert len(names) > 1000
    assert [name for name in names if name.endswith(PRIVATE)] == []
    # Debian's own empty folders are there.
    assert [name for name in names if any(place in name for place in PLACES) and not name.endswith("/partial")] == []
    assert found == []


def test_build_finds_the_image_and_says_its_digest(certified: Certified) -> None:
    ended = certified.command.run("build", certified.matrix, "--out", certified.folder / "out", "--json")
    assert ended.code == 0, ended.err
    (image,) = json.loads(ended.out)["images"]
    assert (image["built"], image["reused"]) == (True, True)
    assert f"sha256:{image['content_digest']}" == certified.cell["image_digest"]


def test_a_build_folder_makes_the_same_layers_by_hand(certified: Certified, tmp_path: Path) -> None:
    need("engine", missing_program("docker", "docker.io"))
    words = ("--out", certified.folder / "out", "--write", tmp_path / "made", "--json")
    ended = certified.command.run("build", certified.matrix, *words)
    (written,) = json.loads(ended.out)["images"]
    folder = tmp_path / "made" / "jax0.10.2-py313-trixie"
    assert written["folder"] == str(folder)
    docker = "/usr/bin/docker" if os.access("/usr/bin/docker", os.X_OK) else "docker"
    variables = {**os.environ, "DOCKER_BUILDKIT": "1"}
    tag = "stackproof/test-by-hand:1"
    subprocess.run([docker, "build", "-q", "--network=none", "-t", tag, folder], check=True, env=variables)
    engine = connect("docker")
    by_hand, ours = find_image(engine, tag), find_image(engine, certified.cell["image"]["reference"])
    assert by_hand is not None
    assert ours is not None
    assert by_hand.layers == ours.layers
    remove_image(engine, tag)
    engine.client.close()


def test_a_venv_and_an_image_train_alike(certified: Certified, tmp_path: Path, cache: Path) -> None:
    """The same wheels but for the Python they are for: float64 references agree as two frameworks' do."""
    matrix = write_matrix(tmp_path, {"jax": ["0.10.2"]})
    command = CommandLine(tmp_path / "commands", usual_variables(cache))
    ended = command.run("certify", matrix, "--out", tmp_path / "out")
    assert ended.code == 0, ended.err
    venv = read_report(tmp_path / "out")["cells"][0]["curves"]["reference_loss"]
    assert venv == pytest.approx(certified.cell["curves"]["reference_loss"], rel=1e-12)


@pytest.mark.parametrize(
    ("more", "spec", "reason"),
    [
        ("[run]\nmemory_limit = 96\n", MLP, "96 MiB"),
        ("[run]\ntime_limit = 1\n", MLP, "within 1 s"),
    ],
    ids=["memory", "time"],
)
def test_a_limit_that_is_met_is_told_as_in_a_venv(
    more: str, spec: str, reason: str, command: CommandLine, tmp_path: Path
) -> None:
    ended = command.run(
        "certify", write_matrix(tmp_path, AXES, spec, more), "--engine", "docker", "--out", tmp_path / "out"
    )
    cell = read_report(tmp_path / "out")["cells"][0]
    assert ended.code == 1
    assert (cell["verdict"], cell["level"]) == ("broken", "inspected")
    assert reason in cell["reasons"][0]


def test_a_worker_that_crashes_leaves_its_words(tmp_path: Path) -> None:
    source = patch_backends(tmp_path, "worker.py", "def main(", 'raise SystemError("planted")\n\n\ndef main(')
    settings = Settings(engine="docker", source=source)
    report = certify(Request(load_matrix(write_matrix(tmp_path, AXES)), tmp_path / "out", settings=settings))
    cell = report["cells"][0]
    assert cell["verdict"] == "broken"
    assert "planted" in " ".join([*cell["reasons"], *cell["log"]])


def test_nothing_runs_on_when_stackproof_is_killed(command: CommandLine, tmp_path: Path) -> None:
    matrix = write_matrix(tmp_path, AXES, MLP.replace("steps = 6", "steps = 30000"))
    running = command.start("certify", matrix, "--engine", "docker", "--out", tmp_path / "out", "--verbose")
    engine = connect("docker")
    running.wait_for(f"run        {CELL}: started")
    running.wait_until(lambda: _workers(engine), "a container")
    os.kill(running.process.pid, signal.SIGKILL)
    deadline = time.monotonic() + 20
    while _workers(engine) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not _workers(engine)
    remove_leftovers(engine)
    engine.client.close()


def _workers(engine: Engine) -> list[str]:
    found = engine.client.api.containers(filters={"label": "stackproof=worker"})
    return [one["Id"] for one in found if "worker.zip" in str(one["Command"])]


def test_an_image_is_pushed_pulled_by_digest_elsewhere_and_trains_there(
    certified: Certified, command: CommandLine, tmp_path: Path
) -> None:
    need("podman", missing_program("podman", "podman"))
    need("registry", missing_program("docker-registry", "docker-registry"))
    image = certified.cell["image"]
    with private_registry(tmp_path) as host, private_podman(tmp_path) as address:
        pushed = command.run("images", "push", image["reference"], f"{host}/team/stack:1", "--json")
        assert pushed.code == 0, pushed.err
        digest = json.loads(pushed.out)["reference"].rpartition("@")[2]
        pulled = command.run(
            "images", "pull", f"{host}/team/stack@{digest}", "--engine", "podman", "--json", CONTAINER_HOST=address
        )
        assert pulled.code == 0, pulled.err
        words = ("--backend", "jax", "--engine", "podman", "--env", f"{host}/team/stack@{digest}", "--json")
        ran = command.run("train", certified.folder / "mlp.toml", *words, CONTAINER_HOST=address)
        assert ran.code == 0, ran.err
        trained = json.loads(ran.out)
    assert trained["versions"]["jax"] == "0.10.2"
    assert trained["losses"] == certified.cell["curves"]["loss"]


def test_without_an_engine_one_sentence_says_so_and_names_the_venv(command: CommandLine, tmp_path: Path) -> None:
    matrix = write_matrix(tmp_path, AXES)
    nowhere = f"unix://{tmp_path}/no.sock"
    ended = command.run("certify", matrix, "--engine", "docker", "--out", tmp_path / "out", DOCKER_HOST=nowhere)
    assert ended.code == 3
    assert nowhere in ended.err
    assert "venv" in ended.err
    assert "Traceback" not in ended.err


def test_a_lock_built_again_from_nothing_holds_the_same(certified: Certified) -> None:
    words = ("--out", certified.folder / "out", "--reproduce", "--json")
    ended = certified.command.run("build", certified.matrix, *words)
    (image,) = json.loads(ended.out)["images"]
    assert ended.code == 0, ended.err
    assert image["differences"] == []
    assert f"sha256:{image['content_digest']}" == certified.cell["image_digest"]


@pytest.mark.parametrize("kind", ["image", "layer"])
def test_what_somebody_else_gave_the_name_is_not_taken_for_ours(certified: Certified, kind: str) -> None:
    engine = connect("docker")
    image = certified.cell["image"]["reference"]
    labels = engine.client.api.inspect_image(image)["Config"]["Labels"]
    name = image if kind == "image" else f"stackproof/layer:{labels['stackproof.key'][:16]}"
    planted = f"FROM {name}\nLABEL planted=yes\n"
    build_image(engine, BuildRequest(planted, {}, name))
    if kind == "layer":
        remove_image(engine, image)
    ended = certified.command.run("build", certified.matrix, "--out", certified.folder / "out", "--json")
    assert ended.code == 0, ended.err
    (made,) = json.loads(ended.out)["images"]
    assert not made["reused"]
    assert f"sha256:{made['content_digest']}" == certified.cell["image_digest"]
    assert "planted" not in engine.client.api.inspect_image(image)["Config"]["Labels"]
    engine.client.close()
