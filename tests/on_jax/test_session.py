from __future__ import annotations

import jax
import jax.numpy as jnp
from session_contract import SessionContract

from stackproof.backends.on_jax import session

_COMPILED: list[float] = []


def _count(event: str, seconds: float, **_more: str | int) -> None:
    if event == "/jax/core/compile/backend_compile_duration":
        _COMPILED.append(seconds)


jax.monitoring.register_event_duration_secs_listener(_count)


class TestSession(SessionContract):
    module = session
    executions = ("eager", "compiled", "compiled-last")
    compilations = _COMPILED.__len__
    distributions = {"jax": "jax", "jaxlib": "jaxlib"}

    def test_wide_numbers_stay_inside_a_float64_session(self) -> None:
        wide = self.fresh("float64", compiled=True)
        assert jnp.ones(2).dtype == jnp.float32
        assert wide.parameters()["embedding"].dtype == jnp.float64
