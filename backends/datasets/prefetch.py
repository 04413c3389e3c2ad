"""The next batches, made by a thread while the present one is trained on."""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from types import TracebackType

T = TypeVar("T")


class Prefetch(Generic[T]):
    """Makes batches ahead; to be used with `with`, and gone through once.

    Args:
        make: From a step to its batch; called by one thread, step after step.
        steps: The steps, in their order.
        depth: How many batches lie ready or are being made, at most; at least 1.
    """

    def __init__(self, make: Callable[[int], T], steps: range, depth: int = 2) -> None:
        self._make, self._left, self._depth = make, iter(steps), depth
        self._ahead: deque[Future[T]] = deque()
        self._pool = ThreadPoolExecutor(1, "stackproof-prefetch")
        self._waited, self._begun, self._last = 0.0, 0.0, 0.0

    def __enter__(self) -> Prefetch[T]:
        self._fill()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def __iter__(self) -> Iterator[T]:
        """Yield the batches in order; an error of `make` is raised where its batch would have come."""
        self._begun = time.perf_counter()
        while self._ahead:
            asked = time.perf_counter()
            batch = self._ahead.popleft().result()
            self._last = time.perf_counter()
            self._waited += self._last - asked
            self._fill()
            yield batch
            self._last = time.perf_counter()

    @property
    def stall(self) -> float:
        """Return the share of the time, since the first batch was asked for, that was spent waiting for batches."""
        return self._waited / (self._last - self._begun) if self._last > self._begun else 0.0

    def _fill(self) -> None:
        while len(self._ahead) < self._depth:
            step = next(self._left, None)
            if step is None:
                return
            self._ahead.append(self._pool.submit(self._make, step))
