"""System packages on top of a base of a registry, whose own package sources bring them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..rendering.safe import check_reference, check_system_package, exec_form

if TYPE_CHECKING:
    from collections.abc import Sequence


def install_dockerfile(parent: str, packages: Sequence[str]) -> str:
    """Return the Dockerfile that installs Debian packages, and leaves no list, cache or log of it.

    What the packages' versions are, the base's sources say on the day: this is the one step that needs the network, and
    that another day may give another result. The digest of a base covers what came of it.

    Args:
        parent: The base's reference.
        packages: Names of packages.

    Raises:
        InputError: The reference or a name is none.
    """
    names = " ".join(check_system_package(name, "packages") for name in sorted(set(packages)))
    script = (
        f"apt-get update && apt-get install -y --no-install-recommends {names} && apt-get clean"
        " && rm -rf /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log /var/log/alternatives.log /var/cache/ldconfig/*"
    )
    run = exec_form(("/usr/bin/env", "DEBIAN_FRONTEND=noninteractive", "/bin/sh", "-euc", script))
    return f"FROM {check_reference(parent, 'base')}\nUSER 0:0\nRUN {run}\n"
