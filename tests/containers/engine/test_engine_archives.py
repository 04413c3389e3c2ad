"""Files from a container: taken out of a tar stream that may name anything."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from stackproof.compat.errors import OutsideError
from stackproof.containers.engine.archives import Stream, take_out


def archive(*members: tuple[str, bytes | None], **others: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as file:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size, info.type = len(content or b""), tarfile.DIRTYPE if content is None else tarfile.REGTYPE
            file.addfile(info, io.BytesIO(content or b""))
        for name, target in others.items():
            info = tarfile.TarInfo(f"out/{name}")
            info.type, info.linkname = tarfile.SYMTYPE, target
            file.addfile(info)
    return made.getvalue()


def pieces(content: bytes, size: int = 700) -> list[bytes]:
    return [content[start : start + size] for start in range(0, len(content), size)]


def test_a_folder_is_made_as_it_is(tmp_path: Path) -> None:
    made = archive(("out", None), ("out/a", b"x" * 5000), ("out/d", None), ("out/d/b", b""))
    take_out(pieces(made), tmp_path / "here")
    found = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {"here/a": b"x" * 5000, "here/d/b": b""}


def test_a_file_gets_the_name_asked_for(tmp_path: Path) -> None:
    take_out(pieces(archive(("evidence.json", b"{}"))), tmp_path / "mine.json")
    assert (tmp_path / "mine.json").read_bytes() == b"{}"


@pytest.mark.parametrize("name", ["out/../../escaped", "/escaped", "../escaped", "out/a/../../../escaped", "out/a\\b"])
def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "inner").mkdir()
    with pytest.raises(OutsideError, match="leaves their folder"):
        take_out(pieces(archive(("out", None), (name, b"evil"))), tmp_path / "inner" / "here")
    assert not list(tmp_path.rglob("escaped"))


def test_links_and_devices_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OutsideError, match="neither a file nor a folder"):
        take_out(pieces(archive(("out", None), link="/etc/passwd")), tmp_path / "here")
    assert not os.path.lexists(tmp_path / "here" / "link")


def test_a_stream_that_is_cut_off_is_an_error(tmp_path: Path) -> None:
    made = archive(("out", None), ("out/a", b"x" * 5000))
    with pytest.raises(OutsideError, match="cut off or broken"):
        take_out(pieces(made[:3000]), tmp_path / "here")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutsideError, match=r"/file/here: .*Not a directory"):
        take_out(pieces(archive(("out", None), ("out/a", b""))), tmp_path / "file" / "here")


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_pieces_read_as_one_file(size: int) -> None:
    content = bytes(range(256)) * 3
    assert io.BufferedReader(Stream([b"", *pieces(content, size), b""])).read() == content
