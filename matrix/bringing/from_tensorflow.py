"""From a Keras model on TensorFlow to an ONNX file that trains, by way of tf2onnx; what cannot be carried is refused.

tf2onnx is made for inference. A model given to it as it is comes out with its batch norms folded or frozen, biases of
zero removed and names lost. So every variable is made an input of the function that is converted: of inputs it knows no
value, and can fold nothing. What it writes is an old operator set, with layers taken apart into small operators; the
import lifts the one, and the other costs speed, not truth.
"""

from __future__ import annotations

import importlib
import logging
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ...backends.errors import Fault, InputError, UnsupportedError
from .derivatives import check_gradients, draw, moved
from .graph import FLOATING, walk
from .origin import Origin, write_origin
from .placing import place, rename_outputs
from .proving import check_outputs, check_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import ModuleType

    from numpy.typing import NDArray
    from onnx import ModelProto

    from .origin import Role

Model: TypeAlias = Any
Array: TypeAlias = Any
"""Objects of Keras and TensorFlow: they are not installed where types are checked."""

OPSET = 18
"""The newest operator set that tf2onnx 1.17 writes."""


def export_keras(
    model: Model,
    example_inputs: Sequence[Array],
    path: str | Path,
    *,
    input_names: Sequence[str] = (),
    check: bool = True,
) -> Origin:
    """Export a Keras model on TensorFlow to ONNX so that it trains as it does there.

    Every variable is one initializer under its path, such as `sequential/dense/kernel`; those of layers with
    `trainable=False` stay frozen. A batch norm normalises by the batch, and gives out its new running statistics.

    Args:
        model: A built Keras model whose backend is TensorFlow.
        example_inputs: An array for each argument of its call. Their sizes become those of the program.
        path: The file to write.
        input_names: Names for the inputs; `in_0` and so on otherwise.
        check: Whether the export is run and compared with the model.

    Returns:
        What was written into the metadata.

    Raises:
        UnsupportedError: TensorFlow, Keras or tf2onnx is missing, or an operator has no form in ONNX.
        InputError: The model cannot be carried, or the export is not the model; no file is left.
    """
    tf, keras, tf2onnx = _packages()
    _check_model(keras, model)
    feeds = [np.asarray(value) for value in example_inputs]
    names = [*input_names, *(f"in_{n}" for n in range(len(input_names), len(feeds)))]
    trained, others = list(model.trainable_variables), list(model.non_trainable_variables)
    values = {variable.path: variable.numpy() for variable in (*trained, *others)}
    call = _pure(tf, model, len(trained), len(others))
    signature = [tf.TensorSpec(v.shape, v.dtype, name=f"given_{n}") for n, v in enumerate([*values.values(), *feeds])]
    proto = _export(tf2onnx, model.name, call, signature)
    outputs, updated = _run(tf, call, values, feeds, _paths(others))
    results = [f"output_{n}" for n in range(len(outputs))] if len(outputs) > 1 else ["output"]
    states = _changing(proto, len(outputs), len(trained), [variable.path for variable in others])
    rename_outputs(proto, [*results, *(f"{name}.next" for name in states)])
    roles: dict[str, Role] = {name: "buffer" if name in states else "frozen" for name in values}
    tensors = place(proto, values, {**roles, **dict.fromkeys(_paths(trained), "parameter")}, names)
    origin = Origin(f"keras {keras.__version__}", tensors, updates={name: f"{name}.next" for name in states})
    write_origin(proto, origin)
    onnx.checker.check_model(proto)
    check_tensors(model.name, proto, origin, values)
    if check:
        check_outputs(model.name, proto, feeds, [*outputs, *(updated[name] for name in states)])
        _check_gradients(tf, model.name, call, values, len(trained), feeds)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(proto, path)
    return origin


def _packages() -> tuple[ModuleType, ModuleType, ModuleType]:
    try:
        found = [importlib.import_module(name) for name in ("tensorflow", "keras", "tf2onnx")]
    except ImportError as fault:
        what = f"exporting from Keras needs a package that is not installed ({fault.name})"
        raise UnsupportedError(f"{what}: pip install tensorflow keras tf2onnx") from fault
    return found[0], found[1], found[2]


def _check_model(keras: ModuleType, model: Model) -> None:
    if keras.backend.backend() != "tensorflow":
        raise UnsupportedError(
            f"Keras runs on {keras.backend.backend()}: set KERAS_BACKEND=tensorflow, or export there"
        )
    if not isinstance(model, keras.Model):
        what = f"is a {type(model).__name__}, and its variables cannot be told apart once tf2onnx has frozen them"
        raise InputError("the model", [Fault("", f"{what}: put it into a keras.Model")])
    if not model.built:
        raise InputError(model.name, [Fault("", "has no variables yet: call it once")])
    dropping = [layer for layer in _layers(model) if _drops(layer)]
    if dropping:
        what = "drops out, and tf2onnx has no random numbers: set its rate to 0"
        raise InputError(model.name, [Fault(layer.name, what) for layer in dropping])


def _layers(model: Model) -> Iterator[Model]:
    for layer in model.layers:
        yield layer
        if hasattr(layer, "layers"):
            yield from _layers(layer)


def _drops(layer: Model) -> bool:
    rates = [getattr(layer, name, 0) for name in ("rate", "dropout", "recurrent_dropout", "stddev")]
    return any(isinstance(rate, float) and rate > 0 for rate in rates)


def _pure(tf: ModuleType, model: Model, trained: int, others: int) -> Model:
    """Return the model as a function of its variables and inputs: to its outputs, and then its new state."""

    def call(*given: Array) -> Array:
        variables, rest = given[:trained], given[trained:]
        inputs = rest[others:]
        arguments = _arguments(tf, model, inputs)
        outputs, state = model.stateless_call(list(variables), list(rest[:others]), *arguments, training=True)
        return [*tf.nest.flatten(outputs), *(tf.identity(value) for value in state)]

    return tf.function(call)


def _arguments(tf: ModuleType, model: Model, inputs: Sequence[Array]) -> Sequence[Array]:
    """Return inputs as a model's call takes them: in a functional model's own structure, else one after the other."""
    if not getattr(model, "inputs", None):
        return inputs
    structure = getattr(model, "input", None)  # a Sequential has none, and takes one array
    return inputs if structure is None else [tf.nest.pack_sequence_as(structure, inputs)]


def _export(tf2onnx: ModuleType, source: str, call: Model, signature: list[Array]) -> ModelProto:
    with _quiet():
        proto: ModelProto = tf2onnx.convert.from_function(call, input_signature=signature, opset=OPSET)[0]
    _expand_erfc(proto)
    unknown = sorted({n.op_type for n in walk(proto.graph) if not onnx.defs.has(n.op_type, n.domain)})
    if unknown:
        raise UnsupportedError(f"{source}: tf2onnx has no ONNX form for {', '.join(unknown)}; build it of other layers")
    return proto


def _expand_erfc(proto: ModelProto) -> None:
    """Write `1 - Erf(x)` for TensorFlow's Erfc, which the exact GELU uses and tf2onnx leaves as it is."""
    for node in [node for node in proto.graph.node if node.op_type == "Erfc"]:
        erf, one = f"{node.output[0]}.erf", f"{node.output[0]}.one"
        index = list(proto.graph.node).index(node)
        proto.graph.initializer.append(numpy_helper.from_array(np.array(1, np.float32), one))
        proto.graph.node.insert(index + 1, helper.make_node("Sub", [one, erf], list(node.output)))
        proto.graph.node.insert(index + 1, helper.make_node("Erf", list(node.input), [erf]))
        proto.graph.node.remove(node)


def _run(
    tf: ModuleType, call: Model, values: Mapping[str, NDArray[Any]], feeds: list[NDArray[Any]], states: list[str]
) -> tuple[list[NDArray[Any]], dict[str, NDArray[Any]]]:
    results = [value.numpy() for value in call(*(tf.constant(v) for v in (*values.values(), *feeds)))]
    split = len(results) - len(states)
    return results[:split], dict(zip(states, results[split:], strict=True))


def _changing(proto: ModelProto, outputs: int, trained: int, others: Sequence[str]) -> list[str]:
    """Return the state that changes from step to step, and drop the other outputs; whole numbers are never needed."""
    makers = {name: node for node in proto.graph.node for name in node.output}
    entries = list(proto.graph.output)[outputs:]
    given = [entry.name for entry in proto.graph.input][trained:]
    kept = []
    for entry, name, start in zip(entries, others, given, strict=False):
        source = entry.name
        while source in makers and makers[source].op_type == "Identity":
            source = makers[source].input[0]
        if source == start or entry.type.tensor_type.elem_type not in FLOATING:
            proto.graph.output.remove(entry)
        else:
            kept.append(name)
    return kept


def _paths(variables: Sequence[Array]) -> list[str]:
    return [variable.path for variable in variables]


def _check_gradients(
    tf: ModuleType,
    source: str,
    call: Model,
    values: Mapping[str, NDArray[Any]],
    trained: int,
    feeds: list[NDArray[Any]],
) -> None:
    """Compare the model's gradient with difference quotients, in float32: Keras computes in no other."""
    names = list(values)[:trained]
    moving = moved({name: values[name] for name in names})

    def outputs(given: Mapping[str, Array]) -> list[Array]:
        arguments = [tf.cast(given.get(name, value), value.dtype) for name, value in values.items()]
        found = call(*arguments, *(tf.constant(feed) for feed in feeds))[: -(len(values) - trained) or None]
        return [value for value in found if value.dtype.is_floating]

    def loss(name: str, value: NDArray[np.float64]) -> float:
        return sum(float(np.sum(o.numpy() * draw(n, o.shape))) for n, o in enumerate(outputs({**moving, name: value})))

    given = {name: tf.constant(value, values[name].dtype) for name, value in moving.items()}
    with tf.GradientTape() as tape:
        tape.watch(list(given.values()))
        total = tf.add_n([tf.reduce_sum(o * tf.cast(draw(n, o.shape), o.dtype)) for n, o in enumerate(outputs(given))])
    found = tape.gradient(total, list(given.values()), unconnected_gradients=tf.UnconnectedGradients.ZERO)
    gradients = {name: tf.convert_to_tensor(g).numpy() for name, g in zip(given, found, strict=True)}
    check_gradients(source, loss, moving, gradients, rough=True)


@contextmanager
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("tf2onnx")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
