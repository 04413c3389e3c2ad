"""Names of images: what registries take, and nothing else."""

import pytest

from stackproof.compat.errors import InputError
from stackproof.containers.engine.references import (
    require_digest,
    require_reference,
    require_repository,
    require_tag,
    split_tag,
)

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    "reference",
    [
        *("base", "stackproof/layer:0123456789abcdef", "registry.example/stacks/a__b-c.d:2.13.0_cu13", DIGEST),
        *(f"127.0.0.1:5000/x@{DIGEST}", f"registry.example:5000/a/b:t@{DIGEST}", "localhost/x:y", "[::1]:5000/x:y"),
        *("0123456789ab", "REGISTRY.example/x"),
    ],
)
def test_a_name_of_an_image_is_taken(reference: str) -> None:
    require_reference(reference)


@pytest.mark.parametrize(
    "reference",
    [
        *(
            "",
            "Base",
            "a:b:c",
            "a:",
            ":b",
            "a@sha256:12",
            "a b",
            "a\nb",
            "a;b",
            "$(x)",
            "`x`",
            "../x",
            "/x",
            "x/",
            "a//b",
        ),
        *("a:" + "b" * 129, "-a", "a:-b", "a/../b", 'a"b', "a?x=1", "a#b", "a%2fb", "a" * 600, f"{DIGEST}\n", "ä"),
    ],
)
def test_what_is_no_name_is_refused(reference: str) -> None:
    with pytest.raises(InputError, match="is no name of an image"):
        require_reference(reference)


def test_parts_of_names() -> None:
    require_repository("registry.example/stacks")
    require_tag("2.13.0_cu13-x")
    require_digest(DIGEST)
    for check, bad in ((require_repository, "a:b"), (require_tag, "a/b"), (require_digest, "sha256:xyz")):
        with pytest.raises(InputError):
            check(bad)


def test_the_port_of_a_registry_is_no_tag() -> None:
    assert split_tag("127.0.0.1:5000/x") == ("127.0.0.1:5000/x", "latest")
    assert split_tag("127.0.0.1:5000/x:t") == ("127.0.0.1:5000/x", "t")
