"""Exporting needs packages that stackproof does not bring: their absence is said with the way to get them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from stackproof.backends.errors import UnsupportedError
from stackproof.matrix.bringing.from_jax import export_jax
from stackproof.matrix.bringing.from_tensorflow import export_keras
from stackproof.matrix.bringing.from_torch import export_torch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CASES = [
    (lambda path: export_torch(object(), (), path), "onnxscript", "pip install torch onnxscript"),
    (lambda path: export_jax(lambda p: p, {}, [], path), "jax", "pip install jax jax2onnx"),
    (lambda path: export_keras(object(), [], path), "tensorflow", "pip install tensorflow keras tf2onnx"),
]


@pytest.mark.parametrize(("export", "package", "command"), CASES)
def test_a_missing_package_is_named(
    export: Callable[[Path], object], package: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UnsupportedError, match=f"not installed.*{package}.*{command}"):
        export(tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []
