"""Names of images: checked before they reach an engine."""

from __future__ import annotations

import re
from typing import Final

from ...compat.errors import Fault, InputError

# The grammar of references, as registries and engines share it (distribution/reference).
_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-f:]+\])(?::[0-9]{{1,5}})?"
_REPOSITORY: Final = rf"(?:{_HOST}/)?{_PART}(?:/{_PART})*"
_TAG: Final = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_DIGEST: Final = r"sha256:[0-9a-f]{64}"
_REFERENCE: Final = re.compile(rf"(?:{_REPOSITORY}(?::{_TAG})?(?:@{_DIGEST})?|{_DIGEST}|[0-9a-f]{{12,64}})")
_LONGEST: Final = 512


def require_reference(reference: str) -> None:
    """Refuse what is no name of an image: `repository`, `repository:tag`, `repository@sha256:…` or an id.

    Raises:
        InputError: It is none.
    """
    _require(reference, _REFERENCE, "is no name of an image: give `repository:tag` or `repository@sha256:…`")


def require_repository(repository: str) -> None:
    """Refuse what is no repository, such as `registry.example/stacks`.

    Raises:
        InputError: It is none.
    """
    _require(repository, re.compile(_REPOSITORY), "is no repository: give a name such as `registry.example/stacks`")


def require_tag(tag: str) -> None:
    """Refuse what is no tag.

    Raises:
        InputError: It is none.
    """
    _require(tag, re.compile(_TAG), "is no tag: use letters, digits, `_`, `.` and `-`, at most 128")


def require_digest(digest: str) -> None:
    """Refuse what is no digest.

    Raises:
        InputError: It is none.
    """
    _require(digest, re.compile(_DIGEST), "is no digest: give `sha256:` and 64 hexadecimal digits")


def split_tag(reference: str) -> tuple[str, str]:
    """Return the repository of a reference, and its tag or `latest`."""
    head, colon, tag = reference.rpartition(":")
    return (head, tag) if colon and "/" not in tag else (reference, "latest")


def _require(given: str, pattern: re.Pattern[str], what: str) -> None:
    if len(given) > _LONGEST or not pattern.fullmatch(given):
        raise InputError("image", [Fault("", f"{given[:_LONGEST]!r} {what}")])
