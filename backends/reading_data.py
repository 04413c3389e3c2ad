"""Reads the keys of data from files, with every fault."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from .datasets.tokens import DTYPES
from .readers import Bounds, Refusal, choice, flag, integer, number, optional, show, text
from .spec_data import FILE_KINDS, Augment, Cleaning, Files

if TYPE_CHECKING:
    from .tables import Table

_COUNT = integer(Bounds(least=0, most=2**31))
_SHARE = number(Bounds(least=0, most=1))
_ALPHA = number(Bounds(least=0, most=4))
_NUMBER = optional(number(Bounds()))
_MOST_CLASSES = 1 << 20

# Which keys belong to tokens only, and which to samples with labels or targets only.
TOKEN_KEYS = ("dtype", "stride", "separator")
SAMPLE_KEYS = ("balance", "weights", "augment")
TOKEN_RULES = ("shortest", "longest")
SAMPLE_RULES = ("nonfinite", "least", "most")


def read_files(table: Table) -> Files:
    """Read the keys of data from files; what does not fit is reported to the table's faults.

    Keys that are not of files are left to the caller, who calls `table.finish`.
    """
    kind = table.one("kind", Files.kind, choice(*FILE_KINDS))
    files = Files(
        kind=kind,
        path=table.one("path", Files.path, _path),
        dtype=table.one("dtype", Files.dtype, choice(*DTYPES)),
        stride=table.one("stride", Files.stride, _COUNT),
        separator=table.one("separator", Files.separator, optional(integer(Bounds(least=0, most=2**32 - 1)))),
        shuffle=table.one("shuffle", Files.shuffle, flag),
        balance=table.one("balance", Files.balance, flag),
        weights=table.many("weights", Files.weights, number(Bounds(least=0)), (0, _MOST_CLASSES)),
        clean=_read_clean(table.table("clean"), kind),
        augment=_read_augment(table.table("augment")),
    )
    _check(table, files)
    return files


def _read_clean(table: Table, kind: str) -> Cleaning:
    made = Cleaning(
        nonfinite=table.one("nonfinite", Cleaning.nonfinite, flag),
        least=table.one("least", Cleaning.least, _NUMBER),
        most=table.one("most", Cleaning.most, _NUMBER),
        shortest=table.one("shortest", Cleaning.shortest, _COUNT),
        longest=table.one("longest", Cleaning.longest, _COUNT),
        exact=table.one("exact", Cleaning.exact, flag),
        near=table.one("near", Cleaning.near, _SHARE),
    )
    table.finish()
    _refuse_foreign(table, SAMPLE_RULES if kind == "tokens" else TOKEN_RULES, kind)
    if made.least is not None and made.most is not None and made.least > made.most and table.sound("least", "most"):
        table.fault("least", f"is above most, {show(made.most)}: nothing would be left; exchange them")
    if made.longest and made.longest < made.shortest and table.sound("longest", "shortest"):
        table.fault("longest", f"is below shortest, {made.shortest}: nothing would be left; exchange them")
    return made


def _read_augment(table: Table) -> Augment:
    made = Augment(
        crop=table.one("crop", Augment.crop, _COUNT),
        flip=table.one("flip", Augment.flip, flag),
        brightness=table.one("brightness", Augment.brightness, _SHARE),
        contrast=table.one("contrast", Augment.contrast, _SHARE),
        noise=table.one("noise", Augment.noise, number(Bounds(least=0))),
        mixup=table.one("mixup", Augment.mixup, _ALPHA),
        cutmix=table.one("cutmix", Augment.cutmix, _ALPHA),
    )
    table.finish()
    return made


def _check(table: Table, files: Files) -> None:
    _refuse_foreign(table, SAMPLE_KEYS if files.kind == "tokens" else TOKEN_KEYS, files.kind)
    if "path" not in table.content:
        table.fault("path", "missing: write the file or folder, relative to the spec file")
    if files.weights and not files.balance and table.sound("weights", "balance"):
        table.fault("weights", "would have no effect: add balance = true, or remove them")
    cleaned = [f.name for f in fields(files.clean) if getattr(files.clean, f.name) != f.default]
    if files.kind != "tokens" or not table.sound("clean", "separator"):
        return
    if cleaned and files.separator is None:
        table.fault("separator", "missing: write the token that ends a document, for documents are what is cleaned")
    elif files.separator is not None and not cleaned:
        table.fault("separator", "would have no effect without [data.clean]: add a rule there, or remove it")


def _refuse_foreign(table: Table, keys: tuple[str, ...], kind: str) -> None:
    for key in keys:
        if key in table.content and table.sound(key):
            table.fault(key, f'has no meaning for kind "{kind}": remove it')


def _path(value: object) -> str:
    given = text(value)
    if not given or "\0" in given:
        raise Refusal(f"must name a file or folder, not {show(given)}")
    return given
