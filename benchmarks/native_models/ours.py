"""A session of stackproof as a contender."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from contender import Stepping

from stackproof.backends.schedule import rates
from stackproof.backends.session import Options

if TYPE_CHECKING:
    from contender import Work


class Ours(Stepping):
    """A session, driven as the worker drives it."""

    def __init__(self, framework: str, work: Work) -> None:
        module = importlib.import_module(f"stackproof.backends.on_{framework}.session")
        module.prepare(1, "cpu")
        execution, _, norms = work.mode.partition("+")
        options = Options("float32", compile=True, execution=execution, norms=bool(norms))
        self._session = module.open_session(work.program, work.spec, options)
        self._rates = rates(work.spec)
        super().__init__([self._session.place(batch) for batch in work.batches])

    def step(self, placed: Any) -> Any:
        """Make one step and return its loss."""
        loss, _ = self._session.step(placed, self._rates[(self._made - 1) % len(self._rates)])
        return loss
