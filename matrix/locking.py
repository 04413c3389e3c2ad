"""The stages from a stack to its environment: lock, build."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from ..compat.errors import OutsideError, UnsolvableError
from ..compat.lock import Lock
from ..containers.resolve import resolve
from ..containers.venv import build_venv
from .jobs import lock_key
from .records import Failure, Made
from .store import digest_of

if TYPE_CHECKING:
    from ..compat.cell import Stack
    from ..compat.errors import StackproofError
    from ..containers.interpreter import Interpreter
    from .records import Home
    from .site import Site


def lock_stack(site: Site, stack: Stack) -> Made[Lock]:
    """Resolve a stack, or find the lock that it resolved to before."""
    start = time.monotonic()
    site.reporter.start("resolve", stack.id)
    try:
        interpreter = site.interpreter(stack)
        made = _find_lock(site, stack, interpreter) or _make_lock(site, stack, interpreter)
    except (UnsolvableError, OutsideError) as error:
        site.reporter.fail("resolve", stack.id, str(error))
        return Made(failure=describe_failure(error), seconds=time.monotonic() - start)
    site.reporter.finish("resolve", stack.id, made.seconds, reused=made.reused)
    return made


def find_lock(site: Site, stack: Stack) -> Lock | None:
    """Return the lock that a stack resolved to before, or None.

    Raises:
        UnsolvableError: There is no such Python.
        OutsideError: The store cannot be read.
    """
    found = _find_lock(site, stack, site.interpreter(stack))
    return found.value if found else None


def make_environment(site: Site, stack: Stack, lock: Lock) -> Made[Home]:
    """Make a lock real as a venv or an image, or find it made."""
    start = time.monotonic()
    site.reporter.start("build", stack.id)
    try:
        environment = _build(site, stack, lock)
    except (UnsolvableError, OutsideError) as error:
        site.reporter.fail("build", stack.id, str(error))
        return Made(failure=describe_failure(error), seconds=time.monotonic() - start)
    seconds = time.monotonic() - start
    site.reporter.finish("build", stack.id, seconds, reused=environment.reused)
    return Made(environment, seconds=0.0 if environment.reused else seconds, reused=environment.reused)


def _build(site: Site, stack: Stack, lock: Lock) -> Home:
    if site.images is not None:
        return site.images.build(stack, lock)
    return build_venv(lock, site.interpreter(stack), cancel=site.cancel)


def describe_failure(error: StackproofError) -> Failure:
    """Return an error as the reason for which a stage made nothing."""
    outside = isinstance(error, OutsideError)
    what, *rest = str(error).splitlines()
    why = next((line.strip() for line in rest if line.strip().startswith("Because ")), "")
    reason = f"{what.rstrip('.')}: {why}" if why else what
    return Failure("outside" if outside else "unsolvable", reason, tuple(rest), outside=outside)


def _key(site: Site, stack: Stack, interpreter: Interpreter) -> str:
    key = lock_key(stack, interpreter.version, interpreter.platform, site.run.torch_backend, os.environ)
    return digest_of({"lock": key, "base": base}) if (base := _base(site, stack)) else key


def _base(site: Site, stack: Stack) -> str:
    """Return what the stack's image is built on, with its digest; empty for a venv."""
    return site.images.base(stack).pinned if site.images is not None else ""


def _find_lock(site: Site, stack: Stack, interpreter: Interpreter) -> Made[Lock] | None:
    stored = None if site.fresh else site.store.get("lock", _key(site, stack, interpreter))
    return Made(Lock.from_dict(stored), reused=True) if stored else None


def _make_lock(site: Site, stack: Stack, interpreter: Interpreter) -> Made[Lock]:
    start = time.monotonic()
    lock = resolve(stack, interpreter, site.run.torch_backend, site.cancel, base=_base(site, stack))
    seconds = time.monotonic() - start
    evidence = site.store.put("lock", _key(site, stack, interpreter), stack.id, lock.to_dict(), seconds)
    return Made(lock, seconds=seconds, evidence=evidence)
