"""What no image should carry is found, and what every image carries is not."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from required import need

from stackproof.containers.inside.hygiene import (
    find_capabilities,
    find_listening,
    find_privileged,
    find_world_writable,
)
from stackproof.containers.inside.leftovers import find_leftovers
from stackproof.containers.inside.walking import Entry, walk

KEY = "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def entries(root: Path) -> dict[str, Entry]:
    return {one.path: one for one in walk(str(root), frozenset(), [])}


def write(root: Path, name: str, content: str = "something") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def left(root: Path, variables: dict[str, str] | None = None, brought: tuple[str, ...] = ()) -> dict[str, str]:
    found = find_leftovers(
        entries(root), {f"{root}/{name}" for name in brought}.__contains__, variables or {}, str(root)
    )
    return {one.path.removeprefix(f"{root}/"): one.what for one in found}


def test_programs_that_run_as_another_user_are_found(tmp_path: Path) -> None:
    for name, mode in (("plain", 0o755), ("owner", 0o4755), ("group", 0o2755)):
        write(tmp_path, name).chmod(mode)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder").chmod(0o2775)
    assert sorted(find_privileged(entries(tmp_path).values())) == [f"{tmp_path}/group", f"{tmp_path}/owner"]


def test_what_anybody_may_write_is_found_but_the_usual_folders(tmp_path: Path) -> None:
    for name, mode in (("run", 0o755), ("run/lock", 0o1777), ("open", 0o777), ("mine", 0o1777)):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(mode)
    write(tmp_path, "file").chmod(0o666)
    (tmp_path / "link").symlink_to("file")
    found = find_world_writable(entries(tmp_path).values(), str(tmp_path))
    assert sorted(found) == [f"{tmp_path}/{name}" for name in ("file", "mine", "open")]


def test_a_usual_folder_in_which_all_may_remove_all_is_found(tmp_path: Path) -> None:
    (tmp_path / "run/lock").mkdir(parents=True)
    (tmp_path / "run/lock").chmod(0o777)
    assert find_world_writable(entries(tmp_path).values(), str(tmp_path)) == [f"{tmp_path}/run/lock"]


def test_programs_with_capabilities_are_found(tmp_path: Path) -> None:
    need("mounts", "" if os.geteuid() == 0 else "only root may give a program capabilities")
    write(tmp_path, "plain").chmod(0o755)
    path = write(tmp_path, "able")
    path.chmod(0o755)
    os.setxattr(path, "security.capability", bytes.fromhex("0100000200200000000000000000000000000000"))
    assert find_capabilities(entries(tmp_path).values()) == [str(path)]


def test_what_listens_and_sockets_in_the_tree_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    with socket.socket() as one, socket.socket(socket.AF_UNIX) as other, socket.socket() as quiet:
        one.bind(("127.0.0.1", 0))
        one.listen()
        quiet.bind(("127.0.0.1", 0))
        other.bind("socket")
        found = find_listening(entries(tmp_path).values())
        assert f"tcp port {one.getsockname()[1]}" in found
        assert f"tcp port {quiet.getsockname()[1]}" not in found
        assert f"{tmp_path}/socket" in found


@pytest.mark.parametrize(
    ("name", "reported", "what"),
    [
        ("root/.bash_history", "root/.bash_history", "history of commands"),
        ("home/stack/.python_history", "home/stack/.python_history", "history of commands"),
        ("root/.cache/pip/http/a", "root/.cache", "cache"),
        ("opt/stack/.cache/uv/a/b", "opt/stack/.cache", "cache"),
        ("var/lib/apt/lists/index_Packages.lz4", "var/lib/apt/lists/index_Packages.lz4", "package lists or cache"),
        ("var/cache/apt/pkgcache.bin", "var/cache/apt/pkgcache.bin", "package lists or cache"),
        ("var/log/dpkg.log", "var/log/dpkg.log", "log"),
        ("var/tmp/leftover", "var/tmp/leftover", "temporary file"),
        ("src/.git/config", "src/.git", "repository"),
        ("root/.ssh/known_hosts", "root/.ssh", "key or known hosts"),
        ("etc/ssh/ssh_host_ed25519_key", "etc/ssh/ssh_host_ed25519_key", "key or known hosts"),
        ("root/.netrc", "root/.netrc", "credentials"),
        ("root/.docker/config.json", "root/.docker/config.json", "credentials"),
        ("etc/machine-id", "etc/machine-id", "identity of a machine"),
    ],
)
def test_what_does_not_belong_is_told_by_its_place(tmp_path: Path, name: str, reported: str, what: str) -> None:
    write(tmp_path, name)
    assert left(tmp_path) == {reported: what}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("root/.bash_history", ""),
        ("var/log/dpkg.log", ""),
        ("etc/machine-id", "uninitialized\n"),
        ("root/.bashrc", "alias ls=ls"),
        ("etc/pip.conf", "[global]\nindex-url = https://index.example/simple\n"),
        ("opt/stack/notes.pem", "words"),
        ("usr/lib/python3/history.py", "words"),
    ],
)
def test_what_is_empty_or_usual_is_not_told(tmp_path: Path, name: str, content: str) -> None:
    write(tmp_path, name, content)
    assert left(tmp_path) == {}


def test_keys_and_certificates_are_told_by_what_they_hold(tmp_path: Path) -> None:
    write(tmp_path, "srv/server.key", "# a comment\n" + KEY)
    write(tmp_path, "srv/server.crt", CERTIFICATE)
    write(tmp_path, "opt/rsa.pem", KEY.replace("PRIVATE", "RSA PRIVATE"))
    assert left(tmp_path) == {
        "srv/server.key": "private key",
        "opt/rsa.pem": "private key",
        "srv/server.crt": "certificate that no package brought",
    }


def test_what_a_package_brought_belongs(tmp_path: Path) -> None:
    write(tmp_path, "opt/site/tornado/test/test.key", KEY)
    write(tmp_path, "usr/share/doc/example.pem", KEY)
    write(tmp_path, "usr/lib/ssl/private.key", KEY)
    write(tmp_path, "var/lib/dpkg/info/some:amd64.list", "/.\n/usr/share/doc/example.pem\n/lib/ssl/private.key\n")
    assert left(tmp_path, brought=("opt/site/tornado/test/test.key",)) == {}


def test_one_more_trusted_certificate_than_the_distribution_has_is_told(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path, f"usr/share/ca-certificates/mozilla/{name}.crt", CERTIFICATE)
    write(
        tmp_path,
        "var/lib/dpkg/info/ca-certificates.list",
        "\n".join(f"/usr/share/ca-certificates/mozilla/{n}.crt" for n in "ab"),
    )
    bundle = write(tmp_path, "etc/ssl/certs/ca-certificates.crt", CERTIFICATE * 2)
    assert left(tmp_path) == {}
    bundle.write_text(CERTIFICATE * 3)
    assert list(left(tmp_path)) == ["etc/ssl/certs/ca-certificates.crt"]


def test_credentials_in_settings_and_variables_are_told_without_their_value(tmp_path: Path) -> None:
    write(tmp_path, "etc/pip.conf", "[global]\nindex-url = https://me:hidden@index.example/simple\n")
    variables = {
        "HF_TOKEN": "hidden",
        "PIP_INDEX_URL": "https://me:hidden@index.example",
        "PATH": "/bin",
        "EMPTY_TOKEN": "",
    }
    found = left(tmp_path, variables)
    assert found == {"etc/pip.conf": "credentials", "$HF_TOKEN": "credentials", "$PIP_INDEX_URL": "credentials"}
    assert "hidden" not in str(found)


def test_a_file_that_cannot_be_read_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.key").symlink_to("gone")
    path = write(tmp_path, "b.key", KEY)
    listed = entries(tmp_path)
    path.unlink()
    assert find_leftovers(listed, set[str]().__contains__, {}, str(tmp_path)) == []


@pytest.mark.parametrize("name", ["\udcff.key", "läge.key", "new\nline.key"])
def test_odd_names_are_looked_at_like_others(tmp_path: Path, name: str) -> None:
    (Path(tmp_path) / name).write_text(KEY)
    assert left(tmp_path) == {name: "private key"}
