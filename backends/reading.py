"""From the tables of a TOML or JSON document to a spec, with every fault reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from .errors import Fault, InputError
from .own_model import read_onnx
from .readers import Bounds, choice, flag, integer, number, show
from .spec import SCHEMA_VERSION, Cnn, Data, Gpt, Mlp, Onnx, Optimizer, Resnet, Schedule, Spec, Train
from .spec_rules import DATA_OF_MODEL, check_fit
from .tables import Faults, Table, read_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from .spec import Model

# Sizes and counts beyond 2**31 have no use and would only overflow indices further on.
LARGEST = 2**31
SIZE = integer(Bounds(least=1, most=LARGEST))
COUNT = integer(Bounds(least=0, most=LARGEST))
SHARE = number(Bounds(least=0, most=1))
DECAY = number(Bounds(least=0, below=1))
POSITIVE = number(Bounds(above=0))
NOT_NEGATIVE = number(Bounds(least=0))

EXECUTIONS = tuple(f"{path}{layout}" for path in ("eager", "graph", "compiled") for layout in ("", "-last"))
RECORDS: dict[str, type[Data | Optimizer | Schedule | Train]] = {
    "data": Data,
    "optimizer": Optimizer,
    "schedule": Schedule,
    "train": Train,
}
MODELS: dict[str, type[Model]] = {"gpt": Gpt, "mlp": Mlp, "cnn": Cnn, "resnet": Resnet, "onnx": Onnx}
# Keys of a table that only some of its kinds have.
KIND_KEYS: dict[str, dict[str, tuple[str, ...]]] = {
    "model": {kind: tuple(f.name for f in fields(record) if f.name != "kind") for kind, record in MODELS.items()},
    "optimizer": {"adamw": ("betas", "eps"), "sgd": ("momentum", "nesterov")},
    "schedule": {"constant": (), "linear": ("final",), "cosine": ("final",)},
}


def read_spec(tables: Mapping[str, object], source: str, name: str) -> Spec:
    """Make a spec of the tables of its TOML file.

    Args:
        tables: The file's content.
        source: The name of the file, as the user gave it.
        name: The spec's name where the tables give none; usually the file's stem.

    Raises:
        InputError: With every fault, in the order of the file.
    """
    faults = Faults()
    top = Table.root(tables, faults)
    given = read_name(top, name)
    model = _read_model(top)
    data = _read_data(top, model)
    spec = Spec(given, model or Mlp(), data, _read_optimizer(top), _read_schedule(top), _read_train(top))
    top.finish({key: f"belongs in [{table}]" for key, table in _HOMES.items()})
    if model is not None:
        check_fit(spec, faults)
    found = faults.listed(tables)
    if found:
        raise InputError(source, found)
    return spec


def spec_from_dict(tables: Mapping[str, object], source: str = "spec") -> Spec:
    """Read back what `Spec.to_dict` wrote.

    Args:
        tables: The loaded JSON.
        source: What to call the tables in an error message.

    Raises:
        InputError: The schema version is another one, or the tables are no sound spec.
    """
    version = tables.get("schema_version")
    if type(version) is not int or version != SCHEMA_VERSION:
        what = f"this stackproof reads version {SCHEMA_VERSION}, not {show(version)}: write the spec anew with it"
        raise InputError(source, [Fault("schema_version", what)])
    trimmed = {key: _trimmed(key, value) for key, value in tables.items() if key != "schema_version"}
    return read_spec(trimmed, source, "")


def _trimmed(key: str, table: object) -> object:
    """Leave out keys of kinds that were not chosen and that hold the default, as each written record has them."""
    if not isinstance(table, Mapping) or key not in RECORDS or key not in KIND_KEYS:
        return table
    foreign = _foreign(key, str(table.get("kind")))
    return {k: v for k, v in table.items() if k not in foreign or _plain(v) != getattr(RECORDS[key], k)}


def _plain(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _read_model(top: Table) -> Model | None:
    table = top.table("model")
    implied = Onnx.kind if "onnx" in table.content else ""
    if not implied and "kind" not in table.content:
        mend = 'kind = "gpt", "mlp", "cnn" or "resnet", or onnx = "my_model.onnx" for a model of your own'
        if "model" not in top.content:
            top.fault("model", f"missing: add a [model] table with {mend}")
        elif top.sound("model"):
            table.fault("kind", f"missing: add {mend}")
    kind = table.one("kind", implied, choice(*MODELS))
    model = _MODEL_READERS[kind](table) if kind in MODELS else None
    table.asked.extend(_own("model", kind) if model is None else ())
    table.finish({**_elsewhere("model"), **_foreign("model", kind)})
    return model


def _read_gpt(table: Table) -> Gpt:
    return Gpt(
        layers=table.one("layers", Gpt.layers, integer(Bounds(least=1, most=1000))),
        width=table.one("width", Gpt.width, SIZE),
        heads=table.one("heads", Gpt.heads, SIZE),
        context=table.one("context", Gpt.context, SIZE),
        vocabulary=table.one("vocabulary", Gpt.vocabulary, integer(Bounds(least=2, most=LARGEST))),
        hidden=table.one("hidden", Gpt.hidden, COUNT),
        norm=table.one("norm", Gpt.norm, choice("rmsnorm", "layernorm")),
        activation=table.one("activation", Gpt.activation, choice("swiglu", "gelu")),
        position=table.one("position", Gpt.position, choice("rope", "learned")),
        tied=table.one("tied", Gpt.tied, flag),
        bias=table.one("bias", Gpt.bias, flag),
    )


def _read_mlp(table: Table) -> Mlp:
    return Mlp(
        inputs=table.one("inputs", Mlp.inputs, SIZE),
        hidden=table.many("hidden", Mlp.hidden, SIZE, (0, 1000)),
        outputs=table.one("outputs", Mlp.outputs, SIZE),
        activation=table.one("activation", Mlp.activation, choice("relu", "gelu", "tanh")),
    )


def _read_cnn(table: Table) -> Cnn:
    return Cnn(
        image=table.many("image", Cnn.image, SIZE, (3, 3)),
        channels=table.many("channels", Cnn.channels, SIZE, (1, 30)),
        outputs=table.one("outputs", Cnn.outputs, SIZE),
    )


def _read_resnet(table: Table) -> Resnet:
    return Resnet(
        image=table.many("image", Resnet.image, SIZE, (3, 3)),
        channels=table.many("channels", Resnet.channels, SIZE, (1, 30)),
        blocks=table.many("blocks", Resnet.blocks, integer(Bounds(least=1, most=1000)), (1, 30)),
        outputs=table.one("outputs", Resnet.outputs, SIZE),
    )


_MODEL_READERS: dict[str, Callable[[Table], Model]] = {
    "gpt": _read_gpt,
    "mlp": _read_mlp,
    "cnn": _read_cnn,
    "resnet": _read_resnet,
    "onnx": read_onnx,
}


def _read_data(top: Table, model: Model | None) -> Data:
    table = top.table("data")
    fitting = DATA_OF_MODEL[model.kind] if model is not None else Data.kind
    data = Data(
        kind=table.one("kind", fitting, choice(*DATA_OF_MODEL.values())),
        batch=table.one("batch", Data.batch, SIZE),
        noise=table.one("noise", Data.noise, SHARE),
    )
    table.finish(_elsewhere("data"))
    return data


def _read_optimizer(top: Table) -> Optimizer:
    table = top.table("optimizer")
    kind = _kind(table, Optimizer.kind, "adamw", "sgd")
    base = Optimizer(
        kind=kind,
        lr=table.one("lr", Optimizer.lr, POSITIVE),
        weight_decay=table.one("weight_decay", Optimizer.weight_decay, NOT_NEGATIVE),
    )
    own = _own("optimizer", kind)
    if "betas" in own:
        base = replace(base, betas=table.many("betas", Optimizer.betas, DECAY, (2, 2)))
        base = replace(base, eps=table.one("eps", Optimizer.eps, POSITIVE))
    if "momentum" in own:
        base = replace(base, momentum=table.one("momentum", Optimizer.momentum, DECAY))
        base = replace(base, nesterov=table.one("nesterov", Optimizer.nesterov, flag))
    table.finish({**_elsewhere("optimizer"), **_foreign("optimizer", kind)})
    return base


def _read_schedule(top: Table) -> Schedule:
    table = top.table("schedule")
    kind = _kind(table, Schedule.kind, "constant", "linear", "cosine")
    schedule = Schedule(kind=kind, warmup=table.one("warmup", Schedule.warmup, COUNT))
    if "final" in _own("schedule", kind):
        schedule = replace(schedule, final=table.one("final", Schedule.final, SHARE))
    table.finish({**_elsewhere("schedule"), **_foreign("schedule", kind)})
    return schedule


def _read_train(top: Table) -> Train:
    table = top.table("train")
    train = Train(
        steps=table.one("steps", Train.steps, SIZE),
        seed=table.one("seed", Train.seed, integer(Bounds(least=0, most=2**32 - 1))),
        precision=table.one("precision", Train.precision, choice("float32", "float64")),
        compile=table.one("compile", Train.compile, flag),
        mode=table.one("mode", Train.mode, choice("auto", *EXECUTIONS)),
        loss=table.one("loss", Train.loss, choice("cross-entropy", "mean-squared-error", "own")),
        clip_norm=table.one("clip_norm", Train.clip_norm, NOT_NEGATIVE),
    )
    table.finish(_elsewhere("train"))
    return train


def _kind(table: Table, default: str, *kinds: str) -> str:
    """Return the table's kind, or an empty text where it is faulty."""
    kind = table.one("kind", default, choice(*kinds))
    return kind if table.sound("kind") else ""


def _own(table: str, kind: str) -> set[str]:
    """Return the keys that only some kinds have and that the kind has; those of all kinds where it is none of them."""
    kinds = KIND_KEYS[table]
    return {key for name, keys in kinds.items() for key in keys if kind == name or kind not in kinds}


def _foreign(table: str, kind: str) -> dict[str, str]:
    """Return what to say of each key that belongs to other kinds only."""
    own = _own(table, kind)
    owners: dict[str, list[str]] = {}
    for name, keys in KIND_KEYS[table].items():
        for key in set(keys) - own:
            owners.setdefault(key, []).append(f'"{name}"')
    return {
        key: f'is no key of kind "{kind}": remove it, or set kind = {" or ".join(names)}'
        for key, names in owners.items()
    }


# The table of each key that lies in one table only.
_HOMES = {
    **{key: "model" for keys in KIND_KEYS["model"].values() for key in keys},
    **{field.name: name for name, record in RECORDS.items() for field in fields(record) if field.name != "kind"},
}


def _elsewhere(table: str) -> dict[str, str]:
    return {key: f"belongs in [{home}]" for key, home in _HOMES.items() if home != table}
