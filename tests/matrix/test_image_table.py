"""The table `image` of a matrix: what is taken, and what each fault says."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from stackproof.compat.errors import InputError
from stackproof.containers.rendering.settings import ImageSettings
from stackproof.matrix.config import read_matrix

if TYPE_CHECKING:
    from pathlib import Path

BASE = 'specs = ["a.toml"]\n[axes]\ntorch = ["2.13.0"]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.toml").write_text('[model]\nkind = "mlp"\n', encoding="utf-8")
    return tmp_path


def image(folder: Path, text: str) -> ImageSettings:
    return read_matrix(tomllib.loads(BASE + text), folder / "fleet.toml").image


def test_what_is_left_out_has_its_default(folder: Path) -> None:
    assert image(folder, "") == image(folder, "[image]\n") == ImageSettings()


def test_every_key_arrives(folder: Path) -> None:
    assert image(
        folder,
        '[image]\ncuda = "base"\nforward_compat = true\npackages = ["libgomp1", "g++"]\n'
        'drivers = ["535.183.01", "580.65", "12.4"]\ngpu = "NVIDIA H100 80GB HBM3"\n'
        '[image.labels]\n"org.example.team" = "vision \\"quoted\\" $(x) \\\\ ü"\n',
    ) == ImageSettings(
        "base",
        forward_compat=True,
        packages=("libgomp1", "g++"),
        labels={"org.example.team": 'vision "quoted" $(x) \\ ü'},
        drivers=("535.183.01", "580.65", "12.4"),
        gpu="NVIDIA H100 80GB HBM3",
    )


@pytest.mark.parametrize(
    ("text", "where", "fragment"),
    [
        ('cuda = "toolkit"', "image.cuda", '"wheels" or "base"'),
        ('forward_compat = "yes"', "image.forward_compat", "must be true or false"),
        ('user = "root"', "image.user", "unknown key"),
        ('driver = ["550.54.15"]', "image.driver", "did you mean 'drivers'?"),
        ('packages = "libgomp1"', "image.packages", 'put it in brackets, ["libgomp1"]'),
        ('packages = ["git", "git"]', "image.packages[1]", "is in the list already"),
        *[
            (f'packages = ["{name}"]', "image.packages[0]", "is no name of a Debian package")
            for name in ("", "git=1.0", "-y", "git curl", "git\\n", "$(id)", "../x", "a;b", "Git", "x" * 300)
        ],
        ('drivers = "550.54.15"', "image.drivers", 'put it in brackets, ["550.54.15"]'),
        ("drivers = [550.54]", "image.drivers[0]", "must be text"),
        ('drivers = ["12.4", "12.4"]', "image.drivers[1]", "is in the list already"),
        ('drivers = ["CUDA 12.4"]', "image.drivers[0]", 'write "12.4"'),
        ('drivers = ["12040"]', "image.drivers[0]", 'write "12.4"'),
        ('drivers = ["999.1"]', "image.drivers[0]", "far newer than the newest that is known"),
        ('drivers = ["12.10"]', "image.drivers[0]", "no CUDA level that there is"),
        ('drivers = ["10.2"]', "image.drivers[0]", "no CUDA level that there is"),
        ('drivers = ["21.0"]', "image.drivers[0]", "no CUDA level that there is"),
        ('drivers = ["123.4.5"]', "image.drivers[0]", "is older than those that are known"),
        *[
            (f'drivers = ["{name}"]', "image.drivers[0]", 'write its version, such as "550.54.15", or a CUDA level')
            for name in ("", "550", ">=550.54", "550.54.15\\n", "latest", "550.*", "9" * 5000)
        ],
        ('gpu = "H1000"', "image.gpu", "is no GPU that is known: did you mean"),
        ('gpu = ""', "image.gpu", "is no GPU that is known"),
        ('gpu = ["H100"]', "image.gpu", "must be text"),
        ('labels = "x"', "image.labels", "must be a table"),
        ("[image.labels]\nteam = 1", "image.labels.team", "must be text"),
        ('[image.labels]\nteam = "a\\nb"', "image.labels.team", "one printable line"),
        ('[image.labels]\nteam = "\\u001b[31m"', "image.labels.team", "one printable line"),
        ('[image.labels]\n"a b" = "x"', 'image.labels."a b"', "is no key of a label"),
        ('[image.labels]\n"a\\nUSER root" = "x"', 'image.labels."a\\nUSER root"', "is no key of a label"),
        ('[image.labels]\n"stackproof.key" = "x"', 'image.labels."stackproof.key"', "stackproof writes itself"),
        (
            '[image.labels]\n"org.opencontainers.image.base.digest" = "x"',
            'image.labels."org.opencontainers.image.base.digest"',
            "stackproof writes itself",
        ),
        ("[image.labels]\n" + "\n".join(f'l{n} = "x"' for n in range(101)), "image.labels", "at most 100 labels"),
    ],
)
def test_a_fault_is_named_with_its_place_and_mend(folder: Path, text: str, where: str, fragment: str) -> None:
    with pytest.raises(InputError) as caught:
        image(folder, f"[image]\n{text}\n")
    assert [fault.where for fault in caught.value.faults] == [where]
    assert fragment in caught.value.faults[0].what
