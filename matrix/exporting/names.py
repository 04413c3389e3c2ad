"""What each framework calls a layer's tensors, and how it lays them out.

A tensor's place is found from the nodes that use it; what a layer is called is the tensor's own name without its last
part. So `fc.weight`, a program's matrix of shape (inputs, outputs), is

| names | name | shape |
| --- | --- | --- |
| `plain` | `fc.weight` | (inputs, outputs), or the other way round, as the program has it |
| `torch` | `fc.weight` | (outputs, inputs) |
| `tensorflow` | `fc/kernel` | (inputs, outputs) |
| `jax` | `params/fc/kernel` | (inputs, outputs) |

A program that came from a framework whose names and layouts it keeps has `Program.convention`; there they stay as they
are. Where a framework has no tensor of the same numbers in another order, the program's own name and layout stay:
kernels of transposed convolutions for JAX, which turns them around, and recurrent layers, whose gates are in another
order.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ...backends.errors import Fault, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...backends.program import Node, Program

CONVENTIONS: Final = ("plain", "torch", "tensorflow", "jax")

_MATRIX: Final = 2
_BIAS: Final = 2

# The last part of a name that says which of a layer's tensors it is.
_PARTS: Final = (
    *("weight", "bias", "kernel", "scale", "gamma", "beta", "embedding", "embeddings", "mean", "variance", "var"),
    *("running_mean", "running_var", "moving_mean", "moving_variance"),
)
_NAME: Final = re.compile(rf"(?P<layer>.+)[./](?:{'|'.join(_PARTS)})")
# What each framework calls a tensor of a kind.
_WORDS: Final = {
    "torch": {"matrix": "weight", "kernel": "weight", "transposed": "weight", "table": "weight", "scale": "weight"}
    | {"bias": "bias", "shift": "bias", "mean": "running_mean", "variance": "running_var"},
    "tensorflow": {"matrix": "kernel", "kernel": "kernel", "transposed": "kernel", "table": "embeddings"}
    | {"scale": "gamma", "bias": "bias", "shift": "beta", "mean": "moving_mean", "variance": "moving_variance"},
    "jax": {"matrix": "kernel", "kernel": "kernel", "table": "embedding", "scale": "scale"}
    | {"bias": "bias", "shift": "bias", "mean": "mean", "variance": "var"},
}
_NORMS: Final = {
    "BatchNormalization": ("", "scale", "shift", "mean", "variance"),
    "LayerNormalization": ("", "scale", "shift"),
    "RMSNormalization": ("", "scale"),
    "GroupNormalization": ("", "scale", "shift"),
    "InstanceNormalization": ("", "scale", "shift"),
    "Conv": ("", "kernel", "bias"),
    "ConvTranspose": ("", "transposed", "bias"),
}


@dataclass(frozen=True)
class Named:
    """What a tensor is called elsewhere.

    Attributes:
        name: Its name there.
        axes: The program's axes in the order of those there.
    """

    name: str
    axes: tuple[int, ...]

    def there(self, value: np.ndarray) -> np.ndarray:
        """Return the program's tensor as it is laid out there."""
        return np.asarray(value.transpose(self.axes), order="C")

    def here(self, value: np.ndarray) -> np.ndarray:
        """Return a tensor from there as the program lays it out."""
        return np.asarray(value.transpose(tuple(np.argsort(self.axes))), order="C")


def names_of(program: Program, convention: str) -> dict[str, Named]:
    """Return what a convention calls each parameter and each tensor of the state.

    Names that would be the same for two tensors, and those whose use says nothing, stay as they are.

    Raises:
        InputError: There is no such convention.
    """
    if convention not in CONVENTIONS:
        raise InputError("--names", [Fault(convention, f"is none of {', '.join(CONVENTIONS)}")])
    tensors = {**program.parameters, **program.state}
    plain = {name: Named(name, tuple(range(value.ndim))) for name, value in tensors.items()}
    if convention in {"plain", program.convention}:
        return plain
    kinds = _kinds(program)
    known = [name for name in tensors if name in kinds and kinds[name].word in _WORDS[convention]]
    found = {name: _named(name, tensors[name].ndim, kinds[name], convention) for name in known}
    counts = Counter(named.name for named in {**plain, **found}.values())
    return {name: found[name] if name in found and counts[found[name].name] == 1 else plain[name] for name in plain}


@dataclass(frozen=True)
class _Kind:
    """What a tensor is to its layer; `flipped` where a matrix is (outputs, inputs)."""

    word: str
    flipped: bool = False


def _named(name: str, rank: int, kind: _Kind, convention: str) -> Named:
    bare = re.sub(r":\d+$", "", name)
    match = _NAME.fullmatch(bare)
    layer = match["layer"] if match else bare
    word = _WORDS[convention][kind.word]
    full = f"{layer.replace('/', '.')}.{word}" if convention == "torch" else f"{layer.replace('.', '/')}/{word}"
    if convention == "jax":
        full = f"{'batch_stats' if kind.word in {'mean', 'variance'} else 'params'}/{full}"
    return Named(full, _axes(rank, kind, convention))


def _axes(rank: int, kind: _Kind, convention: str) -> tuple[int, ...]:
    same = tuple(range(rank))
    if kind.word == "matrix" and rank == _MATRIX:
        return same if kind.flipped == (convention == "torch") else (1, 0)
    if convention == "torch" or kind.word not in {"kernel", "transposed"}:
        return same
    # Kernels are (outputs, inputs, ...) here and (..., inputs, outputs) there; transposed ones have the two exchanged.
    return (*same[2:], 1, 0)


def _kinds(program: Program) -> dict[str, _Kind]:
    """Return what each tensor is; a table that is also used as a matrix is a table."""
    found: dict[str, _Kind] = {}
    moved: dict[str, tuple[str, bool]] = {}
    for node in program.nodes:
        if node.op == "Transpose" and node.attributes.get("perm", (1, 0)) == (1, 0):
            source, flipped = moved.get(node.inputs[0], (node.inputs[0], False))
            moved[node.outputs[0]] = (source, not flipped)
        for name, kind in _of_node(node, moved):
            if found.get(name) is None or kind.word == "table":
                found[name] = kind
    return _with_biases(program, found)


def _of_node(node: Node, moved: Mapping[str, tuple[str, bool]]) -> Iterator[tuple[str, _Kind]]:
    if node.op in _NORMS:
        yield from ((name, _Kind(word)) for name, word in zip(node.inputs, _NORMS[node.op], strict=False) if word)
    elif node.op == "Gather":
        yield node.inputs[0], _Kind("table")
    elif node.op in {"MatMul", "Gemm"}:
        name, flipped = moved.get(node.inputs[1], (node.inputs[1], False))
        yield name, _Kind("matrix", flipped != bool(node.attributes.get("transB", 0)))
        if node.op == "Gemm" and len(node.inputs) > _BIAS:
            yield node.inputs[_BIAS], _Kind("bias")


def _with_biases(program: Program, found: dict[str, _Kind]) -> dict[str, _Kind]:
    """Add what is called a bias and is only added."""
    added = {name for node in program.nodes if node.op == "Add" for name in node.inputs}
    named = {name for name in added & set(program.parameters) if re.search(r"(^|[./])bias(:\d+)?$", name)}
    return {**{name: _Kind("bias") for name in named}, **found}
