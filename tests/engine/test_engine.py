"""Real engines: what is built, run, moved and taken away is so in Docker and in Podman alike."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from real_engines import (
    PrivateDocker,
    connected_to,
    missing_docker,
    missing_program,
    private_podman,
    private_registry,
)
from required import need
from small_root import write_small_root

from stackproof.compat.errors import OutsideError, StoppedError
from stackproof.containers.engine.build import BuildRequest, build_image
from stackproof.containers.engine.container import Container, ContainerRequest, Limits, run_container
from stackproof.containers.engine.images import (
    find_image,
    import_base,
    layer_sizes,
    pull_image,
    push_image,
    remove_image,
    resolve_tag,
    tag_image,
    walk_layers,
)
from stackproof.containers.engine.leftovers import remove_leftovers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stackproof.containers.engine.connect import Engine

RUN = uuid4().hex[:8]
BASE = f"stackproof/test-base:{RUN}"
COPY = f"FROM {BASE}\nRUN --mount=type=bind,source=in,target=/mnt cat /mnt/a > /opt/a; touch -d @0 /opt/a /opt\n"
KINDS = ("docker", "podman")

# Starts a container whose only reason to end is its standard input, and waits to be killed.
STARTER = """
import sys, time
from stackproof.containers.engine.connect import connect
from stackproof.containers.engine.container import Container, ContainerRequest
container = Container(connect(sys.argv[1]), ContainerRequest(sys.argv[2], ("sh", "-c", sys.argv[3]), stdin=True))
container.start()
print(container.read(30).decode(), flush=True)
time.sleep(300)
"""


def tag(name: str) -> str:
    return f"stackproof/test-{name}:{RUN}"


@pytest.fixture(scope="module")
def small_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_root(tmp_path_factory.mktemp("root") / "root.tar")


@pytest.fixture(scope="module")
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "docker":
        need("engine", missing_docker())
        yield os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    else:
        need("podman", missing_program("podman", "podman"))
        with private_podman(tmp_path_factory.mktemp("podman")) as served:
            yield served


@pytest.fixture(scope="module")
def engine(address: str, request: pytest.FixtureRequest, small_root: Path) -> Iterator[Engine]:
    kind = request.node.callspec.params["address"] if hasattr(request.node, "callspec") else _kind_of(address)
    with pytest.MonkeyPatch.context() as patch, connected_to(kind, address, patch) as made:
        import_base(made, small_root, BASE, {"test": "yes"})
        yield made
        remove_test_images(made)


def _kind_of(address: str) -> str:
    return "podman" if "podman" in address else "docker"


def remove_test_images(engine: Engine) -> None:
    for image in engine.client.api.images():
        for name in image.get("RepoTags") or []:
            if name.endswith(f":{RUN}"):
                remove_image(engine, name)


both = pytest.mark.parametrize("address", KINDS, indirect=True)


def commands() -> dict[int, str]:
    """Return the command lines of all processes of this machine, containers' among them."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found[int(path.name)] = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return found


def runs(words: str) -> bool:
    return any(line.startswith(words) for line in commands().values())


def until(holds: Callable[[], Any], seconds: float = 15.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.1)
    return False


def context_left(engine: Engine) -> set[str]:
    """Return what an engine keeps of contexts: BuildKit's records, or Buildah's folders."""
    if engine.kind == "podman":
        return {str(path) for path in Path("/var/tmp").glob("libpod_builder*")}  # noqa: S108 - Podman's own
    records = engine.client.api.df()["BuildCache"] or []
    words = ("http url http://build-context-", "fileop target")
    return {record["ID"] for record in records if record["Description"].startswith(words)}


def sh(engine: Engine, script: str, **request: Any) -> Any:
    return run_container(engine, ContainerRequest(BASE, ("sh", "-c", script), **request), 60)


@both
def test_a_base_is_found_by_its_name_with_its_labels(engine: Engine) -> None:
    found = find_image(engine, BASE)
    assert found is not None
    assert found.labels["test"] == "yes"
    assert (len(found.layers), found.architecture, found.os) == (
        1,
        os.uname().machine.replace("x86_64", "amd64"),
        "linux",
    )
    assert found == find_image(engine, found.id)
    assert find_image(engine, tag("absent")) is None
    assert sum(size for _, size in layer_sizes(engine, BASE)) > 1_000_000


@both
def test_an_image_holds_what_its_steps_wrote_and_nothing_of_the_context(engine: Engine) -> None:
    before, told = context_left(engine), []
    made = build_image(engine, BuildRequest(COPY, {"in/a": b"one\n", "in/secret": b"s"}, tag("copy")), told.append)
    found = find_image(engine, tag("copy"))
    assert found is not None
    assert made == found.id
    names = {entry.name.strip("/") for number, entry, _ in walk_layers(engine, tag("copy")) if number == 1}
    # Buildah takes away the folder that a step's files were bound to, though the base has it.
    gone = {".wh.mnt"} if engine.kind == "podman" else set()
    assert {name for name in names if name not in {"proc", "sys", "dev", "run"}} == {"opt", "opt/a", *gone}
    assert any("cat /mnt/a" in line for line in told)
    assert context_left(engine) <= before


@both
def test_the_same_step_on_other_files_is_another_layer_and_on_the_same_the_same(engine: Engine) -> None:
    layers = []
    for content in (b"one", b"two", b"one"):
        build_image(engine, BuildRequest(COPY, {"in/a": content}, tag("again"), cached=content == b"two"))
        found = find_image(engine, tag("again"))
        assert found is not None
        layers.append(found.layers[1:])
    assert layers[0] == layers[2] != layers[1]


@both
def test_a_failed_step_is_told_with_its_last_lines(engine: Engine) -> None:
    request = BuildRequest(f"FROM {BASE}\nRUN echo before; echo the reason >&2; exit 3\n", {}, tag("failed"))
    with pytest.raises(OutsideError) as failed:
        build_image(engine, request)
    said = str(failed.value)
    assert f"building {tag('failed')}: a step failed: " in said
    assert "RUN echo before" in said
    assert "  the reason\n" in said
    assert find_image(engine, tag("failed")) is None


@both
def test_a_build_has_no_network_and_no_secrets_of_ours(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", "do not tell")
    told: list[str] = []
    request = BuildRequest(f"FROM {BASE}\nRUN cat /proc/net/dev; env\n", {}, tag("alone"), cached=False)
    build_image(engine, request, told.append)
    devices = [line.split(":")[0].strip() for line in told if line.count(" ") > 10 and ":" in line]
    assert devices == ["lo"]
    assert "do not tell" not in "\n".join(told)


@both
def test_a_stopped_build_ends_in_the_engine_too(engine: Engine) -> None:
    seconds, cancel = str(10_000 + int(RUN[:3], 16)), threading.Event()
    words = f"sleep {seconds}"
    before = context_left(engine)

    def stop() -> None:
        until(lambda: runs(words))
        cancel.set()

    waiting = threading.Thread(target=stop)
    waiting.start()
    with pytest.raises(StoppedError):
        build_image(
            engine, BuildRequest(f"FROM {BASE}\nRUN sleep {seconds}\n", {"in/a": b""}, tag("stopped")), cancel=cancel
        )
    waiting.join()
    assert until(lambda: not runs(words), 5)
    assert until(lambda: context_left(engine) <= before, 5)
    assert find_image(engine, tag("stopped")) is None


@both
def test_a_container_has_no_network_no_privileges_and_one_folder(engine: Engine) -> None:
    script = (
        "cat /proc/net/dev; grep -E 'Cap(Prm|Eff|Bnd)|NoNewPrivs' /proc/self/status; id; cat a/b; touch /job/x /tmp/x"
    )
    ended = sh(engine, f"{script} && touch /opt/x", files={"/job/a/b": b"given\n"}, user="stack")
    said = ended.stdout.decode()
    assert ended.code != 0
    assert b"Read-only file system" in ended.stderr
    assert said.count(":\t0000000000000000\n") == 3
    assert "NoNewPrivs:\t1" in said
    assert "uid=10001(stack) gid=10002(stack)" in said
    assert "given\n" in said
    assert [line.split(":")[0].strip() for line in said.splitlines() if line.count(" ") > 15 and ":" in line] == ["lo"]


@both
@pytest.mark.parametrize(
    ("user", "owner"), [("", "0 0"), ("10001", "10001"), ("12345:54321", "12345 54321"), ("stack", "10001 10002")]
)
def test_its_folder_and_files_belong_to_its_user(engine: Engine, user: str, owner: str) -> None:
    ended = sh(engine, "ls -nd . f d; touch d/new", files={"/job/f": b"", "/job/d/x": b""}, user=user)
    assert ended.code == 0, ended.stderr
    for line in ended.stdout.decode().splitlines():
        assert " ".join(line.split()[2:4]).startswith(owner)


@both
def test_a_user_that_the_image_lacks_is_named(engine: Engine) -> None:
    with pytest.raises(OutsideError, match="nobody_here"):
        sh(engine, "true", user="nobody_here")


@both
def test_what_lies_in_tmp_can_be_run(engine: Engine) -> None:
    ended = sh(engine, "cat /bin/sh > /tmp/sh; env -i /bin/sh -c 'kill -0 1'; ls -l /tmp/sh", user="stack")
    assert ended.code == 0, ended.stderr
    mounted = sh(engine, "grep ' /tmp ' /proc/mounts").stdout.decode()
    assert "noexec" not in mounted
    assert "nosuid" in mounted


@both
def test_a_container_out_of_memory_is_told(engine: Engine) -> None:
    ended = sh(engine, "x=0123456789; while :; do x=$x$x; done", limits=Limits(memory_bytes=64 << 20))
    assert (ended.code, ended.out_of_memory) == (137, True)


@both
def test_a_container_gets_no_more_processes_than_allowed(engine: Engine) -> None:
    ended = sh(engine, "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5 & done", limits=Limits(pids=6))
    assert ended.code != 0
    assert b"ork" in ended.stderr


@both
def test_a_container_that_takes_too_long_is_ended(engine: Engine) -> None:
    start = time.monotonic()
    ended = run_container(engine, ContainerRequest(BASE, ("sh", "-c", "echo begun; sleep 100")), 1.5)
    assert (ended.timed_out, ended.stdout, ended.out_of_memory) == (True, b"begun\n", False)
    assert time.monotonic() - start < 20


@both
def test_a_stopped_container_is_gone(engine: Engine) -> None:
    cancel = threading.Event()
    threading.Timer(1.0, cancel.set).start()
    with pytest.raises(StoppedError):
        run_container(engine, ContainerRequest(BASE, ("sleep", "100")), 60, cancel)
    assert left(engine) == []


@both
def test_much_output_arrives_whole(engine: Engine) -> None:
    ended = sh(engine, "dd if=/dev/zero bs=1000000 count=20; echo end >&2")
    assert len(ended.stdout) == 20_000_000
    assert ended.stderr.endswith(b"end\n")


@both
def test_a_conversation_over_standard_streams(engine: Engine, tmp_path: Path) -> None:
    script = "mkdir -p out/deep; echo 1 > out/a; echo 2 > out/deep/b; echo ready; cat; echo bye >&2; exit 4"
    request = ContainerRequest(BASE, ("sh", "-c", script), stdin=True, user="stack")
    with Container(engine, request) as container:
        container.start()
        assert container.read(20) == b"ready\n"
        assert container.read(0.1) is None
        assert container.ended() is None
        assert container.memory_bytes() > 0
        container.write(b"hello\n")
        assert container.read(20) == b"hello\n"
        container.fetch("/job/out", tmp_path / "out")
        container.close_stdin()
        assert container.read(20) == b""
        assert until(container.ended)
        ended = container.ended()
        assert ended is not None
        assert (ended.code, ended.out_of_memory, container.log()) == (4, False, b"bye\n")
        container.fetch("/job/out/a", tmp_path / "a")
        with pytest.raises(OutsideError, match="/job/nothing is not in the container"):
            container.fetch("/job/nothing", tmp_path / "nothing")
    assert [(tmp_path / name).read_text() for name in ("out/a", "out/deep/b", "a")] == ["1\n", "2\n", "1\n"]
    assert left(engine) == []


@both
def test_what_is_no_file_is_not_fetched(engine: Engine, tmp_path: Path) -> None:
    script = "mkdir out; echo 1 > out/a; ln -s /etc/passwd out/b; echo ready; sleep 60"
    with Container(engine, ContainerRequest(BASE, ("sh", "-c", script)), keep_output=True) as container:
        container.start()
        assert container.read(20) == b"ready\n"
        with pytest.raises(OutsideError, match="neither a file nor a folder"):
            container.fetch("/job/out", tmp_path / "out")
    assert not os.path.lexists(tmp_path / "out" / "b")


@both
def test_a_killed_client_ends_its_container_and_the_next_removes_it(engine: Engine, address: str) -> None:
    variable = {"docker": "DOCKER_HOST", "podman": "CONTAINER_HOST"}[engine.kind]
    script = f"echo ready; cat; : {RUN}"
    client = subprocess.Popen(
        [sys.executable, "-c", STARTER, engine.kind, BASE, script],
        stdout=subprocess.PIPE,
        env={**os.environ, variable: address},
    )
    with client:
        try:
            assert client.stdout is not None
            assert client.stdout.readline() == b"ready\n"
            assert inside(script)
            remove_leftovers(engine)
            assert len(left(engine, client.pid)) == 2
        finally:
            client.send_signal(signal.SIGKILL)
    assert until(lambda: not inside(script), 10)
    assert len(left(engine, client.pid)) == 2
    assert until(lambda: remove_leftovers(engine) == 0 and left(engine, client.pid) == [], 10)


@both
def test_what_a_client_left_that_was_killed_while_it_filled_a_folder_is_found(engine: Engine, address: str) -> None:
    variable = {"docker": "DOCKER_HOST", "podman": "CONTAINER_HOST"}[engine.kind]
    dies = "import os, signal\nfrom stackproof.containers.engine import volume\n"
    dies += "volume.pack = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
    with subprocess.Popen(
        [sys.executable, "-c", dies + STARTER, engine.kind, BASE, "exit"], env={**os.environ, variable: address}
    ) as client:
        assert client.wait(30) == -signal.SIGKILL
    assert len(left(engine, client.pid)) == 2  # the helper and the volume
    assert until(lambda: remove_leftovers(engine) == 0 and left(engine, client.pid) == [], 10)


def inside(script: str) -> bool:
    """Say whether a shell runs a script, as the first of its arguments' words."""
    return runs(f"sh -c {script}")


def left(engine: Engine, process: int | None = None) -> list[str]:
    """Return the labels of containers and volumes that a process made; this one if not given."""
    filters = {"label": "stackproof=worker"}
    containers = engine.client.api.containers(all=True, filters=filters)
    volumes = engine.client.api.volumes(filters=filters)["Volumes"] or []
    owners = [(thing.get("Labels") or {}).get("stackproof.owner", "") for thing in (*containers, *volumes)]
    return [owner for owner in owners if f" {process or os.getpid()} " in owner]


@both
def test_a_program_that_is_not_there_is_told(engine: Engine) -> None:
    try:
        ended = run_container(engine, ContainerRequest(BASE, ("no-such-program",)), 20)
        said = ended.stderr.decode()
        assert ended.code == 127
    except OutsideError as error:
        said = str(error)
    assert "no-such-program" in said


@both
def test_names_of_images_come_and_go(engine: Engine) -> None:
    tag_image(engine, BASE, tag("named"))
    found, base = find_image(engine, tag("named")), find_image(engine, BASE)
    assert found is not None
    assert base is not None
    assert found.id == base.id
    remove_image(engine, tag("named"))
    remove_image(engine, tag("named"))
    assert find_image(engine, tag("named")) is None
    assert find_image(engine, BASE) is not None


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    need("registry", missing_program("docker-registry", "docker-registry"))
    with private_registry(tmp_path_factory.mktemp("registry")) as host:
        yield host


@both
def test_an_image_is_pushed_and_pulled_by_its_digest(engine: Engine, registry: str) -> None:
    repository = f"{registry}/stacks/{engine.kind}"
    build_image(engine, BuildRequest("FROM scratch\nCOPY a /a\n", {"a": b"pushed"}, tag("pushed")))
    before = find_image(engine, tag("pushed"))
    digest = push_image(engine, tag("pushed"), repository, "v1")
    assert resolve_tag(engine, repository, "v1") == digest
    for name in (tag("pushed"), f"{repository}:v1", f"{repository}@{digest}"):
        remove_image(engine, name)
    assert find_image(engine, f"{repository}@{digest}") is None
    told: list[str] = []
    pulled = pull_image(engine, repository, digest, told.append)
    assert before is not None
    assert pulled.layers == before.layers
    assert f"{repository}@{digest}" in pulled.digests
    assert [(entry.name, file.read()) for _, entry, file in walk_layers(engine, f"{repository}@{digest}") if file] == [
        ("a", b"pushed")
    ]
    remove_image(engine, f"{repository}@{digest}")


@both
def test_what_a_registry_lacks_is_told(engine: Engine, registry: str) -> None:
    with pytest.raises(OutsideError, match="no such image"):
        resolve_tag(engine, f"{registry}/nothing", "v1")
    with pytest.raises(OutsideError, match="no such image"):
        pull_image(engine, f"{registry}/nothing", "sha256:" + "0" * 64)
    with pytest.raises(OutsideError, match="could not be reached"):
        pull_image(engine, "127.0.0.1:1/nothing", "sha256:" + "0" * 64)


class Liar(BaseHTTPRequestHandler):
    """A registry that serves one manifest under every digest."""

    manifest = b'{"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json"}'

    def do_GET(self) -> None:
        self.send_response(200)
        if "/manifests/" in self.path:
            self.send_header("Content-Type", "application/vnd.docker.distribution.manifest.v2+json")
            self.send_header("Docker-Content-Digest", self.path.rpartition("/")[2])
            self.send_header("Content-Length", str(len(self.manifest)))
        else:
            self.send_header("Content-Length", "0")
        self.end_headers()
        if "/manifests/" in self.path and self.command == "GET":
            self.wfile.write(self.manifest)

    do_HEAD = do_GET  # noqa: N815 - as http.server asks for

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@both
def test_a_registry_that_serves_something_else_is_named_with_both_digests(engine: Engine) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Liar) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with pytest.raises(OutsideError) as refused:
                pull_image(engine, f"127.0.0.1:{server.server_port}/x", "sha256:" + "a" * 64)
        finally:
            server.shutdown()
            thread.join()
    assert f"asked for sha256:{'a' * 64}, served sha256:{hashlib.sha256(Liar.manifest).hexdigest()}" in str(
        refused.value
    )


@pytest.fixture
def private(
    tmp_path: Path, small_root: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[PrivateDocker, Engine]]:
    need("engine", missing_program("dockerd", "that brings the Docker engine"))
    started = PrivateDocker(tmp_path / "images")
    try:
        with connected_to("docker", started.address, monkeypatch) as engine:
            import_base(engine, small_root, BASE, {})
            yield started, engine
    finally:
        started.stop()


# The docker package leaves a socket open when nobody answers it; the collector closes it, with a warning.
leaves_a_socket = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@leaves_a_socket
def test_an_engine_that_dies_in_a_build_is_an_error_in_words(private: tuple[PrivateDocker, Engine]) -> None:
    docker, engine = private
    told: list[str] = []

    def kill() -> None:
        until(lambda: any("begun" in line for line in told))
        docker.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(OutsideError, match=r"building .*: docker at .* closed the connection before it had finished"):
        build_image(engine, BuildRequest(f"FROM {BASE}\nRUN echo begun; sleep 15\n", {}, tag("dies")), told.append)
    killer.join()
    gc.collect()


@leaves_a_socket
def test_an_engine_that_dies_under_a_container_is_an_error_in_words(private: tuple[PrivateDocker, Engine]) -> None:
    docker, engine = private
    with Container(engine, ContainerRequest(BASE, ("sh", "-c", "echo ready; cat; sleep 5"), stdin=True)) as container:
        container.start()
        assert container.read(20) == b"ready\n"
        docker.kill()
        assert container.read(20) == b""
        with pytest.raises(OutsideError, match="closed the connection"):
            container.ended()
    gc.collect()


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_is_told_with_the_engines_folder(
    kind: str, small_root: Path, mounted: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    need("engine" if kind == "docker" else "podman", missing_program({"docker": "dockerd"}.get(kind, kind), kind))
    small = mounted("100m")
    with contextlib.ExitStack() as stack:
        if kind == "docker":
            started = PrivateDocker(small / "images")
            stack.callback(started.stop)
            served = started.address
        else:
            served = stack.enter_context(private_podman(small / "podman"))
        engine = stack.enter_context(connected_to(kind, served, monkeypatch))
        import_base(engine, small_root, BASE, {})
        request = BuildRequest(f"FROM {BASE}\nRUN dd if=/dev/zero of=/opt/x bs=1000000 count=200\n", {}, tag("full"))
        with pytest.raises(OutsideError, match=rf"no space is left(.|\n)*Free some space below {small}"):
            build_image(engine, request)
