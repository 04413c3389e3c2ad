"""Where an engine is looked for, and one clear sentence where none answers."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from fake_engine import Asked, answers, connected, serving

from stackproof.compat.errors import InputError, OutsideError
from stackproof.containers.engine.connect import address_of, connect
from stackproof.containers.engine.unreached import unreached


def test_docker_is_looked_for_where_its_client_looks() -> None:
    assert address_of("docker", {}) == "unix:///var/run/docker.sock"
    assert address_of("docker", {"DOCKER_HOST": "tcp://machine.example:2376"}) == "tcp://machine.example:2376"


def test_podman_is_looked_for_in_the_run_folders(tmp_path: Path) -> None:
    assert address_of("podman", {"CONTAINER_HOST": "unix:///x.sock"}) == "unix:///x.sock"
    assert address_of("podman", {"XDG_RUNTIME_DIR": str(tmp_path)}) == "unix:///run/podman/podman.sock"
    (tmp_path / "podman").mkdir()
    (tmp_path / "podman" / "podman.sock").touch()
    assert address_of("podman", {"XDG_RUNTIME_DIR": str(tmp_path)}) == f"unix://{tmp_path}/podman/podman.sock"


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(InputError, match=r"unknown engine 'dokcer': did you mean 'docker'\?"):
        connect("dokcer")


@pytest.mark.parametrize("kind", ["docker", "podman"])
def test_no_engine_is_one_sentence_with_the_address_and_the_alternative(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"unix://{tmp_path}/absent.sock"
    monkeypatch.setenv({"docker": "DOCKER_HOST", "podman": "CONTAINER_HOST"}[kind], address)
    with pytest.raises(OutsideError) as missing:
        connect(kind)
    said = str(missing.value)
    assert said.startswith(f"no {kind} answers at {address}: No such file or directory. Start ")
    assert said.endswith("leave out --engine: stacks are then made as venvs, without images.")
    assert "\n" not in said


def test_a_socket_that_nobody_serves_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "s"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/s")
    with pytest.raises(OutsideError, match="Connection refused"):
        connect("docker")


@pytest.mark.parametrize(
    "address",
    [
        *("nonsense://x", "unix://", "unix:///", "tcp://", "tcp://127.0.0.1", "http://[", "hello", "tcp://h:99999"),
        *("tcp://h:port", "fd://", "npipe://x", "/run/docker.sock", "tcp://a..b:1", "tcp://ann:secret@127.0.0.1:1"),
        *("ann:secret@127.0.0.1:1", "tcp://a@nn:secret/x@127.0.0.1:1", "ssh://ann:secret@machine.example"),
    ],
)
def test_an_address_that_is_none_is_told_so_without_its_password(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(
        OutsideError, match=r"^DOCKER_HOST: '.*' is no address of an engine\. .*tcp://host:port"
    ) as caught:
        connect("docker")
    assert "leave out --engine" in str(caught.value)
    assert not any(word in str(caught.value) for word in ("ann", "nn:", "secret"))


@pytest.mark.parametrize("address", ["unix:///%00", "unix:///" + "a" * 200])
def test_a_socket_that_cannot_be_is_no_traceback(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(OutsideError, match=r"No such file or directory|path too long"):
        connect("docker")


def test_a_user_in_an_address_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://ann@127.0.0.1:1")
    with pytest.raises(OutsideError, match=r"^no docker answers at tcp://127\.0\.0\.1:1: Connection refused"):
        connect("docker")


def test_an_engine_that_does_not_answer_in_time_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stackproof.containers.engine.connect._TIMEOUT", 0.2)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/s")
    with socket.socket(socket.AF_UNIX) as paused:
        paused.bind(str(tmp_path / "s"))
        paused.listen()
        with pytest.raises(OutsideError, match=r"did not answer in time: it may be paused.*`docker info` answers"):
            connect("docker")


def test_a_host_that_there_is_none_of_is_told_so() -> None:
    error = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    said = str(unreached("docker", "tcp://none.example:2375", error))
    assert said.startswith("no docker answers at tcp://none.example:2375: no such host (Name or service not known). ")


def test_trouble_with_certificates_is_told_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path))
    with pytest.raises(OutsideError, match=r"Path to a certificate and key files must be provided.*DOCKER_CERT_PATH"):
        connect("docker")


def test_a_server_without_tls_is_not_taken_for_a_missing_right(monkeypatch: pytest.MonkeyPatch) -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        monkeypatch.setenv("DOCKER_HOST", f"https://127.0.0.1:{server.server_address[1]}")
        try:
            with pytest.raises(OutsideError, match=r"no connection with TLS: [\w ]+\. Check DOCKER_TLS_VERIFY"):
                connect("docker")
        finally:
            server.shutdown()
            thread.join()


def test_an_engine_that_wants_tls_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wants = {"message": "Client sent an HTTP request to an HTTPS server."}
    with serving(tmp_path / "s", answers(GET_version=lambda asked: asked.say(wants, 400))):
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/s")
        with pytest.raises(OutsideError, match="no connection with TLS: it takes no connection without"):
            connect("docker")


@pytest.mark.parametrize(
    "answer",
    [
        Asked.hang_up,
        lambda asked: asked.say_bytes(b"<html>hello</html>"),
        lambda asked: asked.say([]),
        lambda asked: asked.say({}),
        lambda asked: asked.say({"ApiVersion": 7}),
        lambda asked: asked.say({"message": "out of order"}, 500),
        lambda asked: asked.wfile.write(b"SSH-2.0-x\r\n\r\n"),
    ],
    ids=["hangs-up", "html", "list", "empty", "number", "error", "another-protocol"],
)
def test_what_is_no_engine_is_told_so(answer: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path / "s", answers(GET_version=answer)):
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/s")
        with pytest.raises(OutsideError, match="leave out --engine"):
            connect("docker")


def test_an_old_engine_is_told_what_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = {"ApiVersion": "1.41", "Version": "19.03.8"}
    with serving(tmp_path / "s", answers(GET_version=lambda asked: asked.say(old))):
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/s")
        with pytest.raises(OutsideError, match=r"is of version 19\.03\.8: images need 20\.10 or newer"):
            connect("docker")


def test_a_newer_engine_is_spoken_to_in_the_oldest_api_that_it_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = {"ApiVersion": "1.52", "MinAPIVersion": "1.44", "Version": "29.0.1"}
    versioned = {("GET", "/v1.44/info"): lambda asked: asked.say({"DockerRootDir": "/new"})}
    given = {**answers(GET_version=lambda asked: asked.say(new)), **versioned}
    with serving(tmp_path / "s", given), connected(monkeypatch, tmp_path / "s") as engine:
        assert (engine.version, engine.folder) == ("29.0.1", "/new")


def test_podman_behind_the_address_of_docker_is_podman(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    podman = {"ApiVersion": "1.41", "Version": "4.3.1", "Components": [{"Name": "Podman Engine", "Version": "4.3.1"}]}
    with (
        serving(tmp_path / "s", answers(GET_version=lambda asked: asked.say(podman))),
        connected(monkeypatch, tmp_path / "s") as engine,
    ):
        assert (engine.kind, engine.version, engine.folder) == ("podman", "4.3.1", "/var/lib/engine")
