"""A path without what a compiler misreads stands for every folder, for as long as it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stackproof.matrix.plain_path import plain_path

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["a b", "a\tb", "o'clock", 'the "best"', "back\\slash"])
def test_a_link_stands_for_a_path_that_would_be_misread(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "file").write_text("mine")
    with plain_path(folder) as plain:
        assert not set(str(plain)) & set(" \t'\"\\")
        assert (plain / "file").read_text() == "mine"
        (plain / "new").write_text("too")
    assert (folder / "new").read_text() == "too", "the link is removed, and what it led to is not"
    assert not plain.parent.exists()


def test_a_plain_path_is_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "plain#%+ü,=@~"
    folder.mkdir()
    with plain_path(folder) as plain:
        assert plain == folder
    assert folder.exists()
