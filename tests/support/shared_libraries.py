"""Small shared libraries, and folders that look like installed packages, for tests of what the loader would do."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from required import need

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


# As it was at the beginning: tests change it.
_PATH = os.environ.get("PATH", "")


def build(path: Path, source: str = "", needs: Iterable[Path] = (), *options: str) -> Path:
    """Compile a shared library whose name is its file's.

    Args:
        path: The file to make.
        source: Its C source.
        needs: Libraries that it is linked with.
        options: More options of the linker, such as `-rpath,$ORIGIN`.
    """
    need("compiler", "" if shutil.which("cc", path=_PATH) else "cc is not on PATH")
    path.parent.mkdir(parents=True, exist_ok=True)
    command = [
        shutil.which("cc", path=_PATH) or "cc",
        "-shared",
        "-fPIC",
        "-x",
        "c",
        "-",
        "-o",
        path,
        f"-Wl,-soname,{path.name}",
        "-Wl,--no-as-needed",
    ]
    linked = [f"-Wl,{option}" for option in options]
    others = [part for one in needs for part in (f"-L{one.parent}", f"-l:{one.name}")]
    search = [*linked, "-Wl,--allow-shlib-undefined", "-x", "none", *others]
    subprocess.run([*command, *search], input=source.encode(), env={**os.environ, "PATH": _PATH}, check=True)
    return path


def install(site: Path, name: str, version: str, files: Iterable[Path] = (), installer: str = "pip") -> Path:
    """Write what an installer leaves beside a package, with a record of some files; return its `.dist-info`."""
    about = site / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nWords.\n")
    (about / "INSTALLER").write_text(f"{installer}\n")
    lines = [f"{path.relative_to(site)},sha256=x,{path.stat().st_size}" for path in files]
    (about / "RECORD").write_text("\n".join([*lines, f"{about.name}/RECORD,,", ""]))
    return about


def make_venv(folder: Path, python: str = "3.11", settings: str = "") -> Path:
    """Make the folders of a venv without a Python; return its folder of packages."""
    site = folder / "lib" / f"python{python}" / "site-packages"
    site.mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion_info = {python}.7\n{settings}")
    return site


# Sources of stand-ins that say which version they are, as the real libraries do.
def cudart(number: int) -> str:
    return f"int cudaRuntimeGetVersion(int *v) {{ *v = {number}; return 0; }}"


def nccl(number: int) -> str:
    return f"int ncclGetVersion(int *v) {{ *v = {number}; return 0; }}"


def cudnn(number: int) -> str:
    return f"#include <stddef.h>\nsize_t cudnnGetVersion(void) {{ return {number}; }}"


def cublas(stem: str, major: int, minor: int, patch: int) -> str:
    return f"int {stem}GetProperty(int p, int *v) {{ *v = p == 0 ? {major} : p == 1 ? {minor} : {patch}; return 0; }}"
