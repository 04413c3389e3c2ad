"""What pip is told, and what it means when it fails."""

from __future__ import annotations

import os
from itertools import pairwise

import pytest

from stackproof.compat.errors import OutsideError, StackproofError, UnsolvableError
from stackproof.compat.lock import Lock
from stackproof.containers.pip import _failure, _pip_settings, _target

DOING = "fetching the wheels of torch2.15.0-py313"


def settings(**environ: str) -> dict[str, str]:
    return {name: value for name, value in _pip_settings(environ).items() if name.startswith(("PIP_", "UV_"))}


def test_pips_own_files_and_settings_do_not_count() -> None:
    given = {"PIP_CONSTRAINT": "c.txt", "PIP_REQUIRE_VIRTUALENV": "1", "PIP_NO_BINARY": ":all:", "PIP_TARGET": "there"}
    assert settings(**given) == {"PIP_CONFIG_FILE": os.devnull}


@pytest.mark.parametrize(
    ("environ", "name", "value"),
    [
        ({"UV_DEFAULT_INDEX": "https://a.example"}, "PIP_INDEX_URL", "https://a.example"),
        ({"UV_INDEX_URL": "https://a.example"}, "PIP_INDEX_URL", "https://a.example"),
        ({"PIP_INDEX_URL": "https://a.example"}, "PIP_INDEX_URL", "https://a.example"),
        (
            {"UV_DEFAULT_INDEX": "https://a.example", "PIP_INDEX_URL": "https://b.example"},
            "PIP_INDEX_URL",
            "https://a.example",
        ),
        (
            {"UV_INDEX": "https://a.example https://b.example"},
            "PIP_EXTRA_INDEX_URL",
            "https://a.example https://b.example",
        ),
        ({"UV_EXTRA_INDEX_URL": "https://a.example"}, "PIP_EXTRA_INDEX_URL", "https://a.example"),
        ({"PIP_EXTRA_INDEX_URL": "https://a.example"}, "PIP_EXTRA_INDEX_URL", "https://a.example"),
        ({"UV_FIND_LINKS": "one,https://a.example/links"}, "PIP_FIND_LINKS", "one https://a.example/links"),
        ({"PIP_FIND_LINKS": "one two"}, "PIP_FIND_LINKS", "one two"),
        ({"UV_NO_INDEX": "1"}, "PIP_NO_INDEX", "1"),
        ({"PIP_CERT": "own.pem"}, "PIP_CERT", "own.pem"),
        ({"PIP_PROXY": "http://proxy.example"}, "PIP_PROXY", "http://proxy.example"),
    ],
)
def test_it_looks_where_uv_resolved(environ: dict[str, str], name: str, value: str) -> None:
    assert settings(**environ) == {"PIP_CONFIG_FILE": os.devnull, name: value}


def test_what_concerns_neither_stays() -> None:
    made = _pip_settings({"PATH": "here", "HTTPS_PROXY": "http://proxy.example", "SSL_CERT_FILE": "own.pem"})
    assert made.items() >= {"PATH": "here", "HTTPS_PROXY": "http://proxy.example", "SSL_CERT_FILE": "own.pem"}.items()


def test_platforms_go_from_the_newest_to_the_oldest() -> None:
    told = _target(Lock("torch1-py311", "3.11.2", "manylinux_2_7_x86_64", (), "cpu", ""))
    platforms = [value for name, value in pairwise(told) if name == "--platform"]
    assert platforms[:4] == [*(f"manylinux_2_{minor}_x86_64" for minor in (7, 6, 5)), "manylinux2014_x86_64"]
    assert platforms[-1] == "linux_x86_64"
    assert told[:4] == ["--python-version", "3.11.2", "--implementation", "cp"]
    assert [value for name, value in pairwise(told) if name == "--abi"] == ["cp311", "abi3", "none"]


@pytest.mark.parametrize(
    ("said", "tree", "words"),
    [
        (
            "ERROR: Could not find a version\nERROR: No matching distribution found for one==1.0",
            UnsolvableError,
            "No matching distribution found for one==1.0",
        ),
        (
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n    one==1.0 from x",
            OutsideError,
            "do not trust that index",
        ),
        ("/usr/bin/python: No module named pip", OutsideError, "Install stackproof again"),
        ("ERROR: HTTP error 503 while getting x", OutsideError, "HTTP error 503"),
        ("", OutsideError, "pip said nothing."),
        ("Traceback (most recent call last):\n  boom", OutsideError, "boom"),
    ],
    ids=["gone", "other files", "no pip", "index", "silent", "unknown"],
)
def test_a_failure_says_what_happened_and_what_to_do(said: str, tree: type[StackproofError], words: str) -> None:
    error = _failure(DOING, said)
    assert type(error) is tree
    first, *_, last = str(error).splitlines()
    assert first.startswith(f"{DOING}: ")
    assert words in str(error)
    assert last.endswith(".")


def test_only_the_first_lines_of_many_are_told() -> None:
    error = _failure(DOING, "".join(f"ERROR: line {number}\n" for number in range(100)))
    assert "line 3" in str(error)
    assert "line 4" not in str(error)
