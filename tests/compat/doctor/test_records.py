from __future__ import annotations

from typing import TYPE_CHECKING

from shared_libraries import build, install

from stackproof.compat.doctor import records as records_module
from stackproof.compat.doctor.installed import read_installed
from stackproof.compat.doctor.records import is_tracked, list_libraries, read_records
from stackproof.compat.gather import Gathered

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from stackproof.compat.described import Library


def look(site: Path) -> tuple[list[Library], Gathered]:
    gathered = Gathered()
    records = read_records(read_installed([site], gathered), gathered)
    return list_libraries([site], records, gathered), gathered


def test_the_libraries_that_are_told_of() -> None:
    assert all(
        map(
            is_tracked,
            ("libcudart.so.11.0", "libcudnn_ops.so.9", "libcublasLt.so.12", "libnccl.so", "libnvJitLink.so.12"),
        )
    )
    assert not any(
        map(
            is_tracked,
            ("libcudart-1a2b.so.12", "libcublas.a", "libcudart_static.a", "libc.so.6", "libnvrtc-builtins.so.12.4"),
        )
    )


def test_a_library_has_the_owner_that_records_it(tmp_path: Path) -> None:
    library = build(tmp_path / "nvidia" / "nccl" / "lib" / "libnccl.so.2")
    install(tmp_path, "nvidia-nccl-cu12", "2.21.5", [library])
    ((one,), gathered) = look(tmp_path)
    assert (one.soname, one.path, one.owner, one.altered) == ("libnccl.so.2", str(library), "nvidia-nccl-cu12", False)
    assert gathered.not_understood == []


def test_of_two_owners_the_one_whose_size_fits_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "nvidia" / "nccl" / "lib" / "libnccl.so.2"
    install(tmp_path, "nvidia-nccl-cu11", "2.20.5", [build(path, "int a;")])
    install(tmp_path, "nvidia-nccl-cu12", "2.21.5", [build(path, "char a[90000] = {1};")])
    ((one,), _) = look(tmp_path)
    assert (one.owner, one.also_owned_by, one.altered) == ("nvidia-nccl-cu12", ("nvidia-nccl-cu11",), False)


def test_a_file_of_another_size_than_recorded_is_altered(tmp_path: Path) -> None:
    path = build(tmp_path / "nvidia" / "nccl" / "lib" / "libnccl.so.2")
    install(tmp_path, "nvidia-nccl-cu12", "2.21.5", [path])
    build(path, "char a[90000] = {1};")
    ((one,), _) = look(tmp_path)
    assert one.altered


def test_a_recorded_file_that_is_gone_is_missing(tmp_path: Path) -> None:
    path = build(tmp_path / "nvidia" / "nccl" / "lib" / "libnccl.so.2")
    install(tmp_path, "nvidia-nccl-cu12", "2.21.5", [path])
    path.unlink()
    ((one,), _) = look(tmp_path)
    assert one.missing


def test_a_library_that_no_record_names_has_no_owner(tmp_path: Path) -> None:
    build(tmp_path / "torch" / "lib" / "libcudart.so.12")
    ((one,), _) = look(tmp_path)
    assert one.owner is None


def test_what_is_no_library_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "nvidia" / "nccl" / "lib"
    folder.mkdir(parents=True)
    (folder / "libnccl.so.2").write_text("no library")
    (folder / "libcudart.so.12").symlink_to("libcudart.so.12")
    (folder / "libcublas.so.12").mkdir()
    libraries, gathered = look(tmp_path)
    assert libraries == []
    assert len(gathered.not_understood) == 3


def test_a_record_of_garbage_or_of_great_length_is_read_as_far_as_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records_module, "_MOST_BYTES", 1000)
    library = build(tmp_path / "nvidia" / "nccl" / "lib" / "libnccl.so.2")
    about = install(tmp_path, "nvidia-nccl-cu12", "2.21.5", [library])
    with (about / "RECORD").open("ab") as file:
        file.write(b"\xff,\0,\n../../../../libnccl.so.2,,99999999999999999999\n" * 100)
    libraries, gathered = look(tmp_path)
    assert str(library) in [one.path for one in libraries]
    assert any("only its first" in text for text in gathered.not_understood)
