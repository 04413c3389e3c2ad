"""Small file systems, for tests of what a full disk does."""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from required import need

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@contextmanager
def small_mounts(below: Path) -> Iterator[Callable[[str], Path]]:
    """Yield a function that mounts a small file system, given its size such as `2m`; all are unmounted at the end."""
    need("mounts", "" if os.geteuid() == 0 else "a small file system is mounted, which only root may do")
    with ExitStack() as stack:

        def mount(size: str) -> Path:
            folder = below / f"small-{size}"
            folder.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
            stack.callback(subprocess.run, ["umount", folder], check=True)
            return folder

        yield mount
