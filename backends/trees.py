"""The shared rule for ensembles of decision trees: all trees go down one level at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import UnsupportedError
from .kit import missing, shared

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .kit import Kit

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

# ONNX's numbers of how a node compares, how leaves are put together, and what is done with the result.
_LESS_EQUAL, _LESS, _GREATER_EQUAL, _GREATER, _EQUAL, _UNEQUAL, _MEMBER = range(7)
_AVERAGE, _SUM, _MIN, _MAX = range(4)
_NONE, _SOFTMAX, _LOGISTIC = range(3)


@dataclass(frozen=True)
class _Nodes:
    """Inner nodes followed by leaves, which lead to themselves; each attribute has one entry per node.

    Attributes:
        feature: Which feature is compared.
        split: What it is compared with.
        mode: How.
        yes: Where it goes on if the comparison holds; `no` if it does not.
        no: As `yes`.
        missing: Whether a missing value counts as holding.
        members: Further values of a membership, of shape (nodes, most), filled up with NaN.
        weight: What a leaf gives; 0 at inner nodes.
        target: What it gives it to.
        roots: Where each tree begins.
        depth: The most comparisons on any way.
    """

    feature: np.ndarray
    split: np.ndarray
    mode: np.ndarray
    yes: np.ndarray
    no: np.ndarray
    missing: np.ndarray
    members: np.ndarray
    weight: np.ndarray
    target: np.ndarray
    roots: np.ndarray
    depth: int


@shared("TreeEnsemble")
def tree_ensemble(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Return, for each row of features, what the leaves give that it reaches."""
    kit.refuse_compiled("TreeEnsemble")
    data, nodes = inputs[0], _nodes(attributes)
    rows, features = (int(size) for size in data.shape)
    flat = kit.shaped(data, (-1,))
    starts = kit.tensor_of(np.arange(rows)[:, None] * features, data)
    at = kit.tensor_of(np.broadcast_to(nodes.roots, (rows, len(nodes.roots))).copy(), data)
    for _ in range(nodes.depth):
        value = kit.take(flat, starts + _entry(kit, nodes.feature, at), 0)
        at = kit.select(_holds(kit, nodes, at, value), _entry(kit, nodes.yes, at), _entry(kit, nodes.no, at))
    return _transformed(kit, _put_together(kit, nodes, at, data, attributes), attributes)


def _entry(kit: Kit, table: np.ndarray, at: Any) -> Any:
    return kit.take(kit.tensor_of(table, at), at, 0)


def _holds(kit: Kit, nodes: _Nodes, at: Any, value: Any) -> Any:
    split, mode = (_entry(kit, table, at) for table in (nodes.split, nodes.mode))
    split = kit.cast(split, kit.dtype_of(value))
    holds = (mode == _LESS_EQUAL) & (value <= split)
    holds = holds | ((mode == _LESS) & (value < split)) | ((mode == _GREATER_EQUAL) & (value >= split))
    holds = holds | ((mode == _GREATER) & (value > split)) | ((mode == _EQUAL) & (value == split))
    holds = holds | ((mode == _UNEQUAL) & (value != split))
    if (nodes.mode == _MEMBER).any():
        members = kit.cast(_entry(kit, nodes.members, at), kit.dtype_of(value))
        among = kit.total(kit.cast(members == value[..., None], "int64"), (2,)) > 0
        holds = holds | ((mode == _MEMBER) & among)
    return holds | (missing(value) & _entry(kit, nodes.missing, at))


def _put_together(kit: Kit, nodes: _Nodes, at: Any, data: Any, attributes: Attributes) -> Any:
    """Return (rows, targets): the sum, mean, least or greatest of what all trees' leaves give a target."""
    how, dtype = attributes.get("aggregate_function", _SUM), kit.dtype_of(data)
    weight = kit.cast(_entry(kit, nodes.weight, at), dtype)[..., None]
    targets = kit.tensor_of(np.arange(attributes["n_targets"]), data)
    given = _entry(kit, nodes.target, at)[..., None] == targets
    if how in (_SUM, _AVERAGE):
        whole = kit.total(kit.select(given, weight, weight * 0), (1,))
        return whole if how == _SUM else whole / len(nodes.roots)
    sign = 1 if how == _MAX else -1
    least = weight * 0 + float(np.finfo(dtype).min)
    return kit.highest(kit.select(given, weight * sign, least), (1,)) * sign


def _transformed(kit: Kit, scores: Any, attributes: Attributes) -> Any:
    after = attributes.get("post_transform", _NONE)
    if after == _LOGISTIC:
        return 1 / (1 + kit.exp(-scores))
    if after == _SOFTMAX:
        shares = kit.exp(scores - kit.highest(scores, (1,))[:, None])
        return shares / kit.total(shares, (1,))[:, None]
    if after != _NONE:
        raise UnsupportedError(f"TreeEnsemble with post_transform {after} has no rule; known: 0, 1 and 2")
    return scores


def _nodes(attributes: Attributes) -> _Nodes:
    modes = np.asarray(attributes["nodes_modes"]).reshape(-1)
    count = len(modes)
    weights, targets = (np.asarray(attributes[f"leaf_{name}"]).reshape(-1) for name in ("weights", "targetids"))
    leaves = np.arange(len(weights)) + count
    branches = []
    for side in ("true", "false"):
        to, leads = (np.asarray(attributes[f"nodes_{side}{name}"], np.int64) for name in ("nodeids", "leafs"))
        branches.append(np.concatenate([np.where(leads != 0, to + count, to), leaves]))
    splits = np.asarray(attributes["nodes_splits"]).reshape(-1)
    tracks = attributes.get("nodes_missing_value_tracks_true") or (0,) * count
    none, roots = np.zeros(len(weights), np.int64), np.asarray(attributes["tree_roots"], np.int64)
    return _Nodes(
        feature=np.concatenate([np.asarray(attributes["nodes_featureids"], np.int64), none]),
        split=np.concatenate([splits, none.astype(splits.dtype)]),
        mode=np.concatenate([modes.astype(np.int64), none]),
        yes=branches[0],
        no=branches[1],
        missing=np.concatenate([np.asarray(tracks, bool), none.astype(bool)]),
        members=_members(modes, attributes.get("membership_values"), count + len(weights)),
        weight=np.concatenate([np.zeros(count, weights.dtype), weights]),
        target=np.concatenate([np.zeros(count, np.int64), targets.astype(np.int64)]),
        roots=roots,
        depth=_depth(roots, branches, count),
    )


def _members(modes: np.ndarray, values: np.ndarray | None, count: int) -> np.ndarray:
    """Return the members that each node compares with; they are given in the order of the nodes, NaN after each set."""
    if values is None:
        return np.full((count, 1), np.nan)
    flat = np.asarray(values).reshape(-1)
    ends = np.flatnonzero(np.isnan(flat))
    sets = np.split(flat, ends)
    table = np.full((count, max(map(len, sets))), np.nan)
    for node, members in zip(np.flatnonzero(modes == _MEMBER), sets):
        table[node, : len(members)] = members
    return table


def _depth(roots: np.ndarray, branches: Sequence[np.ndarray], count: int) -> int:
    """Return the most comparisons on a way from a root to a leaf; at most as many as there are nodes."""
    depth, level = 0, set(roots.tolist())
    while depth <= count and any(node < count for node in level):
        level = {int(branch[node]) for node in level if node < count for branch in branches}
        depth += 1
    return depth
