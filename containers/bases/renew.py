"""Pins held against what registries and mirrors have now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ...compat.errors import Fault, InputError
from ..engine.images import resolve_tag
from .debian import make_debian

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from ..engine.connect import Engine
    from .pins import Pin


@dataclass(frozen=True)
class Renewal:
    """What a pin says, and what is there now.

    Attributes:
        pin: The pin.
        digest: The digest that it would get today.
        date: Today.
    """

    pin: Pin
    digest: str
    date: str

    @property
    def moved(self) -> bool:
        """Say whether the pin and what is there now differ."""
        return self.pin.digest != self.digest


def look_again(
    reach: Callable[[], AbstractContextManager[Engine]],
    pin: Pin,
    cache: Path,
    tell: Callable[[str], None] = lambda _: None,
    cancel: threading.Event | None = None,
) -> Renewal:
    """Find what a pin would be today: make a base of Debian again, or ask a registry what a tag stands for.

    Args:
        reach: Reaches an engine, through which registries are asked; not called for a base of Debian.
        pin: The pin.
        cache: Folder for what can be made again.
        tell: Is told of each step.
        cancel: Stops it when set.

    Raises:
        InputError: The pin has no tag, so that nothing can move.
        OutsideError: The mirror, the registry or the engine failed.
        StoppedError: `cancel` was set.
    """
    today = datetime.now(UTC).date().isoformat()
    if pin.kind == "debian":
        return Renewal(pin, make_debian(pin, cache.absolute() / "bases", tell, cancel).digest, today)
    if not pin.tag:
        what = f"{pin.name} is pinned by its digest alone: give the pin a tag, which says what to look for"
        raise InputError("bases", [Fault("", what)])
    tell(f"asking the registry for {pin.repository}:{pin.tag}")
    with reach() as engine:
        return Renewal(pin, resolve_tag(engine, pin.repository, pin.tag), today)
