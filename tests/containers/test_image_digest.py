"""The digest of what an image holds: the same for every build, another for other contents."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stackproof.containers.engine.record import ImageRecord
from stackproof.containers.image import content_digest

RECORD = ImageRecord(
    id=f"sha256:{'1' * 64}",
    tags=("stackproof/torch2.15.0-py313:0a1b2c3d4e5f",),
    digests=(),
    layers=(f"sha256:{'2' * 64}", f"sha256:{'3' * 64}"),
    labels={"stackproof.stack": "torch2.15.0-py313", "org.opencontainers.image.title": "stackproof"},
    env=("PATH=/opt/stack/bin:/usr/bin", "NVIDIA_VISIBLE_DEVICES=all"),
    user="10001:10001",
    size=4096,
    architecture="amd64",
    os="linux",
)


def test_it_is_a_sha256() -> None:
    assert len(bytes.fromhex(content_digest(RECORD))) == 32


@pytest.mark.parametrize(
    "changes",
    [
        {"env": RECORD.env[::-1]},
        {"labels": dict(reversed(list(RECORD.labels.items())))},
        {"id": f"sha256:{'9' * 64}"},  # it holds when the image was built
        {"tags": ()},
        {"digests": (f"team/stack@sha256:{'8' * 64}",)},
        {"size": 1},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_order_names_and_the_time_of_a_build_change_nothing(changes: dict[str, object]) -> None:
    assert content_digest(replace(RECORD, **changes)) == content_digest(RECORD)


@pytest.mark.parametrize(
    "changes",
    [
        {"layers": RECORD.layers[::-1]},
        {"layers": RECORD.layers[:1]},
        {"labels": {**RECORD.labels, "org.example.team": "vision"}},
        {"labels": {}},
        {"env": (*RECORD.env, "A=1")},
        {"env": ("PATH=/usr/bin", RECORD.env[1])},
        {"user": ""},
        {"architecture": "arm64"},
        {"os": "other"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_it_holds_and_how_it_starts_decides(changes: dict[str, object]) -> None:
    assert content_digest(replace(RECORD, **changes)) != content_digest(RECORD)
