from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from shared_libraries import install

from stackproof.compat.doctor.installed import read_installed
from stackproof.compat.gather import Gathered

if TYPE_CHECKING:
    from pathlib import Path


def read(*sites: Path) -> Gathered:
    gathered = Gathered()
    read_installed(sites, gathered)
    return gathered


def say(gathered: Gathered) -> dict[str, list[str]]:
    return {name: [claim.text for claim in claims] for name, claims in gathered.claims.items()}


def test_packages_are_read_with_their_place_and_origin(tmp_path: Path) -> None:
    about = install(tmp_path, "Ml_Dtypes", "0.5.0", installer="uv")
    gathered = read(tmp_path)
    assert say(gathered) == {"ml-dtypes": ["0.5.0"]}
    assert gathered.claims["ml-dtypes"][0].where == str(about)
    assert gathered.origins == {"pip"}


def test_the_first_folder_that_has_a_package_decides(tmp_path: Path) -> None:
    install(tmp_path / "a", "numpy", "2.0.0")
    install(tmp_path / "b", "numpy", "1.26.0")
    install(tmp_path / "b", "scipy", "1.13.0")
    assert say(read(tmp_path / "a", tmp_path / "b")) == {"numpy": ["2.0.0"], "scipy": ["1.13.0"]}


def test_two_releases_in_one_folder_contradict_each_other(tmp_path: Path) -> None:
    install(tmp_path, "numpy", "2.0.0")
    install(tmp_path, "numpy", "1.26.0")
    assert len(read(tmp_path).describe().contradictions()["numpy"]) == 2


@pytest.mark.parametrize("url", [{"dir_info": {"editable": True}}, {"vcs_info": {"vcs": "git"}}])
def test_what_was_built_from_source_has_that_origin(tmp_path: Path, url: object) -> None:
    about = install(tmp_path, "torch", "2.4.0a0+git1234")
    (about / "direct_url.json").write_text(json.dumps({"url": "file:///x", **url}))  # type: ignore[dict-item] # tests
    assert read(tmp_path).origins == {"source"}


def test_old_kinds_of_metadata_are_read(tmp_path: Path) -> None:
    (tmp_path / "file.egg-info").write_text("Name: a\nVersion: 1.0\n")
    (tmp_path / "folder.egg-info").mkdir()
    (tmp_path / "folder.egg-info" / "PKG-INFO").write_text("Name: b\r\nVersion: 2.0\r\n\r\nVersion: 3.0\r\n")
    (tmp_path / "source" / "c.egg-info").mkdir(parents=True)
    (tmp_path / "source" / "c.egg-info" / "PKG-INFO").write_text("Name: c\nVersion: 3.0\n")
    (tmp_path / "c.egg-link").write_text(f"{tmp_path / 'source'}\n.")
    gathered = read(tmp_path)
    assert say(gathered) == {"a": ["1.0"], "b": ["2.0"], "c": ["3.0"]}
    assert gathered.origins == {"source"}


def test_what_cannot_be_read_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    install(tmp_path, "good", "1.0")
    for name in ("empty", "garbage", "nameless", "circle", "worded"):
        (tmp_path / f"{name}-1.dist-info").mkdir()
    (tmp_path / "garbage-1.dist-info" / "METADATA").write_bytes(bytes(range(256)) * 4000)
    (tmp_path / "nameless-1.dist-info" / "METADATA").write_text("Version: 1\n")
    (tmp_path / "circle-1.dist-info" / "METADATA").symlink_to("METADATA")
    (tmp_path / "worded-1.dist-info" / "METADATA").write_text("Name: worded\nVersion: not a version\n")
    (tmp_path / "gone-1.dist-info").symlink_to("/nowhere")
    (tmp_path / "~orch-2.0.dist-info").mkdir()
    (tmp_path / "broken.egg-link").write_text("\0")
    gathered = read(tmp_path, tmp_path / "no-folder")
    assert say(gathered) == {"good": ["1.0"]}
    told = "\n".join(gathered.not_understood)
    for word in ("empty", "garbage", "nameless", "circle", "worded", "gone", "~orch", "broken", "no-folder"):
        assert word in told
