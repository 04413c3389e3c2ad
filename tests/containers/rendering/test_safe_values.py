"""Values on their way into a Dockerfile: taken as they are, or refused by name."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable

import pytest
from dockerfiles import pairs
from hypothesis import given
from hypothesis import strategies as st

from stackproof.compat.errors import InputError
from stackproof.containers.rendering import safe

Check = Callable[[str, str], str]

SOUND: dict[Check, list[str]] = {
    safe.check_distribution: ["torch", "flash-attn", "nvidia-cublas-cu12", "a"],
    safe.check_version: ["2.13.0", "2.13.0+cu126", "1.0rc1", "2026.9.0", "1!2.0.post1.dev3"],
    safe.check_hash: [f"sha256:{'0a' * 32}"],
    safe.check_label: ["org.example.team", "a", "team/owner", "x-y_z"],
    safe.check_variable: ["PATH", "_x", "A1"],
    safe.check_path: ["/usr/bin/python3", "/opt/conda/bin/python3.11", "/a+b/c..d"],
    safe.check_system_package: ["libgomp1", "g++", "g++-12", "libstdc++6", "libglib2.0-0"],
    safe.check_repository: ["nvidia/cuda", "registry.example:5000/team/stack", "127.0.0.1:5000/a", "a__b/c-d.e"],
    safe.check_tag: ["12.8.1-runtime-ubuntu24.04", "_x", "A.b-c"],
    safe.check_suite: ["bookworm", "bookworm-backports"],
    safe.check_mirror: ["http://mirror.example/debian", "https://snapshot.example:8443/archive/20250520T000000Z/"],
    safe.check_reference: ["a/b:c", f"registry.example:5000/a@sha256:{'0' * 64}", "127.0.0.1:5000/a:t"],
}
POISON = [
    *("", " ", "\n", "a\nRUN touch x", "a\r\nb", "a\u2028b", "a\0b", "a\x1b[31m", "$(id)", "`id`", "${HOME}", "$HOME"),
    *('a"b', "a'b", "a\\", "a\\\nb", "a;id", "a&&id", "a|id", "a>b", "a#b", "<<EOF\nx\nEOF", "--option", "a b", "../x"),
    *("/../etc/passwd", "/a/../b", "/a/./b", "//", "/a/", "é", "\uff41", "a" * 5000, "@", "a@b", "a=b", "[a]", "{a}"),
]


@pytest.mark.parametrize(("check", "value"), [(check, value) for check, values in SOUND.items() for value in values])
def test_what_is_sound_is_taken_as_it_is(check: Check, value: str) -> None:
    assert check(value, "key") == value


@pytest.mark.parametrize("check", SOUND, ids=lambda check: check.__name__)
@pytest.mark.parametrize("value", POISON)
def test_what_could_mean_more_is_refused_with_its_key_and_on_one_line(check: Check, value: str) -> None:
    with pytest.raises(InputError, match=r"^the-key: ") as caught:
        check(value, "the-key")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


@given(check=st.sampled_from(list(SOUND)), value=st.text())
def test_only_plain_characters_pass(check: Check, value: str) -> None:
    try:
        taken = check(value, "key")
    except InputError:
        return
    assert taken == value
    assert not set(value) & set(" \t\r\n\"'\\$`;&|<>(){}[]*?#~^%,")
    assert value.isascii()
    assert ".." not in value.split("/")


@pytest.mark.parametrize("value", ["a\nb", "a\0", "\x1b[31m", "a\u2028b", "\u202e", "a" * 5000])
def test_text_is_one_printable_line(value: str) -> None:
    with pytest.raises(InputError):
        safe.check_text(value, "label")


LINES = st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp", "Cf")), max_size=60).filter(
    str.isprintable
)
EVIL = st.lists(
    st.sampled_from(["$", "${", "}", "$(", "`", '"', "'", "\\", "#", " ", "=", "<<EOF", "a", "\\n", "%", ","]),
    max_size=12,
).map("".join)


@given(value=LINES | EVIL)
def test_a_quoted_value_is_read_back_as_it_was(value: str) -> None:
    assert pairs(f"A={safe.quote(value)} {safe.quote('b')}={safe.quote(value)}") == {"A": value, "b": value}


@given(words=st.lists(LINES | EVIL | st.text(max_size=20), min_size=1, max_size=5))
def test_words_in_the_exec_form_are_one_line_of_json(words: list[str]) -> None:
    form = safe.exec_form(tuple(words))
    assert json.loads(form) == words
    assert form.isascii()
    assert form.isprintable()


def test_a_distribution_must_be_in_its_normal_form() -> None:
    for name in ("Torch", "flash_attn", "flash.attn", "-torch", "torch-", "a--b"):
        with pytest.raises(InputError, match="is no name of a distribution"):
            safe.check_distribution(name, "lock")


def test_a_version_must_be_in_its_normal_form() -> None:
    for version in ("v2.0", "2.0-1", "2.0+CU126", "2.0.RC1", "latest", "2.*", "\u0662.0", " 2.0"):
        with pytest.raises(InputError, match="is no version in its normal form"):
            safe.check_version(version, "lock")


@pytest.mark.parametrize(
    "name", ["apt-", "apt+", "dpkg--", "python3.", "lib.+", "lib.++", "l.+-dev", "a+++", "a", "+a", "a.*"]
)
def test_what_apt_reads_as_more_than_a_name_is_no_package(name: str) -> None:
    with pytest.raises(InputError, match="is no name of a Debian package"):
        safe.check_system_package(name, "packages")


@given(value=st.sampled_from([value for values in SOUND.values() for value in values]))
def test_what_is_sound_means_nothing_to_a_shell(value: str) -> None:
    assert shlex.quote(value) == value or value.startswith("1!")


def test_a_shell_says_the_same_of_an_escaped_value() -> None:
    value = '$(id) ${HOME} `id` "q" \\ # end\\'
    quoted = safe.quote(value).replace("`", "\\`")
    said = subprocess.run(["/bin/sh", "-c", f"printf %s {quoted}"], capture_output=True, text=True, check=True)
    assert said.stdout == value
