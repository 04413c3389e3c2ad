"""Rules on Python, the C library, the system and the machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..builds import TENSORFLOW, jax_row
from ..facts import Row, load_table
from ..finding import Because, Finding, because
from ..known import Holds, Known, parse_known
from ..names import is_windows
from ..releases import package_rows
from ..requirements import rows_meant
from .registry import PACKAGES, View, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

_TABLES: Final = {"torch": "torch", "tensorflow": "tensorflow", "tensorflow-gpu": "tensorflow"}
_GLIBC_ONLY: Final = ("torch", *TENSORFLOW, "jaxlib", "onnxruntime", "onnxruntime-gpu")
_GPU_COMPONENTS: Final = ("gpu", "driver", "driver_cuda", "cuda", "compute_capability")


@rule("SP601", needs=(PACKAGES, "python"), present=(("python",),))
def _python(view: View) -> Iterator[Finding]:
    """A package has no wheel for this Python.

    Binary wheels are made for the Python releases of their time: an old release has none for a newer Python, a new
    release none for an old one. pip then says `No matching distribution found`, or tries to build from source.

    Mend it with a Python that the release has wheels for, or a release that has wheels for the Python.
    """
    python = view.one("python")
    tag = python_tag(python)
    if python is None or tag is None:
        return
    yield from _jaxlib_of(view, python, tag)
    for name in sorted(view.packages):
        known = view.one(name)
        rows = _rows(name, known) if known is not None else ()
        lists = [tuple(row.get("pythons") or ()) for row in rows]
        refused = [row for row, pythons in zip(rows, lists, strict=True) if not _serves(row, pythons, tag, python)]
        if not rows or len(refused) < len(rows):
            continue
        yield Finding(
            "SP601",
            "error",
            ("python", name),
            f"{name} {known} has no wheel for Python {python}: it has {_spoken(refused[-1])}.",
            (
                because(refused[-1], f"{name} has wheels for {_spoken(refused[-1])}"),
                *view.reasons("python"),
            ),
            tuple(_python_fixes(name, known, refused[-1], tag, python)),
        )


def _jaxlib_of(view: View, python: Known, tag: str) -> Iterator[Finding]:
    """Judge the jaxlib that a described jax asks for, where it is not described itself."""
    jax = view.one("jax") if "jax" in view.packages and "jaxlib" not in view.packages else None
    row = jax_row(jax) if jax is not None and jax.version is not None else None
    pythons = tuple(row.get("pythons") or ()) if row is not None else ()
    if row is None or not pythons or tag in pythons:
        return
    yield Finding(
        "SP601",
        "error",
        ("python", "jax"),
        f"jax {jax} has no wheel of its jaxlib for Python {python}: there are {_spoken(row)}.",
        (because(row, f"jaxlib {row['jax']} has wheels for {_spoken(row)}"),),
        (f"Python 3.{max(int(entry[3:]) for entry in pythons if entry.startswith('cp3'))}",),
    )


def python_tag(known: Known | None) -> str | None:
    """Return the wheel tag of a Python: `cp311`."""
    match = re.match(r"(\d)\.(\d+)", known.text) if known is not None else None
    return f"cp{match[1]}{match[2]}" if match else None


def _rows(name: str, known: Known | None) -> tuple[Row, ...]:
    if known is None or (known.is_open):
        return ()
    rows = rows_meant(name, known)
    if not rows and (table := _TABLES.get(name)) is not None:
        rows = tuple(row for row in load_table(table).rows if _is_release(row[table], known))
    return rows


def _is_release(release: str, known: Known) -> bool:
    if known.version is not None:
        return str(known.version) == release
    parsed = parse_known(release)
    return known.allowed is not None and parsed is not None and parsed.holds(str(known.allowed)) is Holds.ALWAYS


def _serves(row: Row, pythons: tuple[str, ...], tag: str, python: Known) -> bool:
    required = row.get("requires_python")
    if required and python.holds(required) is Holds.NEVER:
        return False
    return (
        not pythons
        or tag in pythons
        or any(entry.startswith(("py3", "py2.py3", "cp3-")) for entry in pythons)
        or any(_is_stable_abi(entry, tag, pythons) for entry in pythons)
    )


def _is_stable_abi(entry: str, tag: str, pythons: tuple[str, ...]) -> bool:
    """Return whether a lone `py39` or `cp38-abi3` tag serves newer Pythons."""
    match = re.fullmatch(r"(?:py|cp)3(\d+)(-abi3)?", entry)
    if match is None or not (entry.startswith("py") or match[2] or len(pythons) == 1):
        return False
    return (entry.startswith("py") or bool(match[2])) and int(tag.removeprefix("cp3") or 0) >= int(match[1])


def _spoken(row: Row) -> str:
    pythons = [entry for entry in row.get("pythons") or () if re.fullmatch(r"cp3\d+", entry)]
    if not pythons:
        return f"Python {row.get('requires_python') or 'of another kind'}"
    ordered = sorted(pythons, key=lambda entry: int(entry[3:]))
    return f"Python 3.{ordered[0][3:]} to 3.{ordered[-1][3:]}" if len(ordered) > 1 else f"Python 3.{ordered[0][3:]}"


def _python_fixes(name: str, known: Known | None, row: Row, tag: str, python: Known) -> Iterator[str]:
    pythons = [entry for entry in row.get("pythons") or () if re.fullmatch(r"cp3\d+", entry)]
    if pythons:
        newest = max(int(entry[3:]) for entry in pythons)
        yield f"Python 3.{newest}"
    serving = [
        release
        for entry in package_rows(name)
        if _serves(entry, tuple(entry.get("pythons") or ()), tag, python)
        for release in entry["versions"]
    ]
    if serving and known is not None:
        newer = [release for release in serving if known.holds(f"<{release}") is Holds.ALWAYS]
        yield f"{name}=={(newer or serving[::-1])[0]}"


@rule("SP602", needs=(PACKAGES, "glibc", "os"), present=(("glibc", "os"),))
def _glibc(view: View) -> Iterator[Finding]:
    """The system's C library is older than a wheel needs.

    A wheel's tag names the oldest glibc it runs on: `manylinux_2_28` needs 2.28, `manylinux2014` 2.17. On an older
    system pip does not offer the wheel; forced in, it fails with `version GLIBC_2.28 not found`.

    Alpine has musl in its place: packages that publish manylinux wheels only cannot be installed there.

    Mend it with a newer system or container, or with the last release whose wheels run on this glibc.
    """
    if "alpine" in str(view.one("os") or "").lower() and not view.has("glibc"):
        yield from _on_musl(view)
        return
    glibc, where = system_glibc(view)
    if glibc is None:
        return
    for name in sorted(view.packages):
        known = view.one(name)
        rows = _rows(name, known) if known is not None else ()
        floors = [str(row["glibc"]) for row in rows if row.get("glibc")]
        if not floors or len(floors) < len(rows):
            continue
        lowest = min(floors, key=lambda text: tuple(map(int, text.split("."))))
        if glibc.holds(f">={lowest}") is Holds.NEVER:
            row = next(row for row in rows if row["glibc"] == lowest)
            yield Finding(
                "SP602",
                "error",
                ("glibc", name),
                f"{name} {known} needs glibc {lowest}, and the system has {glibc}.",
                (because(row, f"its wheels need glibc {lowest}"), *where),
                tuple(_glibc_fixes(name, glibc, lowest)),
            )


def _on_musl(view: View) -> Iterator[Finding]:
    """Yield a finding for each framework, none of which publishes wheels for musl."""
    for name in (name for name in _GLIBC_ONLY if name in view.packages):
        yield Finding(
            "SP602",
            "error",
            (name, "os", "glibc"),
            f"{name} {view.one(name)} has wheels for glibc only, and Alpine has musl.",
            (
                Because(f"the wheels of {name} are tagged manylinux, none musllinux", "package index (documented)"),
                *view.reasons("os"),
            ),
            ("a system or container with glibc, such as Debian or Ubuntu",),
        )


def _glibc_fixes(name: str, glibc: Known, lowest: str) -> Iterator[str]:
    yield f"a system or container with glibc {lowest} or newer"
    older = [
        release
        for row in package_rows(name)
        if row.get("glibc") and glibc.holds(f">={row['glibc']}") is Holds.ALWAYS
        for release in row["versions"]
    ]
    if older:
        yield f"{name}=={older[-1]}"


def system_glibc(view: View) -> tuple[Known | None, tuple[Because, ...]]:
    """Return the system's glibc, as described or as the named distribution has it."""
    glibc = view.one("glibc")
    if glibc is not None:
        return glibc, view.reasons("glibc")
    system = str(view.one("os") or "").lower().replace("gnu/linux", "")
    for row in load_table("systems").rows:
        pattern = rf"\b{re.escape(row['system'])}\b[^0-9]*{re.escape(row['release'])}(?![0-9])"
        if re.search(pattern, " ".join(system.split())):
            return parse_known(f"{row['glibc']}.0"), (because(row, f"{system.strip()} has glibc {row['glibc']}"),)
    return None, ()


@rule("SP603", needs=(*TENSORFLOW, "jaxlib", "os", *_GPU_COMPONENTS), present=(("os",), (*TENSORFLOW, "jaxlib")))
def _system(view: View) -> Iterator[Finding]:
    """A framework has no GPU build for this system.

    TensorFlow has no GPU build for native Windows after 2.10, JAX never had one, and none has CUDA on macOS. The GPU is
    then not seen, whatever driver and toolkit are installed.

    Mend it with WSL2 or Linux, or on Windows with TensorFlow 2.10.
    """
    system = str(view.one("os") or "").lower()
    windows = is_windows(system)
    macos = system.startswith(("mac", "darwin"))
    if not view.has(*_GPU_COMPONENTS) or not (windows or macos):
        return
    for name in (*TENSORFLOW, "jaxlib"):
        known = view.one(name)
        if known is None or (name != "jaxlib" and windows and known.holds(">=2.11") is not Holds.ALWAYS):
            continue
        yield Finding(
            "SP603",
            "error" if known.is_exact or not known.is_open else "warning",
            (name, "os"),
            f"{name} {known} has no GPU build for {'native Windows' if windows else 'macOS'}.",
            (
                Because(
                    "TensorFlow's last GPU build for native Windows is 2.10",
                    "tensorflow.org install guide (documented)",
                ),
            )
            if name != "jaxlib"
            else (Because("JAX has CUDA builds for Linux only", "jax-ml/jax docs/installation.md (documented)"),),
            ("WSL2, or Linux", *(("tensorflow==2.10.1",) if windows and name != "jaxlib" else ())),
        )


@rule("SP605", needs=("torch", "machine", "os", *_GPU_COMPONENTS), present=(("torch",), ("machine",)))
def _machine(view: View) -> Iterator[Finding]:
    """The package index's build for this machine has no GPU code.

    For Linux on aarch64 the package index's torch had no CUDA code up to 2.10. The GPU is then not seen.

    Mend it with torch 2.11 or newer, or with a build from PyTorch's own index.
    """
    torch, machine = view.one("torch"), str(view.one("machine") or "").lower()
    if (
        torch is None
        or torch.build is not None
        or machine not in {"aarch64", "arm64"}
        or not view.has(*_GPU_COMPONENTS)
    ):
        return
    if torch.holds("<2.11") is Holds.ALWAYS and not str(view.one("os") or "").lower().startswith(("mac", "darwin")):
        yield Finding(
            "SP605",
            "warning",
            ("torch", "machine"),
            f"torch {torch} from the package index has no GPU code for {machine}.",
            (Because("wheels of torch for aarch64 have CUDA from 2.11", "package index (documented, 2026-11-30)"),),
            ("torch==2.11.0", "a build from PyTorch's own index"),
        )
