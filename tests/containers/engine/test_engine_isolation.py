"""What a container may do, as the engine is told it; and requests that say something else."""

from typing import Any

import pytest

from stackproof.compat.errors import InputError
from stackproof.containers.engine.connect import Engine
from stackproof.containers.engine.container import ContainerRequest, Limits
from stackproof.containers.engine.isolation import describe_container, inner_path, require_sound

DOCKER = Engine("docker", "20.10.24", "unix:///s", None)
PODMAN = Engine("podman", "4.3.1", "unix:///s", None)


def described(engine: Engine, **request: Any) -> dict[str, Any]:
    return describe_container(
        engine, ContainerRequest("a:b", ("python",), **request), "volume", {"stackproof": "worker"}
    )


@pytest.mark.parametrize("engine", [DOCKER, PODMAN], ids=["docker", "podman"])
def test_a_container_gets_nothing_that_is_not_asked_for(engine: Engine) -> None:
    host = described(engine)["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"] is True
    assert (host["CapDrop"], host["CapAdd"]) == (["ALL"], [])
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["PidsLimit"] == 4096
    assert "DeviceRequests" not in host
    assert "Privileged" not in host


def test_memory_is_limited_without_swap_and_processors_in_fractions() -> None:
    host = described(DOCKER, limits=Limits(memory_bytes=1 << 30, cpus=1.5, pids=64))["HostConfig"]
    assert (host["Memory"], host["MemorySwap"], host["NanoCpus"], host["PidsLimit"]) == (
        1 << 30,
        1 << 30,
        1_500_000_000,
        64,
    )


def test_gpus_are_asked_for_in_each_engines_way() -> None:
    asked = {engine.kind: described(engine, gpus=True)["HostConfig"]["DeviceRequests"] for engine in (DOCKER, PODMAN)}
    assert asked["docker"] == [{"Driver": "", "Count": -1, "Capabilities": [["gpu"]]}]
    assert asked["podman"] == [{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=all"]}]


def test_standard_input_ends_with_the_one_that_writes_it() -> None:
    assert described(DOCKER, stdin=True)["StdinOnce"] is True


@pytest.mark.parametrize(
    ("request_", "where"),
    [
        ({"command": ()}, "command"),
        ({"command": ("",)}, "command"),
        ({"command": ("a\0b",)}, "command"),
        ({"variables": {"A=B": "c"}}, "variables"),
        ({"variables": {"": "c"}}, "variables"),
        ({"variables": {"A": "c\0"}}, "variables"),
        ({"user": "root; x"}, "user"),
        ({"user": "a:b:c"}, "user"),
        ({"capabilities": ("sys_admin",)}, "capabilities"),
        ({"workdir": "work"}, "workdir"),
        ({"workdir": "/job/.."}, "workdir"),
        ({"files": {"/etc/passwd": b""}}, "files"),
        ({"files": {"/job/../etc/passwd": b""}}, "files"),
        ({"files": {"work/a": b""}}, "files"),
        ({"files": {"/job": b""}}, "files"),
        ({"limits": Limits(memory_bytes=-1)}, "limits"),
        ({"limits": Limits(pids=0)}, "limits"),
    ],
)
def test_a_request_that_an_engine_could_read_otherwise_is_refused(request_: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError) as refused:
        require_sound(ContainerRequest(**{"image": "a:b", "command": ("x",), **request_}))
    assert [fault.where.split(".")[0] for fault in refused.value.faults] == [where]


@pytest.mark.parametrize("path", ["/job", "/job/", "/job/../x", "/etc", "work/a", "/workshop/a", "/job/a/../b"])
def test_only_what_lies_below_the_folder_is_fetched(path: str) -> None:
    with pytest.raises(InputError):
        inner_path(path)


def test_a_path_below_the_folder() -> None:
    assert inner_path("/job/out/a.json") == "out/a.json"
