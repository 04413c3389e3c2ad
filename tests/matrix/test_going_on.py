"""Checkpoints of `train`: what is refused before anything runs, and what the worker is asked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pytest

from stackproof.compat.errors import InputError
from stackproof.matrix.going_on import Checkpoints

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Asked:
    """As much of a request as is needed."""

    folder: Path
    job: Path


@pytest.mark.parametrize(
    ("given", "where", "what"),
    [
        ({"every": 5}, {}, "--every: needs --checkpoint DIR"),
        ({"resume": True}, {}, "--resume: needs --checkpoint DIR"),
        (
            {"folder": "kept"},
            {"engine": "podman"},
            "--checkpoint: runs in a venv keep them, those in an image of podman",
        ),
        ({"folder": "kept"}, {"has_command": True}, r"--checkpoint: a spec with \[workload\] keeps its own"),
    ],
)
def test_what_does_not_go_together_is_refused(
    tmp_path: Path, given: dict[str, Any], where: dict[str, Any], what: str
) -> None:
    folder = tmp_path / given["folder"] if "folder" in given else None
    with pytest.raises(InputError, match=what):
        Checkpoints(**{**given, "folder": folder}).check(**{"engine": "venv", "has_command": False, **where})


def test_what_goes_together_is_let_pass(tmp_path: Path) -> None:
    Checkpoints().check(engine="podman", has_command=True)
    Checkpoints(tmp_path, 3, resume=True).check(engine="venv", has_command=False)


def test_the_worker_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    request: Any = Asked(tmp_path, tmp_path / "job.json")
    for asked, wanted in (
        (Checkpoints(), {}),
        (Checkpoints(tmp_path / "kept"), {"checkpoint": {"folder": str(tmp_path / "kept"), "every": 100}}),
        (
            Checkpoints(tmp_path / "kept", 3, resume=True),
            {"checkpoint": {"folder": str(tmp_path / "kept"), "every": 3}, "resume": True},
        ),
    ):
        request.job.write_text('{"serve": false}')
        asked.ask(request)
        job = cast("dict[str, Any]", json.loads(request.job.read_text()))
        assert job == {"serve": False, **({"resume": False} if wanted else {}), **wanted}
