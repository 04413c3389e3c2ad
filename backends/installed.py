"""What is installed in the environment under test."""

from __future__ import annotations

import importlib.metadata
import re


def installed_versions() -> dict[str, str]:
    """Return the version of every installed distribution by normalised name."""
    found: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), distribution.version)
    return dict(sorted(found.items()))
