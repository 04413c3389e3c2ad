from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

from required import need

from stackproof.compat.doctor.cache import CACHE, read_cache

if TYPE_CHECKING:
    from pathlib import Path


def test_the_cache_reads_as_ldconfig_shows_it() -> None:
    tool = shutil.which("ldconfig", path="/sbin:/usr/sbin:/bin:/usr/bin")
    need("compiler", "" if tool and CACHE.exists() else "ldconfig or the loader's cache is missing")
    shown = subprocess.run([str(tool), "-p"], capture_output=True, text=True, check=True).stdout
    expected: dict[str, list[str]] = {}
    for name, words, path in re.findall(r"^\t(\S+) \((.*)\) => (\S+)$", shown, re.MULTILINE):
        if "hwcap" not in words:
            expected.setdefault(name, []).append(path)
    assert read_cache() == expected


def test_no_cache_is_an_empty_one(tmp_path: Path) -> None:
    assert read_cache(tmp_path / "nothing") == {}


def test_a_cache_of_another_format_or_cut_short_is_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "cache"
    for data in (b"", b"garbage" * 100, b"glibc-ld.so.cache1.1", b"glibc-ld.so.cache1.1" + b"\xff" * 28):
        path.write_bytes(data)
        assert read_cache(path) == {}
