"""Why no engine answers: what happened in one sentence, and what to do."""

from __future__ import annotations

import errno
import os
import re
import ssl
from socket import gaierror
from typing import TYPE_CHECKING, Final

from ...compat.errors import OutsideError
from ..diagnose import tidy
from . import sdk
from .faults import VENV

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE: Final = {"docker": "DOCKER_HOST", "podman": "CONTAINER_HOST"}
"""The environment variable that names the address of an engine of a kind."""
GARBLED: Final = "what answers there does not speak the API of Docker"
_START: Final = {
    "docker": "Start the Docker engine",
    "podman": "Start Podman's service (`systemctl --user start podman.socket`, or `podman system service --time=0`)",
}
# All before the last @, for a password may have any character; a path of a socket may have one, too.
_USERINFO: Final = re.compile(r"^(?!unix:)([a-z+]*://)?.*@", re.DOTALL)
_TLS_MARKS: Final = re.compile(r"^\[[^\]]*\]\s*|\s*\(_ssl\.c:[0-9]+\)$")
_LONGEST: Final = 200


def mend(kind: str) -> str:
    """Say what to do where no engine of a kind answers."""
    return f"{_START[kind]}, name its address in {VARIABLE[kind]}, {VENV}."


def show_address(address: str) -> str:
    """Return an address as it may be shown: without user and password."""
    return tidy(_USERINFO.sub(r"\1", address))


def require_address(kind: str, address: str) -> None:
    """Refuse what is no address of an engine.

    Raises:
        OutsideError: It is none.
    """
    try:
        read = sdk.docker().utils.parse_host(address)
    except Exception as error:  # the docker package raises its own, and what urllib does
        raise _no_address(kind, address) from error
    if read.startswith("npipe:") or not address.removeprefix("unix:").strip("/"):
        raise _no_address(kind, address)


def unreached(kind: str, address: str, error: BaseException) -> OutsideError:
    """Return the error that tells a user why nothing answers.

    Args:
        kind: `docker` or `podman`.
        address: Where it was looked for.
        error: What was raised.
    """
    causes, shown = list(_causes(error)), show_address(address)
    if words := _tls_words(causes):
        held = "DOCKER_TLS_VERIFY, and ca.pem, cert.pem and key.pem in the folder DOCKER_CERT_PATH"
        return OutsideError(f"{kind} at {shown}: no connection with TLS: {words}. Check {held}, {VENV}.")
    number = next((cause.errno for cause in causes if isinstance(cause, OSError) and cause.errno), 0)
    if number in {errno.EACCES, errno.EPERM}:
        who = "Run as a user who may (for docker: a member of the group `docker`)"
        return OutsideError(f"{kind} at {shown}: this user may not use it. {who}, {VENV}.")
    if number in {0, errno.ETIMEDOUT} and any(isinstance(cause, _timeouts()) for cause in causes):
        late = "did not answer in time: it may be paused, or have too much to do"
        return OutsideError(f"{kind} at {shown} {late}. See that `{kind} info` answers, {VENV}.")
    if any(isinstance(cause, _bad_addresses()) for cause in causes):
        return _no_address(kind, address)
    return OutsideError(f"no {kind} answers at {shown}: {_reason(causes, number)}. {mend(kind)}")


def _no_address(kind: str, address: str) -> OutsideError:
    shown = show_address(address)[:_LONGEST]
    form = "unix:///path/of/its.sock or tcp://host:port, without user and password"
    return OutsideError(f"{VARIABLE[kind]}: {shown!r} is no address of an engine. Give {form}, {VENV}.")


def _reason(causes: list[BaseException], number: int) -> str:
    unnamed = next((cause for cause in causes if isinstance(cause, gaierror)), None)
    if unnamed is not None:
        return f"no such host ({unnamed.strerror})"
    if number:
        return os.strerror(number)
    # Such as `AF_UNIX path too long`, which has no number.
    return next((str(cause) for cause in causes if type(cause) is OSError), GARBLED)


def _tls_words(causes: list[BaseException]) -> str:
    """Return what TLS says of itself; empty where that is not what failed."""
    for cause in reversed(causes):
        if isinstance(cause, ssl.SSLError | sdk.docker().errors.TLSParameterError):
            return tidy(_TLS_MARKS.sub("", str(cause.args[-1]))).rstrip(". ")
        if isinstance(cause, sdk.docker().errors.APIError) and "HTTPS server" in str(cause.explanation):
            return "it takes no connection without"
    return ""


def _timeouts() -> tuple[type[BaseException], ...]:
    return TimeoutError, sdk.requests().exceptions.Timeout


def _bad_addresses() -> tuple[type[BaseException], ...]:
    return sdk.urllib3().exceptions.LocationValueError, sdk.requests().exceptions.InvalidURL


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those that lie below it."""
    below: list[BaseException | None] = [error]
    seen: set[int] = set()
    while below:
        found = below.pop()
        if not isinstance(found, BaseException) or id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        below += [found.__cause__, found.__context__, *(part for part in found.args if isinstance(part, BaseException))]
