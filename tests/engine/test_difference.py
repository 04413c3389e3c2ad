"""Two images are held against each other by what their layers hold."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING, Any

import pytest
from real_engines import missing_docker
from required import need

from stackproof.containers.difference import find_differences
from stackproof.containers.engine.connect import connect
from stackproof.containers.engine.images import import_base, remove_image

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stackproof.containers.engine.connect import Engine

FILE: dict[str, Any] = {"content": b"one", "mode": 0o600, "uid": 0, "mtime": 1_700_000_000}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    need("engine", missing_docker())
    found = connect("docker")
    yield found
    for name in ("one", "two"):
        remove_image(found, f"stackproof/test-difference:{name}")
    found.client.close()


def make(engine: Engine, folder: Path, name: str, entries: dict[str, dict[str, Any]]) -> str:
    path = folder / f"{name}.tar"
    with tarfile.open(path, "w") as archive:
        for place, entry in entries.items():
            info = tarfile.TarInfo(place)
            content = entry.get("content", b"")
            info.size = len(content)
            for key, value in entry.items():
                if key != "content":
                    setattr(info, key, value)
            archive.addfile(info, io.BytesIO(content))
    return import_base(engine, path, f"stackproof/test-difference:{name}", {}).id


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"a": FILE}, []),
        ({"a": FILE | {"content": b"two"}}, ["a: content"]),
        ({"a": FILE | {"mode": 0o644}}, ["a: mode 0o600 and 0o644"]),
        ({"a": FILE | {"uid": 7}}, ["a: owner 0:0 and 7:0"]),
        ({"a": FILE | {"mtime": 1_600_000_000}}, ["a: time"]),
        ({"a": FILE, "b": FILE}, ["b: only in the second"]),
        ({"b": FILE}, ["a: only in the first", "b: only in the second"]),
        ({"a": FILE, "l": {"type": tarfile.SYMTYPE, "linkname": "a"}}, ["l: only in the second"]),
    ],
    ids=["nothing", "content", "mode", "owner", "time", "further", "renamed", "link"],
)
def test_every_difference_is_named_and_nothing_else(
    engine: Engine, tmp_path: Path, entries: dict[str, dict[str, Any]], said: list[str]
) -> None:
    first, second = make(engine, tmp_path, "one", {"a": FILE}), make(engine, tmp_path, "two", entries)
    found = find_differences(engine, first, second)
    assert len(found) == len(said)
    assert all(words in line for words, line in zip(said, found, strict=True)), found
