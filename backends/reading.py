"""From the tables of a TOML or JSON document to a spec, with every fault reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from .errors import Fault, InputError
from .model_rules import DATA_OF_MODEL
from .presets import kind_of_preset, with_preset
from .readers import choice, show
from .reading_models import MODEL_KEYS, MODELS, read_model
from .reading_recipe import OPTIMIZER_KEYS, SCHEDULE_KEYS, SHARE, SIZE, read_optimizer, read_schedule, read_train
from .reading_workload import read_workload_spec
from .spec import SCHEMA_VERSION, Bert, Data, Mlp, Onnx, Optimizer, Schedule, Spec, Train
from .spec_rules import check_fit
from .tables import Faults, Table, read_name

if TYPE_CHECKING:
    from .spec import Model

# The label of tokens that are not masked.
UNMASKED = -1
RECORDS: dict[str, type[Data | Optimizer | Schedule | Train]] = {
    "data": Data,
    "optimizer": Optimizer,
    "schedule": Schedule,
    "train": Train,
}
_BUILT_IN = " or ".join(", ".join(f'"{kind}"' for kind in MODELS if kind != Onnx.kind).rsplit(", ", 1))
# Keys of a table that only some of its kinds have.
KIND_KEYS: dict[str, dict[str, tuple[str, ...]]] = {
    "model": MODEL_KEYS,
    "optimizer": OPTIMIZER_KEYS,
    "schedule": SCHEDULE_KEYS,
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
    if "workload" in tables:
        return read_workload_spec(tables, source, name)
    faults = Faults()
    top = Table.root(tables, faults)
    given = read_name(top, name)
    model = _read_model(top)
    data = _read_data(top, model)
    spec = Spec(given, model or Mlp(), data, _read_optimizer(top), _read_schedule(top), _read_train(top, model))
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
    implied = Onnx.kind if "onnx" in table.content else kind_of_preset(table.content.get("preset"))
    if not implied and "kind" not in table.content:
        mend = f'kind = {_BUILT_IN}, or onnx = "my_model.onnx" for a model of your own'
        if "model" not in top.content:
            top.fault("model", f"missing: add a [model] table with {mend}")
        elif top.sound("model"):
            table.fault("kind", f"missing: add {mend}")
    kind = table.one("kind", implied, choice(*MODELS))
    table = with_preset(table, kind)
    model = read_model(table, kind) if kind in MODELS else None
    table.asked.extend(_own("model", kind) if model is None else ())
    table.finish({**_elsewhere("model"), **_foreign("model", kind)})
    return model


def _read_data(top: Table, model: Model | None) -> Data:
    table = top.table("data")
    fitting = DATA_OF_MODEL[model.kind] if model is not None else Data.kind
    data = Data(
        kind=table.one("kind", fitting, choice(*dict.fromkeys(DATA_OF_MODEL.values()))),
        batch=table.one("batch", Data.batch, SIZE),
        noise=table.one("noise", Data.noise, SHARE),
    )
    table.finish(_elsewhere("data"))
    return data


def _read_optimizer(top: Table) -> Optimizer:
    table = top.table("optimizer")
    kind = _kind(table, Optimizer.kind, *OPTIMIZER_KEYS)
    optimizer = read_optimizer(table, kind, _own("optimizer", kind))
    table.finish({**_elsewhere("optimizer"), **_foreign("optimizer", kind)})
    return optimizer


def _read_schedule(top: Table) -> Schedule:
    table = top.table("schedule")
    kind = _kind(table, Schedule.kind, *SCHEDULE_KEYS)
    schedule = read_schedule(table, kind, _own("schedule", kind))
    table.finish({**_elsewhere("schedule"), **_foreign("schedule", kind)})
    return schedule


def _read_train(top: Table, model: Model | None) -> Train:
    table = top.table("train")
    train = read_train(table)
    table.finish(_elsewhere("train"))
    if isinstance(model, Bert) and train.ignore_label is None:
        return replace(train, ignore_label=UNMASKED)
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
