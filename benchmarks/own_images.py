"""Images that are a benchmark's own, on a base of its own: none is there before, or another's; all are removed."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from stackproof.containers.engine.build import BuildRequest, build_image
from stackproof.containers.engine.images import find_image, layer_sizes, remove_image

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stackproof.containers.bases.base import Base
    from stackproof.containers.engine.connect import Engine

Layers = dict[tuple[str, ...], int]
"""Bytes of layers, each by the digests of it and of those below: equal keys are one layer on the disk."""


@dataclass(frozen=True)
class Own:
    """A mark that a benchmark's images bear.

    Attributes:
        engine: Where they are.
        mark: A word for it.
        before: Records that Docker's builder kept before the benchmark.
    """

    engine: Engine
    mark: str
    before: frozenset[str] = field(default_factory=frozenset)

    @property
    def reference(self) -> str:
        """Return the name of the base."""
        return f"stackproof/base:{self.mark}"

    @property
    def labels(self) -> Mapping[str, str]:
        """Return what the base, and so every image upon it, is found by."""
        return {"stackproof.benchmark": self.mark}

    def make_base(self, base: Base) -> Base:
        """Make a base out of another, with the same content but a link and a small file.

        The link is its interpreter: so the mark is part of every step upon it.
        """
        python = f"{base.interpreter}-{self.mark}"
        make = f"ln -s {base.interpreter} {python} && echo {self.mark} > /etc/{self.mark}"
        labels = "".join(f"LABEL {name}={value}\n" for name, value in self.labels.items())
        dockerfile = f'FROM {base.reference}\nRUN ["/bin/sh", "-euc", "{make}"]\n{labels}'
        build_image(self.engine, BuildRequest(dockerfile, {}, self.reference))
        digest = hashlib.sha256(dockerfile.encode()).hexdigest()
        return replace(base, reference=self.reference, digest=f"sha256:{digest}", interpreter=python)

    def remove(self, *, base: bool) -> None:
        """Remove its images, the base too if asked, and what Docker's builder keeps of them: it holds their disk."""
        records = self._records()
        label = [f"{name}={value}" for name, value in self.labels.items()]
        for image in self.engine.client.api.images(filters={"label": label}):
            tags = [tag for tag in image["RepoTags"] or () if not tag.startswith("<none>")]
            for reference in tags or [image["Id"]]:
                if base or not f"/{reference}".endswith(f"/{self.reference}"):
                    remove_image(self.engine, reference)
        for record in records:
            self.engine.client.api.prune_builds(filters={"id": [record]}, all=True)

    def _records(self) -> list[str]:
        """Return the builder's records that are its own, the latest first.

        Steps bear its mark. Records of the images that they began from bear none: its own are those that are new and
        hang together with its steps.
        """
        rows = sorted(builder_records(self.engine), key=lambda row: str(row["CreatedAt"]), reverse=True)
        own = {row["ID"] for row in rows if self.mark in row["Description"]}
        new = [row for row in rows if row["ID"] not in self.before and row["Description"].startswith("from local")]
        count = -1
        while count != len(own):
            count = len(own)
            above = {row.get("Parent") for row in rows if row["ID"] in own}
            own |= {row["ID"] for row in new if row["ID"] in above or row.get("Parent") in own}
        return [row["ID"] for row in rows if row["ID"] in own]


def open_own(engine: Engine, mark: str) -> Own:
    """Begin with a mark, in an engine as it is now."""
    return Own(engine, mark, frozenset(row["ID"] for row in builder_records(engine)))


def builder_records(engine: Engine) -> list[dict[str, Any]]:
    """Return what Docker's builder keeps; Podman's keeps nothing."""
    found: list[dict[str, Any]] = engine.client.api.df().get("BuildCache") or [] if engine.kind == "docker" else []
    return found


def layers_of(engine: Engine, reference: str) -> Layers:
    """Return the layers of an image, as the engine counts their bytes."""
    record = find_image(engine, reference)
    if record is None:
        raise SystemExit(f"{reference} is gone: let nothing remove images meanwhile")
    digests = tuple(itertools.accumulate((digest,) for digest in record.layers))
    filled = [count for _, count in layer_sizes(engine, reference) if count]
    # The last step, WORKDIR, makes a layer without files: it has a digest, and no bytes.
    filled += [0] * (len(digests) - len(filled))
    return dict(zip(digests, filled, strict=True))
