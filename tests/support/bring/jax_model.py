"""Run by JAX's own Python: a small function of its parameters is exported, and trained as JAX trains it.

Argument: a folder to write to.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from stackproof.matrix.bringing.from_jax import export_jax

STEPS = 10
LR = 0.01
DECAY = 0.02
WIDTH, WORDS = 8, 11


def fresh() -> dict[str, Any]:
    keys = iter(jax.random.split(jax.random.PRNGKey(0), 20))
    block = lambda: {  # noqa: E731 - drawn anew each time
        "scale": jnp.ones(WIDTH),
        "qkv": jax.random.normal(next(keys), (WIDTH, 3 * WIDTH)) / 3,
        "up": {"w": jax.random.normal(next(keys), (WIDTH, 2 * WIDTH)) / 3, "b": jnp.zeros(2 * WIDTH)},
        "down": {"w": jax.random.normal(next(keys), (2 * WIDTH, WIDTH)) / 4, "b": jnp.zeros(WIDTH)},
    }
    return {"table": jax.random.normal(next(keys), (WORDS, WIDTH)), "blocks": [block(), block()]}


def normal(x: jax.Array, scale: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5) * scale


def loss(params: dict[str, Any], tokens: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the mean cross-entropy of a language model whose head is its table."""
    x = params["table"][tokens]
    for block in params["blocks"]:
        q, k, v = (
            part.reshape(*x.shape[:2], 2, 4) for part in jnp.split(normal(x, block["scale"]) @ block["qkv"], 3, -1)
        )
        x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape)
        x = x + jax.nn.gelu(x @ block["up"]["w"] + block["up"]["b"]) @ block["down"]["w"] + block["down"]["b"]
    scores = jax.nn.log_softmax(x @ params["table"].T)
    return -jnp.mean(jnp.sum(scores * jax.nn.one_hot(labels, WORDS, dtype=scores.dtype), axis=-1))


def native(params: dict[str, Any], batches: list[tuple[np.ndarray, np.ndarray]]) -> list[float]:
    """Train in float64, as a user of JAX would."""
    with jax.enable_x64(new_val=True):
        params = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf), jnp.float64), params)
        optimizer = optax.adamw(LR, weight_decay=DECAY)
        state, losses = optimizer.init(params), []
        for tokens, labels in batches:
            value, gradients = jax.value_and_grad(loss)(params, tokens, labels)
            changes, state = optimizer.update(gradients, state, params)
            params = optax.apply_updates(params, changes)
            losses.append(float(value))
    return losses


def main(folder: Path) -> None:
    draws = np.random.default_rng(0)
    tokens = draws.integers(0, WORDS, (STEPS, 4, 5)).astype(np.int32)
    labels = ((tokens * 3 + 1) % WORDS).astype(np.int32)
    params = fresh()
    origin = export_jax(
        loss, params, [tokens[0], labels[0]], folder / "function.onnx", input_names=["tokens", "labels"]
    )
    np.savez(folder / "function.npz", tokens=tokens, labels=labels)
    story = {
        "losses": native(params, list(zip(tokens, labels, strict=True))),
        "parameters": [tensor.name for tensor in origin.tensors],
        "optimizer": {"kind": "adamw", "lr": LR, "weight_decay": DECAY},
    }
    (folder / "function.json").write_text(json.dumps(story))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
