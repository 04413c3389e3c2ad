"""Certificates: per cell, one statement that binds lock, hardware, evidence and verdict. Not signed, and said so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from .report.model import finite
from .store import outside, replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from .records import CellRecord
    from .site import Site

SCHEMA_VERSION: Final = 1
_STATED: Final = (
    *("verdict", "level", "reasons", "findings", "checks", "throughput", "stack", "build", "build_source", "packages"),
    *("mode", "mode_why", "made", "device", "device_name", "image_digest", "image", "evidence"),
)


def write_certificates(site: Site, report: Mapping[str, Any]) -> None:
    """Write `certificates/<cell>.json` for every cell of a report.

    Raises:
        OutsideError: The folder cannot be written.
    """
    specs = {spec["name"]: spec for spec in report["specs"]}
    for cell in report["cells"]:
        tables = finite(make_certificate(site, report, cell, specs[cell["spec"]]))
        text = json.dumps(tables, indent=2, allow_nan=False)
        with outside(site.folder):
            replace_file(site.folder / "certificates" / f"{cell['id']}.json", f"{text}\n".encode())


def make_certificate(
    site: Site, report: Mapping[str, Any], cell: Mapping[str, Any], spec: Mapping[str, Any]
) -> dict[str, Any]:
    """Return one cell's certificate.

    It says exactly what was shown: the level reached, on which hardware, by which evidence, and no more.
    """
    program = site.programs[cell["spec"]]
    return {
        "schema_version": SCHEMA_VERSION,
        "signature": None,
        "cell": cell["id"],
        "issued": report["created"],
        "stackproof": report["stackproof"],
        "worker_digest": site.worker_digest,
        "lock_digest": cell["lock_digest"],
        "spec": {"name": spec["name"], "digest": spec["digest"], "reference": spec["reference"]},
        "program_digest": program.digest,
        "data_digest": program.data_digest,
        "hardware": report["machine"],
        **{name: cell[name] for name in _STATED},
    }


def write_locks(folder: Path, records: Sequence[CellRecord]) -> None:
    """Write `locks/<cell>.txt`, a requirements file with hashes, and `locks/<cell>.json` for every resolved cell.

    Raises:
        OutsideError: The folder cannot be written.
    """
    for record in records:
        lock = record.lock.value
        if lock is None:
            continue
        with outside(folder):
            replace_file(folder / "locks" / f"{record.cell.id}.txt", lock.to_requirements().encode())
            tables = json.dumps({"digest": lock.digest, **lock.to_dict()}, indent=1)
            replace_file(folder / "locks" / f"{record.cell.id}.json", f"{tables}\n".encode())
