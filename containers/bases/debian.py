"""Bases of Debian, made on this machine with mmdebstrap: the same packages give the same bytes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from ...compat.errors import OutsideError, StoppedError
from .. import process
from ..diagnose import disk_error, tidy
from ..holding import hold
from ..rendering.finish import EPOCH

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from pathlib import Path

    from .pins import Pin

# Python with its headers and a compiler, which compiling frameworks call; certificates, for data that is fetched.
_PACKAGES: Final = ("ca-certificates", "g++", "python3", "python3-dev")
_CLEAN: Final = (
    # What mmdebstrap takes over from this machine, which would differ from one to the next.
    'for file in hostname resolv.conf machine-id; do : > "$1/etc/$file"; chmod 644 "$1/etc/$file"; done',
    # An engine that has to make this file for a step would leave another time on its folder.
    'test -e "$1/etc/hosts" || : > "$1/etc/hosts"',
    'find "$1/var/log" "$1/var/cache" "$1/var/lib/apt/lists" "$1/tmp" "$1/root" -type f -delete',
    'find "$1" -xdev -type f -perm /6000 -exec chmod a-s {} +',
)
_NO_DOCUMENTS: Final = (
    *("path-exclude=/usr/share/doc/*", "path-include=/usr/share/doc/*/copyright"),
    *("path-exclude=/usr/share/man/*", "path-exclude=/usr/share/info/*", "path-exclude=/usr/share/locale/*"),
)
_RECIPE: Final = hashlib.sha256(json.dumps([_PACKAGES, _CLEAN, _NO_DOCUMENTS, EPOCH]).encode()).hexdigest()
_TIME_LIMIT: Final = 1800.0
_TICK: Final = 0.2
_GRACE: Final = 20.0  # seconds in which mmdebstrap unmounts and removes what it made
_LAST_LINES: Final = 12
_MEND: Final = (
    "Install it (on Debian and Ubuntu: mmdebstrap, and debian-archive-keyring), or name a base of a registry."
)


@dataclass(frozen=True)
class Made:
    """A base of Debian as it was made.

    Attributes:
        digest: `sha256:…` of the archive, which is that of the image's one layer, too.
        date: When it was made, such as `2026-11-30`.
        packages: Version of each Debian package in it.
        suite: Debian's name of the release.
    """

    digest: str
    date: str
    packages: dict[str, str]
    suite: str


def find_made(pin: Pin, folder: Path) -> Made | None:
    """Return the record of a base that was made before, or None.

    Args:
        pin: What it is to be.
        folder: Where bases are kept.
    """
    with suppress(OSError, ValueError, TypeError):
        return Made(**json.loads(_record_of(pin, folder).read_text(encoding="utf-8")))
    return None


def archive_of(pin: Pin, folder: Path) -> Path:
    """Return where the archive of a base lies, whether it is there or not."""
    parts = [pin.suite, pin.mirror, sorted(pin.packages), _RECIPE]
    return folder / f"{pin.suite}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]}.tar"


def make_debian(
    pin: Pin, folder: Path, tell: Callable[[str], None] = lambda _: None, cancel: threading.Event | None = None
) -> Made:
    """Make a base, whether one was made before or not, and keep its archive and record.

    Args:
        pin: What it is to be: release, mirror and further packages.
        folder: Where bases are kept.
        tell: Is told of it.
        cancel: Stops it when set.

    Raises:
        OutsideError: mmdebstrap is missing or failed: mirrors, disk, rights or a package that does not exist.
        StoppedError: `cancel` was set.
    """
    doing = f"making the base {pin.name}"
    if shutil.which("mmdebstrap") is None:
        raise OutsideError(f"{doing}: the program mmdebstrap was not found. {_MEND}")
    archive = archive_of(pin, folder)
    fresh = archive.with_suffix(".new")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with hold(archive.with_suffix(".lock"), doing, cancel):
            tell(f"{doing} with mmdebstrap")
            try:
                _run(_command(pin, fresh), doing, cancel)
                made = Made(digest_of(fresh), datetime.now(UTC).date().isoformat(), _packages_in(fresh), pin.suite)
                fresh.replace(archive)
            finally:
                fresh.unlink(missing_ok=True)
            _record_of(pin, folder).write_text(json.dumps(asdict(made), indent=1), encoding="utf-8")
    except (OSError, tarfile.TarError) as error:
        raise disk_error(doing, error if isinstance(error, OSError) else OSError(str(error))) from error
    return made


def digest_of(archive: Path) -> str:
    """Return the digest of a file."""
    with archive.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def _record_of(pin: Pin, folder: Path) -> Path:
    return archive_of(pin, folder).with_suffix(".json")


def _command(pin: Pin, archive: Path) -> list[str]:
    options = [f"--customize-hook={hook}" for hook in _CLEAN] + [f"--dpkgopt={line}" for line in _NO_DOCUMENTS]
    if pin.mirror:
        # A snapshot of the past is as valid as on its day.
        options.append('--aptopt=Acquire::Check-Valid-Until "false"')
    include = ",".join(sorted({*_PACKAGES, *pin.packages}))
    places = [pin.suite, str(archive), *([pin.mirror] if pin.mirror else [])]
    return ["mmdebstrap", "--variant=minbase", f"--include={include}", "--format=tar", *options, *places]


def _run(command: list[str], doing: str, cancel: threading.Event | None) -> None:
    mark = process.new_mark()
    settings = {"SOURCE_DATE_EPOCH": str(EPOCH), "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    # The base's own Python compiles modules while it is installed: what it makes must not depend on who asked for it.
    settings |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**kept, **settings, process.MARK: mark},
        start_new_session=True,
    ) as child:
        try:
            said = _wait(child, doing, cancel)
        finally:
            process.end(child, mark, _GRACE)
    if child.returncode != 0:
        last = "\n".join(f"  {line}" for line in tidy(said).strip().splitlines()[-_LAST_LINES:])
        raise OutsideError(
            f"{doing}: mmdebstrap failed.\n{last or '  It said nothing.'}\nIts words above say what: a mirror that"
            " cannot be reached, a package or release that does not exist, a missing key (debian-archive-keyring), a"
            " full disk, or a right that this user lacks (users other than root need entries in /etc/subuid)."
        )


def _wait(child: subprocess.Popen[bytes], doing: str, cancel: threading.Event | None) -> str:
    deadline = time.monotonic() + _TIME_LIMIT
    while True:
        with suppress(subprocess.TimeoutExpired):
            return child.communicate(timeout=_TICK)[1].decode(errors="replace")
        if cancel is not None and cancel.is_set():
            raise StoppedError(f"{doing} was stopped; nothing of it is kept.")
        if time.monotonic() > deadline:
            raise OutsideError(f"{doing} did not end within 30 minutes and was stopped. Try again, or another mirror.")


def _packages_in(archive: Path) -> dict[str, str]:
    """Return the version of each Debian package in an archive, read from its own list."""
    with tarfile.open(archive) as tar:
        status = tar.extractfile("./var/lib/dpkg/status")
        text = status.read().decode() if status else ""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        key, _, value = line.partition(": ")
        name = value if key == "Package" else name
        if key == "Version":
            found[name] = value
    return dict(sorted(found.items()))
