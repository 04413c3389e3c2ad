"""`stackproof doctor`: a verdict on the live environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...compat.check import check
from ...compat.doctor import examine
from ..checking import Checked
from .check import show

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Judge the environment that runs, or another one."""
    description = examine(options.env).describe()
    seen = {"driver", "driver_cuda", "gpu"} & description.known.keys()
    remark = "" if seen else "no NVIDIA driver was found: nothing is said of driver and GPU"
    return show(Checked(description, check(description)), options, remark)
