from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import threefry_2x32
from seeded_contract import SeededContract

from stackproof.backends.on_jax import arrays, evaluate, session
from stackproof.backends.threefry import draw, words


class TestSeededDropout(SeededContract):
    module, sessions = evaluate, session
    executions = ("compiled", "compiled-last")


def test_words_are_those_of_jax_itself() -> None:
    drawn = np.random.default_rng(3).integers(2**32, size=(7, 4), dtype=np.uint32)
    for one, other, first, second in drawn.tolist():
        wanted = np.asarray(threefry_2x32(jnp.array([one, other], jnp.uint32), jnp.array([first, second], jnp.uint32)))
        counter = (np.array([first], np.uint32), np.array([second], np.uint32))
        np.testing.assert_array_equal(np.concatenate(words((one, other), counter)), wanted)
        signed = tuple(jnp.asarray(value.view(np.int32)) for value in counter)
        made = jax.jit(lambda pair, key=(one, other): draw(arrays, key, pair))(signed)
        np.testing.assert_array_equal(np.concatenate(made).view(np.uint32), wanted)
