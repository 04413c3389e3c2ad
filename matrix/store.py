"""The store: what was made, under the digest of what it was made from; append-only.

An output folder holds `store.sqlite` with one row per result and `evidence/` with files named by their content. A
result is in the store only once its files are, so a kill at any moment leaves a store that is true.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sqlite3
import threading
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from ..compat.errors import BusyError, OutsideError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS results (
    id INTEGER PRIMARY KEY,
    stage TEXT NOT NULL,
    key TEXT NOT NULL,
    subject TEXT NOT NULL,
    document TEXT NOT NULL,
    seconds REAL NOT NULL,
    created TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS results_by_key ON results (stage, key);
"""
_VERSION = 1
DATABASE = "store.sqlite"


class Store:
    """Results of one output folder.

    Args:
        folder: The output folder; made where it is missing.

    Raises:
        OutsideError: The folder cannot be written, or its store is of another version or damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._guard = folder, threading.Lock()
        with outside(folder):
            (folder / "evidence").mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(folder / DATABASE, check_same_thread=False)
            self._migrate()

    def _migrate(self) -> None:
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version not in {0, _VERSION}:
            self._connection.close()
            raise OutsideError(
                f"{self._folder} was written by another version of stackproof (store {version}, this one reads "
                f"{_VERSION}): choose another --out folder"
            )
        if version == _VERSION:
            return
        with self._connection:
            self._connection.executescript(_SCHEMA)
            self._connection.execute(f"PRAGMA user_version = {_VERSION}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def get(self, stage: str, key: str) -> dict[str, Any] | None:
        """Return the newest document of a stage under a key, or None.

        Raises:
            OutsideError: The store cannot be read.
        """
        digest = self.digest(stage, key)
        if digest is None:
            return None
        document: dict[str, Any] = json.loads(self.blob(f"{digest}.json"))
        return document

    def digest(self, stage: str, key: str) -> str | None:
        """Return the digest of the newest document of a stage under a key, or None.

        Raises:
            OutsideError: The store cannot be read.
        """
        query = "SELECT document FROM results WHERE stage = ? AND key = ? ORDER BY id DESC LIMIT 1"
        with self._guard, outside(self._folder), closing(self._connection.execute(query, (stage, key))) as rows:
            row = rows.fetchone()
        return None if row is None else str(row[0])

    def put(self, stage: str, key: str, subject: str, document: Mapping[str, Any], seconds: float) -> str:
        """Keep a document.

        Args:
            stage: Stage of the way, such as `run`.
            key: Digest of what the document was made from.
            subject: Id of the stack or cell, for a reader of the store.
            document: JSON-ready tables.
            seconds: What making it took.

        Returns:
            The document's digest.

        Raises:
            OutsideError: The folder cannot be written.
        """
        digest = self.put_blob(canonical(document), ".json")
        row = (stage, key, subject, digest, seconds, datetime.now(UTC).isoformat(timespec="seconds"))
        insert = "INSERT INTO results (stage, key, subject, document, seconds, created) VALUES (?, ?, ?, ?, ?, ?)"
        with self._guard, outside(self._folder), self._connection:
            self._connection.execute(insert, row)
        return digest

    def put_blob(self, content: bytes, suffix: str) -> str:
        """Keep a file, named by its content, and return its digest.

        Raises:
            OutsideError: The folder cannot be written.
        """
        digest = hashlib.sha256(content).hexdigest()
        path = self._folder / "evidence" / f"{digest}{suffix}"
        with outside(self._folder):
            if not path.exists() or path.read_bytes() != content:
                replace_file(path, content)
        return digest

    def blob(self, name: str) -> bytes:
        """Return a kept file's content.

        Args:
            name: Digest and suffix.

        Raises:
            OutsideError: The file is missing or is no longer what its name says.
        """
        path = self._folder / "evidence" / name
        with outside(self._folder):
            content = path.read_bytes() if path.exists() else b""
        if hashlib.sha256(content).hexdigest() != name.partition(".")[0]:
            raise OutsideError(
                f"evidence {name} in {self._folder} is missing, was changed or was cut short: certify with --fresh to "
                "make it anew"
            )
        return content


def canonical(document: Mapping[str, Any]) -> bytes:
    """Return tables as canonical JSON: sorted keys, no white space, strict numbers."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def digest_of(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of tables in canonical form."""
    return hashlib.sha256(canonical(document)).hexdigest()


def replace_file(path: Path, content: bytes) -> None:
    """Put a whole file in place at once; a kill leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.partial")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def outside(folder: Path) -> Iterator[None]:
    """Turn failures of disk and database into errors that name the folder and the mend."""
    try:
        yield
    except (FileExistsError, NotADirectoryError) as error:
        raise OutsideError(
            f"cannot use the folder {folder}: a file is in the way ({error.filename}); move it, or choose another "
            "with --out"
        ) from error
    except OSError as error:
        raise OutsideError(
            f"cannot use the folder {folder}: {error.strerror or error}; make it writable, free some space, or choose "
            "another with --out, or with STACKPROOF_CACHE where it is the cache"
        ) from error
    except sqlite3.DatabaseError as error:
        raise OutsideError(
            f"the store of {folder} cannot be used: {error}; remove store.sqlite there to begin anew, or choose "
            "another folder with --out"
        ) from error


@contextmanager
def sole_use(folder: Path, otherwise: str = "choose another --out folder") -> Iterator[None]:
    """Hold a folder for this process; the hold ends with the process, however that ends.

    Args:
        folder: The folder; made where it is missing.
        otherwise: What a user can do instead of waiting for another process to end.

    Raises:
        BusyError: Another process holds it.
        OutsideError: The folder cannot be written.
    """
    with outside(folder):
        folder.mkdir(parents=True, exist_ok=True)
        hold = (folder / ".lock").open("a+b", buffering=0)
    with hold:
        try:
            fcntl.flock(hold, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            hold.seek(0)
            holder = hold.read().decode().strip() or "unknown"
            raise BusyError(
                f"another stackproof (process {holder}) is using {folder}: wait for it, or {otherwise}"
            ) from error
        with outside(folder):
            hold.truncate(0)
            hold.write(f"{os.getpid()}\n".encode())
        yield
