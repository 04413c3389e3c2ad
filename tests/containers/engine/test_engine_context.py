"""What goes to an engine as a tar stream: the same bytes for the same files, and nothing that was not named."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from stackproof.compat.errors import InputError, OutsideError
from stackproof.containers.engine.context import Entry, entries_of, pack, write_context


def written(files: dict[str, Path | bytes]) -> bytes:
    stream = io.BytesIO()
    write_context(files, stream)
    return stream.getvalue()


def test_the_same_files_give_the_same_bytes_whatever_their_order_owner_and_time(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    first = written({"in/b": b"two", "in/a": tmp_path / "a"})
    os.utime(tmp_path / "a", (1, 1))
    (tmp_path / "a").chmod(0o600)
    assert written({"in/a": tmp_path / "a", "in/b": b"two"}) == first


def test_a_reader_of_tar_finds_what_was_given(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"x" * 3_000_000)
    program.chmod(0o744)
    with tarfile.open(fileobj=io.BytesIO(written({"z": b"", "in/uv": program, "in/ä.txt": b"text"}))) as archive:
        members = archive.getmembers()
        contents = {member.name: archive.extractfile(member).read() for member in members}  # type: ignore[union-attr]
    assert contents == {"in/uv": b"x" * 3_000_000, "in/ä.txt": b"text", "z": b""}
    assert [member.name for member in members] == sorted(contents)
    assert [(m.mode, m.uid, m.gid, m.mtime, m.uname) for m in members] == [
        (0o755 if m.name == "in/uv" else 0o644, 0, 0, 0, "") for m in members
    ]


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 9728, 9729, 10240])
def test_a_stream_is_whole_records_with_an_end(size: int) -> None:
    made = written({"a": bytes(size)})
    assert len(made) % tarfile.RECORDSIZE == 0
    assert made.endswith(bytes(1024))
    with tarfile.open(fileobj=io.BytesIO(made)) as archive:
        assert [member.size for member in archive] == [size]


@pytest.mark.parametrize(
    "name",
    [
        *("", "/etc/passwd", "..", "../a", "a/../../b", "a/..", "./a", "a//b", "a/", "a\\b", "a\nb", "a\0b"),
        *("a\x1b[31m", "\u202egpj.exe", "a" * 256),
    ],
)
def test_a_name_that_could_leave_the_context_is_refused(name: str) -> None:
    with pytest.raises(InputError) as refused:
        written({"good": b"", name: b""})
    assert [fault.where for fault in refused.value.faults] == [repr(name)]


def test_shell_words_are_names_like_others() -> None:
    names = {"$(touch x)", "a b;c", "'\"`&|", "-rf"}
    with tarfile.open(fileobj=io.BytesIO(written(dict.fromkeys(names, b"")))) as archive:
        assert set(archive.getnames()) == names


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "inner").mkdir()
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "inner" / "leaves").symlink_to(tmp_path / "secret")
    (tmp_path / "inner" / "loop").symlink_to("loop")
    sources = ("pipe", "inner", "absent", "inner/leaves", "inner/loop")
    with pytest.raises(InputError) as refused:
        entries_of({name.replace("/", "-"): tmp_path / name for name in sources})
    assert len(refused.value.faults) == len(sources)


def test_a_link_to_a_neighbour_is_the_neighbour(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"real")
    (tmp_path / "link").symlink_to("real")
    with tarfile.open(fileobj=io.BytesIO(written({"a": tmp_path / "link"}))) as archive:
        assert archive.getmember("a").isreg()
        assert archive.getmember("a").size == 4


def test_a_name_that_is_file_and_folder_is_refused() -> None:
    with pytest.raises(InputError, match=r"'a': is a file and a folder"):
        entries_of({"a": b"", "a/b": b""})


def test_a_file_that_shrinks_while_it_is_read_is_an_error_and_no_silent_padding(tmp_path: Path) -> None:
    source = tmp_path / "a"
    source.write_bytes(bytes(3_000_000))
    pieces = pack([Entry("a", source)])
    next(pieces), next(pieces)
    os.truncate(source, 1_500_000)
    with pytest.raises(OutsideError, match="shorter"):
        list(pieces)


def test_a_file_that_grows_is_sent_as_it_was(tmp_path: Path) -> None:
    source = tmp_path / "a"
    source.write_bytes(b"x" * 2_000_000)
    pieces = pack([Entry("a", source)])
    made = next(pieces) + next(pieces)
    with source.open("ab") as file:
        file.write(b"y" * 1000)
    with tarfile.open(fileobj=io.BytesIO(made + b"".join(pieces))) as archive:
        assert archive.extractfile("a").read() == b"x" * 2_000_000  # type: ignore[union-attr]
