from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from loss_cases import Case, wanted
from onnx import TensorProto, helper
from onnx_models import classifier, compute, drawn, evaluate, floats, info, model, node, whole

from stackproof.backends.program import dump, load
from stackproof.backends.recipe import Train
from stackproof.matrix.importing.prepare import Imported, Wishes, import_proto
from stackproof.matrix.importing.supported import operators

if TYPE_CHECKING:
    from onnx import ModelProto

CLASSIFY = Wishes(batch=4, loss="cross-entropy")


def imported(given: ModelProto, wishes: Wishes | None = None) -> Imported:
    return import_proto(given, "m.onnx", wishes or Wishes(), "m")


def ops(made: Imported) -> list[str]:
    return [entry.op for entry in made.program.nodes]


def test_what_is_known_beforehand_is_worked_out() -> None:
    made = imported(classifier(), CLASSIFY)
    assert ops(made) == [
        *("Conv", "BatchNormalization", "Relu", "GlobalAveragePool", "Reshape", "Gemm"),
        "SoftmaxCrossEntropyLoss",
    ]
    assert {name: value.tolist() for name, value in made.program.constants.items() if value.dtype == np.int64} == {
        "flat_shape": [4, -1]
    }


def test_a_program_computes_what_the_model_does() -> None:
    x = drawn(4, 3, 8, 8, seed=11)
    made = imported(classifier(), CLASSIFY).program
    np.testing.assert_allclose(evaluate(made, {"x": x})[0], compute(classifier(), {"x": x})[0], rtol=1e-5, atol=1e-6)
    assert load(dump(made)).digest == made.digest


def test_the_loss_is_the_mean_cross_entropy_of_the_output() -> None:
    made = imported(classifier(), CLASSIFY).program
    assert [(entry.name, entry.dtype, entry.shape, entry.bound) for entry in made.inputs] == [
        ("x", "float32", (4, 3, 8, 8), 0),
        ("labels", "int64", (4,), 5),
    ]
    x, labels = drawn(4, 3, 8, 8, seed=11), np.array([0, 4, 2, 2])
    scores = compute(classifier(), {"x": x})[0].astype(np.float64)
    wanted = (np.log(np.exp(scores).sum(1)) - scores[np.arange(4), labels]).mean()
    inferring = evaluate(replace(made, outputs=("loss",)), {"x": x, "labels": labels})[0]
    np.testing.assert_allclose(inferring, wanted, rtol=1e-6)


def test_a_batch_norm_that_trains_keeps_its_statistics_in_the_state() -> None:
    made = imported(classifier(), Wishes(batch=4, loss="cross-entropy", training=True)).program
    assert set(made.state) == {"bn.running_mean", "bn.running_var"}
    (norm,) = [entry for entry in made.nodes if entry.op == "BatchNormalization"]
    assert norm.attributes["training_mode"] == 1
    assert made.updates == {"bn.running_mean": norm.outputs[1], "bn.running_var": norm.outputs[2]}
    frozen = imported(classifier(), CLASSIFY).program
    assert (dict(frozen.state), "bn.running_mean" in frozen.constants) == ({}, True)


def test_a_batch_norm_used_twice_goes_on_from_its_first_statistics() -> None:
    names = ["scale", "bias", "mean", "variance"]
    nodes = [
        node("BatchNormalization", ["x", *names], ["a"]),
        node("BatchNormalization", ["a", *names], ["y"]),
    ]
    tensors = {name: np.arange(1, 4, dtype=np.float32) * place for place, name in enumerate(names, 1)}
    made = imported(model(nodes, [floats("x", 4, 3)], [floats("y", 4, 3)], tensors), Wishes(
        loss="mean-squared-error", training=True
    )).program  # fmt: skip
    first, second = [entry for entry in made.nodes if entry.op == "BatchNormalization"]
    assert second.inputs[3:] == first.outputs[1:]
    assert made.updates == {"mean": second.outputs[1], "variance": second.outputs[2]}


def test_functions_of_the_model_are_opened_whatever_their_operator_set() -> None:
    squeeze = helper.make_function(
        "own", "Squeezed", ["a"], ["b"], [node("Squeeze", ["a"], ["b"], axes=[0])], [helper.make_opsetid("", 11)]
    )
    given = model([node("Squeezed", ["x"], ["y"], domain="own")], [floats("x", 1, 3)], [floats("y", 3)], opset=17)
    given.functions.append(squeeze)
    x = drawn(1, 3)
    np.testing.assert_array_equal(evaluate(imported(given).program, {"x": x})[0], x[0])


def test_an_operator_without_rule_is_opened_into_what_it_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    real = operators
    monkeypatch.setattr(
        "stackproof.matrix.importing.inlining.operators", lambda target: real(target) - {"LayerNormalization"}
    )
    tensors = {"scale": drawn(5), "bias": drawn(5, seed=1)}
    nodes = [node("LayerNormalization", ["x", "scale", "bias"], ["y"])]
    given = model(nodes, [floats("x", 3, 5)], [floats("y", 3, 5)], tensors)
    made = imported(given, Wishes(loss="mean-squared-error"))
    assert made.opened == ("LayerNormalization",)
    assert "LayerNormalization" not in ops(made)
    assert set(made.program.parameters) == {"scale", "bias"}
    x = drawn(3, 5, seed=2)
    np.testing.assert_allclose(evaluate(made.program, {"x": x})[0], compute(given, {"x": x})[0], rtol=1e-5, atol=1e-6)


def test_weights_in_constant_nodes_are_found() -> None:
    weight = helper.make_tensor("", TensorProto.FLOAT, [3, 2], drawn(3, 2).reshape(-1))
    nodes = [node("Constant", [], ["weight"], value=weight), node("MatMul", ["x", "weight"], ["y"])]
    made = imported(model(nodes, [floats("x", 4, 3)], [floats("y", 4, 2)]), Wishes(loss="mean-squared-error"))
    assert list(made.program.parameters) == ["weight"]


@pytest.mark.parametrize("kind", [TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE])
def test_other_floats_are_trained_as_float32(kind: int) -> None:
    weight = helper.make_tensor("w", kind, [3, 2], [1, 2, 3, 4, 5, 6])
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Cast", ["a"], ["y"], to=kind)]
    given = model(nodes, [info("x", kind, [4, 3])], [info("y", kind, [4, 2])], {"w": weight})
    made = imported(given, Wishes(loss="mean-squared-error"))
    np.testing.assert_array_equal(made.program.parameters["w"], np.array([[1, 2], [3, 4], [5, 6]], np.float32))
    assert made.program.parameters["w"].dtype == np.float32
    assert {entry.dtype for entry in made.program.inputs} == {"float32"}
    assert made.program.nodes[1].attributes["to"] == TensorProto.FLOAT
    assert made.widened == (TensorProto.DataType.Name(kind).lower(),)


def test_a_program_that_is_only_evaluated_keeps_its_types() -> None:
    given = model([node("Relu", ["x"], ["y"])], [info("x", TensorProto.FLOAT16, [2])], [info("y", 10, [2])])
    assert imported(given).program.inputs[0].dtype == "float16"


def test_what_only_other_outputs_need_is_left_out() -> None:
    nodes = [node("MatMul", ["x", "a"], ["y"]), node("MatMul", ["x", "b"], ["z"])]
    tensors = {"a": drawn(3, 2), "b": drawn(3, 2, seed=1)}
    given = model(nodes, [floats("x", 4, 3)], [floats("y", 4, 2), floats("z", 4, 2)], tensors)
    made = imported(given, Wishes(loss="mean-squared-error", output="z")).program
    assert (list(made.parameters), made.outputs) == (["b"], ("z",))


def test_the_bound_of_tokens_is_the_size_of_their_table() -> None:
    nodes = [node("Cast", ["ids"], ["wide"], to=7), node("Gather", ["table", "wide"], ["y"])]
    given = model(nodes, [info("ids", TensorProto.INT32, [2, 4])], [floats("y", 2, 4, 3)], {"table": drawn(11, 3)})
    assert [entry.bound for entry in imported(given).program.inputs] == [11]


@pytest.mark.parametrize(
    ("shape", "labels", "count"), [((4, 6, 9), (4, 6), 9), ((4, 9, 2, 3), (4, 2, 3), 9), ((4, 9), (4,), 9)]
)
def test_labels_have_the_shape_of_the_scores_without_the_classes(
    shape: tuple[int, ...], labels: tuple[int, ...], count: int
) -> None:
    given = model([node("Mul", ["x", "w"], ["y"])], [floats("x", *shape)], [floats("y", *shape)], {"w": drawn(1)})
    made = imported(given, Wishes(loss="cross-entropy", train=("w",))).program
    assert [(entry.shape, entry.bound) for entry in made.inputs if entry.name == "labels"] == [(labels, count)]
    x, chosen = drawn(*shape), np.random.default_rng(0).integers(0, count, labels)
    axis = 2 if len(shape) == 3 else 1
    scores = np.moveaxis(x * drawn(1), axis, -1).reshape(-1, count).astype(np.float64)
    wanted = (np.log(np.exp(scores).sum(1)) - scores[np.arange(len(scores)), chosen.reshape(-1)]).mean()
    made_loss = evaluate(replace(made, outputs=("loss",)), {"x": x, "labels": chosen})[0]
    np.testing.assert_allclose(made_loss, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("loss", "shape"),
    [
        ("huber", (4, 3)),
        ("binary-cross-entropy", (4,)),
        ("kl-divergence", (4, 2, 3)),
        ("kl-divergence", (4, 3, 2, 2)),
    ],
)
def test_other_losses_are_compared_with_targets(loss: str, shape: tuple[int, ...]) -> None:
    given = model([node("Mul", ["x", "w"], ["y"])], [floats("x", *shape)], [floats("y", *shape)], {"w": drawn(1)})
    made = imported(given, Wishes(loss=loss, numbers=Train(huber_delta=0.5), train=("w",))).program
    assert [(entry.name, entry.dtype, entry.shape) for entry in made.inputs] == [
        ("x", "float32", shape),
        ("targets", "float32", shape),
    ]
    x = drawn(*shape, seed=3)
    target = np.abs(drawn(*shape, seed=4))
    axis = 2 if len(shape) == 3 else 1
    if loss == "kl-divergence":
        target /= target.sum(axis=axis, keepdims=True)
    right = wanted(Case("", Train(loss=loss, huber_delta=0.5), (x * drawn(1)).astype(np.float64), target))[0]
    found = evaluate(replace(made, outputs=("loss",)), {"x": x, "targets": target})[0]
    np.testing.assert_allclose(found, right, rtol=1e-5)


@pytest.mark.parametrize("shape", [(4, 6, 9), (4, 9, 2, 3), (4, 9)])
def test_keys_of_cross_entropy_reach_the_loss(shape: tuple[int, ...]) -> None:
    given = model([node("Mul", ["x", "w"], ["y"])], [floats("x", *shape)], [floats("y", *shape)], {"w": drawn(1)})
    numbers = Train(label_smoothing=0.1, ignore_label=-1, class_weights=(0.0, *range(1, 9)))
    made = imported(given, Wishes(loss="cross-entropy", numbers=numbers, train=("w",))).program
    labels = np.random.default_rng(0).integers(0, 9, made.inputs[1].shape)
    labels.flat[:2] = (-1, 8)
    x = drawn(*shape, seed=3)
    right = wanted(Case("", numbers, (x * drawn(1)).astype(np.float64), labels))[0]
    found = evaluate(replace(made, outputs=("loss",)), {"x": x, "labels": labels})[0]
    np.testing.assert_allclose(found, right, rtol=1e-5)
    assert load(dump(made)).digest == made.digest


def test_a_model_may_bring_its_own_loss() -> None:
    nodes = [node("Gemm", ["x", "w"], ["s"]), node("SoftmaxCrossEntropyLoss", ["s", "t"], ["l"])]
    given = model(nodes, [floats("x", 4, 3), whole("t", 4)], [floats("s", 4, 2), floats("l")], {"w": drawn(3, 2)})
    made = imported(given, Wishes(loss="own", output="l", bounds={"t": 2})).program
    assert (made.loss, [entry.name for entry in made.inputs]) == ("l", ["x", "t"])


def test_quantised_types_are_kept() -> None:
    weight = helper.make_tensor("w", TensorProto.INT4, [2, 2], [-8, 7, 1, 2])
    nodes = [node("DequantizeLinear", ["w", "scale"], ["wide"]), node("MatMul", ["x", "wide"], ["y"])]
    given = model(nodes, [floats("x", 3, 2)], [floats("y", 3, 2)], {"w": weight, "scale": np.float32(0.5)})
    made = imported(given).program
    assert made.narrow == {"w": "int4"}
    assert made.constants["w"].tolist() == [[-8, 7], [1, 2]]
    x = drawn(3, 2)
    np.testing.assert_allclose(evaluate(made, {"x": x})[0], x @ np.array([[-4, 3.5], [0.5, 1]], np.float32), rtol=1e-6)
