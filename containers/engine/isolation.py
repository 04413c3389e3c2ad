"""What a container may do: no network, no privileges, no folder to write in but its own; as an engine is told it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ...compat.errors import Fault, InputError
from .context import name_fault
from .references import require_reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .connect import Engine
    from .container import ContainerRequest

WORK: Final = "/job"
LABEL: Final = "stackproof"
_TMP: Final = "rw,exec,nosuid,nodev,size=1g,mode=1777"  # frameworks load what their compilers wrote there
_SHARED: Final = 1 << 30  # bytes of /dev/shm
_MOST_OPEN: Final = 1 << 14
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_USER: Final = re.compile(r"(?:[a-z_][a-z0-9_-]{0,31}|[0-9]{1,10})(?::(?:[a-z_][a-z0-9_-]{0,31}|[0-9]{1,10}))?")
_CAPABILITY: Final = re.compile(r"[A-Z_]{3,40}")


def require_sound(request: ContainerRequest) -> None:
    """Refuse a request that holds what an engine could read otherwise.

    Raises:
        InputError: It does; every fault is named.
    """
    require_reference(request.image)
    if faults := list(_faults(request)):
        raise InputError("container", faults)


def inner_path(path: str) -> str:
    """Return a path below the container's folder, relative to it.

    Raises:
        InputError: It lies elsewhere.
    """
    below = path.removeprefix(f"{WORK}/")
    if below == path or name_fault(below):
        raise InputError("container", [Fault(repr(path), f"is no path below {WORK}: give one, without `..`")])
    return below


def describe_container(
    engine: Engine, request: ContainerRequest, volume: str, labels: dict[str, str]
) -> dict[str, Any]:
    """Return what the engine is told of a container.

    Args:
        engine: The engine.
        request: A sound request.
        volume: The volume that becomes its folder.
        labels: Its labels.
    """
    return {
        "Image": request.image,
        "Entrypoint": list(request.command),
        "Cmd": [],
        "User": request.user,
        "WorkingDir": request.workdir,
        "Env": [f"{name}={value}" for name, value in sorted(request.variables.items())],
        "Labels": labels,
        "Tty": False,
        "OpenStdin": request.stdin,
        "StdinOnce": request.stdin,
        "AttachStdin": request.stdin,
        "AttachStdout": True,
        "AttachStderr": True,
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": _describe_host(engine, request, volume),
    }


def _describe_host(engine: Engine, request: ContainerRequest, volume: str) -> dict[str, Any]:
    limits = request.limits
    return {
        "NetworkMode": "none",
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "CapAdd": list(request.capabilities),
        "SecurityOpt": ["no-new-privileges"],
        "PidsLimit": limits.pids,
        "Memory": limits.memory_bytes,
        "MemorySwap": limits.memory_bytes,  # as much as memory: none
        "NanoCpus": int(limits.cpus * 1e9),
        "Init": True,
        "Tmpfs": {"/tmp": _TMP},  # noqa: S108 - a folder in the container
        "ShmSize": _SHARED,
        "LogConfig": {"Type": "none"},
        "Binds": [bind_volume(engine, volume)],
        **_ulimits(engine),
        **_gpus(engine, request),
    }


def bind_volume(engine: Engine, volume: str) -> str:
    """Return how an engine is told that a volume is the container's folder.

    Docker would give an empty volume the owner of what the image has there.
    """
    return f"{volume}:{WORK}:nocopy" if engine.kind == "docker" else f"{volume}:{WORK}"


def _ulimits(engine: Engine) -> dict[str, Any]:
    """Podman asks for a million open files and processes, which a confined machine may refuse; Docker inherits."""
    if engine.kind != "podman":
        return {}
    return {"Ulimits": [{"Name": name, "Soft": _MOST_OPEN, "Hard": _MOST_OPEN} for name in ("nofile", "nproc")]}


def _gpus(engine: Engine, request: ContainerRequest) -> dict[str, Any]:
    if not request.gpus:
        return {}
    if engine.kind == "podman":
        return {"DeviceRequests": [{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=all"]}]}
    return {"DeviceRequests": [{"Driver": "", "Count": -1, "Capabilities": [["gpu"]]}]}


def _faults(request: ContainerRequest) -> Iterator[Fault]:
    if not request.command or not request.command[0] or any("\0" in part for part in request.command):
        yield Fault("command", "is empty, or holds a zero byte: name a program and its arguments")
    for name, value in request.variables.items():
        if not _NAME.fullmatch(name) or "\0" in value:
            yield Fault(f"variables.{name!r}", "is no environment variable: use letters, digits and `_`")
    if request.user and not _USER.fullmatch(request.user):
        yield Fault("user", f"{request.user!r} is no user: give a name or number, or `user:group`")
    for name in request.capabilities:
        if not _CAPABILITY.fullmatch(name):
            yield Fault("capabilities", f"{name!r} is no capability: give a name such as DAC_READ_SEARCH")
    yield from _path_faults(request)
    if min(request.limits.memory_bytes, request.limits.cpus, request.limits.pids - 1) < 0:
        yield Fault("limits", "are negative, or allow no process: give what is to be had")


def _path_faults(request: ContainerRequest) -> Iterator[Fault]:
    if not request.workdir.startswith("/") or (request.workdir != "/" and name_fault(request.workdir[1:])):
        yield Fault("workdir", f"{request.workdir!r} is no absolute path: give one, without `..`")
    for path in request.files:
        if not path.startswith(f"{WORK}/") or name_fault(path.removeprefix(f"{WORK}/")):
            yield Fault(f"files.{path!r}", f"is no path below {WORK}: give one, without `..`")
