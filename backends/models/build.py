"""Compile a spec's model to a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import StackproofError
from ..spec import Cnn, Gpt, Onnx, Resnet
from . import cnn, gpt, mlp, resnet
from .graph import Graph

if TYPE_CHECKING:
    from ..program import Program
    from ..spec import Spec


def build_program(spec: Spec) -> Program:
    """Compile a spec's model, with its loss and initial tensors, to a program.

    Args:
        spec: A spec whose numbers fit together, as `reading.read_spec` returns it.

    Returns:
        A program whose inputs are what `data.batch` makes for the spec.
    """
    graph = Graph(spec.train.seed)
    model = spec.model
    if isinstance(model, Gpt):
        output = gpt.add_model(graph, model, spec.data.batch)
        scores, labels = _per_token(graph, model, spec.data.batch, output)
        loss = graph.add("SoftmaxCrossEntropyLoss", (scores, labels), "loss", reduction="mean")
        return graph.finish(spec.name, loss, (output,))
    if isinstance(model, Cnn):
        output = cnn.add_model(graph, model, spec.data.batch)
    elif isinstance(model, Resnet):
        output = resnet.add_model(graph, model, spec.data.batch)
    elif isinstance(model, Onnx):
        raise StackproofError(f"spec {spec.name}: a model file is compiled by the importer, not built here")
    else:
        output = mlp.add_model(graph, model, spec.data.batch)
    return graph.finish(spec.name, _add_loss(graph, spec, output, model.outputs), (output,))


def _per_token(graph: Graph, model: Gpt, batch: int, logits: str) -> tuple[str, str]:
    targets = graph.input("targets", "int64", (batch, model.context))
    shape = graph.integers("per_token", -1, model.vocabulary)
    scores = graph.add("Reshape", (logits, shape), "token_logits")
    return scores, graph.add("Reshape", (targets, graph.integers("flat", -1)), "token_targets")


def _add_loss(graph: Graph, spec: Spec, output: str, outputs: int) -> str:
    if spec.train.loss == "cross-entropy":
        labels = graph.input("labels", "int64", (spec.data.batch,))
        return graph.add("SoftmaxCrossEntropyLoss", (output, labels), "loss", reduction="mean")
    targets = graph.input("targets", "float32", (spec.data.batch, outputs))
    error = graph.add("Sub", (output, targets), "error")
    return graph.add("ReduceMean", (graph.add("Mul", (error, error), "squared_error"),), "loss", keepdims=0)
