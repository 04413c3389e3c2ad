"""Install commands: pip, uv, conda and the system's package managers, in a shell line or a Dockerfile."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .conda import read_spec
from .names import words
from .patterns import Lazy
from .requirement import add_requirement, parse_requirement, read_index_build
from .system_packages import read_installed

if TYPE_CHECKING:
    from .reading import Reading

_PROMPT: Final = Lazy(
    r"^(?:\([^()]{1,80}\)\s*)?(?:[A-Z]:\\[^>]{0,200}>\s*|"
    r"[\w.-]{1,40}@[\w.-]{1,60}[^$#]{0,100}[$#]\s+|[$!%]\s?|>\s|PS [^>]{0,100}>\s*|"
    r"In \[\d+\]:\s*)?"
)
_PIP: Final = Lazy(
    r"(?:sudo\s+(?:-\w+\s+)*)?(?:[\w/.~-]*python[\d.]*\s+-m\s+)?(?:[\w/.~-]*/)?"
    r"(?:pip[\d.]*|uv\s+pip|uv|pipenv|poetry|pdm|pixi)\s+(?:-\S+\s+)*(?:install|add|sync)\b(.*)",
    re.DOTALL,
)
_CONDA: Final = Lazy(
    r"(?:sudo\s+)?(?:[\w/.~-]*/)?(?:conda|mamba|micromamba)\s+(?:env\s+)?(?:install|create|update)\b(.*)", re.DOTALL
)
_SYSTEM: Final = Lazy(
    r"(?:sudo\s+)?(?:apt-get|apt|yum|dnf|microdnf|zypper|aptitude)\s+(?:-\S+\s+)*install\b(.*)", re.DOTALL
)
_TOKEN: Final = Lazy(r"(?:[^\s\"']|\"[^\"]*\"|'[^']*')+|[\"']")
_SEPARATOR: Final = Lazy(r"\s*(?:&&|\|\||;|\n)\s*")
_ASSIGNMENTS: Final = Lazy(r"(?:(?:env\s+)?[A-Z_][A-Z0-9_]*=(?:\"[^\"]*\"|'[^']*'|\S*)\s+)+")
_BACKEND: Final = Lazy(r"(cu\d{2,3}|cpu|rocm\d[\d.]*)$")

_VERBS: Final = ("install", " add", " create", " sync", " update")

# Options of installers that take a value, which is no package.
_VALUED: Final = words(
    "-i --index-url --extra-index-url -f --find-links -r --requirement -c --constraint --constraints -t --target "
    "--prefix --root "
    "--cache-dir --timeout --python -p -n --name --channel --upgrade-strategy --platform --torch-backend --index "
    "--default-index --extra --group --progress-bar --retries --proxy --trusted-host --no-binary --only-binary "
    "--config-settings --config-setting --python-version --python-platform --abi --implementation --override "
    "--log --src --exists-action --global-option --use-feature --report --solver --file --source -G --index-strategy"
)
_FILES: Final = frozenset({"-r", "--requirement", "--requirements", "-c", "--constraint", "--constraints"})
_INDEXES: Final = frozenset(
    {"-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--index", "--default-index"}
)


def read_command(reading: Reading, line: str, where: str) -> bool:
    """Read the install commands of a shell line; return whether there are any."""
    if not any(word in line for word in _VERBS):
        return False
    body = _PROMPT.sub("", line, count=1)
    used = False
    for command in _SEPARATOR.split(body.strip("`")):
        plain = _ASSIGNMENTS.sub("", command.strip(), count=1) if "=" in command else command.strip()
        used = _read_one(reading, plain, where) or used
    return used


def _read_one(reading: Reading, command: str, where: str) -> bool:
    if match := _CONDA.match(command):
        _read_conda(reading, match[1], where)
    elif match := _PIP.match(command):
        _read_pip(reading, match[1], where)
    elif match := _SYSTEM.match(command):
        for token in _words(match[1]):
            if not token.startswith("-"):
                read_installed(reading, token, where)
    else:
        return False
    return True


def _words(text: str) -> list[str]:
    words: list[str] = []
    for match in _TOKEN.finditer(text.split(" #", maxsplit=1)[0]):
        word = match[0].strip("\"'") if match[0][0] in "\"'" else match[0].replace('"', "").replace("'", "")
        if word in {"|", "2>&1", ">", ">>"}:
            break
        words.append(word)
    return words


def _read_pip(reading: Reading, text: str, where: str) -> None:
    specs: list[str] = []
    build: str | None = reading.install_build
    words = iter(_words(text))
    for word in words:
        option, equals, value = word.partition("=")
        if not word.startswith("-"):
            specs.append(word)
        elif option in _VALUED or option in _FILES:
            value = value if equals else next(words, "")
            build = _option(reading, option, value, where) or build
        elif option in {"-e", "--editable"}:
            specs.append(value if equals else next(words, ""))
    for spec in specs:
        _add(reading, spec, build, where)


def _option(reading: Reading, option: str, value: str, where: str) -> str | None:
    """Act on an option with a value; return the build that it gives untagged packages."""
    if option in _FILES:
        reading.follow(value, where, limits="-c" in option)
    if option in _INDEXES:
        return read_index_build(value)
    if option == "--torch-backend" and (match := _BACKEND.match(value)):
        return match[1]
    return None


def _add(reading: Reading, spec: str, build: str | None, where: str) -> None:
    if spec in {".", "..", "--", "\\"} or spec.startswith(("./", "/", "../", ".[")):
        return
    found = parse_requirement(spec)
    if found is None:
        reading.skip(f"{where}: {spec}")
        return
    add_requirement(reading, found, where, build)
    if found.version == "*" and not found.url:
        reading.float(found.name)


def _read_conda(reading: Reading, text: str, where: str) -> None:
    words = iter(_words(text))
    for word in words:
        option, equals, _ = word.partition("=")
        if word.startswith("-"):
            if not equals and (option in _VALUED or option == "-c"):
                next(words, "")
        elif not read_spec(reading, word, where):
            reading.skip(f"{where}: {word}")
