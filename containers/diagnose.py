"""What a failed `uv` means: its own words, sorted into the tree of errors.

uv 0.8 draws its causes as a tree (`╰─▶`, `├─▶`); 0.13 writes `error:` and `cause:`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from ..compat.errors import OutsideError, StackproofError, UnsolvableError

Kind = Literal["unsolvable", "no-python", "unreachable", "refused", "offline", "no-wheels", "disk", "mismatch", "other"]

INDEX_SETTINGS: Final = (
    "The index is chosen by UV_DEFAULT_INDEX and UV_INDEX, or else PIP_INDEX_URL and PIP_EXTRA_INDEX_URL; local wheels"
    " by UV_FIND_LINKS, or else PIP_FIND_LINKS; certificates by SSL_CERT_FILE; proxies by HTTPS_PROXY."
)

# The first pattern found decides. `refused` comes before `unsolvable`: uv words a 401 as a missing package and a hint.
_PATTERNS: Final[tuple[tuple[Kind, str], ...]] = (
    ("no-wheels", r"Failed to read `--find-links`"),
    ("disk", r"os error (?:28|30|13|122|27)\b|No space left|Read-only file system|quota exceeded"),
    ("refused", r"lack of valid authentication|\b40[13] (?:Unauthorized|Forbidden)"),
    ("offline", r"network (?:was|is) disabled|network connectivity is disabled"),
    ("mismatch", r"Hash mismatch"),
    ("unsolvable", r"No solution found|requirements are unsatisfiable"),
    ("no-python", r"No interpreter found|Failed to inspect Python interpreter|Python interpreter not found"),
    ("unreachable", r"error sending request|dns error|tcp connect|timed out|peer certificate|HTTP status \w+ error"),
    ("unreachable", r"Failed to fetch|Failed to download|Request failed after|connection (?:closed|reset)"),
)

# What each kind of failure is, and what to do about it.
_WORDS: Final[dict[Kind, tuple[type[StackproofError], str, str]]] = {
    "unsolvable": (
        UnsolvableError,
        "no set of packages satisfies it",
        f"Name versions that exist for this Python and platform. {INDEX_SETTINGS}",
    ),
    "no-python": (
        UnsolvableError,
        "the Python it needs was not found",
        "Install that Python so that it is on PATH, or name another one in the matrix.",
    ),
    "unreachable": (OutsideError, "the package index could not be reached", f"Check the network. {INDEX_SETTINGS}"),
    "refused": (
        OutsideError,
        "the package index refused the credentials",
        f"Give valid ones in the index settings or in netrc. {INDEX_SETTINGS}",
    ),
    "offline": (
        OutsideError,
        "the network is switched off for uv, and its cache lacks what is needed",
        "Unset UV_OFFLINE, or fill the cache first.",
    ),
    "no-wheels": (
        OutsideError,
        "the folder of local wheels cannot be read",
        "Mend UV_FIND_LINKS (separated by commas), or PIP_FIND_LINKS (separated by spaces).",
    ),
    "mismatch": (
        OutsideError,
        "the index now serves other files than those locked",
        "If they were replaced on purpose, resolve again; if not, do not trust that index.",
    ),
    "other": (OutsideError, "uv failed", "Its words above are all that is known."),
}
_DISK_WORDS: Final[tuple[tuple[str, str, str], ...]] = (
    (r"os error 28\b|No space left", "no space is left on the disk", "Free some space there"),
    (r"os error 30\b|Read-only", "the file system is read-only", "Make it writable"),
    (r"os error 13\b", "this user may not write there", "Give this user the right to"),
    (r"", "the disk refused it", "Mend the disk"),
)
_FOLDERS: Final = "choose another folder: environments go below STACKPROOF_CACHE, downloads below UV_CACHE_DIR"
_USERINFO: Final = re.compile(r"(?<=://)[^/\s`'\"]*@")
_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CROSS: Final = "\N{MULTIPLICATION SIGN}"
_LEAD: Final = re.compile(rf"^\s*(?:error:|cause:|Caused by:|{_CROSS}|╰─▶|├─▶|│)\s*")
_PATH: Final = re.compile(r"`([^`\n]*/[^`\n]*)`")
_MOST_SENTENCES: Final = 8


@dataclass(frozen=True)
class Failure:
    """Why uv failed.

    Attributes:
        kind: The kind of failure.
        why: uv's decisive sentences, one a line, without credentials.
        folder: The path that the disk refused; empty for other kinds.
    """

    kind: Kind
    why: str
    folder: str = ""

    def error(self, doing: str) -> StackproofError:
        """Return the error that tells a user.

        Args:
            doing: What was being done, such as `resolving torch2.13.0-py311`.
        """
        if self.kind == "disk":
            what, mend = next((what, mend) for pattern, what, mend in _DISK_WORDS if re.search(pattern, self.why))
            return OutsideError(f"{doing}: {self.folder or 'a folder'}: {what}.\n{self.why}\n{mend}, or {_FOLDERS}.")
        tree, what, mend = _WORDS[self.kind]
        return tree(f"{doing}: {what}.\n{self.why}\n{mend}")


def diagnose(stderr: str) -> Failure:
    """Find out what a failed uv means.

    Args:
        stderr: All that uv wrote on its standard error.
    """
    deciding = _decisive(tidy(stderr))
    kind: Kind = next((kind for kind, pattern in _PATTERNS if re.search(pattern, deciding)), "other")
    named = _PATH.findall(deciding) if kind == "disk" else []
    return Failure(kind, _sentences(deciding), named[-1] if named else "")


def disk_error(doing: str, error: OSError) -> StackproofError:
    """Return the error that tells a user what the disk refused to this process.

    Args:
        doing: What was being done, such as `making the environment of torch2.13.0-py311`.
        error: What Python raised.
    """
    # An error number is worded as Rust does, so that uv's and ours are told alike.
    why = f"  {error.strerror or error} (os error {error.errno})"
    return Failure("disk", why, str(error.filename2 or error.filename or "")).error(doing)


def tidy(text: str) -> str:
    """Return a program's output without colours, and without user names and passwords in addresses."""
    return _USERINFO.sub("", _ANSI.sub("", text)).replace("\r", "\n")


def _decisive(text: str) -> str:
    """Return the error with its causes and hints; warnings and progress before it are left out."""
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if line.lstrip().startswith(("error:", _CROSS))), 0)
    return "\n".join(lines[start:]).strip() or "uv said nothing."


def _sentences(text: str) -> str:
    """Return sentences, one a line: marks of the tree off, wrapped lines joined, lists of hashes out."""
    sentences: list[str] = []
    for line in text.splitlines():
        bare = _LEAD.sub("", line).strip()
        if not bare or bare.startswith("sha256:"):
            continue
        begins = bool(_LEAD.match(line)) and not line.lstrip().startswith("│")
        if begins or not sentences or bare.startswith("hint:"):
            sentences.append(bare)
        else:
            sentences[-1] += f" {bare}"
    return "\n".join(f"  {sentence}" for sentence in sentences[:_MOST_SENTENCES])
