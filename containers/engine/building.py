"""What a build says, told step by step, and kept for the error that it may end in."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from ...compat.errors import OutsideError, StackproofError
from ..diagnose import tidy
from .faults import read_fault
from .trace import Output, Step, decode_trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from .connect import Engine

_KEPT_LINES: Final = 20  # of a failed step, for its error
_LONGEST_LINE: Final = 300
_LONGEST_NAME: Final = 120
_SUCCESS: Final = "Successfully built "
_STEP: Final = "STEP "
# Words of an engine that say no more than that a command of a step failed.
_STEP_FAILED: Final = ("executor failed running", "did not complete successfully", "exit code", "exit status")


class BuildLog:
    """The lines of one build.

    Attributes:
        doing: What is being done, for errors.
        image: Id of the image, once it is built; empty before.
    """

    def __init__(self, engine: Engine, tag: str, tell: Callable[[str], None]) -> None:
        self.doing = f"building {tag}"
        self.image = ""
        self._engine, self._tell = engine, tell
        self._names: dict[str, str] = {}
        self._told: set[str] = set()
        self._lines: dict[str, deque[str]] = {}
        self._halves: dict[str, str] = {}
        self._step = ""
        self._failed = ""

    def take(self, line: dict[str, Any]) -> None:
        """Take one object of the engine's stream.

        Raises:
            OutsideError: It says that the build failed.
        """
        if "error" in line or "errorDetail" in line:
            detail = line.get("errorDetail")
            said = (detail.get("message") if isinstance(detail, dict) else None) or line.get("error") or ""
            raise self._failure(str(said))
        aux = line.get("aux")
        if line.get("id") == "moby.buildkit.trace":
            for event in decode_trace(aux):
                self._take_event(event)
        elif isinstance(aux, dict) and isinstance(aux.get("ID"), str):
            self.image = aux["ID"] if aux["ID"].startswith("sha256:") else f"sha256:{aux['ID']}"
        elif isinstance(line.get("stream"), str):
            self._take_text(line["stream"])

    def _take_event(self, event: Step | Output) -> None:
        if isinstance(event, Output):
            self._write(event.step, event.text.decode("utf-8", errors="replace"))
            return
        if event.name:
            self._names[event.id] = event.name
        if event.error:
            self._failed = event.id
        if (
            event.started
            and event.id not in self._told
            and event.name.startswith("[")
            and "[internal]" not in event.name
        ):
            self._told.add(event.id)
            self._tell(_brief(event.name) + (" (as before)" if event.cached else ""))

    def _take_text(self, text: str) -> None:
        """Take text of Buildah, whose steps come one after the other."""
        if text.startswith(_STEP):
            self._step = text.strip()
            self._names[self._step] = self._step
            self._tell(_brief(self._step))
        elif text.startswith(_SUCCESS):
            self.image = self.image or f"sha256:{text.removeprefix(_SUCCESS).strip()}"
        else:
            self._write(self._step, text)

    def _write(self, step: str, text: str) -> None:
        *lines, half = (self._halves.get(step, "") + tidy(text)).split("\n")
        self._halves[step] = half[-_LONGEST_LINE:]
        kept = self._lines.setdefault(step, deque(maxlen=_KEPT_LINES))
        for line in lines:
            if line.strip():
                kept.append(line.rstrip()[:_LONGEST_LINE])
                self._tell(f"  {kept[-1]}")

    def _failure(self, said: str) -> StackproofError:
        step = self._failed or self._step
        lines = [*self._lines.get(step, ()), *filter(None, [self._halves.get(step, "").strip()])]
        known = read_fault(self._engine, self.doing, "\n".join([*lines, said]))
        if not any(words in said for words in _STEP_FAILED) or "no space left" in str(known).lower():
            return known
        last = "\n".join(f"  {line}" for line in lines[-_KEPT_LINES:]) or "  It wrote nothing."
        name = _brief(self._names.get(step, step)) or "unknown"
        why = tidy(said).strip()[:_LONGEST_LINE]
        return OutsideError(f"{self.doing}: a step failed: {name}\n{last}\n  {why}\nIts last lines say why.")


def _brief(name: str) -> str:
    first = (name.strip().splitlines() or [""])[0]
    return first if len(first) <= _LONGEST_NAME else f"{first[: _LONGEST_NAME - 1]}…"
