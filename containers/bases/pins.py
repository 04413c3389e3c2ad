"""Pins of bases: those that stackproof brings, and over them those of a user's own file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, cast

from ...backends.readers import Refusal, choice, text
from ...backends.tables import Faults, Table
from ...compat.errors import Fault, InputError, did_you_mean
from ..rendering import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PYTHON: Final = "/usr/bin/python3"
_MOST: Final = 200
_LARGEST_BYTES: Final = 2**20
_PYTHON: Final = re.compile(r"3\.(9|[1-9][0-9])")


@dataclass(frozen=True)
class Pin:
    """What a base is to be.

    Attributes:
        name: What a matrix calls it, such as `debian:bookworm`.
        kind: `debian` for one made on this machine, `registry` for one that is pulled.
        python: Its Python as major.minor; empty where it is not known before the base is there.
        glibc: Its C library; empty as above.
        interpreter: Path of its Python.
        suite: Debian's name of the release.
        mirror: Where packages of the release come from; empty for the usual mirrors.
        repository: Name of the image, without tag.
        tag: Tag that the digest was read from; empty for none.
        digest: `sha256:…` that it must have; empty for what is made or served now.
        packages: System packages that are installed in it.
        source: Where the pin is from.
        date: When it was made.
    """

    name: str
    kind: Literal["debian", "registry"]
    python: str = ""
    glibc: str = ""
    interpreter: str = PYTHON
    suite: str = ""
    mirror: str = ""
    repository: str = ""
    tag: str = ""
    digest: str = ""
    packages: tuple[str, ...] = ()
    source: str = ""
    date: str = ""

    def with_packages(self, packages: tuple[str, ...]) -> Pin:
        """Return the pin of a base that has further system packages.

        Raises:
            InputError: A name is none of a package.
        """
        checked = (safe.check_system_package(name, "image.packages") for name in packages)
        return replace(self, packages=tuple(sorted({*self.packages, *checked})))


@dataclass(frozen=True)
class Pins(Mapping[str, Pin]):
    """Pins by name.

    Attributes:
        pins: The pins.
    """

    pins: Mapping[str, Pin]

    def __getitem__(self, name: str) -> Pin:
        return self.pins[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.pins)

    def __len__(self) -> int:
        return len(self.pins)

    def find(self, name: str) -> Pin:
        """Return a pin by its name; `repository@sha256:…` is one by itself.

        Raises:
            InputError: There is none of that name.
        """
        if name in self.pins:
            return self.pins[name]
        repository, at, digest = name.partition("@")
        if at:
            safe.check_repository(repository, "base")
            safe.check_hash(digest, "base")
            return Pin(name, "registry", repository=repository, digest=digest, source="named by its digest")
        what = f"no base is called {name[:_MOST]!r}: {did_you_mean(name[:_MOST], self.pins)}"
        raise InputError("base", [Fault("", f"{what}, or give repository@sha256:…")])


def load_pins(path: Path | None = None) -> Pins:
    """Return the pins that stackproof brings, and over them those of a file.

    Args:
        path: The user's own file; None for none.

    Raises:
        InputError: The file cannot be read, or something in it is wrong; every fault is named.
    """
    ours = _read("bases.toml", (Path(__file__).parents[1] / "data" / "bases.toml").read_bytes())
    return Pins(ours if path is None else {**ours, **own_pins(path)})


def own_pins(path: Path) -> dict[str, Pin]:
    """Return the pins of a file alone.

    Raises:
        InputError: As `load_pins`.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # reading a pipe would wait for ever
            raise InputError(str(path), [Fault("", "is no regular file: give the path of a file of pins")])
        with path.open("rb") as file:
            content = file.read(_LARGEST_BYTES + 1)
    except OSError as error:
        why = f"cannot be read ({error.strerror or error}): check the path"
        raise InputError(str(path), [Fault("", why)]) from None
    if len(content) > _LARGEST_BYTES:
        raise InputError(str(path), [Fault("", "is larger than 1 MiB, and so no file of pins: check the path")])
    return _read(str(path), content)


def _read(source: str, content: bytes) -> dict[str, Pin]:
    try:
        tables = tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(source, [Fault("", f"is no valid TOML: {error}. Mend that line")]) from None
    faults = Faults()
    top = Table.root(tables, faults)
    pins: dict[str, Pin] = {}
    for table in top.tables("base", _MOST):
        pin = _read_pin(table)
        if pin.name in pins:
            table.fault("name", f"{pin.name!r} is there already: remove one of them")
        pins[pin.name] = pin
    top.finish()
    if found := faults.listed(tables):
        raise InputError(source, found)
    return pins


def _read_pin(table: Table) -> Pin:
    kind = cast("Literal['debian', 'registry']", table.one("kind", "debian", choice("debian", "registry")))
    pin = Pin(
        name=table.one("name", "", _checked(_check_name)),
        kind=kind,
        python=table.one("python", "", _python),
        glibc=table.one("glibc", "", _checked(safe.check_version)),
        interpreter=table.one("interpreter", PYTHON, _checked(safe.check_path)),
        digest=table.one("digest", "", _checked(safe.check_hash)),
        packages=table.many("packages", (), _checked(safe.check_system_package), (0, _MOST)),
        source=table.one("source", "", _checked(safe.check_text)),
        date=table.one("date", "", _checked(safe.check_text)),
    )
    for key in ("name", "kind", "python"):
        if key not in table.content:
            table.fault(key, "missing: every base has a name, a kind and the Python that it brings")
    return _of_debian(table, pin) if kind == "debian" else _of_registry(table, pin)


def _of_debian(table: Table, pin: Pin) -> Pin:
    suite = table.one("suite", "", _checked(safe.check_suite))
    mirror = table.one("mirror", "", _checked(safe.check_mirror))
    if "suite" not in table.content:
        table.fault("suite", 'missing: write the name of the release, such as suite = "bookworm"')
    table.finish(dict.fromkeys(("repository", "tag"), 'is of kind = "registry": remove it, or change the kind'))
    return replace(pin, suite=suite, mirror=mirror)


def _of_registry(table: Table, pin: Pin) -> Pin:
    repository = table.one("repository", "", _checked(safe.check_repository))
    tag = table.one("tag", "", _checked(safe.check_tag))
    if "repository" not in table.content:
        table.fault("repository", 'missing: write the name of the image, such as repository = "team/base"')
    if not {"digest", "tag"} & table.content.keys():
        table.fault("digest", "missing, and so is tag: write one; `stackproof images update` finds the digest of a tag")
    table.finish(dict.fromkeys(("suite", "mirror"), 'is of kind = "debian": remove it, or change the kind'))
    return replace(pin, repository=repository, tag=tag)


def _check_name(name: str, key: str) -> str:
    """Return a base's name: that of an image with a tag, or a plain one."""
    repository, colon, tag = name.partition(":")
    return f"{safe.check_repository(repository, key)}{colon}{safe.check_tag(tag, key) if colon else ''}"


def _python(value: object) -> str:
    given = text(value)
    if _PYTHON.fullmatch(given):
        return given
    raise Refusal(f"{given[:_MOST]!r} is no Python that stacks can have: give major.minor from 3.9 on, such as 3.11")


def _checked(check: Callable[[str, str], str]) -> Callable[[object], str]:
    """Return a reader of values that one of the checks of `safe` takes."""

    def read(value: object) -> str:
        try:
            return check(text(value), "")
        except InputError as error:
            raise Refusal("; ".join(fault.what for fault in error.faults)) from None

    return read
