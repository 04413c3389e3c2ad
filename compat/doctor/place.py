"""Which environment is meant, and from which folders its Python imports."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..errors import Fault, InputError
from .asking import Asked
from .elf import NotElfError, read_elf

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PATIENCE: Final = 5.0
_MOST_BYTES: Final = 1024 * 1024
# What a Python says of itself; runs with -I -S, so that nothing of the environment is imported.
_ASK: Final = """
import json, os, platform, sys
libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in getattr(os, "confstr_names", {}) else None
print(json.dumps([platform.python_version(), platform.python_implementation(), sys.base_prefix, libc]))
"""


@dataclass(frozen=True, slots=True)
class Place:
    """An environment of Python packages.

    Attributes:
        prefix: Its folder.
        python: Its interpreter, as it would be started; None where there is none to run.
        version: The interpreter's version, such as `3.11.7`; None where it is not known.
        implementation: Such as `CPython`.
        libc: What the interpreter says of its C library, such as `glibc 2.36`.
        sites: Folders of installed packages, in the order in which they are imported from.
        unsure: What could not be found out, for people.
    """

    prefix: Path
    python: Path | None
    version: str | None
    implementation: str | None
    libc: str | None
    sites: tuple[Path, ...]
    unsure: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Interpreter:
    version: str | None = None
    implementation: str | None = None
    base: str | None = None
    libc: str | None = None
    failed: str = ""


def find_place(env: Path | None, variables: Mapping[str, str]) -> Place:
    """Find out which environment is meant.

    Args:
        env: A venv's folder, a conda environment's, or a Python; None for the one that this process runs in.
        variables: The environment variables that its Python would have.

    Raises:
        InputError: There is no such environment, it has no Python, or it is for another kind of machine.
    """
    if env is None:
        prefix, python = Path(sys.prefix), Path(sys.executable)
        return _describe(prefix, python, _ask_own(), variables)
    prefix, python = _locate(env)
    _check_machine(env, python)
    said = _ask(python)
    if said.failed and not env.is_dir():
        raise _error(env, f"{said.failed}; name a venv's folder or a Python")
    return _describe(prefix, python, said, variables)


def read_settings(prefix: Path) -> dict[str, str]:
    """Return what `pyvenv.cfg` says, with lower-case keys; empty where there is none."""
    lines = _read(prefix / "pyvenv.cfg").splitlines()
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _locate(env: Path) -> tuple[Path, Path]:
    """Return an environment's folder and Python."""
    try:
        if not env.exists():
            raise _error(env, "there is no such folder or file; name a venv's folder or a Python")
        if env.is_dir():
            return env.absolute(), _python_of(env)
    except OSError as error:
        raise _error(env, f"it cannot be read: {error.strerror}") from error
    if not os.access(env, os.X_OK):
        raise _error(env, "it is no folder and no program; name a venv's folder or a Python")
    folder = env.absolute().parent.parent
    return (folder if (folder / "pyvenv.cfg").is_file() else env.resolve().parent.parent), env.absolute()


def _python_of(env: Path) -> Path:
    named = [env / "bin" / name for name in ("python", "python3")]
    found = next((path for path in named if path.is_file()), None)
    if found is not None:
        if (env / "pyvenv.cfg").is_file() or (env / "conda-meta").is_dir() or _libraries(env):
            return found.absolute()
    elif (env / "pyvenv.cfg").is_file() or (env / "conda-meta").is_dir():
        broken = next((path for path in named if path.is_symlink()), None)
        what = f"{broken} points to {broken.readlink()}, which is not there" if broken else f"{named[0]} is missing"
        raise _error(env, f"{what}; make the environment anew, or install that Python again")
    raise _error(env, "it is no venv: it has no pyvenv.cfg; name the folder that `python -m venv` made, or a Python")


def _check_machine(env: Path, python: Path) -> None:
    with contextlib.suppress(NotElfError, OSError):
        theirs, ours = read_elf(python), read_elf(Path(sys.executable).resolve())
        if theirs.kind != ours.kind:
            raise _error(env, f"its Python is for {theirs.machine}, this machine is {ours.machine}; run doctor there")


def _ask_own() -> _Interpreter:
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
    version = ".".join(map(str, sys.version_info[:3])) + _stage()
    name = {"cpython": "CPython", "pypy": "PyPy"}.get(sys.implementation.name, sys.implementation.name)
    return _Interpreter(version, name, sys.base_prefix, libc)


def _stage() -> str:
    kind = {"alpha": "a", "beta": "b", "candidate": "rc"}.get(sys.version_info.releaselevel, "")
    return f"{kind}{sys.version_info.serial}" if kind else ""


def _ask(python: Path) -> _Interpreter:
    written, failed = Asked([python, "-I", "-S", "-c", _ASK]).answer(_PATIENCE)
    try:
        version, implementation, base, libc = json.loads(written)
        return _Interpreter(version.rstrip("+"), str(implementation), str(base), libc if libc is None else str(libc))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return _Interpreter(failed=f"{python} does not run: {failed or 'it gave no answer'}")


def _describe(prefix: Path, python: Path, said: _Interpreter, variables: Mapping[str, str]) -> Place:
    settings = read_settings(prefix)
    version = said.version or _written_version(settings)
    minor = _minor(version) or next(iter(_libraries(prefix)), None)
    base = Path(said.base) if said.base else _written_base(settings)
    found = _sites(prefix, base, minor, settings, variables)
    sites = tuple(dict.fromkeys(path for site in found for path in (site, *_path_lines(site)) if _is_folder(path)))
    unsure = (said.failed,) if said.failed else ()
    return Place(prefix, python, version, said.implementation, said.libc, sites, unsure)


def _written_version(settings: Mapping[str, str]) -> str | None:
    match = re.match(r"\d+\.\d+(\.\d+)?", settings.get("version_info") or settings.get("version") or "")
    return match[0] if match else None


def _written_base(settings: Mapping[str, str]) -> Path | None:
    return Path(settings["home"]).parent if settings.get("home") else None


def _minor(version: str | None) -> str | None:
    match = re.match(r"\d+\.\d+", version or "")
    return match[0] if match else None


def _libraries(prefix: Path) -> list[str]:
    """Return the Python minors that a prefix has folders of, such as `3.11`."""
    with contextlib.suppress(OSError):
        names = sorted(path.name for path in (prefix / "lib").iterdir() if path.is_dir())
        return [name.removeprefix("python") for name in names if re.fullmatch(r"python\d\.\d+t?", name)]
    return []


def _sites(
    prefix: Path, base: Path | None, minor: str | None, settings: Mapping[str, str], variables: Mapping[str, str]
) -> Iterator[Path]:
    """Return folders of packages as `site` would: PYTHONPATH, the environment, the user's, the system's."""
    yield from (Path(part) for part in variables.get("PYTHONPATH", "").split(":") if part)
    home = variables.get("PYTHONUSERBASE") or (f"{variables['HOME']}/.local" if variables.get("HOME") else "")
    users = Path(home, "lib", f"python{minor}", "site-packages")
    own = list(_installed(prefix, minor))
    shares = not settings or settings.get("include-system-site-packages", "").lower() == "true"
    if not shares or not home or variables.get("PYTHONNOUSERSITE"):
        yield from own
    else:
        yield from (*own, users) if settings else (users, *own)
    if shares and base is not None:
        yield from _installed(base, minor)


def _installed(prefix: Path, minor: str | None) -> Iterator[Path]:
    if str(prefix) == "/usr":
        yield Path("/usr/local/lib", f"python{minor}", "dist-packages")
        yield Path("/usr/lib/python3/dist-packages")
    first = prefix / "lib" / f"python{minor}" / "site-packages"
    yield first
    for lib, name in (("lib", f"python{minor}t"), ("lib64", f"python{minor}")):
        site = prefix / lib / name / "site-packages"
        if _is_folder(site) and not (_is_folder(first) and site.samefile(first)):
            yield site


def _is_folder(path: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return path.is_dir()
    return False


def _path_lines(site: Path) -> Iterator[Path]:
    """Return the folders that `.pth` files add; their `import` lines are not run."""
    with contextlib.suppress(OSError):
        for path in sorted(site.glob("*.pth")):
            lines = (line.strip() for line in _read(path).splitlines())
            yield from (site / line for line in lines if line and not line.startswith(("#", "import ", "import\t")))


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _error(env: Path, what: str) -> InputError:
    return InputError(str(env), [Fault("", what)])
