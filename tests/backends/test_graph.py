from __future__ import annotations

import numpy as np
import pytest

from stackproof.backends.graph import Body, Node
from stackproof.backends.lower import Bound

_TRUE, _FALSE = np.ones((), bool), np.zeros((), bool)
_BODY = ("turn", "given", "state")


@pytest.mark.parametrize(
    ("nodes", "constants", "goes_on"),
    [
        ((Node("Identity", ("given",), ("more",)),), {}, True),
        ((Node("Identity", ("given",), ("same",)), Node("Identity", ("same",), ("more",))), {}, True),
        ((Node("Constant", (), ("more",), {"value": _TRUE}),), {}, True),
        ((Node("Constant", (), ("more",), {"value": _FALSE}),), {}, False),
        ((), {"more": _TRUE}, True),
        ((), {"more": _FALSE}, False),
        ((Node("Not", ("given",), ("more",)),), {}, False),
        ((Node("Identity", ("state",), ("more",)),), {}, False),
    ],
)
def test_whether_a_loop_goes_on(nodes: tuple[Node, ...], constants: dict[str, np.ndarray], goes_on: bool) -> None:  # noqa: FBT001 - a parameter
    body = Body(_BODY, nodes, ("more", "state"))
    assert Bound(lambda: (), body, constants).goes_on() is goes_on
