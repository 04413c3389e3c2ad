"""The folder of a container: a volume that is its user's own and holds files before the container starts."""

from __future__ import annotations

import contextlib
import io
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from ...compat.errors import OutsideError
from . import sdk
from .archives import open_archive, read_archive
from .context import Entry, entries_of, pack
from .faults import telling
from .isolation import WORK, bind_volume, inner_path
from .leftovers import labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .connect import Engine
    from .container import ContainerRequest

_MOST_BYTES: Final = 1024 * 1024  # of a table of users


def make_volume(engine: Engine, labels: dict[str, str]) -> str:
    """Make an empty volume and return its name."""
    name = f"stackproof-{uuid4().hex[:16]}"
    with telling(engine, "making a container's folder"):
        engine.client.api.create_volume(name=name, labels=labels)
    return name


def remove_volume(engine: Engine, name: str) -> None:
    """Remove a volume, if it is there."""
    with telling(engine, "removing a container's folder"), contextlib.suppress(sdk.docker().errors.NotFound):
        engine.client.api.remove_volume(name, force=True)


def fill_volume(engine: Engine, request: ContainerRequest, volume: str, user: str) -> None:
    """Give a volume its owner and its files, by a container that is made and removed without being started.

    The container that runs cannot be used: its root is read-only, which Docker also holds against files from outside.

    Args:
        engine: The engine.
        request: What is to run.
        volume: Name of the volume.
        user: Whom it belongs to, as the container's user is given.
    """
    described = {
        "Image": request.image,
        "Entrypoint": ["/"],
        "User": user,
        "Labels": labels(),
        "HostConfig": {"NetworkMode": "none", "Binds": [bind_volume(engine, volume)], "LogConfig": {"Type": "none"}},
    }
    with telling(engine, "filling a container's folder"):
        api = engine.client.api
        helper = api.create_container_from_config(described)["Id"]
        try:
            owner = _owner(engine, helper, user)
            # Podman makes the folder the user's own itself; a path outside the volume would lie below it, unseen.
            place, folder = (WORK, "") if engine.kind == "podman" else ("/", f"{WORK[1:]}/")
            top = () if engine.kind == "podman" else (Entry(folder[:-1], None, owner),)
            api.put_archive(helper, place, pack((*top, *_entries(request, folder, owner))))
        finally:
            api.remove_container(helper, force=True)


def _entries(request: ContainerRequest, folder: str, owner: tuple[int, int]) -> Iterator[Entry]:
    files = entries_of({inner_path(path): source for path, source in request.files.items()})
    folders = {str(parent) for entry in files for parent in PurePosixPath(entry.name).parents} - {"."}
    for name in sorted(folders):
        yield Entry(f"{folder}{name}", None, owner)
    for entry in files:
        yield Entry(f"{folder}{entry.name}", entry.source, owner, entry.mode)


def _owner(engine: Engine, helper: str, user: str) -> tuple[int, int]:
    """Return the numbers of a user and group, looked up in the image's own tables where they are names."""
    name, _, group = user.partition(":")
    if not name:
        return 0, 0
    users = _table(engine, helper, "/etc/passwd")
    row = next((row for row in users if name in {row[0], row[2]}), None)
    number = int(name) if name.isdigit() else int(row[2]) if row else _unknown(name)
    if not group:
        return number, int(row[3]) if row else 0
    if group.isdigit():
        return number, int(group)
    found = next((row for row in _table(engine, helper, "/etc/group") if row[0] == group), None)
    return number, int(found[2]) if found else _unknown(group)


def _unknown(name: str) -> int:
    raise OutsideError(f"the image has no user or group {name!r}: name one that it has, or give its number.")


def _table(engine: Engine, helper: str, path: str) -> list[list[str]]:
    try:
        found = read_archive(engine, helper, path)
    except sdk.docker().errors.NotFound:
        return []
    with contextlib.closing(found), open_archive(found.iter_content(_MOST_BYTES)) as archive:
        member = archive.next()
        file = archive.extractfile(member) if member and member.isfile() else io.BytesIO()
        text = (file or io.BytesIO()).read(_MOST_BYTES).decode(errors="replace")
    rows = [line.split(":") for line in text.splitlines()]
    return [row for row in rows if row[2:] and all(part.isdigit() for part in row[2:4] if part)]
