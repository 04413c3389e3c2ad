"""What a registry serves under a name, asked from here: for engines that cannot ask, and to name a false digest."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from ...compat.errors import OutsideError
from . import sdk

_ACCEPT: Final = ", ".join(
    f"application/vnd.{kind}+json"
    for kind in (
        "oci.image.index.v1",
        "oci.image.manifest.v1",
        "docker.distribution.manifest.list.v2",
        "docker.distribution.manifest.v2",
    )
)
_MOST_BYTES: Final = 8 * 1024 * 1024
_TIMEOUT: Final = 30
_CHALLENGE: Final = re.compile(r'(\w+)="([^"]*)"')
_LOOPBACK: Final = re.compile(r"(?:localhost|127\.[0-9.]+|\[::1\])(?::[0-9]+)?")
_REFUSED: Final = frozenset({401, 403})
_ABSENT: Final = 404


def host_of(repository: str) -> str:
    """Return the registry of a repository; empty where it names none."""
    first, slash, _ = repository.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else ""


def is_loopback(repository: str) -> bool:
    """Say whether a repository lies in a registry on this machine, which needs no TLS."""
    return bool(_LOOPBACK.fullmatch(host_of(repository)))


def read_digest(repository: str, reference: str) -> str:
    """Return the digest of what a registry serves under a tag or digest: of the bytes, not as it claims.

    Args:
        repository: With the registry's host, such as `registry.example/stacks`.
        reference: Tag or digest.

    Raises:
        OutsideError: No host is named; the registry has no such image, refused, or cannot be reached.
    """
    host, doing = host_of(repository), f"looking for {repository} ({reference}) in its registry"
    if not host:
        raise OutsideError(
            f"{doing}: the repository names no registry, and Podman's service cannot be asked which it would take. Put"
            " the registry's host before it, or use --engine docker."
        )
    address = f"{'http' if is_loopback(repository) else 'https'}://{host}/v2/{repository.removeprefix(f'{host}/')}"
    try:
        with sdk.requests().Session() as session:
            return _digest_of(_get(session, f"{address}/manifests/{reference}"), doing)
    except (sdk.requests().exceptions.RequestException, ValueError) as error:
        raise OutsideError(
            f"{doing}: the registry could not be reached ({type(error).__name__}). Check its name and the network."
        ) from error


def _get(session: sdk.Client, address: str) -> sdk.Response:
    """Get a manifest; where the registry wants a token for reading, with one for everybody."""
    headers = {"Accept": _ACCEPT}
    response = session.get(address, headers=headers, timeout=_TIMEOUT, stream=True)
    challenge = response.headers.get("WWW-Authenticate", "")
    if response.status_code not in _REFUSED or not challenge.startswith("Bearer "):
        return response
    asked = dict(_CHALLENGE.findall(challenge))
    query = {name: asked[name] for name in ("service", "scope") if name in asked}
    given = session.get(asked.get("realm", ""), params=query, timeout=_TIMEOUT).json()
    headers["Authorization"] = f"Bearer {given.get('token') or given.get('access_token') or ''}"
    return session.get(address, headers=headers, timeout=_TIMEOUT, stream=True)


def _digest_of(response: sdk.Response, doing: str) -> str:
    if response.status_code == _ABSENT:
        raise OutsideError(f"{doing}: there is no such image. Check its name, tag and digest.")
    if response.status_code in _REFUSED:
        raise OutsideError(f"{doing}: the registry wants credentials, which are only given through --engine docker.")
    response.raise_for_status()
    content = bytearray()
    for piece in response.iter_content(64 * 1024):
        content += piece
        if len(content) > _MOST_BYTES:
            raise OutsideError(f"{doing}: what it serves is too large for a manifest. Check its name.")
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
