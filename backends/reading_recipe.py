"""Reads the tables of a spec that say how it trains: `[optimizer]`, `[schedule]` and `[train]`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .readers import Bounds, choice, flag, integer, number, optional, text
from .recipe import Group, Optimizer, Schedule, Train

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .tables import Table

# Sizes and counts beyond 2**31 have no use and would only overflow indices further on.
LARGEST = 2**31
SIZE = integer(Bounds(least=1, most=LARGEST))
COUNT = integer(Bounds(least=0, most=LARGEST))
SHARE = number(Bounds(least=0, most=1))
DECAY = number(Bounds(least=0, below=1))
POSITIVE = number(Bounds(above=0))
NOT_NEGATIVE = number(Bounds(least=0))
LABEL = integer(Bounds(least=-LARGEST, most=LARGEST - 1))
MOST_PATTERNS, MOST_GROUPS, MOST_CLASSES = 1000, 100, 100_000

EXECUTIONS = tuple(f"{path}{layout}" for path in ("eager", "graph", "compiled") for layout in ("", "-last"))
LOSSES = ("cross-entropy", "mean-squared-error", "huber", "binary-cross-entropy", "kl-divergence", "own")
OPTIMIZER_KEYS: dict[str, tuple[str, ...]] = {
    "adafactor": ("eps", "eps2", "decay_rate", "clip_threshold"),
    "adagrad": ("eps",),
    "adam": ("betas", "eps"),
    "adamw": ("betas", "eps"),
    "lamb": ("betas", "eps"),
    "lion": ("betas",),
    "muon": ("momentum", "nesterov", "betas", "eps", "adamw"),
    "rmsprop": ("alpha", "eps", "momentum"),
    "sgd": ("momentum", "nesterov"),
}
# What keys are where they are left out, where that depends on the kind.
OPTIMIZER_DEFAULTS: dict[str, dict[str, Any]] = {
    "adafactor": {"eps": 1e-7},
    "adagrad": {"eps": 1e-10},
    "lamb": {"eps": 1e-6},
    "lion": {"betas": (0.9, 0.99)},
    "muon": {"momentum": 0.95, "nesterov": True},
}
SCHEDULE_KEYS: dict[str, tuple[str, ...]] = {
    "constant": (),
    "linear": ("final",),
    "cosine": ("final",),
    "one-cycle": ("start", "final"),
    "inverse-square-root": (),
    "polynomial": ("final", "power"),
    "warmup-stable-decay": ("final", "cooldown"),
}
_NUMBERS: Mapping[str, Callable[[object], float]] = {
    "eps": POSITIVE,
    "momentum": DECAY,
    "alpha": DECAY,
    "eps2": POSITIVE,
    "decay_rate": number(Bounds(above=0, most=1)),
    "clip_threshold": POSITIVE,
}


def read_optimizer(table: Table, kind: str, own: set[str]) -> Optimizer:
    """Read the table `[optimizer]`.

    Args:
        table: The table.
        kind: Its kind, empty where that is faulty.
        own: The keys that only some kinds have, and this one has.
    """
    usual = replace(Optimizer(kind=kind), **OPTIMIZER_DEFAULTS.get(kind, {}))
    given: dict[str, Any] = {
        key: table.one(key, getattr(usual, key), read) for key, read in _NUMBERS.items() if key in own
    }
    if "betas" in own:
        given["betas"] = table.many("betas", usual.betas, DECAY, (2, 2))
    if "nesterov" in own:
        given["nesterov"] = table.one("nesterov", usual.nesterov, flag)
    if "adamw" in own:
        given["adamw"] = table.many("adamw", usual.adamw, text, (0, MOST_PATTERNS))
    return replace(
        usual,
        lr=table.one("lr", usual.lr, POSITIVE),
        weight_decay=table.one("weight_decay", usual.weight_decay, NOT_NEGATIVE),
        decay=table.one("decay", usual.decay, choice("all", "matrices")),
        groups=tuple(_read_group(entry) for entry in table.tables("groups", MOST_GROUPS)),
        **given,
    )


def _read_group(table: Table) -> Group:
    if "match" not in table.content:
        table.refuse('has no match: add the names of its parameters, such as match = ["*.bias"]')
    group = Group(
        match=table.many("match", Group.match, text, (1, MOST_PATTERNS)),
        lr=table.one("lr", Group.lr, NOT_NEGATIVE),
        weight_decay=table.one("weight_decay", Group.weight_decay, optional(NOT_NEGATIVE)),
    )
    table.finish()
    return group


def read_schedule(table: Table, kind: str, own: set[str]) -> Schedule:
    """Read the table `[schedule]`; arguments as for `read_optimizer`."""
    readers: dict[str, Any] = {"final": SHARE, "start": SHARE, "power": POSITIVE, "cooldown": COUNT}
    given = {key: table.one(key, getattr(Schedule(), key), read) for key, read in readers.items() if key in own}
    return Schedule(kind=kind, warmup=table.one("warmup", Schedule.warmup, COUNT), **given)


def read_train(table: Table) -> Train:
    """Read the table `[train]`."""
    usual = Train()
    return Train(
        steps=table.one("steps", usual.steps, SIZE),
        seed=table.one("seed", usual.seed, integer(Bounds(least=0, most=2**32 - 1))),
        precision=table.one("precision", usual.precision, choice("float32", "float64", "bf16-mixed")),
        compile=table.one("compile", usual.compile, flag),
        mode=table.one("mode", usual.mode, choice("auto", *EXECUTIONS)),
        loss=table.one("loss", usual.loss, choice(*LOSSES)),
        clip_norm=table.one("clip_norm", usual.clip_norm, NOT_NEGATIVE),
        clip_value=table.one("clip_value", usual.clip_value, NOT_NEGATIVE),
        accumulate=table.one("accumulate", usual.accumulate, integer(Bounds(least=1, most=2**16))),
        ema=table.one("ema", usual.ema, DECAY),
        label_smoothing=table.one("label_smoothing", usual.label_smoothing, DECAY),
        ignore_label=table.one("ignore_label", usual.ignore_label, optional(LABEL)),
        class_weights=table.many("class_weights", usual.class_weights, NOT_NEGATIVE, (0, MOST_CLASSES)),
        huber_delta=table.one("huber_delta", usual.huber_delta, POSITIVE),
    )
