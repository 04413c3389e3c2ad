"""The store: append-only, true after a kill at any moment, and held by one process at a time."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.compat.errors import BusyError, OutsideError
from stackproof.matrix.store import DATABASE, Store, canonical, digest_of, outside, replace_file, sole_use

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCUMENT = {"b": [1, 2.5, None], "a": {"text": "\N{GREEK SMALL LETTER ALPHA}"}}

# Keeps documents and files for as long as it lives, and says what is in the store once it is.
WRITER = """
import os, sys
from pathlib import Path
from stackproof.matrix.store import Store
with Store(Path(sys.argv[1])) as store:
    for number in range(10**9):
        blob = store.put_blob(os.urandom(20_000), ".npz")
        digest = store.put("run", f"key{number % 3}", "cell", {"number": number, "blob": blob}, 0.5)
        print(f"{number % 3} {number} {digest} {blob}", flush=True)
"""
# Holds a folder until it is killed.
HOLDER = """
import sys, time
from pathlib import Path
from stackproof.matrix.store import sole_use
with sole_use(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "out") as made:
        yield made


@contextlib.contextmanager
def without_rights() -> Iterator[None]:
    """Give up the rights of root, to whom every folder is writable."""
    own = os.geteuid()
    if own == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(own)


def rows(folder: Path) -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(folder / DATABASE)) as connection:
        return connection.execute("SELECT stage, key, subject, document, seconds FROM results ORDER BY id").fetchall()


def test_a_document_is_read_back(store: Store) -> None:
    digest = store.put("run", "key", "a-cell", DOCUMENT, 1.5)
    assert store.get("run", "key") == DOCUMENT
    assert store.digest("run", "key") == digest == digest_of(DOCUMENT)


def test_what_was_not_put_is_none(store: Store) -> None:
    store.put("run", "key", "a-cell", DOCUMENT, 1.5)
    for stage, key in (("run", "other"), ("lock", "key"), ("", "")):
        assert store.get(stage, key) is None
        assert store.digest(stage, key) is None


def test_the_newest_wins_and_the_older_ones_stay(tmp_path: Path, store: Store) -> None:
    digests = [store.put("run", "key", f"cell{number}", {"number": number}, number) for number in range(3)]
    assert store.get("run", "key") == {"number": 2}
    assert rows(tmp_path / "out") == [
        ("run", "key", f"cell{number}", digests[number], float(number)) for number in range(3)
    ]
    assert all((tmp_path / "out" / "evidence" / f"{digest}.json").is_file() for digest in digests)


def test_an_older_document_put_again_is_the_newest(store: Store) -> None:
    for number in (1, 2, 1):
        store.put("run", "key", "cell", {"number": number}, 0.0)
    assert store.get("run", "key") == {"number": 1}


def test_it_is_there_when_opened_again(tmp_path: Path) -> None:
    with Store(tmp_path) as first:
        first.put("run", "key", "cell", DOCUMENT, 0.0)
    with Store(tmp_path) as second:
        assert second.get("run", "key") == DOCUMENT


def test_files_are_named_by_their_content(tmp_path: Path, store: Store) -> None:
    digest = store.put_blob(b"content", ".npz")
    assert digest == hashlib.sha256(b"content").hexdigest()
    assert (tmp_path / "out" / "evidence" / f"{digest}.npz").read_bytes() == b"content"
    assert store.blob(f"{digest}.npz") == b"content"
    assert [path.name for path in (tmp_path / "out" / "evidence").iterdir()] == [f"{digest}.npz"]


def test_a_file_that_is_there_is_not_written_again(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "out" / "evidence" / f"{store.put_blob(b'content', '.npz')}.npz"
    os.utime(path, (1, 1))
    store.put_blob(b"content", ".npz")
    assert path.stat().st_mtime == 1


@pytest.mark.parametrize("change", ["altered", "cut", "removed"])
def test_altered_evidence_is_noticed_and_can_be_made_anew(tmp_path: Path, store: Store, change: str) -> None:
    digest = store.put("run", "key", "cell", DOCUMENT, 0.0)
    path = tmp_path / "out" / "evidence" / f"{digest}.json"
    content = path.read_bytes()
    if change == "removed":
        path.unlink()
    else:
        path.write_bytes(content.replace(b"2.5", b"2.6") if change == "altered" else content[:5])
    with pytest.raises(OutsideError, match=f"evidence {digest}.json in .* --fresh"):
        store.get("run", "key")
    store.put("run", "key", "cell", DOCUMENT, 0.0)
    assert store.get("run", "key") == DOCUMENT


def test_numbers_that_json_does_not_have_are_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        store.put("run", "key", "cell", {"loss": float("nan")}, 0.0)
    assert store.get("run", "key") is None


def test_canonical_form_does_not_depend_on_the_order_of_keys() -> None:
    assert canonical({"b": 1, "a": [1.0, None]}) == b'{"a":[1.0,null],"b":1}'
    assert digest_of({"b": 1, "a": 2}) == digest_of({"a": 2, "b": 1}) == hashlib.sha256(b'{"a":2,"b":1}').hexdigest()
    assert digest_of({"a": 1}) != digest_of({"a": 1.0})


def test_threads_may_write_at_once(store: Store) -> None:
    def write(number: int) -> None:
        for turn in range(20):
            store.put("run", f"{number}", "cell", {"number": number, "turn": turn}, 0.0)
            store.put_blob(b"shared", ".npz")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [store.get("run", f"{number}") for number in range(4)] == [{"number": n, "turn": 19} for n in range(4)]


@pytest.mark.parametrize("delay", [0.0, 0.013, 0.05, 0.11, 0.17])
def test_a_killed_writer_leaves_a_true_store(tmp_path: Path, delay: float) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, tmp_path], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        time.sleep(delay)
        child.kill()
        said = [line.split() for line in (first + child.stdout.read()).splitlines() if line.count(" ") == 3]
    with Store(tmp_path) as store:
        newest = {key: (int(number), digest) for key, number, digest, _ in said}
        for key, (number, digest) in newest.items():
            found = store.get("run", f"key{key}")
            assert found is not None
            # Killed between the write and the word, the store may be one ahead of what was said.
            assert found["number"] in {number, number + 3}
            assert (store.digest("run", f"key{key}") == digest) is (found["number"] == number)
            assert len(store.blob(f"{found['blob']}.npz")) == 20_000
        kept = rows(tmp_path)
        assert len(said) <= len(kept) <= len(said) + 1
        for _, _, _, digest, _ in kept:
            blob = json.loads(store.blob(f"{digest}.json"))["blob"]
            assert len(store.blob(f"{blob}.npz")) == 20_000
        store.put("run", "key0", "cell", DOCUMENT, 0.0)
        assert store.get("run", "key0") == DOCUMENT


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / DATABASE)) as connection:
        connection.execute("PRAGMA user_version = 7")
    with pytest.raises(OutsideError, match=r"another version .*store 7, this one reads 1.*choose another --out"):
        Store(tmp_path)


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"this is no database, whatever its name says" * 100)
    with pytest.raises(OutsideError, match=r"the store of .* cannot be used: .*choose another folder with --out"):
        Store(tmp_path)


def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir(mode=0o555)
    with (
        without_rights(),
        pytest.raises(OutsideError, match=f"cannot use the folder {folder}: Permission denied; .*--out"),
    ):
        Store(folder)


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(OutsideError, match=r"cannot use the folder .*out"):
        Store(tmp_path / "out")
    with pytest.raises(OutsideError, match=r"cannot use the folder .*out"), sole_use(tmp_path / "out"):
        pass


def test_a_folder_that_became_read_only_is_named(tmp_path: Path) -> None:
    with Store(tmp_path / "out") as store:
        (tmp_path / "out" / "evidence").chmod(0o555)
        with without_rights(), pytest.raises(OutsideError, match="Permission denied"):
            store.put("run", "key", "cell", DOCUMENT, 0.0)
        assert store.get("run", "key") is None


def test_a_full_disk_is_an_error_of_the_outside(tmp_path: Path) -> None:
    with (
        pytest.raises(OutsideError, match=r"No space left on device; make it writable, free some space"),
        outside(tmp_path),
        open("/dev/full", "wb", buffering=0) as file,  # noqa: PTH123 - a device
    ):
        file.write(b"content")


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "deeper" / "file.json"
    replace_file(path, b"old")
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(path.parent.iterdir()) == [path]


def test_a_replacement_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_file(path, b"new")
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_held_by_one_process_and_the_other_is_told_which(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with subprocess.Popen([sys.executable, "-c", HOLDER, folder], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(BusyError, match=rf"process {child.pid}\) is using {folder}"), sole_use(folder):
            pass
        child.kill()
        child.wait()
        with sole_use(folder):
            assert (folder / ".lock").read_text() == f"{os.getpid()}\n"


def test_a_hold_ends_with_its_block(tmp_path: Path) -> None:
    for _ in range(2):
        with sole_use(tmp_path), pytest.raises(BusyError, match=f"process {os.getpid()}"), sole_use(tmp_path):
            pass
    with contextlib.suppress(KeyboardInterrupt), sole_use(tmp_path):
        raise KeyboardInterrupt
    with sole_use(tmp_path):
        pass
