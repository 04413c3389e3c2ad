"""What may stand in a Dockerfile, a requirements file or a call of an engine: checked, or refused by name.

Nothing that comes from a file or from the command line reaches one of these but through a function of this module.
"""

from __future__ import annotations

import json
import re
from typing import Final, NoReturn

from packaging.version import InvalidVersion, Version

from ...compat.errors import Fault, InputError
from ...compat.names import normalise

_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}")
_LABEL: Final = re.compile(r"[a-z0-9]+([._/-][a-z0-9]+)*")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATH: Final = re.compile(r"(/[A-Za-z0-9._+-]+)+")
# What apt reads as more than a name is refused: `-` or `+` at the end (remove, install) and `.+`, a regular expression.
_SYSTEM_PACKAGE: Final = re.compile(r"(?!.*\.\+)[a-z0-9][a-z0-9+.-]*(?:[a-z0-9]|(?<!\+)\+\+)")
_REPOSITORY: Final = re.compile(
    r"([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?/)?[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*"
    r"(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*"
)
_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_SUITE: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_MIRROR: Final = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?(/[A-Za-z0-9._~+-]+)*/?")
_LONGEST_NAME: Final = 200
_LONGEST_VALUE: Final = 4096


def check_distribution(name: str, key: str) -> str:
    """Return a distribution's name, which must be in its normal form, such as `flash-attn`.

    Args:
        name: The name.
        key: Where it stands, for the message.

    Raises:
        InputError: It is no such name.
    """
    if _fits(_NAME, name) and normalise(name) == name:
        return name
    return _refuse(key, name, "is no name of a distribution: give it in lower case, such as flash-attn")


def check_version(version: str, key: str) -> str:
    """Return a version, which must be in the normal form of PEP 440, such as `2.13.0+cu126`.

    Raises:
        InputError: It is no such version.
    """
    try:
        if version.isascii() and len(version) <= _LONGEST_NAME and str(Version(version)) == version:
            return version
    except InvalidVersion:
        pass
    return _refuse(key, version, "is no version in its normal form: give one such as 2.13.0 or 2.13.0+cu126")


def check_hash(value: str, key: str) -> str:
    """Return a digest, `sha256:` and 64 hexadecimal digits.

    Raises:
        InputError: It is none.
    """
    return value if _fits(_HASH, value) else _refuse(key, value, "is no digest: give sha256: and 64 digits 0-9, a-f")


def check_label(name: str, key: str) -> str:
    """Return the key of a label, such as `org.example.team`.

    Raises:
        InputError: It is no such key.
    """
    if _fits(_LABEL, name):
        return name
    return _refuse(key, name, "is no key of a label: give lower case letters, digits, and . _ / - between them")


def check_text(value: str, key: str) -> str:
    """Return the value of a label or variable: printable text on one line.

    Raises:
        InputError: It has a line break or another character without a print, or is longer than 4096 characters.
    """
    if value.isprintable() and len(value) <= _LONGEST_VALUE:
        return value
    return _refuse(key, value, f"is no text of one printable line of at most {_LONGEST_VALUE} characters: shorten it")


def check_variable(name: str, key: str) -> str:
    """Return the name of an environment variable.

    Raises:
        InputError: It is no such name.
    """
    if _fits(_VARIABLE, name):
        return name
    return _refuse(key, name, "is no name of a variable: give letters, digits and _, such as MY_VALUE")


def check_path(path: str, key: str) -> str:
    """Return a path inside an image: absolute, of plain characters, without `.` and `..`.

    Raises:
        InputError: It is no such path.
    """
    if _fits(_PATH, path) and not {".", ".."} & set(path.split("/")):
        return path
    return _refuse(key, path, "is no path inside an image: give an absolute one such as /usr/bin/python3")


def check_system_package(name: str, key: str) -> str:
    """Return the name of a Debian package, such as `libgomp1`.

    Raises:
        InputError: It is no such name.
    """
    if _fits(_SYSTEM_PACKAGE, name):
        return name
    return _refuse(key, name, "is no name of a Debian package: give one such as libgomp1, without a version")


def check_suite(suite: str, key: str) -> str:
    """Return Debian's name of a release, such as `bookworm`.

    Raises:
        InputError: It is no such name.
    """
    return suite if _fits(_SUITE, suite) else _refuse(key, suite, "is no release of Debian: give one such as bookworm")


def check_mirror(address: str, key: str) -> str:
    """Return the address of a mirror of Debian packages, without credentials.

    Raises:
        InputError: It is no such address.
    """
    if _fits(_MIRROR, address):
        return address
    return _refuse(key, address, "is no address of a mirror: give one such as http://mirror.example/debian")


def check_repository(name: str, key: str) -> str:
    """Return the name of an image repository, such as `team/stack` or `registry.example:5000/team/stack`.

    Raises:
        InputError: It is no such name.
    """
    if _fits(_REPOSITORY, name):
        return name
    return _refuse(key, name, "is no repository: give one such as registry.example/team/stack, without tag and digest")


def check_tag(tag: str, key: str) -> str:
    """Return a tag of an image, such as `12.8.1-runtime-ubuntu22.04`.

    Raises:
        InputError: It is no such tag.
    """
    return tag if _fits(_TAG, tag) else _refuse(key, tag, "is no tag: give letters, digits, and _ . - after the first")


def check_reference(reference: str, key: str) -> str:
    """Return what `FROM` takes: `repository:tag` or `repository@sha256:…`.

    Raises:
        InputError: It is neither.
    """
    repository, at, digest = reference.partition("@")
    if at:
        check_hash(digest, key)
        return f"{check_repository(repository, key)}@{digest}"
    repository, colon, tag = reference.rpartition(":")
    if not colon:
        return _refuse(key, reference, "names no image: give repository:tag or repository@sha256:…")
    return f"{check_repository(repository, key)}:{check_tag(tag, key)}"


def quote(value: str) -> str:
    """Return a value in double quotes as `ENV` and `LABEL` read it: what is special to a Dockerfile is escaped."""
    return '"' + re.sub(r'(["\\$])', r"\\\1", value) + '"'


def exec_form(words: tuple[str, ...]) -> str:
    """Return words as the JSON array that `RUN`, `CMD` and `ENTRYPOINT` read: no shell sees them."""
    return json.dumps(list(words))


def _fits(pattern: re.Pattern[str], text: str) -> bool:
    return len(text) <= _LONGEST_NAME and pattern.fullmatch(text) is not None


def _refuse(key: str, value: str, why: str) -> NoReturn:
    shown = value if len(value) <= _LONGEST_NAME else f"{value[:_LONGEST_NAME]}…"
    raise InputError(key, [Fault("", f"{shown!r} {why}")])
