"""What a rule that upgrades a node sees of it, and how it writes the new ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import NodeProto, helper, numpy_helper

from ...backends.values import CARRIERS
from .tensors import dtype_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Rule = Callable[["Old"], list[NodeProto] | None]


@dataclass(frozen=True)
class Kind:
    """What is known of a tensor: the number of its data type, and its sizes, None for one that is not known."""

    number: int
    sizes: tuple[int | None, ...]


class RefusedError(Exception):
    """Why an old form has no counterpart; it never leaves `upgrading`."""


class Old:
    """One node of an older operator set.

    Args:
        node: The node.
        kinds: What is known of tensors by name.
        values: Known tensors by name.
        taken: Names in use; those that `fresh` makes are added.
        needed: Names that some node or output takes.

    Attributes:
        node: The node.
        needed: Names that some node or output of the model takes.
        inputs: Names of its inputs, an empty name for one that is absent.
        outputs: Names of its outputs.
        attributes: Its attributes, as Python values.
    """

    def __init__(
        self,
        node: NodeProto,
        kinds: Mapping[str, Kind],
        values: Mapping[str, Any],
        taken: set[str],
        needed: set[str],
    ) -> None:
        self.node, self.needed = node, needed
        self.inputs, self.outputs = list(node.input), list(node.output)
        self.attributes = {entry.name: _value(entry) for entry in node.attribute if not entry.ref_attr_name}
        self._referring = {entry.name for entry in node.attribute if entry.ref_attr_name}
        self._kinds, self._values, self._taken = kinds, values, taken
        self._before: list[NodeProto] = []
        self._written: dict[str, Any] = {}
        self.attributes.pop("consumed_inputs", None)

    def take(self, name: str, default: Any = None) -> Any:
        """Remove an attribute and return it.

        Raises:
            RefusedError: Its value is a parameter of the function that the node is in.
        """
        if name in self._referring:
            raise RefusedError(f"takes {name} from the function it is in")
        return self.attributes.pop(name, default)

    def given(self, place: int) -> str:
        """Return the name of an input, or an empty one where it is absent."""
        return self.inputs[place] if place < len(self.inputs) else ""

    def put(self, place: int, name: str) -> None:
        """Set an input."""
        self.inputs += [""] * (place + 1 - len(self.inputs))
        self.inputs[place] = name

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Return a tensor's shape, or None where a size of it is not known."""
        kind = self._kinds.get(name)
        sizes = () if kind is None else kind.sizes
        return None if kind is None or None in sizes else tuple(size for size in sizes if size is not None)

    def rank(self, name: str) -> int | None:
        """Return a tensor's rank, or None where it is not known."""
        kind = self._kinds.get(name)
        return None if kind is None else len(kind.sizes)

    def dtype(self, name: str) -> str:
        """Return the numpy name of a tensor's dtype; float32 where it is not known, or numpy has none."""
        kind = self._kinds.get(name)
        known = dtype_name(kind.number) if kind is not None else ""
        return known if known and known not in CARRIERS else "float32"

    def value(self, name: str) -> np.ndarray | None:
        """Return a constant's values, or None where it is none."""
        tensor = self._written.get(name, self._values.get(name))
        return None if tensor is None else numpy_helper.to_array(tensor)

    def fresh(self, hint: str) -> str:
        """Return a name that nothing has yet."""
        stem = f"{next(name for name in self.outputs if name)}.{hint}"
        name, count = stem, 0
        while name in self._taken:
            count += 1
            name = f"{stem}{count}"
        self._taken.add(name)
        return name

    def constant(self, values: Any, dtype: str, hint: str) -> str:
        """Write a constant before the node and return its name."""
        name = self.fresh(hint)
        tensor = numpy_helper.from_array(np.asarray(values, dtype=dtype), name)
        self._before.append(helper.make_node("Constant", [], [name], value=tensor))
        self._written[name] = tensor
        return name

    def write(self, op: str, inputs: Sequence[str], hint: str, **attributes: Any) -> str:
        """Write a node with one output before the node and return the output's name."""
        name = self.fresh(hint)
        self._before.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def done(self, op: str = "", after: Sequence[NodeProto] = ()) -> list[NodeProto]:
        """Return what was written, then the node in its new form, and what comes after it."""
        node = NodeProto()
        node.CopyFrom(self.node)
        node.op_type = op or node.op_type
        kept = [entry for entry in self.node.attribute if entry.ref_attr_name]
        for field, names in ((node.input, self.inputs), (node.output, self.outputs)):
            del field[:]
            field.extend(names)
        del node.attribute[:]
        node.attribute.extend([*(helper.make_attribute(k, v) for k, v in self.attributes.items()), *kept])
        return [*self._before, node, *after]


def _value(entry: Any) -> Any:
    value = helper.get_attribute_value(entry)
    return value.decode() if isinstance(value, bytes) else value
