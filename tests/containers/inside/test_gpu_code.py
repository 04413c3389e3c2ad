"""Which architectures a binary has code for, read from the headers that the CUDA compiler writes."""

from __future__ import annotations

import contextlib
import os
import random
import struct
from pathlib import Path

import device_code as made
import pytest
import shared_libraries

from stackproof.compat.doctor.elf import NotElfError, read_elf
from stackproof.containers.inside.gpu_code import DamagedError, read_gpu_code


def counted(path: Path) -> dict[str, int]:
    return dict(read_gpu_code(str(path)))


def test_each_source_counts_once_for_each_architecture(tmp_path: Path) -> None:
    one = made.container(made.entry(80), made.entry(90), made.entry(90, made.PTX, header=80))
    code = one + made.container(made.entry(80), made.entry(120, header=112))
    path = made.build(tmp_path / "liba.so", code)
    assert counted(path) == {"sm_80": 2, "sm_90": 1, "compute_90": 1, "sm_120": 1}


def test_code_of_one_architecture_only_and_of_a_family_is_told_apart(tmp_path: Path) -> None:
    # The flags are those that nvcc 13.0 writes for sm_90a, sm_100f, compute_90a and compute_100f.
    entries = [
        made.entry(90, flags=0x100011),
        made.entry(100, flags=0x1200011, header=112),
        made.entry(90, made.PTX, 0x108011, header=80),
        made.entry(100, made.PTX, 0x208011, header=80),
    ]
    path = made.build(tmp_path / "liba.so", made.container(*entries))
    assert counted(path) == {"sm_90a": 1, "sm_100f": 1, "compute_90a": 1, "compute_100f": 1}


def test_a_library_without_device_code_has_none(tmp_path: Path) -> None:
    assert counted(shared_libraries.build(tmp_path / "liba.so")) == {}


def test_kinds_of_entries_that_are_no_code_are_left_out(tmp_path: Path) -> None:
    path = made.build(tmp_path / "liba.so", made.container(made.entry(80, 0x40), made.entry(75)))
    assert counted(path) == {"sm_75": 1}


def test_filling_between_containers_is_passed_over(tmp_path: Path) -> None:
    code = made.container(made.entry(80)) + bytes(4088) + made.container(made.entry(75)) + bytes(24)
    assert counted(made.build(tmp_path / "liba.so", code)) == {"sm_80": 1, "sm_75": 1}


LONG = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 1 << 40)


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(LONG + made.entry(80), id="container-too-long"),
        pytest.param(made.container(made.entry(80)[:-8]), id="entry-too-long"),
        pytest.param(made.container(struct.pack("<HHIQ", 2, 0, 0, 0) + bytes(64)), id="entry-without-length"),
        pytest.param(made.container(made.entry(80)) + b"something else", id="other-content"),
        pytest.param(b"\x01" * 64, id="no-container"),
    ],
)
def test_damaged_device_code_is_named_so(tmp_path: Path, code: bytes) -> None:
    path = made.build(tmp_path / "liba.so", code)
    with pytest.raises(DamagedError):
        read_gpu_code(str(path))


@pytest.mark.parametrize("part", [0.1, 0.5, 0.99])
def test_a_file_cut_short_is_damaged(tmp_path: Path, part: float) -> None:
    path = made.build(tmp_path / "liba.so", made.container(made.entry(80, payload=65536)))
    os.truncate(path, int(path.stat().st_size * part))
    with pytest.raises(DamagedError):
        read_gpu_code(str(path))


def test_only_headers_are_read(tmp_path: Path) -> None:
    path = made.build(tmp_path / "liba.so", made.container(*[made.entry(80, payload=1 << 20)] * 20))
    before = bytes_read()
    read_gpu_code(str(path))
    assert path.stat().st_size > 20 << 20
    assert bytes_read() - before < 64 * 1024


def bytes_read() -> int:
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("rchar")).split()[1])


def test_the_file_is_closed_again(tmp_path: Path) -> None:
    path = made.build(tmp_path / "liba.so", b"\x01" * 64)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with pytest.raises(DamagedError):
            read_gpu_code(str(path))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_no_byte_that_is_wrong_stops_more_than_its_own_file(tmp_path: Path) -> None:
    code = made.container(made.entry(80), made.entry(90, made.PTX, header=80)) * 3
    path = made.build(tmp_path / "liba.so", code, (), "int f(void) { return 1; }")
    whole, draw = path.read_bytes(), random.Random(20261130)  # noqa: S311 - damage, repeatable
    for _ in range(400):
        wrong = bytearray(whole)
        for _ in range(draw.randint(1, 8)):
            wrong[draw.randrange(len(wrong)) if draw.random() < 0.5 else draw.randrange(64)] = draw.randrange(256)
        path.write_bytes(wrong)
        with contextlib.suppress(DamagedError, NotElfError):
            read_elf(path)
            read_gpu_code(str(path))
