"""What a worker leaves is read for its form first: an image may run anything in its place."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stackproof.matrix.evidence_form import EvidenceError, read_evidence

if TYPE_CHECKING:
    from pathlib import Path

RUN = {
    "name": "measured",
    "parameters_file": "measured.npz",
    "parameters_digest": "0",
    "mode": "eager",
    "why": "",
    "seconds": {"first_step": 1.0, "rest": 1.0},
    "losses": [1.0, None],
    "grad_norms": [1.0, 2],
}
SOUND: dict[str, Any] = {
    "target": "jax",
    "program_digest": "1",
    "data_digest": "2",
    "versions": {"jax": "0.10.2"},
    "platform": {"device": "cpu", "deterministic": True, "deterministic_why": "", "modules": {}},
    "seconds": {"import": 1.0},
    "peak_memory_bytes": 1,
    "runs": [RUN],
}


def write(folder: Path, document: object, content: bytes | None = None) -> Path:
    (folder / "run").mkdir()
    made = io.BytesIO()
    np.savez(made, weight=np.ones(3))
    (folder / "run" / "measured.npz").write_bytes(made.getvalue() if content is None else content)
    path = folder / "run.json"
    path.write_text(json.dumps(document) if not isinstance(document, str) else document)
    return path


def test_sound_evidence_is_read_with_the_content_of_its_files(tmp_path: Path) -> None:
    path = write(tmp_path, SOUND)
    found = read_evidence(path, ["measured"])
    assert found.document == SOUND
    assert found.parameters == ((tmp_path / "run" / "measured.npz").read_bytes(),)


@pytest.mark.parametrize(
    "place",
    ["/etc/hostname", "../secret.npz", "..", ".", "", "run/measured.npz", "gone.npz", "link.npz", 5, None, ["a"]],
)
def test_only_a_file_of_its_own_is_taken(place: object, tmp_path: Path) -> None:
    path = write(tmp_path, {**SOUND, "runs": [{**RUN, "parameters_file": place}]})
    (tmp_path / "secret.npz").write_bytes((tmp_path / "run" / "measured.npz").read_bytes())
    (tmp_path / "run" / "link.npz").symlink_to(tmp_path / "secret.npz")
    with pytest.raises(EvidenceError, match="parameters_file"):
        read_evidence(path, ["measured"])


@pytest.mark.parametrize(
    "document",
    [
        "{",
        "[]",
        "5",
        {**SOUND, "runs": 5},
        {**SOUND, "runs": [5]},
        {**SOUND, "runs": []},
        {**SOUND, "runs": [RUN, RUN]},
        {**SOUND, "runs": [{**RUN, "name": "other"}]},
        {**SOUND, "peak_memory_bytes": "x"},
        {**SOUND, "peak_memory_bytes": -1},
        {**SOUND, "platform": None},
        {**SOUND, "platform": {"device": "cpu"}},
        {**SOUND, "versions": []},
        {**SOUND, "target": None},
        *({**SOUND, "runs": [{**RUN, key: value}]} for key, value in (
            ("losses", "x"), ("losses", ["x"]), ("losses", [True]), ("grad_norms", None), ("mode", 1), ("seconds", []),
            ("parameters_digest", None),
        )),
    ],
)  # fmt: skip
def test_evidence_of_another_form_is_refused_in_words(document: object, tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="evidence that cannot be read"):
        read_evidence(write(tmp_path, document), ["measured"])


def pickled() -> bytes:
    made = io.BytesIO()
    np.savez(made, weight=np.array([{"a": 1}], dtype=object))
    return made.getvalue()


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04", pickled()], ids=["empty", "text", "cut", "pickled"])
def test_what_holds_no_arrays_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match=r"measured\.npz holds no arrays"):
        read_evidence(write(tmp_path, SOUND, content), ["measured"])
