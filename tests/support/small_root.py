"""A root file system of a few megabytes, of this machine's own shell and tools: a base for images in tests."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from pathlib import Path

PROGRAMS = ("sh", "cat", "dd", "env", "grep", "id", "kill", "ln", "ls", "mkdir", "sleep", "sync", "touch")
_LIBRARY = re.compile(r"(/\S+)")


def write_small_root(tar: Path) -> Path:
    """Write the tar and return its path."""
    with tarfile.open(tar, "w") as archive:
        for folder in ("bin", "etc", "tmp", "opt", "mnt", "run", "proc", "sys", "dev"):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            archive.addfile(info)
        wanted = {f"bin/{name}": Path(_found(name)).resolve() for name in PROGRAMS}
        for program in list(wanted.values()):
            wanted |= {library.lstrip("/"): Path(library).resolve() for library in _libraries(program)}
        for name, path in sorted(wanted.items()):
            archive.add(path, name, filter=_plain)
        _add_users(archive, tar)
    return tar


def _found(name: str) -> str:
    path = shutil.which(name)
    assert path, f"{name} is not installed"
    return path


def _libraries(program: Path) -> list[str]:
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return _LIBRARY.findall(re.sub(r"^\s*\S+ => ", "", listed, flags=re.MULTILINE))


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    return info


def _add_users(archive: tarfile.TarFile, tar: Path) -> None:
    tables = {
        "passwd": "root:x:0:0::/:/bin/sh\nstack:x:10001:10002::/:/bin/sh\n",
        "group": "root:x:0:\nstack:x:10002:\n",
    }
    # Engines mount over the other three while a step runs; where they are missing, their stubs change /etc.
    for name, text in {**tables, "hosts": "", "resolv.conf": "", "hostname": ""}.items():
        path = tar.with_name(name)
        path.write_text(text)
        archive.add(path, f"etc/{name}", filter=_plain)
