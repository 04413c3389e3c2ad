"""Binaries are found by what they are, whatever lies among them."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

from shared_libraries import build

from stackproof.compat.builds import level_of
from stackproof.containers.inside.binaries import find_binaries
from stackproof.containers.inside.linking import find_loader, trace_all
from stackproof.containers.inside.symbols import read_symbols
from stackproof.containers.inside.walking import Entry, show, walk

if TYPE_CHECKING:
    from pathlib import Path


def entries(root: Path) -> list[Entry]:
    return list(walk(str(root), frozenset(), []))


def test_a_library_under_any_name_is_one_and_a_text_is_none(tmp_path: Path) -> None:
    build(tmp_path / "liba.so").rename(tmp_path / "innocent")
    (tmp_path / "libfake.so").write_text("INPUT(libreal.so)" + " " * 100)
    (tmp_path / "short.so").write_bytes(b"\x7fELF")
    found = find_binaries(entries(tmp_path))
    assert [one.path for one in found.native] == [str(tmp_path / "innocent")]
    assert (found.foreign, found.damaged, found.unreadable) == ([], {}, [])


def test_links_and_loops_of_them_are_not_followed(tmp_path: Path) -> None:
    build(tmp_path / "liba.so")
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "libb.so").symlink_to("liba.so")
    assert [one.path for one in find_binaries(entries(tmp_path)).native] == [str(tmp_path / "liba.so")]


def test_binaries_of_another_machine_are_counted_apart(tmp_path: Path) -> None:
    path = build(tmp_path / "liba.so")
    whole = bytearray(path.read_bytes())
    struct.pack_into("<H", whole, 18, 183 if whole[18] != 183 else 62)
    path.write_bytes(whole)
    found = find_binaries(entries(tmp_path))
    assert (found.native, found.foreign) == ([], [str(path)])


def test_damaged_headers_are_named_and_stop_nothing(tmp_path: Path) -> None:
    whole = build(tmp_path / "liba.so").read_bytes()
    for number, end in enumerate((70, 200, 700)):
        (tmp_path / f"cut{number}.so").write_bytes(whole[:end])
    wild = bytearray(whole)
    struct.pack_into("<Q", wild, 32, (1 << 64) - 8)
    (tmp_path / "wild.so").write_bytes(wild)
    found = find_binaries(entries(tmp_path))
    assert [one.path for one in found.native] == [str(tmp_path / "liba.so")]
    assert sorted(found.damaged) == [str(tmp_path / name) for name in ("cut0.so", "cut1.so", "cut2.so", "wild.so")]


def test_objects_of_a_compiler_and_symbols_alone_are_left_out(tmp_path: Path) -> None:
    whole = bytearray(build(tmp_path / "liba.so").read_bytes())
    struct.pack_into("<H", whole, 16, 1)
    (tmp_path / "a.o").write_bytes(whole)
    (tmp_path / "usr/lib/debug").mkdir(parents=True)
    (tmp_path / "liba.so").rename(tmp_path / "usr/lib/debug/liba.so")
    assert find_binaries(entries(tmp_path)).native == []


def test_a_pipe_among_the_files_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.so")
    assert find_binaries(entries(tmp_path)).native == []


def test_a_huge_folder_and_a_deep_one_are_walked(tmp_path: Path) -> None:
    for number in range(3000):
        (tmp_path / f"{number}.txt").touch()
    deep = tmp_path
    for _ in range(200):
        deep /= "d"
    deep.mkdir(parents=True)
    (deep / "last").touch()
    assert len(entries(tmp_path)) == 3000 + 200 + 1


def test_what_is_mounted_over_the_image_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/kcore").touch()
    (tmp_path / "kept").touch()
    found = [one.path for one in walk(str(tmp_path), frozenset({str(tmp_path / "proc")}), [])]
    assert found == [str(tmp_path / "kept")]


def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    unreadable: list[str] = []
    assert list(walk(str(tmp_path / "gone"), frozenset(), unreadable)) == []
    assert unreadable == [str(tmp_path / "gone")]


def test_names_are_shown_in_one_line_of_text() -> None:
    assert show(os.fsdecode(b"/a/\xff\n\x1b[31m\xc3\xa4")) == "/a/\\xff\\x0a\\x1b[31mä"


def test_the_versions_of_the_c_library_are_those_of_this_system(tmp_path: Path) -> None:
    build(tmp_path / "liba.so", '#include <stdio.h>\nint f(void) { return puts(""); }')
    found = find_binaries(entries(tmp_path)).native
    symbols = read_symbols(found, trace_all(find_loader(), (one.path for one in found)))
    # A release without new symbols has none of its own number, such as 2.31.
    release = os.confstr("CS_GNU_LIBC_VERSION") or ""
    assert level_of("2.17") <= level_of(symbols["GLIBC"]["has"]) <= level_of(release.removeprefix("glibc "))
    assert symbols["GLIBC"]["by"] == str(tmp_path / "liba.so")
    assert symbols["GLIBCXX"] == {"has": None, "needs": None, "by": None}
