from __future__ import annotations

import numpy as np
import pytest

from stackproof.backends.deforming import deformed
from stackproof.backends.differentiating import with_bodies
from stackproof.backends.dropping import Drop, drop, mask
from stackproof.backends.errors import UnsupportedError
from stackproof.backends.graph import Node
from stackproof.backends.normalizing import grouped, neighbours, stash_dtype


@pytest.mark.parametrize(
    ("ratio", "training", "dropped"),
    [
        (None, (True,), Drop(0.5, 3)),
        ((0.25,), (True,), Drop(0.25, 3)),
        ((0.0,), (True,), None),
        ((0.25,), (False,), None),
        ((0.25,), None, None),
    ],
)
def test_what_is_dropped(
    ratio: tuple[float, ...] | None, training: tuple[bool, ...] | None, dropped: Drop | None
) -> None:
    assert drop((None, ratio, training), {"seed": 3}) == dropped


def test_a_mask_keeps_its_share() -> None:
    kept = mask(0.2, None, (100, 100))
    assert kept.shape == (100, 100)
    assert abs(kept.mean() - 0.8) < 0.03


@pytest.mark.parametrize("ratio", [1.0, 1.5, -0.5])
def test_a_share_is_below_one(ratio: float) -> None:
    with pytest.raises(UnsupportedError, match="must be in"):
        drop((None, (ratio,), (True,)), {})


def test_a_compiled_program_needs_a_seed() -> None:
    Drop(0.5, 0).refuse_without_seed("jax")
    with pytest.raises(UnsupportedError, match="in a compiled program on jax"):
        Drop(0.5, None).refuse_without_seed("jax")


def test_a_float64_run_is_float64_throughout() -> None:
    assert stash_dtype("RMSNormalization", "float64", {}) == "float64"
    assert stash_dtype("RMSNormalization", "float16", {}) == "float32"
    assert stash_dtype("RMSNormalization", "float32", {"stash_type": 16}) == "bfloat16"


def test_groups_share_the_channels() -> None:
    assert grouped((2, 6, 5), 3) == (2, 3, 2, 5)
    with pytest.raises(UnsupportedError, match="6 channels in 4 groups"):
        grouped((2, 6, 5), 4)


@pytest.mark.parametrize(("size", "around"), [(1, (0, 0)), (4, (1, 2)), (5, (2, 2)), (99, (6, 6))])
def test_neighbouring_channels(size: int, around: tuple[int, int]) -> None:
    assert neighbours(6, size) == around


def test_where_a_deformed_window_would_look() -> None:
    form = deformed((1, 1, 4, 5), (1, 1, 2, 2), {"pads": (1, 0, 0, 0), "strides": (2, 3)})
    assert form.out == (2, 2)
    rows, columns = form.base
    assert rows.tolist() == [[-1, -1, 1, 1], [-1, -1, 1, 1], [0, 0, 2, 2], [0, 0, 2, 2]]
    assert columns.tolist() == [[0, 3, 0, 3], [1, 4, 1, 4], [0, 3, 0, 3], [1, 4, 1, 4]]
    assert form.steps == (5, 1)
    assert np.shape(form.corners) == (4, 2)


def test_a_gradient_gets_the_graph_that_it_differentiates() -> None:
    nodes = [
        Node("MatMul", ("X", "W"), ("H",)),
        Node("Relu", ("X",), ("R",)),
        Node("Tanh", ("H",), ("Y",)),
        Node("Gradient", ("H", "X"), ("dH",), {"xs": ("H",), "y": "Y"}),
        Node("Gradient", ("W", "X"), ("dW",), {"xs": ("W",), "zs": ("X",), "y": "Y"}),
    ]
    first, second = (node.attributes["body"] for node in with_bodies(nodes)[3:])
    assert (first.inputs, first.outputs) == (("H",), ("Y",))
    assert [node.op for node in first.nodes] == ["Tanh"]
    assert second.inputs == ("W", "X")
    assert [node.op for node in second.nodes] == ["MatMul", "Tanh"]


def test_a_gradient_of_what_nothing_makes_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="Gradient of 'Z': no node before it makes that tensor of X"):
        with_bodies([Node("Gradient", ("X",), ("dX",), {"xs": ("X",), "y": "Z"})])
