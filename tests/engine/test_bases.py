"""Bases made with the real mmdebstrap, in a real engine and a real registry; and layers on top of them."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from image_parts import lock, package
from real_engines import missing_docker, missing_program, private_registry
from required import need

from stackproof.compat.errors import OutsideError
from stackproof.containers.bases.debian import archive_of
from stackproof.containers.bases.pins import Pin, load_pins
from stackproof.containers.bases.provide import provide_base
from stackproof.containers.bases.renew import look_again
from stackproof.containers.engine.build import BuildRequest, build_image
from stackproof.containers.engine.connect import Engine, connect
from stackproof.containers.engine.container import ContainerRequest, run_container
from stackproof.containers.engine.images import (
    find_image,
    push_image,
    remove_image,
    tag_image,
    walk_layers,
)
from stackproof.containers.rendering.dockerfile import image_tag, render_image, render_layer, render_whole
from stackproof.containers.rendering.finish import EPOCH
from stackproof.containers.rendering.layers import context_files, plan_layers
from stackproof.containers.rendering.settings import PYTHON, ImageSettings
from stackproof.containers.uv import find_uv
from stackproof.containers.venv import cache_folder
from stackproof.matrix import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackproof.compat.lock import Lock
    from stackproof.containers.bases.base import Base

TRIXIE = load_pins()["debian:trixie"]
OTHER = f"sha256:{'0' * 64}"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    need("engine", missing_docker())
    found = connect("docker")
    yield found
    found.client.close()


@pytest.fixture(scope="module")
def base(engine: Engine) -> Base:
    need("mmdebstrap", missing_program("mmdebstrap", "mmdebstrap"))
    return provide_base(engine, TRIXIE, cache_folder())


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    need("registry", missing_program("docker-registry", "docker-registry"))
    with private_registry(tmp_path_factory.mktemp("registry")) as host:
        yield host


@pytest.fixture
def archive(base: Base) -> Iterator[tarfile.TarFile]:
    assert base.name == TRIXIE.name
    with tarfile.open(archive_of(TRIXIE, cache_folder() / "bases")) as tar:
        yield tar


def test_a_base_says_itself_what_it_is(base: Base) -> None:
    assert re.fullmatch(r"3\.13\.\d+", base.python)
    assert base.glibc == "2.41"
    assert base.machine == os.uname().machine
    assert base.digest.startswith("sha256:")


def test_the_engine_has_exactly_what_was_made(engine: Engine, base: Base) -> None:
    image = find_image(engine, base.reference)
    assert image is not None
    assert image.layers == (base.digest,)


def test_a_base_that_is_there_is_found_without_a_word(engine: Engine, base: Base) -> None:
    said: list[str] = []
    assert provide_base(engine, TRIXIE, cache_folder(), said.append) == base
    assert said == []


def test_a_pinned_base_needs_no_record_where_the_engine_has_it(engine: Engine, base: Base, tmp_path: Path) -> None:
    pinned = replace(TRIXIE, digest=base.digest)
    assert provide_base(engine, pinned, tmp_path).reference == base.reference
    assert not list(tmp_path.rglob("*.tar"))


def test_nothing_of_this_machine_is_in_a_base(archive: tarfile.TarFile) -> None:
    for name in ("hostname", "resolv.conf", "machine-id"):
        assert archive.getmember(f"./etc/{name}").size == 0
    files = [entry for entry in archive if entry.isfile()]
    for folder in ("var/log", "var/cache", "var/lib/apt/lists", "root", "tmp"):
        assert [entry.name for entry in files if entry.name.startswith(f"./{folder}/")] == []
    assert max(entry.mtime for entry in archive) <= EPOCH


def test_no_program_of_a_base_takes_rights(archive: tarfile.TarFile) -> None:
    assert [entry.name for entry in archive if entry.isfile() and entry.mode & 0o6000] == []


def test_a_base_made_again_is_the_same(base: Base) -> None:
    found = look_again(lambda: pytest.fail("no engine is needed"), replace(TRIXIE, digest=base.digest), cache_folder())
    assert not found.moved


def test_a_base_that_moved_is_told_with_both_digests(engine: Engine, base: Base) -> None:
    with pytest.raises(OutsideError) as caught:
        provide_base(engine, replace(TRIXIE, digest=OTHER), cache_folder())
    assert OTHER in str(caught.value)
    assert base.digest in str(caught.value)
    assert "stackproof images update debian:trixie" in str(caught.value)


def test_a_release_that_does_not_exist_is_told_in_its_own_words(engine: Engine, tmp_path: Path) -> None:
    need("mmdebstrap", missing_program("mmdebstrap", "mmdebstrap"))
    with pytest.raises(OutsideError, match="making the base x: mmdebstrap failed"):
        provide_base(engine, replace(TRIXIE, name="x", suite="no-such-release"), tmp_path)


def wheel(folder: Path, name: str) -> Path:
    """Write a wheel with a module, a command, and a file that anybody may write."""
    files = {
        f"{name}/__init__.py": b"ANSWER = 42\nSET = {'a', 'b', 'c'}\ndef main(): print(ANSWER)\n",
        f"{name}/open.txt": b"x",
        f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{name}-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{name}-1.0.dist-info/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n".encode(),
    }
    lines = [f"{path},sha256={_hash(content)},{len(content)}\n" for path, content in files.items()]
    files[f"{name}-1.0.dist-info/RECORD"] = "".join([*lines, f"{name}-1.0.dist-info/RECORD,,\n"]).encode()
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inner, content in files.items():
            info = zipfile.ZipInfo(inner)
            info.external_attr = (0o100777 if inner.endswith("open.txt") else 0o100644) << 16
            archive.writestr(info, content)
    return path


def _hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("wheels")
    return {name: wheel(folder, name) for name in ("triton", "numpy")}


@pytest.fixture(scope="module")
def held(wheels: dict[str, Path]) -> Lock:
    hashes = {name: f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}" for name, path in wheels.items()}
    return lock(*(package(name, "1.0", value) for name, value in hashes.items()), stack="tiny-py313")


SETTINGS = ImageSettings(labels={"org.example.evil": "$(id) ${HOME} \"q\" 'x' \\ # end\\"})


def build(engine: Engine, held: Lock, base: Base, wheels: dict[str, Path]) -> str:
    """Build all layers without a cache, and the image, and return its name."""
    uv = Path(find_uv())
    for layer in plan_layers(held, base, SETTINGS):
        files = context_files([layer], uv, wheels)
        build_image(engine, BuildRequest(render_layer(layer), files, layer.tag, cached=False))
    text = render_image(held, base, SETTINGS)
    build_image(engine, BuildRequest(text, {}, image_tag(held, text)))
    return image_tag(held, text)


@pytest.fixture(scope="module")
def image(engine: Engine, base: Base, held: Lock, wheels: dict[str, Path]) -> Iterator[str]:
    name = build(engine, held, base, wheels)
    yield name
    for made in (name, *(layer.tag for layer in reversed(plan_layers(held, base, SETTINGS)))):
        remove_image(engine, made)


def test_layers_built_twice_have_the_same_bytes(
    engine: Engine, base: Base, held: Lock, wheels: dict[str, Path], image: str
) -> None:
    before = find_image(engine, image)
    for path in wheels.values():
        os.utime(path)
    assert build(engine, held, base, wheels) == image
    after = find_image(engine, image)
    assert before is not None
    assert after is not None
    assert before.layers == after.layers


def test_one_dockerfile_for_all_makes_the_same_layers(
    engine: Engine, base: Base, held: Lock, wheels: dict[str, Path], image: str
) -> None:
    files = context_files(plan_layers(held, base, SETTINGS), Path(find_uv()), wheels)
    build_image(engine, BuildRequest(render_whole(held, base, SETTINGS), files, f"{image}-whole", cached=False))
    try:
        whole, parts = find_image(engine, f"{image}-whole"), find_image(engine, image)
        assert whole is not None
        assert parts is not None
        assert (whole.layers, whole.labels) == (parts.layers, parts.labels)
    finally:
        remove_image(engine, f"{image}-whole")


def test_layers_hold_only_what_was_installed(engine: Engine, image: str) -> None:
    entries = [entry for layer, entry, _ in walk_layers(engine, image) if layer > 0]
    names = {entry.name.removeprefix("./").rstrip("/") for entry in entries}
    assert any(name.endswith("numpy/__init__.py") for name in names)
    assert any(name.endswith("numpy/__pycache__/__init__.cpython-313.pyc") for name in names)
    outside = {name for name in names if not name.startswith("opt/stack")}
    assert outside <= {"opt", "etc", "etc/passwd", "etc/group", "home", "home/stack"}
    left = {".lock", ".gitignore", "CACHEDIR.TAG", "uv_cache.json", ".make"}
    assert not {name.rpartition("/")[2] for name in names} & left
    assert [entry.name for entry in entries if entry.mtime != EPOCH] == []
    assert [entry.name for entry in entries if not entry.issym() and entry.mode & 0o6022] == []


def test_labels_come_back_as_they_were_given(engine: Engine, image: str) -> None:
    found = find_image(engine, image)
    assert found is not None
    assert SETTINGS.labels.items() <= found.labels.items()


def test_what_was_installed_runs_as_nobody_in_particular(engine: Engine, image: str) -> None:
    code = "import json, numpy, os; print(json.dumps([numpy.ANSWER, numpy.__spec__.cached, os.getuid()]))"
    ran = run_container(engine, ContainerRequest(image, (PYTHON, "-c", code)), 60.0)
    answer: list[Any] = json.loads(ran.stdout)
    assert answer == [42, "/opt/stack/lib/python3.13/site-packages/numpy/__pycache__/__init__.cpython-313.pyc", 10001]
    assert run_container(engine, ContainerRequest(image, ("triton",)), 60.0).stdout == b"42\n"


def test_a_wheel_that_is_not_the_locked_one_stops_the_build(
    engine: Engine, base: Base, held: Lock, tmp_path: Path, image: str
) -> None:
    assert image
    other = {name: wheel(tmp_path, name) for name in ("numpy", "triton")}
    with zipfile.ZipFile(other["numpy"], "a") as archive:
        archive.writestr("numpy/more.py", "")
    layer = plan_layers(held, base, SETTINGS)[-1]
    files = context_files([layer], Path(find_uv()), other)
    with pytest.raises(OutsideError, match=r"[Hh]ash"):
        build_image(engine, BuildRequest(render_layer(layer), files, "stackproof/test:mismatch", cached=False))


def test_a_base_with_the_user_already_is_told(engine: Engine, base: Base, image: str) -> None:
    taken = replace(base, reference=image)
    layer = plan_layers(lock(stack="x"), taken, ImageSettings())[0]
    # The image's own user may not write there: the step is given back the rights that a base's has.
    text = render_layer(layer).replace("\nRUN ", "\nUSER 0:0\nRUN ", 1)
    with pytest.raises(OutsideError, match="has a user or group stack"):
        build_image(engine, BuildRequest(text, context_files([layer], Path(find_uv()), {}), "stackproof/test:taken"))


@pytest.fixture
def pushed(engine: Engine, base: Base, registry: str) -> Pin:
    """A pin of the base as the registry has it."""
    repository = f"{registry}/team/base"
    digest = push_image(engine, base.reference, repository, "1", lambda _: None)
    return Pin("team:base", "registry", python="3.13", repository=repository, tag="1", digest=digest, date="2026-11-30")


def move(engine: Engine, base: Base, pin: Pin) -> str:
    """Push another image under the pin's tag, and return its digest."""
    text = f"FROM {base.reference}\nLABEL moved=yes\n"
    build_image(engine, BuildRequest(text, {}, "stackproof/test:moved"))
    try:
        return push_image(engine, "stackproof/test:moved", pin.repository, pin.tag, lambda _: None)
    finally:
        remove_image(engine, "stackproof/test:moved")


def test_a_base_of_a_registry_is_its_digest(engine: Engine, base: Base, pushed: Pin, tmp_path: Path) -> None:
    found = provide_base(engine, pushed, tmp_path)
    assert found.reference == f"{pushed.repository}@{pushed.digest}"
    assert (found.python, found.glibc, found.digest) == (base.python, base.glibc, pushed.digest)


def test_a_python_that_is_not_there_or_another_one_is_told(engine: Engine, pushed: Pin, tmp_path: Path) -> None:
    with pytest.raises(OutsideError, match="has no Python that runs at /opt/none/python3"):
        provide_base(engine, replace(pushed, interpreter="/opt/none/python3"), tmp_path)
    with pytest.raises(OutsideError, match=r"has Python 3\.13\.\d+, and its pin says 3\.11"):
        provide_base(engine, replace(pushed, python="3.11"), tmp_path)


def test_a_tag_that_moved_is_found_checked_and_renewed(
    engine: Engine,
    base: Base,
    pushed: Pin,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "bases.toml"
    keys = ("name", "kind", "python", "repository", "tag", "digest", "date")
    file.write_text("# Ours.\n[[base]]\n" + "".join(f"{key} = {json.dumps(getattr(pushed, key))}\n" for key in keys))
    update = ["images", "update", "--pins", str(file), "--quiet"]
    assert cli.main([*update, "--check"]) == 0
    new = move(engine, base, pushed)
    before = file.read_text()
    capsys.readouterr()
    assert cli.main([*update, "--check"]) == 1
    said = capsys.readouterr().out
    assert pushed.digest in said
    assert new in said
    assert file.read_text() == before
    assert cli.main(update) == 0
    assert file.read_text().startswith("# Ours.\n")
    assert load_pins(file)["team:base"].digest == new
    assert cli.main([*update, "--check"]) == 0


def test_an_image_goes_to_a_registry_and_comes_back_by_its_digest(
    engine: Engine, base: Base, registry: str, capsys: pytest.CaptureFixture[str]
) -> None:
    repository = f"{registry}/team/moved"
    tag_image(engine, base.reference, "stackproof/test:push")
    try:
        assert cli.main(["images", "push", "stackproof/test:push", f"{repository}:a", "--quiet"]) == 0
        reference = capsys.readouterr().out.strip()
        assert re.fullmatch(rf"{re.escape(repository)}@sha256:[0-9a-f]{{64}}", reference)
        assert cli.main(["images", "pull", reference, "--json", "--quiet"]) == 0
        assert json.loads(capsys.readouterr().out)["reference"] == reference
        assert cli.main(["images", "pull", f"{repository}@{OTHER}", "--quiet"]) == 3
    finally:
        remove_image(engine, "stackproof/test:push")


def test_the_command_provides_bases_and_says_what_they_are(base: Base, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["images", "base", "debian:trixie", "--json", "--quiet"]) == 0
    (said,) = json.loads(capsys.readouterr().out)["bases"]
    assert (said["reference"], said["digest"], said["python"]) == (base.reference, base.digest, base.python)
