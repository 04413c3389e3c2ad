"""Read which packages are installed, from what installers leave beside them; nothing is imported.

The first folder that has a package decides, as for an import. Two releases in one folder are both told: one of them is
left over, and which of the two is imported is not known.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..names import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..gather import Gathered

MOST_BYTES: Final = 1024 * 1024
_FIELD: Final = re.compile(r"^(Name|Version):[ \t]*(\S[^\r\n]*)", re.MULTILINE)
_PIP: Final = frozenset({"pip", "uv", "poetry", "pdm", "pip-tools"})


@dataclass(frozen=True, slots=True)
class Installed:
    """A package that is installed.

    Attributes:
        name: Its normalised name.
        version: Its version, as its metadata writes it.
        site: The folder that it is imported from.
        about: Its `.dist-info` or `.egg-info`.
    """

    name: str
    version: str
    site: Path
    about: Path


def read_installed(sites: Iterable[Path], gathered: Gathered) -> list[Installed]:
    """Read what is installed in some folders, and note it.

    Args:
        sites: The folders, in the order in which they are imported from.
        gathered: Gets packages, origins, and what was not understood.
    """
    found: dict[str, Installed] = {}
    for site in sites:
        here = list(_read_site(site, gathered))
        fresh = [one for one in here if one.name not in found]
        for one in fresh:
            gathered.add_package(one.name, one.version, str(one.about))
            gathered.origins.update(_origins(one.about))
        found.update({one.name: one for one in fresh})
    return list(found.values())


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Return the beginning of a text file; empty where it cannot be read."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(most).decode("utf-8", "replace")
    except OSError:
        return ""


def _read_site(site: Path, gathered: Gathered) -> Iterator[Installed]:
    try:
        names = sorted(path.name for path in site.iterdir())
    except OSError as error:
        gathered.skip(f"{site}: {error.strerror}")
        return
    for name in names:
        about = site / name
        if name.startswith("~") and name.endswith("-info"):
            gathered.skip(f"{about}: left over from an uninstall that was broken off")
        elif name.endswith((".dist-info", ".egg-info")):
            yield from _read_about(site, about, gathered)
        elif name.endswith(".egg-link"):
            yield from _read_link(site, about, gathered)


def _read_about(site: Path, about: Path, gathered: Gathered) -> Iterator[Installed]:
    within = ("METADATA", "PKG-INFO")
    text = next(filter(None, (read_text(path) for path in (*(about / name for name in within), about))), "")
    head = re.split(r"\r?\n\r?\n", text, maxsplit=1)[0]
    fields: dict[str, str] = {}
    for match in _FIELD.finditer(head):
        fields.setdefault(match[1], match[2].strip())
    if fields.keys() == {"Name", "Version"}:
        yield Installed(normalise(fields["Name"]), fields["Version"], site, about)
    else:
        gathered.skip(f"{about}: its metadata {'names no version' if 'Name' in fields else 'cannot be read'}")


def _read_link(site: Path, link: Path, gathered: Gathered) -> Iterator[Installed]:
    """Read what a development install of old points to."""
    target = Path(read_text(link).partition("\n")[0].strip() or "/nowhere")
    try:
        abouts = sorted(target.glob("*.egg-info"))
    except (OSError, ValueError):
        abouts = []
    for about in abouts:
        yield from _read_about(site, about, gathered)
    if abouts:
        gathered.origins.add("source")
    else:
        gathered.skip(f"{link}: points to no package")


def _origins(about: Path) -> set[str]:
    found = set()
    installer = read_text(about / "INSTALLER", 100).strip().lower()
    if installer in _PIP:
        found.add("pip")
    elif installer == "conda":
        found.add("conda")
    if (about / "direct_url.json").is_file() and _is_source(read_text(about / "direct_url.json")):
        return {"source"}
    return found


def _is_source(text: str) -> bool:
    try:
        url = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return False
    return isinstance(url, dict) and ("vcs_info" in url or "dir_info" in url)
