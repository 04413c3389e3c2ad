from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from required import need
from shared_libraries import build

from stackproof.compat.doctor.elf import NotElfError, highest, read_elf

PROGRAM = Path(sys.executable).resolve()


def readelf(*options: str) -> str:
    need("compiler", "" if shutil.which("readelf") else "readelf is not on PATH")
    return subprocess.run(["readelf", "-W", *options], capture_output=True, text=True, check=True).stdout


def test_a_real_program_is_read_as_readelf_reads_it() -> None:
    shown = readelf("-d", str(PROGRAM))
    read = read_elf(PROGRAM)
    assert list(read.needed) == re.findall(r"NEEDED.*\[(.*)\]", shown)
    assert ":".join(read.rpath or read.runpath) == "".join(re.findall(r"R(?:UN)?PATH.*\[(.*)\]", shown))


def test_symbol_versions_are_those_that_readelf_shows() -> None:
    shown = readelf("-V", str(PROGRAM)).partition("Version needs section")[2]
    assert read_elf(PROGRAM).needs == set(re.findall(r"Name: (\S+)", shown))


def test_a_library_tells_its_name_its_needs_and_its_paths(tmp_path: Path) -> None:
    other = build(tmp_path / "libother.so.2")
    read = read_elf(build(tmp_path / "libone.so.1", "", [other], "--enable-new-dtags", "-rpath,$ORIGIN/a:/b"))
    assert read.soname == "libone.so.1"
    assert "libother.so.2" in read.needed
    assert (read.rpath, read.runpath) == ((), ("$ORIGIN/a", "/b"))


def test_an_old_style_path_is_kept_apart(tmp_path: Path) -> None:
    read = read_elf(build(tmp_path / "libone.so.1", "", [], "--disable-new-dtags", "-rpath,/a"))
    assert (read.rpath, read.runpath) == (("/a",), ())


def test_what_a_library_gives_is_read_from_its_versions(tmp_path: Path) -> None:
    script = tmp_path / "versions"
    script.write_text("GLIBCXX_3.4.9 { global: one; local: *; };\nGLIBCXX_3.4.30 { global: two; } GLIBCXX_3.4.9;\n")
    library = build(tmp_path / "libone.so", "int one; int two;", [], f"--version-script={script}")
    assert highest(read_elf(library).gives, "GLIBCXX_") == "3.4.30"


def test_the_highest_version_is_by_number_and_ignores_words() -> None:
    names = frozenset({"GLIBC_2.9", "GLIBC_2.34", "GLIBC_PRIVATE", "GLIBC_ABI_DT_RELR", "CXXABI_1.3"})
    assert highest(names, "GLIBC_") == "2.34"
    assert highest(names, "GLIBCXX_") is None


@pytest.mark.parametrize(
    "data", [b"", b"\x7fELF", b"no library at all", b"/* GNU ld script */", b"\x7fELF" + b"\xff" * 500]
)
def test_what_is_no_library_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(data)
    with pytest.raises(NotElfError):
        read_elf(path)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_library_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    whole = bytearray(PROGRAM.read_bytes()[: 64 * 1024])
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(4, 4095))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "lib.so"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    with contextlib.suppress(NotElfError):
        read_elf(path)
