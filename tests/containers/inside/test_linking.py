"""What this system's own loader says of binaries that were made with every kind of fault."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from shared_libraries import build

from stackproof.containers.inside.binaries import Binary, find_binaries
from stackproof.containers.inside.linking import (
    Traced,
    Unresolved,
    find_loader,
    find_undefined,
    find_unresolved,
    trace_all,
)
from stackproof.containers.inside.walking import walk


def look(root: Path) -> tuple[list[Binary], dict[str, Traced], list[Unresolved]]:
    binaries = find_binaries(walk(str(root), frozenset(), [])).native
    loader = find_loader()
    traced = trace_all(loader, (one.path for one in binaries if one.elf.needed))
    return binaries, traced, find_unresolved(loader, binaries, traced, f"{root}/env")


def test_the_loader_is_the_one_of_this_process() -> None:
    assert Path(find_loader()).resolve() in {
        Path(line.split()[-1]).resolve() for line in Path("/proc/self/maps").read_text().splitlines() if "ld" in line
    }


def test_what_lies_beside_with_a_path_to_it_is_found(tmp_path: Path) -> None:
    other = build(tmp_path / "env/libother.so.1")
    build(tmp_path / "env/libone.so", "", [other], "-rpath,$ORIGIN")
    assert look(tmp_path)[2] == []


def test_a_missing_library_is_named_once_by_the_one_that_needs_it(tmp_path: Path) -> None:
    missing = build(tmp_path / "env/libmissing.so.1")
    between = build(tmp_path / "env/libbetween.so", "", [missing])
    build(tmp_path / "env/liblast.so", "", [between], "-rpath,$ORIGIN")
    missing.unlink()
    assert look(tmp_path)[2] == [Unresolved(str(between), "libmissing.so.1")]


def test_a_library_of_the_environment_may_be_loaded_before(tmp_path: Path) -> None:
    base = build(tmp_path / "env/a/libbase.so.1", "int base(void) { return 1; }")
    extension = build(tmp_path / "env/b/extension.so", "int base(void); int f(void) { return base(); }", [base])
    assert look(tmp_path)[2] == [Unresolved(str(extension), "libbase.so.1", str(base))]


def test_a_library_outside_of_the_environment_is_none_that_is_loaded_before(tmp_path: Path) -> None:
    base = build(tmp_path / "elsewhere/libbase.so.1")
    extension = build(tmp_path / "env/extension.so", "", [base])
    assert look(tmp_path)[2] == [Unresolved(str(extension), "libbase.so.1")]


def test_a_file_that_only_has_the_name_of_a_library_does_not_help(tmp_path: Path) -> None:
    base = build(tmp_path / "env/libbase.so.1")
    extension = build(tmp_path / "env/b/extension.so", "", [base])
    build(tmp_path / "env/libanother.so").rename(base)
    assert look(tmp_path)[2] == [Unresolved(str(extension), "libbase.so.1")]


def test_a_stub_that_programs_are_linked_with_is_no_library_that_is_loaded(tmp_path: Path) -> None:
    stub = build(tmp_path / "env/lib/stubs/libcuda.so.1")
    user = build(tmp_path / "env/user.so", "", [stub])
    assert look(tmp_path)[2] == [Unresolved(str(user), "libcuda.so.1")]


def test_a_version_of_symbols_that_a_library_lacks_is_named(tmp_path: Path) -> None:
    script = tmp_path / "versions"
    script.write_text("NEW_2.0 { global: f; };")
    new = build(tmp_path / "env/libv.so.1", "int f(void) { return 1; }", (), f"--version-script={script}")
    user = build(tmp_path / "env/user.so", "int f(void); int g(void) { return f(); }", [new], "-rpath,$ORIGIN")
    script.write_text("OLD_1.0 { global: f; };")
    build(new, "int f(void) { return 1; }", (), f"--version-script={script}")
    _, traced, unresolved = look(tmp_path)
    assert unresolved == []
    assert {found for said in traced.values() for found in said.unmet} == {(str(new), "NEW_2.0", str(user))}


def test_a_library_cut_short_is_said_to_be_so_and_stops_nothing(tmp_path: Path) -> None:
    path = build(tmp_path / "env/libcut.so", "char much[100000] = {1};")
    os.truncate(path, path.stat().st_size // 2)
    build(tmp_path / "env/libwhole.so")
    loader = find_loader()
    traced = trace_all(loader, [str(path), str(tmp_path / "env/libwhole.so")])
    assert traced[str(path)].failed
    assert not traced[str(tmp_path / "env/libwhole.so")].failed


def test_no_code_of_a_library_runs(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    source = f'#include <stdio.h>\n__attribute__((constructor)) void run(void) {{ fclose(fopen("{mark}", "w")); }}'
    build(tmp_path / "env/libruns.so", source)
    look(tmp_path)
    assert not mark.exists()


def test_symbols_that_nothing_has_are_found_but_those_of_a_driver(tmp_path: Path) -> None:
    source = "int newer_part(void); int cuInit(int); int f(void) { return newer_part() + cuInit(0); }"
    path = build(tmp_path / "libpart.so", source)
    assert find_undefined(find_loader(), str(path)) == ["newer_part"]


@pytest.mark.parametrize("name", ["with space.so", "läge.so", "new\nline.so"])
def test_odd_names_are_asked_like_others(tmp_path: Path, name: str) -> None:
    missing = build(tmp_path / "env/libmissing.so.1")
    plain = build(tmp_path / "env/plain.so", "", [missing])
    odd = plain.rename(tmp_path / "env" / name)
    missing.unlink()
    assert look(tmp_path)[2] == [Unresolved(str(odd), "libmissing.so.1")]


def test_a_name_that_is_no_text_is_asked_too(tmp_path: Path) -> None:
    missing = build(tmp_path / "env/libmissing.so.1")
    plain = build(tmp_path / "env/plain.so", "", [missing])
    odd = os.fsdecode(os.fsencode(tmp_path / "env") + b"/\xff.so")
    plain.rename(odd)
    missing.unlink()
    assert look(tmp_path)[2] == [Unresolved(odd, "libmissing.so.1")]
