"""What is expected here is what glibc's own loader tells of the same files, by LD_TRACE_LOADED_OBJECTS."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from required import need
from shared_libraries import build

from stackproof.compat.doctor.elf import read_elf
from stackproof.compat.doctor.search import Process, System, read_system

LOADERS = [path for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if Path(path).exists()]


def ask_loader(library: Path, **variables: str) -> dict[str, str]:
    """Return what glibc's loader would map for a library, by name."""
    need("compiler", "" if LOADERS else "this system's loader is not glibc's")
    command = [LOADERS[0], str(library)]
    traced = {**variables, "LD_TRACE_LOADED_OBJECTS": "1"}
    shown = subprocess.run(command, env=traced, capture_output=True, text=True, check=False).stdout
    return {name: os.path.realpath(path) for name, path in re.findall(r"^\s*(\S+) => (/\S+)", shown, re.MULTILINE)}


def ask_us(library: Path, **variables: str) -> dict[str, str]:
    process = Process(read_system(variables, os.uname().machine))
    process.open(str(library))
    named = {name: os.path.realpath(one.path) for name, one in process.names.items() if "/" not in name}
    return {name: path for name, path in named.items() if path != os.path.realpath(library) and "ld-linux" not in name}


def both(library: Path, **variables: str) -> None:
    told = {name: path for name, path in ask_loader(library, **variables).items() if "ld-linux" not in name}
    assert ask_us(library, **variables) == told


def test_the_program_that_runs_this_is_mapped_as_the_loader_maps_it() -> None:
    assert ask_us(Path(sys.executable).resolve()).keys() >= {"libc.so.6"}
    both(Path(sys.executable).resolve())


def test_an_old_style_path_goes_before_the_variable(tmp_path: Path) -> None:
    build(tmp_path / "other" / "libtwo.so.1")
    two = build(tmp_path / "own" / "libtwo.so.1")
    one = build(tmp_path / "libtone.so", "", [two], "--disable-new-dtags", "-rpath,$ORIGIN/own")
    assert ask_us(one, LD_LIBRARY_PATH=str(tmp_path / "other"))["libtwo.so.1"] == str(two)
    both(one, LD_LIBRARY_PATH=str(tmp_path / "other"))


def test_a_new_style_path_goes_after_the_variable(tmp_path: Path) -> None:
    other = build(tmp_path / "other" / "libtwo.so.1")
    two = build(tmp_path / "own" / "libtwo.so.1")
    one = build(tmp_path / "libtone.so", "", [two], "--enable-new-dtags", "-rpath,${ORIGIN}/own")
    assert ask_us(one, LD_LIBRARY_PATH=str(tmp_path / "other"))["libtwo.so.1"] == str(other)
    assert ask_us(one)["libtwo.so.1"] == str(two)
    both(one, LD_LIBRARY_PATH=str(tmp_path / "other"))


def test_an_old_style_path_holds_for_what_the_needed_need_and_a_new_style_one_does_not(tmp_path: Path) -> None:
    three = build(tmp_path / "own" / "libthree.so.1")
    two = build(tmp_path / "own" / "libtwo.so.1", "", [three])
    old = build(tmp_path / "libtold.so", "", [two], "--disable-new-dtags", "-rpath,$ORIGIN/own")
    new = build(tmp_path / "libtnew.so", "", [two], "--enable-new-dtags", "-rpath,$ORIGIN/own")
    assert "libthree.so.1" in ask_us(old)
    assert "libthree.so.1" not in ask_us(new)
    both(old)
    both(new)


def test_a_new_style_path_of_the_needed_hides_the_old_style_path_of_the_needing(tmp_path: Path) -> None:
    three = build(tmp_path / "own" / "libthree.so.1")
    two = build(tmp_path / "own" / "libtwo.so.1", "", [three], "--enable-new-dtags", "-rpath,/nowhere")
    one = build(tmp_path / "libtone.so", "", [two], "--disable-new-dtags", "-rpath,$ORIGIN/own")
    assert "libthree.so.1" not in ask_us(one)
    both(one)


def test_what_is_needed_first_wins_breadth_first(tmp_path: Path) -> None:
    near = build(tmp_path / "near" / "libfour.so.1")
    far = build(tmp_path / "far" / "libfour.so.1")
    two = build(tmp_path / "libtwo.so.1", "", [far], "--disable-new-dtags", "-rpath,$ORIGIN/far")
    three = build(tmp_path / "libthree.so.1", "", [near], "--disable-new-dtags", "-rpath,$ORIGIN/near")
    one = build(tmp_path / "libtone.so", "", [two, three], "--disable-new-dtags", "-rpath,$ORIGIN")
    assert ask_us(one)["libfour.so.1"] == str(far)
    both(one)


def test_a_library_of_another_kind_of_machine_is_passed_over(tmp_path: Path) -> None:
    two = build(tmp_path / "own" / "libtwo.so.1")
    one = build(tmp_path / "libtone.so", "", [two], "--enable-new-dtags", "-rpath,$ORIGIN/own")
    foreign = tmp_path / "foreign" / "libtwo.so.1"
    foreign.parent.mkdir()
    data = bytearray(two.read_bytes())
    data[18] = 22  # s390x
    foreign.write_bytes(data)
    process = Process(System((str(foreign.parent),)), Path(sys.executable).resolve())
    process.open(str(one))
    assert process.names["libtwo.so.1"].path == two
    both(one, LD_LIBRARY_PATH=str(foreign.parent))


def test_a_preloaded_library_comes_before_everything(tmp_path: Path) -> None:
    forced = build(tmp_path / "forced" / "libtwo.so.1")
    two = build(tmp_path / "own" / "libtwo.so.1")
    one = build(tmp_path / "libtone.so", "", [two], "--disable-new-dtags", "-rpath,$ORIGIN/own")
    assert ask_us(one, LD_PRELOAD=str(forced))["libtwo.so.1"] == str(forced)


def test_what_is_mapped_already_is_used_again(tmp_path: Path) -> None:
    first = build(tmp_path / "first" / "libtwo.so.1")
    two = build(tmp_path / "own" / "libtwo.so.1")
    one = build(tmp_path / "libtone.so", "", [two], "--disable-new-dtags", "-rpath,$ORIGIN/own")
    process = Process(System())
    process.open(str(first))
    process.open(str(one))
    assert process.names["libtwo.so.1"].path == first


def test_what_is_needed_and_not_there_is_told_with_who_needs_it(tmp_path: Path) -> None:
    two = build(tmp_path / "libtwo.so.1")
    one = build(tmp_path / "libtone.so", "", [two])
    two.unlink()
    process = Process(System())
    process.open(str(one))
    caller = process.absent["libtwo.so.1"]
    assert caller is not None
    assert caller.path == one


def test_an_empty_entry_of_the_variable_is_the_working_folder() -> None:
    assert read_system({"LD_LIBRARY_PATH": "/a::/b;/c"}, "x86_64").library_path == ("/a", ".", "/b", "/c")


def test_links_in_a_circle_and_what_is_no_library_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "libtwo.so.1").symlink_to(tmp_path / "libtwo.so.1")
    (tmp_path / "libthree.so.1").write_text("INPUT(libthree.a)")
    process = Process(replace(System(), library_path=(str(tmp_path),)))
    assert process.open("libtwo.so.1") is None
    assert process.open("libthree.so.1") is None
    assert list(process.damaged) == [tmp_path / "libthree.so.1"]


def test_the_kind_of_this_machine_is_known() -> None:
    assert read_elf(Path(sys.executable).resolve()).machine == os.uname().machine
