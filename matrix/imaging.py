"""Images in place of venvs: what a site needs to make them, and the stage that makes one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..compat.errors import OutsideError, StackproofError, UnsolvableError
from ..containers.bases.provide import provide_base
from ..containers.chain import ImageRequest, Workshop, build_files, build_stack_image, image_key, rebuild_stack_image
from ..containers.engine.connect import connect
from ..containers.engine.leftovers import remove_leftovers
from ..containers.interpreter import interpreter_of
from ..containers.venv import cache_folder
from .bases import base_name_of

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from pathlib import Path

    from ..compat.cell import Stack
    from ..compat.lock import Lock
    from ..containers.bases.base import Base
    from ..containers.bases.pins import Pins
    from ..containers.engine.connect import Engine
    from ..containers.image import Image
    from ..containers.interpreter import Interpreter
    from ..containers.rendering.settings import ImageSettings


@dataclass(frozen=True)
class Images:
    """How a site makes images.

    Attributes:
        engine: The engine that builds and runs them.
        settings: What the matrix chose.
        pins: What bases there are.
        cache: Folder for wheels and bases.
        tell: Is told of each step, a line at a time.
        cancel: Stops the work when set.
        bases: Those provided so far, or why there is none, by name.
    """

    engine: Engine
    settings: ImageSettings
    pins: Pins
    cache: Path
    tell: Callable[[str], None]
    cancel: threading.Event
    bases: dict[str, Base | StackproofError] = field(default_factory=dict)

    def base(self, stack: Stack) -> Base:
        """Return what a stack's image is built on, made or pulled where it is not there; looked for once.

        Raises:
            InputError: No pin has that name.
            UnsolvableError: No base has the stack's Python.
            OutsideError: The engine, the network or a mirror failed, or the base is another one than was pinned.
        """
        name = base_name_of(stack, self.pins)
        if name not in self.bases:
            try:
                self.bases[name] = self._provide(name)
            except (UnsolvableError, OutsideError) as error:
                self.bases[name] = error
        found = self.bases[name]
        if isinstance(found, StackproofError):
            raise found
        if not found.python.startswith(f"{stack.python}."):
            raise UnsolvableError(
                f"{stack.id}: {name} has Python {found.python}, not {stack.python}.\nName an os with that Python, or"
                " leave axes.python out: each os then brings its own."
            )
        return found

    def interpreter(self, stack: Stack) -> Interpreter:
        """Return the Python that a stack's image has; raises as `base`."""
        base = self.base(stack)
        return interpreter_of(base.python, base.glibc, base.machine)

    def key(self, stack: Stack, lock: Lock) -> str:
        """Return the digest of all that a stack's image is made from; raises as `base`."""
        return image_key(self._request(stack, lock))

    def build(self, stack: Stack, lock: Lock) -> Image:
        """Make a lock real as an image; raises as `build_stack_image`."""
        return build_stack_image(self._workshop(), self._request(stack, lock))

    def rebuild(self, stack: Stack, lock: Lock) -> list[str]:
        """Build a stack's image once more, and name what differs; raises as `rebuild_stack_image`."""
        return rebuild_stack_image(self._workshop(), self._request(stack, lock))

    def files(self, stack: Stack, lock: Lock) -> dict[str, Path | bytes]:
        """Return the files that a stack's image can be built from by hand; raises as `build_files`."""
        return build_files(self._workshop(), self._request(stack, lock))

    def _request(self, stack: Stack, lock: Lock) -> ImageRequest:
        return ImageRequest(lock, self.base(stack), self.settings)

    def _workshop(self) -> Workshop:
        return Workshop(self.engine, self.cache, self.tell, self.cancel)

    def _provide(self, name: str) -> Base:
        pin = self.pins.find(name).with_packages(self.settings.packages)
        return provide_base(self.engine, pin, self.cache, self.tell, self.cancel)


def open_images(
    kind: str, settings: ImageSettings, pins: Pins, tell: Callable[[str], None], cancel: threading.Event
) -> Images:
    """Reach an engine, and remove what a killed run left there.

    Args:
        kind: `docker` or `podman`.
        settings: What the matrix chose.
        pins: What bases there are.
        tell: Is told of each step.
        cancel: Stops the work when set.

    Raises:
        OutsideError: No engine answers.
    """
    engine = connect(kind)
    remove_leftovers(engine)
    return Images(engine, settings, pins, cache_folder(), tell, cancel)
