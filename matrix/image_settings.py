"""Settings of a matrix: how images are made, and what they are asked about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..backends.readers import Refusal, choice, distinct, flag, show, text
from ..compat.driver_facts import branch_row
from ..compat.driver_levels import format_level, parse_level
from ..compat.errors import InputError
from ..compat.gpu_names import capability_of, near_names
from ..containers.rendering.safe import check_label, check_system_package, check_text
from ..containers.rendering.settings import ImageSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..backends.tables import Table

_MOST: Final = 100
_LONGEST_SHOWN: Final = 200
_DRIVER: Final = re.compile(r"[1-9][0-9]{2}\.[0-9]{1,3}(\.[0-9]{1,3})?")
_FURTHEST: Final = 100  # branches beyond the newest known one: what is further off is a slip of the keys
_LEVELS: Final = ((11, 0), (21, 0))
_HIGHEST_MINOR: Final = 9
# Labels that say what an image holds: stackproof writes them itself.
_OWN_LABELS: Final = re.compile(
    r"stackproof(\..*)?|org\.opencontainers\.image\.(title|version|created|description|base\.name|base\.digest)"
)


def read_image(top: Table) -> ImageSettings:
    """Read the table `image`."""
    table, defaults = top.table("image"), ImageSettings()
    settings = ImageSettings(
        cuda="base" if table.one("cuda", str(defaults.cuda), choice("wheels", "base")) == "base" else "wheels",
        forward_compat=table.one("forward_compat", defaults.forward_compat, flag),
        packages=table.many("packages", (), distinct(_checked(check_system_package), str), (0, _MOST)),
        labels=_read_labels(table),
        drivers=table.many("drivers", (), distinct(_driver, str), (0, _MOST)),
        gpu=table.one("gpu", defaults.gpu, _gpu),
    )
    table.finish()
    return settings


def _read_labels(table: Table) -> dict[str, str]:
    labels = table.table("labels")
    if len(labels.content) > _MOST:
        labels.refuse(f"must have at most {_MOST} labels, not {len(labels.content)}")
        return {}
    for key in labels.content:
        if fault := _label_fault(key):
            labels.fault(key, fault)
    return {key: labels.one(key, "", _checked(check_text)) for key in labels.content}


def _label_fault(key: str) -> str:
    if _OWN_LABELS.fullmatch(key):
        return "is a label that stackproof writes itself: choose another name, such as org.example.team"
    try:
        check_label(key, key)
    except InputError as error:
        return error.faults[0].what
    return ""


def _checked(check: Callable[[str, str], str]) -> Callable[[object], str]:
    """Return a reader of text that must pass a check of what may stand in a Dockerfile."""

    def read(value: object) -> str:
        given = text(value)
        try:
            return check(given, "")
        except InputError as error:
            raise Refusal(error.faults[0].what) from None

    return read


def _driver(value: object) -> str:
    """Read a driver: its own version, or the CUDA level that it reports."""
    given = text(value)
    if _DRIVER.fullmatch(given):
        branch = int(given.partition(".")[0])
        if (row := branch_row(branch)) is None:
            raise Refusal(f"the driver {show(given)} is older than those that are known: name its CUDA level")
        if branch > row["branch"] + _FURTHEST:
            newest = f"is far newer than the newest that is known, of branch {row['branch']}"
            raise Refusal(f"the driver {show(given)} {newest}: check the number, or name its CUDA level")
        return given
    try:
        number = parse_level(given)
    except InputError:
        number = (0, 0)
    level = format_level(number) if number > (0, 0) else ""
    if not level or level != given:
        mend = f"write {show(level)}" if level else 'write its version, such as "550.54.15", or a CUDA level, as "12.4"'
        raise Refusal(f"{show(given)} is no driver: {mend}")
    if not (_LEVELS[0] <= number < _LEVELS[1] and number[1] <= _HIGHEST_MINOR):
        raise Refusal(f'{show(given)} is no CUDA level that there is: give one from 11.0 on, such as "12.4"')
    return given


def _gpu(value: object) -> str:
    given = text(value)
    if not given.isprintable() or capability_of(given) is None:
        raise Refusal(f"{show(given)} is no GPU that is known: {near_names(given[:_LONGEST_SHOWN])}")
    return given
