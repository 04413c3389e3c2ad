"""Find what an image carries without need: histories, caches, logs, credentials, keys, certificates of others."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from .walking import Entry

_MOST_READ: Final = 65536
_DPKG: Final = Path("/var/lib/dpkg/info")
_BUNDLE: Final = "/etc/ssl/certs/ca-certificates.crt"
_AUTHORITIES: Final = "/usr/share/ca-certificates/"
_CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----"
_PRIVATE: Final = re.compile(rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----")
_IN_ADDRESS: Final = re.compile(rb"://[^\s/:@]+:[^\s/@]+@")
_SECRET_NAME: Final = re.compile(r"TOKEN|PASSWORD|PASSWD|SECRET|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY")

# By path: what it is, first that fits. An empty file of these is none.
_PATHS: Final = tuple(
    (re.compile(pattern), what)
    for pattern, what in (
        (r"/\.\w*_history$|/\.(?:lesshst|viminfo|wget-hsts)$", "history of commands"),
        (r"/\.cache/", "cache"),
        (
            r"^/var/lib/apt/lists/|^/var/cache/apt/|^/var/cache/(?:yum|dnf|apk)/|^/var/lib/dpkg/.*\.deb$",
            "package lists or cache",
        ),
        (r"^/(?:root|home/[^/]+)/\.(?:npm|conda|ccache|nv)/", "cache"),
        (r"^/var/log/", "log"),
        (r"^/var/(?:tmp|crash)/|/core\.\d+$|\.sw[op]$", "temporary file"),
        (r"/\.git/", "repository"),
        (r"/\.ssh/|/ssh_host_\w+_key$|/id_(?:rsa|dsa|ecdsa|ed25519)$", "key or known hosts"),
        (r"/\.(?:netrc|pypirc|git-credentials|pgpass|dockercfg)$", "credentials"),
        (r"/\.(?:docker/config\.json|aws/credentials|kube/config)$", "credentials"),
        (r"/\.config/gcloud/|/application_default_credentials\.json$|/uv/credentials/", "credentials"),
    )
)
_SETTINGS: Final = re.compile(r"/(?:pip\.conf|uv\.toml|\.npmrc|\.condarc|sources\.list|auth\.conf)$|/sources\.list\.d/")
_KEYS: Final = re.compile(r"\.(?:pem|key|crt|cer|p8)$", re.IGNORECASE)
_FOLDERS: Final = re.compile(r"^(.*?/(?:\.cache|\.git|\.ssh|gcloud|\.npm|\.conda|\.ccache|\.nv))/")
_MACHINE: Final = "/etc/machine-id"


class Leftover(NamedTuple):
    """Something that does not belong.

    Attributes:
        path: The file, or the folder that holds several; a variable as `$NAME`.
        what: What it is, such as `cache`.
    """

    path: str
    what: str


def find_leftovers(
    entries: Mapping[str, Entry], recorded: Callable[[str], bool], variables: Mapping[str, str], root: str = ""
) -> list[Leftover]:
    """Return what does not belong into an image.

    Args:
        entries: All that lies there, by path.
        recorded: Says whether a Python distribution brought a file.
        variables: The image's environment variables.
        root: Folder that stands for `/`.
    """
    found = {
        Leftover(path, what)
        for entry in entries.values()
        if entry.is_file and entry.size and not recorded(entry.path)
        for path, what in _look(entry, root)
    }
    return [*sorted(found), *_secrets(variables)]


def _look(entry: Entry, root: str) -> Iterator[Leftover]:
    path = entry.path[len(root) :]
    for pattern, what in _PATHS:
        if pattern.search(path):
            folder = _FOLDERS.match(path)
            yield Leftover(root + folder[1] if folder else entry.path, what)
            return
    if path == _MACHINE and _read(entry.path).strip() not in {b"", b"uninitialized"}:
        yield Leftover(entry.path, "identity of a machine")
    elif path == _BUNDLE:
        yield from _look_at_bundle(entry.path, root)
    elif _SETTINGS.search(path) and _IN_ADDRESS.search(_read(entry.path)):
        yield Leftover(entry.path, "credentials")
    elif _KEYS.search(path) and not _is_packaged(path, root):
        yield from _look_at_key(entry.path)


def _look_at_key(path: str) -> Iterator[Leftover]:
    content = _read(path)
    if _PRIVATE.search(content):
        yield Leftover(path, "private key")
    elif _CERTIFICATE in content:
        yield Leftover(path, "certificate that no package brought")


def _look_at_bundle(path: str, root: str) -> Iterator[Leftover]:
    """Hold the number of trusted authorities against that of the distribution's: one more was put there."""
    held = Path(path).read_bytes().count(_CERTIFICATE)
    known = sum(1 for _ in Path(root + _AUTHORITIES).rglob("*.crt"))
    if held > known:
        yield Leftover(path, f"{held} trusted certificates, of which the distribution brings {known}")


def _secrets(variables: Mapping[str, str]) -> Iterator[Leftover]:
    for name, text in sorted(variables.items()):
        if text and (_SECRET_NAME.search(name.upper()) or _IN_ADDRESS.search(os.fsencode(text))):
            yield Leftover(f"${name}", "credentials")


def _is_packaged(path: str, root: str) -> bool:
    plain = path[len("/usr") :] if path.startswith("/usr/") else path
    return not {path, plain}.isdisjoint(_packaged(root))


@lru_cache(maxsize=2)
def _packaged(root: str) -> frozenset[str]:
    """Return the paths that the distribution's packages brought."""
    lists: Iterable[Path] = Path(root + str(_DPKG)).glob("*.list")
    return frozenset(line for one in lists for line in _read(str(one), 1 << 26).decode(errors="replace").splitlines())


def _read(path: str, most: int = _MOST_READ) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(most)
    except OSError:
        return b""
