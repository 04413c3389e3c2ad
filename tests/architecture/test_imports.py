"""Importing a package loads no framework, and the command line nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

FRAMEWORKS = {"torch", "tensorflow", "jax", "jaxlib", "keras"}
ENGINE = {"docker", "requests", "urllib3", "pip"}
HEAVY = {"rich", "jinja2", "onnx", "uv", "platformdirs", *ENGINE}


def loaded_by(statement: str) -> set[str]:
    code = f"import sys\nbefore = set(sys.modules)\n{statement}\nprint(*(set(sys.modules) - before))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in ran.stdout.split()}


@pytest.mark.parametrize(
    ("module", "without"),
    [
        ("stackproof", FRAMEWORKS | HEAVY | {"numpy"}),
        ("stackproof.backends", FRAMEWORKS | HEAVY | {"numpy"}),
        ("stackproof.backends.worker", FRAMEWORKS | HEAVY),
        ("stackproof.compat", FRAMEWORKS | HEAVY | {"numpy"}),
        ("stackproof.compat.pins", FRAMEWORKS | HEAVY | {"numpy"}),
        ("stackproof.containers.venv", FRAMEWORKS | HEAVY | {"numpy"}),
        ("stackproof.matrix.cli", FRAMEWORKS | HEAVY | {"numpy", "packaging"}),
        ("stackproof.containers.engine.connect", FRAMEWORKS | HEAVY | {"numpy"}),
        ("stackproof.containers.engine.container", FRAMEWORKS | HEAVY | {"numpy"}),
        ("stackproof.containers.image", FRAMEWORKS | HEAVY | {"numpy"}),
        ("stackproof.containers.inspecting.inspect", FRAMEWORKS | HEAVY | {"numpy"}),
        ("stackproof.matrix.imaging", FRAMEWORKS | {"rich", *ENGINE}),
        ("stackproof.matrix.cli.certify", FRAMEWORKS | {"rich", *ENGINE}),
        ("stackproof.matrix.cli.build", FRAMEWORKS | {"rich", *ENGINE}),
        ("stackproof.matrix.cli.images", FRAMEWORKS | {"rich", *ENGINE}),
        ("stackproof.matrix.cli.check", FRAMEWORKS | HEAVY | {"numpy"}),
        ("stackproof.matrix.cli.doctor", FRAMEWORKS | HEAVY | {"numpy"}),
        ("stackproof.matrix.cli.explain", FRAMEWORKS | HEAVY | {"numpy"}),
        ("stackproof.matrix.cli.facts", FRAMEWORKS | HEAVY | {"numpy"}),
    ],
)
def test_importing_leaves_out_what_is_not_needed(module: str, without: set[str]) -> None:
    loaded = loaded_by(f"import {module}")
    assert "stackproof" in loaded
    assert not loaded & without
