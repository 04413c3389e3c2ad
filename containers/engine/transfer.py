"""Images to and from registries, held against their digests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ...compat.errors import OutsideError, StackproofError
from . import sdk
from .faults import garbled, gone, read_fault, telling
from .following import follow
from .record import ImageRecord, find_image
from .references import require_digest, require_reference, require_repository, require_tag
from .registry import is_loopback, read_digest
from .wire import call

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from .connect import Engine

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_TOLD: Final = (
    "Pulling from",
    "Digest:",
    "Status:",
    "Pull complete",
    "Pushed",
    "Already exists",
    "Layer already exists",
)


def _silent(_: str) -> None:
    """Tell nobody."""


def pull_image(
    engine: Engine,
    repository: str,
    digest: str,
    tell: Callable[[str], None] = _silent,
    cancel: threading.Event | None = None,
) -> ImageRecord:
    """Pull an image by its digest.

    Args:
        engine: The engine that pulls.
        repository: Such as `registry.example/stacks`; of the engine's own default registry without a host.
        digest: `sha256:…` of its manifest, or of its list of manifests.
        tell: Gets a line for each part.
        cancel: Stops it when set.

    Raises:
        InputError: The repository or the digest is none.
        OutsideError: The registry serves something else, has no such image, or cannot be reached; or the engine failed.
        StoppedError: `cancel` was set.
    """
    require_repository(repository)
    require_digest(digest)
    reference, doing = f"{repository}@{digest}", f"pulling {repository}@{digest}"
    for line in follow(engine, doing, lambda: _start_pull(engine, repository, digest), cancel):
        if "error" in line:
            raise _unserved(engine, doing, repository, digest, str(line["error"]))
        _tell_line(line, tell)
    found = find_image(engine, reference)
    if found is None or not any(held.endswith(f"@{digest}") for held in found.digests):
        raise _unserved(engine, doing, repository, digest, f"digest mismatch: {found.digests if found else 'none'}")
    return found


def push_image(
    engine: Engine,
    reference: str,
    repository: str,
    tag: str,
    tell: Callable[[str], None] = _silent,
    cancel: threading.Event | None = None,
) -> str:
    """Push an image.

    Args:
        engine: The engine that has it.
        reference: The image there.
        repository: Where it goes, such as `registry.example/stacks`.
        tag: Tag that it gets there.
        tell: Gets a line for each part.
        cancel: Stops it when set.

    Returns:
        Digest of its manifest in the registry, `sha256:…`.

    Raises:
        InputError: A name is none.
        OutsideError: The registry refused, or cannot be reached; or the engine failed.
        StoppedError: `cancel` was set.
    """
    require_reference(reference)
    require_repository(repository)
    require_tag(tag)
    doing, digest = f"pushing {repository}:{tag}", ""
    with telling(engine, doing):
        engine.client.api.tag(reference, repository, tag, force=True)
    for line in follow(engine, doing, lambda: _start_push(engine, repository, tag), cancel):
        if "error" in line:
            raise read_fault(engine, doing, str(line["error"]))
        _tell_line(line, tell)
        digest = _digest_of(line) or digest
    if not digest:
        raise gone(engine, doing)
    return digest


def resolve_tag(engine: Engine, repository: str, tag: str) -> str:
    """Return the digest that a tag stands for now, without pulling.

    Docker asks the registry with its own settings. Podman's service cannot be asked, so the registry is, from here.

    Raises:
        InputError: The repository or the tag is none.
        OutsideError: The registry has no such tag, refused, or cannot be reached; or the engine failed.
    """
    require_repository(repository)
    require_tag(tag)
    if engine.kind == "podman":
        return read_digest(repository, tag)
    doing = f"looking for {repository}:{tag} in its registry"
    with telling(engine, doing):
        found = engine.client.api.inspect_distribution(f"{repository}:{tag}")
    digest = (found.get("Descriptor") or {}).get("digest") if isinstance(found, dict) else None
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise garbled(engine, doing)
    return digest


def _start_pull(engine: Engine, repository: str, digest: str) -> sdk.Response:
    query, headers = {"fromImage": repository, "tag": digest}, _credentials(engine, repository)
    if engine.kind == "podman" and is_loopback(repository):
        # Podman's own call can be told that a registry on this machine needs no TLS; Docker knows it by itself.
        query = {"reference": f"{repository}@{digest}", "tlsVerify": "false"}
        return call(engine, "POST", "/libpod/images/pull", params=query, headers=headers, timeout=None)
    return call(engine, "POST", "/images/create", params=query, headers=headers, timeout=None)


def _start_push(engine: Engine, repository: str, tag: str) -> sdk.Response:
    query = {"tag": tag}
    if engine.kind == "podman" and is_loopback(repository):
        query["tlsVerify"] = "false"
    headers = _credentials(engine, repository) or {
        "X-Registry-Auth": "e30="
    }  # an empty object: Docker wants the header
    return call(engine, "POST", f"/images/{repository}/push", params=query, headers=headers, timeout=None)


def _credentials(engine: Engine, repository: str) -> Mapping[str, str]:
    """Return the user's credentials for a registry, from the configuration of Docker's client."""
    registry, _ = sdk.docker().auth.resolve_repository_name(repository)
    header = sdk.docker().auth.get_config_header(engine.client.api, registry)
    return {"X-Registry-Auth": header.decode() if isinstance(header, bytes) else header} if header else {}


def _unserved(engine: Engine, doing: str, repository: str, digest: str, said: str) -> StackproofError:
    """Return the error for a pull that failed; with both digests, where the registry serves something else."""
    error = read_fault(engine, doing, said)
    try:
        served = read_digest(repository, digest)
    except OutsideError:
        return error
    if served == digest:
        return error
    return OutsideError(
        f"{doing}: the registry serves something else: asked for {digest}, served {served}.\nDo not trust it,"
        " or pin the digest that it serves now, if the image was replaced on purpose."
    )


def _tell_line(line: dict[str, Any], tell: Callable[[str], None]) -> None:
    status = str(line.get("status") or line.get("stream") or "").strip()
    if status.startswith(_TOLD):
        tell(f"{line['id']}: {status}" if line.get("id") else status)


def _digest_of(line: dict[str, Any]) -> str:
    aux = line.get("aux")
    said = str(aux.get("Digest")) if isinstance(aux, dict) else str(line.get("status") or "")
    found = _DIGEST.search(said) if "digest" in said.lower() or isinstance(aux, dict) else None
    return found[0] if found else ""
