"""The packages that talk to engines: imported when first needed, for the command line must start without them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# The packages have no types: what they give is named for what it is.
Module = Any
"""A package."""
Response = Any
"""A response of `requests`, whose body is read piece by piece."""
Client = Any
"""A client of the `docker` package."""


def docker() -> Module:
    """Return the `docker` package."""
    return import_module("docker")


def requests() -> Module:
    """Return the `requests` package, which `docker` is built on."""
    return import_module("requests")


def urllib3() -> Module:
    """Return the `urllib3` package, which `requests` is built on."""
    return import_module("urllib3")
