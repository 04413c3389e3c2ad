"""What a PyTorch model is made of: its tensors with all their names, its modes, and what in it cannot be exported."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ...backends.errors import Fault, InputError
from .origin import Tensor
from .proving import dtype_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from .origin import Role

Module: TypeAlias = Any
Array: TypeAlias = Any
"""PyTorch's own objects: it is not installed where types are checked."""


@dataclass(frozen=True)
class Held:
    """One tensor of a model, with every name that leads to it."""

    value: Array
    names: tuple[str, ...]
    role: Role

    def record(self, used: Collection[str]) -> Tensor:
        """Return it as it is written down, given the names that the exported program uses."""
        name = "BFLOAT16" if str(self.value.dtype) == "torch.bfloat16" else dtype_name(array(self.value))
        needed = not set(self.names).isdisjoint(used)
        return Tensor(self.names[0], tuple(self.value.shape), name, self.role, self.names[1:], needed)


def held(model: Module) -> list[Held]:
    """Return the parameters and buffers of a model, tied ones once."""
    found: dict[int, tuple[Array, list[str], Role]] = {}
    for name, value in model.named_parameters(remove_duplicate=False):
        role: Role = "parameter" if value.requires_grad else "frozen"
        found.setdefault(id(value), (value, [], role))[1].append(name)
    for name, value in model.named_buffers(remove_duplicate=False):
        found.setdefault(id(value), (value, [], "buffer"))[1].append(name)
    return [Held(value, tuple(names), role) for value, names, role in found.values()]


def check_model(source: str, model: Module) -> None:
    """Refuse what cannot be exported to train: the wrong mode, and layers that have no ONNX form.

    Raises:
        InputError: Names the layers and parameters.
    """
    faults = []
    if not model.training:
        faults.append(Fault("", "is in inference mode, where batch norms and dropout do not train: call model.train()"))
    for name, module in model.named_modules():
        faults += [Fault(name, what) for what in _hindrances(module)]
    faults += [Fault(name, "shares memory with another parameter, without being it") for name in _overlapping(model)]
    if faults:
        raise InputError(source, faults)


def training_means(model: Module) -> Iterator[str]:
    """Yield the names of the running means of norms that normalise by the batch."""
    for name, module in model.named_modules():
        if getattr(module, "running_mean", None) is not None and module.training:
            yield f"{name}.running_mean".lstrip(".")


def array(value: Array) -> NDArray[Any]:
    """Return a tensor's values; those of bfloat16, which numpy lacks, in float32."""
    plain = value.detach().cpu()
    found: NDArray[Any] = (plain.float() if str(plain.dtype) == "torch.bfloat16" else plain).numpy()
    return found


def _hindrances(module: Module) -> Iterator[str]:
    averages = module.training and getattr(module, "track_running_stats", False)
    if averages and getattr(module, "momentum", 0) is None:
        yield "averages its statistics over all steps (momentum=None): give it a momentum"
    yield from _table_hindrances(module)
    rate = getattr(module, "dropout", None)
    if isinstance(rate, float) and rate > 0 and not module.training:
        yield "is in inference mode within a model that trains: set its dropout to 0 instead"


def _table_hindrances(module: Module) -> Iterator[str]:
    """Yield what a table of vectors does outside of its forward pass, of which a graph says nothing."""
    if not hasattr(module, "num_embeddings"):
        return
    why = "which ONNX does not carry"
    if getattr(module, "max_norm", None) is not None:
        yield f"shortens the rows that it reads (max_norm), {why}: make it None"
    if getattr(module, "padding_idx", None) is not None and module.weight.requires_grad:
        yield f"has a row without gradient (padding_idx), {why}: make it None, or multiply by a mask in the model"
    if getattr(module, "scale_grad_by_freq", False):
        yield f"divides gradients by how often a row is read (scale_grad_by_freq), {why}: make it False"
    if getattr(module, "sparse", False):
        yield f"has gradients of the rows that it reads only (sparse), {why}: make it False"


def _overlapping(model: Module) -> list[str]:
    pointers: dict[int, list[str]] = defaultdict(list)
    for name, parameter in model.named_parameters():
        if parameter.numel():
            pointers[parameter.data_ptr()].append(name)
    return [name for names in pointers.values() for name in names[1:]]
