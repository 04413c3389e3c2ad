"""Saved images: Docker's own form and an OCI layout hold the same layers."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_engine import answers, connected, serving

from stackproof.compat.errors import OutsideError
from stackproof.containers.engine.images import walk_layers


def tar(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


LAYERS = [tar({"etc/base": b"base"}), tar({"opt/a": b"a" * 3000, "opt/b": b""})]


def legacy() -> bytes:
    manifest = [{"Config": "c.json", "RepoTags": ["x:1"], "Layers": ["1/layer.tar", "2/layer.tar"]}]
    return tar({"2/layer.tar": LAYERS[1], "1/layer.tar": LAYERS[0], "manifest.json": json.dumps(manifest).encode()})


def oci() -> bytes:
    blobs: dict[str, bytes] = {}

    def blob(content: bytes) -> dict[str, str]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"digest": f"sha256:{digest}"}

    layers = [blob(gzip.compress(layer)) for layer in LAYERS]
    manifest = blob(json.dumps({"layers": layers}).encode())
    index = blob(json.dumps({"manifests": [manifest]}).encode())
    return tar({"index.json": json.dumps({"manifests": [index]}).encode(), **blobs})


@pytest.mark.parametrize("saved", [legacy, oci])
def test_every_file_of_every_layer_is_walked(
    saved: Callable[[], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {**answers(), ("GET", "/images/x:1/get"): lambda asked: asked.say_bytes(saved())}
    with serving(tmp_path / "s", given), connected(monkeypatch, tmp_path / "s") as engine:
        found = [
            (number, entry.name, reader.read() if reader else None)
            for number, entry, reader in walk_layers(engine, "x:1")
        ]
    assert found == [(0, "etc/base", b"base"), (1, "opt/a", b"a" * 3000), (1, "opt/b", b"")]


@pytest.mark.parametrize(
    "saved",
    [
        *(b"", b"no tar", tar({}), tar({"manifest.json": b"["}), tar({"manifest.json": b"[]"})),
        *(tar({"manifest.json": b'[{"Layers": ["x"]}]'}), tar({"index.json": b'{"manifests": 7}'}), legacy()[:2000]),
    ],
)
def test_what_is_no_image_is_told_so(saved: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {**answers(), ("GET", "/images/x:1/get"): lambda asked: asked.say_bytes(saved)}
    with (
        serving(tmp_path / "s", given),
        connected(monkeypatch, tmp_path / "s") as engine,
        pytest.raises(OutsideError, match="no image in a known form"),
    ):
        list(walk_layers(engine, "x:1"))
