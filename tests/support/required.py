"""What some tests need of the machine beyond Python: absent, they are reported as not run, with the reason.

Where `STACKPROOF_REQUIRE` names it (comma-separated), its absence is a failure, so that no green run hides it.
"""

from __future__ import annotations

import os

import pytest


def need(what: str, missing: str) -> None:
    """Go on where nothing is missing.

    Args:
        what: A word for it: `browser`, `compiler` or `mounts`.
        missing: What is missing and how to get it; empty where it is there.
    """
    if not missing:
        return
    if what in os.environ.get("STACKPROOF_REQUIRE", "").split(","):
        pytest.fail(f"STACKPROOF_REQUIRE asks for a {what}: {missing}")
    pytest.skip(f"no {what}: {missing}")
