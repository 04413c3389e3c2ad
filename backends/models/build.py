"""Compile a spec's model to a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import StackproofError
from ..spec import Bert, Cnn, Gpt, Llama, Mlp, Moe, Onnx, Resnet, Unet, Vit, as_gpt
from . import bert, cnn, gpt, mlp, moe, resnet, unet, vit
from .graph import Graph
from .losses import add_loss, add_token_loss

if TYPE_CHECKING:
    from ..program import Program
    from ..spec import Spec

# The models that give scores of classes, or numbers, for a sample as a whole.
_WHOLE: dict[type, Any] = {Mlp: mlp, Cnn: cnn, Resnet: resnet, Vit: vit}


def build_program(spec: Spec) -> Program:
    """Compile a spec's model, with its loss and initial tensors, to a program.

    Args:
        spec: A spec whose numbers fit together, as `reading.read_spec` returns it.

    Returns:
        A program whose inputs are what `data.batch` makes for the spec.
    """
    graph, model = Graph(spec.train.seed), spec.model
    if isinstance(model, Onnx):
        raise StackproofError(f"spec {spec.name}: a model file is compiled by the importer, not built here")
    if isinstance(model, (Gpt, Llama, Moe, Bert)):
        output, loss = _add_words(graph, spec, model)
    elif isinstance(model, Unet):
        output = unet.add_model(graph, model, spec.data.batch)
        loss = add_loss(graph, spec.train, output, (spec.data.batch, model.outputs, *model.image[1:]))
    else:
        output = _WHOLE[type(model)].add_model(graph, model, spec.data.batch)
        loss = add_loss(graph, spec.train, output, (spec.data.batch, model.outputs))
    return graph.finish(spec.name, loss, (output,))


def _add_words(graph: Graph, spec: Spec, model: Gpt | Llama | Moe | Bert) -> tuple[str, str]:
    """Add a model that gives scores of words, and return the names of its output and of the loss."""
    balance = ""
    if isinstance(model, Bert):
        output = bert.add_model(graph, model, spec.data.batch)
    elif isinstance(model, Moe):
        output, balance = moe.add_model(graph, model, spec.data.batch)
    else:
        output = gpt.add_model(graph, as_gpt(model), spec.data.batch)
    loss = add_token_loss(graph, spec.train, output, (spec.data.batch, model.context, model.vocabulary))
    return output, graph.add("Add", (loss, balance), "loss.balanced") if balance else loss
