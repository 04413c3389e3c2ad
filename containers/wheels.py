"""The wheels of a lock, fetched once and kept: what an image is built from, so that its build needs no network.

The store keeps each file below its SHA-256. Which of a package's files a platform takes is kept beside it, so that the
choice does not depend on what else was fetched before.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from ..compat.errors import OutsideError
from .diagnose import disk_error
from .holding import hold
from .pip import Download, download

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence

    from ..compat.lock import Lock, Package

_BLOCK: Final = 1 << 20


@dataclass(frozen=True)
class _Store:
    """Where wheels are kept: `files/<sha256>/<name>.whl`, and `choices/<digest>.json` that names one of them."""

    folder: Path
    lock: Lock

    @property
    def doing(self) -> str:
        return f"fetching the wheels of {self.lock.stack}"

    def find(self, package: Package) -> Path | None:
        """Return the file that this lock's platform takes of a package, if it is there and undamaged."""
        try:
            chosen = json.loads(self._choice(package).read_text(encoding="utf-8"))
            path = self.folder / "files" / chosen["sha256"] / chosen["file"]
            named = path.stat().st_size == chosen["bytes"] and f"sha256:{chosen['sha256']}" in package.hashes
            whole = named and _digest(path) == chosen["sha256"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return path if whole else None

    def keep(self, package: Package, fetched: Path) -> Path:
        """Move a fetched file into the store."""
        digest = _digest(fetched)
        if f"sha256:{digest}" not in package.hashes:
            raise OutsideError(f"{self.doing}: {fetched.name} is another file than those locked.\nDo not trust it.")
        path = self.folder / "files" / digest / fetched.name
        path.parent.mkdir(parents=True, exist_ok=True)
        fetched.replace(path)
        choice = self._choice(package)
        choice.parent.mkdir(parents=True, exist_ok=True)
        written = choice.with_suffix(".new")
        written.write_text(json.dumps({"sha256": digest, "file": path.name, "bytes": path.stat().st_size}))
        written.replace(choice)
        return path

    def _choice(self, package: Package) -> Path:
        asked = [package.name, package.version, list(package.hashes), self.lock.python, self.lock.platform]
        return self.folder / "choices" / f"{hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:32]}.json"


def fetch_wheels(
    lock: Lock, packages: Sequence[Package], cache: Path, cancel: threading.Event | None = None
) -> Mapping[str, Path]:
    """Fetch the wheels of packages, or find them where they were fetched before.

    Args:
        lock: The lock that they are of: says for which Python and platform.
        packages: Which of its packages.
        cache: Folder to keep them in.
        cancel: Stops it when set.

    Returns:
        Each package's file, by name. Its content has one of the hashes of the lock.

    Raises:
        UnsolvableError: The indexes no longer have a wheel that was locked.
        OutsideError: The index, the network or the disk failed, or the network is switched off by UV_OFFLINE.
        StoppedError: `cancel` was set.
    """
    store = _Store(cache / "wheels", lock)
    try:
        store.folder.mkdir(parents=True, exist_ok=True)
        with hold(store.folder / ".lock", store.doing, cancel):
            kept = {package.name: path for package in packages if (path := store.find(package)) is not None}
            missing = [package for package in packages if package.name not in kept]
            fetched = _fetch(store, missing, cancel) if missing else {}
    except OSError as error:
        raise disk_error(store.doing, error) from error
    return {**kept, **fetched}


def _fetch(store: _Store, missing: Sequence[Package], cancel: threading.Event | None) -> dict[str, Path]:
    if os.environ.get("UV_OFFLINE", "").lower() in {"1", "true", "yes", "on"}:
        names = ", ".join(package.name for package in missing)
        what = f"the network is switched off, and these were not fetched before: {names}"
        raise OutsideError(f"{store.doing}: {what}.\nUnset UV_OFFLINE once.")
    # Beside the store, so that what was fetched is moved and not copied.
    with tempfile.TemporaryDirectory(dir=store.folder, prefix=".fetch-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        download(Download(store.doing, store.lock, tuple(missing), folder), cancel)
        files = {_name_of(path): path for path in folder.glob("*.whl")}
        for package in missing:
            if package.name not in files:
                raise OutsideError(f"{store.doing}: pip gave no wheel of {package.name}.\nTry again.")
        return {package.name: store.keep(package, files[package.name]) for package in missing}


def _name_of(path: Path) -> str:
    try:
        return str(parse_wheel_filename(path.name)[0])
    except InvalidWheelFilename:
        return str(canonicalize_name(path.name.partition("-")[0]))


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
