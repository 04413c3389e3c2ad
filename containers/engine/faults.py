"""What a failed engine means: its own words, and those of the connection to it, sorted into the tree of errors."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Final, Literal

from ...compat.errors import OutsideError, StackproofError
from ..diagnose import tidy
from . import sdk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .connect import Engine

Kind = Literal["disk", "mismatch", "absent", "refused", "unreachable", "conflict", "other"]

VENV: Final = "or leave out --engine: stacks are then made as venvs, without images"
# The first pattern found decides. `absent` comes before `refused`: registries word an absent image as a denial, too.
_PATTERNS: Final[tuple[tuple[Kind, str], ...]] = (
    ("disk", r"no space left|disk quota exceeded|quota exceeded|not enough space"),
    ("mismatch", r"digest mismatch|did not match|does not match (?:the )?(?:expected )?(?:digest|manifest)|bad digest"),
    ("mismatch", r"verification failed|unexpected (?:commit )?digest|doesn't match digest|failed size validation"),
    ("absent", r"no such image|image not known|manifest unknown|manifest for \S+ not found|name unknown"),
    ("absent", r"repository does not exist|not found: not found|failed to resolve|image \S+ not found"),
    ("refused", r"unauthorized|authentication required|no basic auth|access denied|denied:|forbidden"),
    ("unreachable", r"no such host|connection refused|i/o timeout|handshake|x509|HTTP response to HTTPS|dial tcp"),
    ("unreachable", r"network is unreachable|context deadline exceeded|\b50[234]\b.*(?:gateway|unavailable)"),
    ("conflict", r"is being used by|image is in use|conflict:"),
)
_WORDS: Final[dict[Kind, tuple[str, str]]] = {
    "disk": ("no space is left on the engine's disk", "Free some space below {folder}"),
    "mismatch": (
        "what was served does not have the digest asked for",
        "Do not trust that registry, or pin the digest that it serves now, if the image was replaced on purpose",
    ),
    "absent": ("there is no such image", "Check its name, tag and digest"),
    "refused": ("the registry refused the credentials", "Log in to the registry with the engine's own command"),
    "unreachable": ("the registry could not be reached", "Check its name and the network of the machine of the engine"),
    "conflict": ("the image is in use", "End what uses it first"),
    "other": ("the engine refused", "Its words above are all that is known"),
}
_LONGEST: Final = 2000


def read_fault(engine: Engine, doing: str, words: str) -> StackproofError:
    """Return the error that tells a user what an engine's words mean.

    Args:
        engine: Whose words they are.
        doing: What was being done, such as `pulling registry.example/base`.
        words: What the engine said.
    """
    said = tidy(words).strip()[:_LONGEST] or "The engine said nothing."
    kind: Kind = next((kind for kind, pattern in _PATTERNS if re.search(pattern, said, re.IGNORECASE)), "other")
    what, mend = _WORDS[kind]
    indented = "\n".join(f"  {line}" for line in said.splitlines())
    return OutsideError(f"{doing}: {what}.\n{indented}\n{mend.format(folder=engine.folder or 'its data folder')}.")


def gone(engine: Engine, doing: str) -> StackproofError:
    """Return the error for an engine that ended, or closed the connection, while it was at work."""
    return OutsideError(
        f"{doing}: {engine.kind} at {engine.address} closed the connection before it had finished: it ended, or was"
        f" restarted. Look into its log, see that `{engine.kind} info` answers, and try again."
    )


def garbled(engine: Engine, doing: str) -> StackproofError:
    """Return the error for an answer that is none of the engine's API."""
    return OutsideError(
        f"{doing}: what answers at {engine.address} does not speak the API of Docker. Give the address of an engine in"
        f" {'CONTAINER_HOST' if engine.kind == 'podman' else 'DOCKER_HOST'}, {VENV}."
    )


@contextlib.contextmanager
def telling(engine: Engine, doing: str) -> Iterator[None]:
    """Turn whatever a call to an engine raises into an error for a user.

    Args:
        engine: The engine that is called.
        doing: What is being done, such as `pulling registry.example/base`.

    Raises:
        OutsideError: The engine refused, ended, or answered something else than its API.
    """
    try:
        yield
    except sdk.docker().errors.APIError as error:
        raise read_fault(engine, doing, error.explanation or f"It answered with status {error.status_code}.") from error
    except sdk.requests().exceptions.InvalidJSONError as error:
        raise garbled(engine, doing) from error
    except (sdk.requests().exceptions.Timeout, sdk.urllib3().exceptions.TimeoutError) as error:
        raise OutsideError(
            f"{doing}: {engine.kind} at {engine.address} did not answer in time. See that `{engine.kind} info` answers,"
            " and try again."
        ) from error
    except (sdk.requests().exceptions.RequestException, sdk.urllib3().exceptions.HTTPError) as error:
        raise gone(engine, doing) from error
    except sdk.docker().errors.DockerException as error:
        raise read_fault(engine, doing, str(error)) from error
