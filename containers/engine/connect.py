"""To an engine: Docker's, or Podman's service, which speaks the same API."""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...compat.errors import Fault, InputError, OutsideError, StackproofError, did_you_mean
from . import sdk
from .faults import VENV
from .unreached import GARBLED, VARIABLE, mend, require_address, show_address, unreached

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS: Final = ("docker", "podman")
_DOCKER: Final = "unix:///var/run/docker.sock"
# Docker 20.10 and Podman 4: BuildKit without a client, binds in RUN, and one reading of a container's memory.
_OLDEST: Final = {"docker": "20.10", "podman": "4.0"}
_API: Final = "1.41"  # what both speak; newer engines that no longer do are spoken to in the oldest they know
_CONNECTIONS: Final = 32
_NUMBER: Final = re.compile(r"[0-9]+")
_TIMEOUT: Final = 60  # seconds for an answer; what takes longer says so itself


@dataclass(frozen=True)
class Engine:
    """An engine that answers.

    Attributes:
        kind: `docker` or `podman`, as the engine itself says.
        version: Its version, such as `20.10.24`.
        address: Where it answers, such as `unix:///var/run/docker.sock`.
        client: The client of the `docker` package that talks to it.
        folder: Where it keeps images, on its own machine; empty where it does not say.
    """

    kind: str
    version: str
    address: str
    client: sdk.Client = field(repr=False, compare=False)
    folder: str = ""


def connect(kind: str) -> Engine:
    """Connect to an engine.

    Docker is looked for at DOCKER_HOST (with DOCKER_TLS_VERIFY and DOCKER_CERT_PATH), or its usual socket; Podman at
    CONTAINER_HOST, or in the user's or the system's run folder.

    Args:
        kind: `docker` or `podman`.

    Raises:
        InputError: There is no such kind.
        OutsideError: No engine answers there, or one that is too old.
    """
    if kind not in KINDS:
        raise InputError("--engine", [Fault("", f"unknown engine {kind!r}: {did_you_mean(kind, (*KINDS, 'venv'))}")])
    address = address_of(kind, os.environ)
    client = _client(kind, address, _API)
    try:
        answer = client.version(api_version=False)
        if _newer(_part(answer, "MinAPIVersion"), _API):
            client.close()
            client = _client(kind, address, _part(answer, "MinAPIVersion"))
        return _read(kind, address, client, answer, client.info())
    except StackproofError:
        client.close()
        raise
    except Exception as error:  # the docker package raises what it likes: its own, requests', urllib3's, ValueError
        client.close()
        raise unreached(kind, address, error) from error


def address_of(kind: str, environ: Mapping[str, str]) -> str:
    """Return where an engine of a kind is looked for.

    Args:
        kind: `docker` or `podman`.
        environ: The environment variables.
    """
    if given := environ.get(VARIABLE[kind], "").strip():
        return given
    if kind == "docker":
        return _DOCKER
    own = Path(environ.get("XDG_RUNTIME_DIR") or "/run") / "podman" / "podman.sock"
    return f"unix://{own if own.exists() else '/run/podman/podman.sock'}"


def _client(kind: str, address: str, version: str) -> sdk.Client:
    require_address(kind, address)
    _knock(kind, address)
    try:
        secured = sdk.docker().utils.kwargs_from_env().get("tls") if kind == "docker" else None
        return sdk.docker().DockerClient(
            base_url=address, tls=secured or False, version=version, timeout=_TIMEOUT, max_pool_size=_CONNECTIONS
        )
    except Exception as error:  # as above
        raise unreached(kind, address, error) from error


def _knock(kind: str, address: str) -> None:
    """Open a local address once: so the reason for a failure is the system's own."""
    if address.startswith("unix:"):
        try:
            with socket.socket(socket.AF_UNIX) as tried:
                tried.settimeout(_TIMEOUT)
                tried.connect("/" + address.removeprefix("unix:").lstrip("/"))
        except (OSError, ValueError) as error:
            raise unreached(kind, address, error) from error


def _read(kind: str, address: str, client: sdk.Client, version: object, info: object) -> Engine:
    parts = (version.get("Components") if isinstance(version, dict) else None) or []
    podman = next((part for part in parts if "podman" in _part(part, "Name").lower()), None)
    number = _part(podman or version, "Version")
    found = "podman" if podman is not None else "docker"
    if not number or not isinstance(info, dict):
        raise OutsideError(f"{kind} at {show_address(address)}: {GARBLED}. {mend(kind)}")
    oldest = _OLDEST[found]
    if _newer(oldest, number):
        raise OutsideError(
            f"{found} at {show_address(address)} is of version {number}: images need {oldest} or newer."
            f" Update it, {VENV}."
        )
    return Engine(found, number, show_address(address), client, _part(info, "DockerRootDir"))


def _part(document: object, name: str) -> str:
    found = document.get(name) if isinstance(document, dict) else None
    return found if isinstance(found, str) else ""


def _newer(one: str, other: str) -> bool:
    """Say whether one version is newer than another, by their first two numbers."""
    first, second = ([int(part) for part in _NUMBER.findall(version)[:2]] for version in (one, other))
    return first > second
