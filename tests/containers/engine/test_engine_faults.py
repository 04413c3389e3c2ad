"""The words of engines, sorted: what happened, why, and what to do."""

import pytest

from stackproof.containers.engine.connect import Engine
from stackproof.containers.engine.faults import read_fault

ENGINE = Engine("docker", "20.10.24", "unix:///s", None, "/var/lib/engine")

# Recorded from Docker 20.10 and Podman 4.3, with the names of the registries replaced.
WORDS = {
    "failed to copy files: write /var/lib/engine/x: no space left on device": "no space is left on the engine's disk",
    "write /x: disk quota exceeded": "no space is left on the engine's disk",
    "No such image: stackproof/nope:bw": "there is no such image",
    "failed to find image x:y: registry.example/x:y: No such image": "there is no such image",
    "reading manifest sha256:0 in 127.0.0.1:5000/x: manifest unknown: manifest unknown": "there is no such image",
    "pull access denied for x, repository does not exist or may require a login: denied": "there is no such image",
    "manifest verification failed for digest sha256:aa": "does not have the digest asked for",
    "Digest did not match, expected sha256:aa, got sha256:bb": "does not have the digest asked for",
    "unauthorized: authentication required": "the registry refused the credentials",
    "denied: requested access to the resource is denied": "the registry refused the credentials",
    'Get "http://127.0.0.1:5000/v2/": dial tcp 127.0.0.1:5000: connect: connection refused': "could not be reached",
    "lookup registry.example on 127.0.0.1:53: no such host": "could not be reached",
    "x509: certificate signed by unknown authority": "could not be reached",
    "conflict: unable to remove repository reference (must force) - container 1 is using its image 2": "is in use",
    "something nobody has seen": "the engine refused",
}


@pytest.mark.parametrize(("words", "meaning"), WORDS.items())
def test_an_engines_words_are_told_with_their_meaning_and_a_mend(words: str, meaning: str) -> None:
    first, second, mend = str(read_fault(ENGINE, "pulling x", words)).splitlines()
    assert first.startswith("pulling x: ")
    assert meaning in first
    assert second == f"  {words}"
    assert mend.endswith(".")


def test_a_full_disk_names_where_to_free_space() -> None:
    assert "below /var/lib/engine." in str(read_fault(ENGINE, "building x", "no space left on device"))


def test_credentials_and_colours_in_words_are_not_told() -> None:
    said = str(read_fault(ENGINE, "pulling x", "\x1b[31mGet https://me:secret@registry.example/v2/: odd\x1b[0m"))
    assert "secret" not in said
    assert "\x1b" not in said
