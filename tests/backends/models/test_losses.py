"""Losses as graphs: sound ONNX, the papers' formulas by ONNX's own evaluator, and no more nodes than are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from loss_cases import CASES, Case, program_of, wanted
from onnx import helper
from whole_programs import reference_loss

from stackproof.backends.models.graph import Graph
from stackproof.backends.models.losses import add_loss, add_token_loss
from stackproof.backends.program import OPSET, dump, load
from stackproof.backends.recipe import Train

if TYPE_CHECKING:
    from stackproof.backends.program import Program

SCORES = (6, 4)
RICH: dict[str, Any] = {"label_smoothing": 0.1, "class_weights": (1.0, 2.0, 0.0, 0.5), "ignore_label": -1}
TRAINS = {
    "smoothed": Train(label_smoothing=0.1),
    "weighted": Train(class_weights=(1.0, 2.0, 0.0, 0.5)),
    "ignored": Train(ignore_label=-1),
    "rich": Train(**RICH),
    "huber": Train(loss="huber"),
    "binary": Train(loss="binary-cross-entropy"),
    "divergence": Train(loss="kl-divergence"),
}


def made(train: Train, shape: tuple[int, ...] = SCORES) -> Program:
    graph = Graph(seed=0)
    output = graph.input("output", "float32", shape)
    tokens = len(shape) == 3 and train.loss == "cross-entropy"
    loss = (add_token_loss if tokens else add_loss)(graph, train, output, shape)
    return graph.finish("loss", loss, ())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_reference_evaluator_finds_the_formula(case: Case) -> None:
    program = program_of(case)
    found = reference_loss(program, {program.inputs[0].name: case.target})
    assert found == pytest.approx(wanted(case)[0], rel=1e-12)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_formulas_gradient_is_a_central_difference(case: Case) -> None:
    direction = np.random.default_rng(8).standard_normal(case.output.shape)
    # No element crosses a corner of huber on the way.
    step = 1e-10 if case.train.loss == "huber" else 1e-6
    ahead, behind = (
        wanted(Case(case.name, case.train, case.output + sign * step * direction, case.target))[0] for sign in (1, -1)
    )
    slope = float(np.sum(wanted(case)[1] * direction))
    assert (ahead - behind) / (2 * step) == pytest.approx(slope, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("shape", [SCORES, (2, 3, 4), (2, 4, 3, 5)], ids=str)
@pytest.mark.parametrize("name", TRAINS)
def test_graphs_are_sound_onnx_and_their_loss_is_one_number(name: str, shape: tuple[int, ...]) -> None:
    program = made(TRAINS[name], shape)
    inputs = [
        helper.make_tensor_value_info(entry.name, helper.np_dtype_to_tensor_dtype(np.dtype(entry.dtype)), entry.shape)
        for entry in program.inputs
    ]
    nodes = [helper.make_node(node.op, node.inputs, node.outputs, **node.attributes) for node in program.nodes]
    tensors = [onnx.numpy_helper.from_array(value, name) for name, value in program.constants.items()]
    loss = helper.make_tensor_value_info("loss", onnx.TensorProto.FLOAT, [])
    model = helper.make_model(
        helper.make_graph(nodes, "loss", inputs, [loss], tensors), opset_imports=[helper.make_opsetid("", OPSET)]
    )
    onnx.checker.check_model(model, full_check=True)
    assert load(dump(program)).digest == program.digest


def test_keys_at_their_defaults_leave_the_graph_as_it_was() -> None:
    (node,) = made(Train()).nodes
    assert (node.op, node.inputs, node.attributes) == (
        "SoftmaxCrossEntropyLoss",
        ("output", "labels"),
        {"reduction": "mean"},
    )
    assert [node.op for node in made(Train(), (2, 3, 4)).nodes] == ["Reshape", "Reshape", "SoftmaxCrossEntropyLoss"]
    assert [node.outputs for node in made(Train(loss="mean-squared-error")).nodes] == [
        ("error",),
        ("squared_error",),
        ("loss",),
    ]
    assert not made(Train()).constants


def test_each_key_makes_another_program() -> None:
    trains = [Train(), *TRAINS.values(), Train(loss="huber", huber_delta=0.5), Train(ignore_label=-2)]
    assert len({made(train).digest for train in trains}) == len(trains)


def test_smoothing_towards_even_labels_is_what_the_paper_defines() -> None:
    # Szegedy et al., 2016, section 7: cross-entropy with (1 - share) of the label and share / classes of each class.
    scores, labels = np.log(np.array([[1.0, 2.0, 5.0]])), np.array([2])
    program = program_of(Case("paper", Train(label_smoothing=0.25), scores, labels))
    right = -(0.75 * np.log(5 / 8) + 0.25 / 3 * (np.log(1 / 8) + np.log(2 / 8) + np.log(5 / 8)))
    assert reference_loss(program, {"labels": labels}) == pytest.approx(right, rel=1e-14)
