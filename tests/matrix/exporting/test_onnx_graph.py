from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, checker, helper
from onnx_models import classifier, compute, drawn, floats, info, model, node

from stackproof.backends.errors import InputError
from stackproof.backends.models.build import build_program
from stackproof.backends.program import Input, Node, Program
from stackproof.matrix.exporting.inference import as_inference
from stackproof.matrix.exporting.onnx_graph import to_model
from stackproof.matrix.importing.prepare import Wishes, import_proto
from stackproof.matrix.spec_file import load_spec

EXAMPLES = Path(__file__).parents[3] / "examples"


def trained(name: str) -> Program:
    """Return an example's program with other tensors than its initial ones, as training would leave it."""
    program = build_program(load_spec(EXAMPLES / f"{name}_tiny.toml"))
    parameters = {
        key: drawn(*value.shape, seed=len(key)) * np.float32(0.1) for key, value in program.parameters.items()
    }
    state = {key: np.abs(drawn(*value.shape, seed=len(key))) + np.float32(0.5) for key, value in program.state.items()}
    return replace(program, parameters=parameters, state=state)


@pytest.mark.parametrize("name", ["gpt", "mlp", "cnn", "resnet"])
def test_an_export_is_sound_and_has_the_trained_tensors(name: str) -> None:
    program = trained(name)
    made = to_model(as_inference(program))
    checker.check_model(made, full_check=True)
    assert [entry.name for entry in made.graph.output] == ["logits"]
    assert [entry.name for entry in made.graph.input] == [program.inputs[0].name]
    held = {tensor.name: tensor.raw_data for tensor in made.graph.initializer}
    for key, value in {**program.parameters, **program.state}.items():
        assert held[key] == value.tobytes()


def test_a_batch_norm_normalises_by_what_it_learned() -> None:
    wishes = Wishes(batch=4, loss="cross-entropy", training=True)
    program = import_proto(classifier(), "m.onnx", wishes, "m").program
    mean, variance = drawn(4, seed=20), np.abs(drawn(4, seed=21)) + np.float32(0.5)
    made = to_model(as_inference(replace(program, state={"bn.running_mean": mean, "bn.running_var": variance})))
    wanted = classifier()
    for tensor in wanted.graph.initializer:
        if tensor.name in {"bn.running_mean", "bn.running_var"}:
            tensor.raw_data = {"bn.running_mean": mean, "bn.running_var": variance}[tensor.name].tobytes()
    x = drawn(4, 3, 8, 8, seed=22)
    np.testing.assert_allclose(compute(made, {"x": x})[0], compute(wanted, {"x": x})[0], rtol=1e-5, atol=1e-6)


def test_dropout_drops_nothing() -> None:
    nodes = [node("Dropout", ["x", "ratio", "training"], ["y"])]
    tensors = {"ratio": np.float32(0.9), "training": np.True_}
    program = import_proto(model(nodes, [floats("x", 5)], [floats("y", 5)], tensors), "m.onnx", Wishes(), "m").program
    x = drawn(5)
    np.testing.assert_array_equal(compute(to_model(as_inference(program)), {"x": x})[0], x)


def test_the_operator_set_is_the_lowest_that_has_every_operator_in_this_form() -> None:
    def opset(op: str, **attributes: int) -> int:
        program = Program("p", (Input("x", "float32", (2, 3)),), (Node(op, ("x",), ("y",), attributes),), "", {})
        return int(to_model(as_inference(replace(program, outputs=("y",)))).opset_import[0].version)

    # The sets in which ONNX last changed these operators.
    assert (opset("Relu"), opset("Softmax", axis=1), opset("Gelu"), opset("Transpose")) == (14, 13, 20, 25)


def test_an_operator_that_runtimes_lack_is_written_by_older_ones() -> None:
    nodes = (Node("Swish", ("x",), ("y",)),)
    program = Program("p", (Input("x", "float32", (2, 3)),), nodes, "", {}, outputs=("y",))
    made = to_model(as_inference(program))
    assert [entry.op_type for entry in made.graph.node] != ["Swish"]
    x = drawn(2, 3)
    np.testing.assert_allclose(compute(made, {"x": x})[0], x / (1 + np.exp(-x)), rtol=1e-6)


def test_other_outputs_can_be_asked_for() -> None:
    program = trained("mlp")
    made = as_inference(program, ["layer0.out"])
    assert (made.outputs, set(made.constants)) == (("layer0.out",), {"layer0.weight", "layer0.bias"})
    with pytest.raises(InputError, match=r"layer0\.oout: is no tensor of the program; did you mean"):
        as_inference(program, ["layer0.oout"])
    with pytest.raises(InputError, match="has no output but its loss"):
        as_inference(replace(program, outputs=()))


def test_weights_trained_in_float64_are_exported_as_float32() -> None:
    program = trained("mlp")
    wide = {name: value.astype(np.float64) for name, value in program.parameters.items()}
    assert to_model(as_inference(replace(program, parameters=wide))).graph == to_model(as_inference(program)).graph


def test_a_body_and_narrow_types_come_back_as_they_were() -> None:
    then = model([node("DequantizeLinear", ["w", "s"], ["a"])], [], [floats("a", 2)]).graph
    otherwise = model([node("Neg", ["x"], ["b"])], [], [floats("b", 2)]).graph
    given = model(
        [node("If", ["flag"], ["y"], then_branch=then, else_branch=otherwise)],
        [floats("x", 2), info("flag", TensorProto.BOOL, [])],
        [floats("y", 2)],
        {"w": helper.make_tensor("w", TensorProto.FLOAT8E4M3FN, [2], [1.5, -448.0]), "s": np.float32(2)},
    )
    made = to_model(as_inference(import_proto(given, "m.onnx", Wishes(), "m").program))
    x = drawn(2)
    np.testing.assert_array_equal(compute(made, {"x": x, "flag": np.True_})[0], [3, -896])
    np.testing.assert_array_equal(compute(made, {"x": x, "flag": np.False_})[0], -x)


def small_norm(*, kept: bool = False) -> Program:
    """Return a batch norm by the batch as small operators, as Keras models bring it; its mean is updated or kept."""
    nodes = (
        Node("ReduceMean", ("x",), ("mean",)),
        Node("Sub", ("x", "mean"), ("y",)),
        Node("Identity", ("moving",), ("same",)),
        Node("Add", ("moving", "mean"), ("next",)),
    )
    return Program(
        "p",
        (Input("x", "float32", (2, 3)),),
        nodes,
        "",
        {},
        outputs=("y",),
        state={"moving": np.zeros((1, 1), np.float32)},
        updates={"moving": "same" if kept else "next"},
    )


def test_state_that_small_operators_update_is_not_exported_as_it_trains() -> None:
    with pytest.raises(InputError, match=r"p: moving: this state is updated by operators other than.*--safetensors"):
        as_inference(small_norm())
    assert as_inference(small_norm(kept=True)).outputs == ("y",)


def test_a_batch_norm_used_twice_infers_by_one_running_mean() -> None:
    norm = ["scale", "bias", "mean", "var"]
    nodes = [
        node("BatchNormalization", ["x", *norm], ["a"], epsilon=0.0),
        node("BatchNormalization", ["a", *norm], ["y"], epsilon=0.0),
    ]
    numbers = ([2, 4, 6], [1, 2, 3], [5, 7, 9], [4, 16, 36])
    tensors = {name: np.array(values, np.float32) for name, values in zip(norm, numbers, strict=True)}
    wishes = Wishes(loss="mean-squared-error", training=True)
    given = import_proto(model(nodes, [floats("x", 4, 3)], [floats("y", 4, 3)], tensors), "m.onnx", wishes, "m").program
    assert set(given.state) == {"mean", "var"}
    x = drawn(4, 3)
    # The scale is the root of the variance, so that each use takes the mean off and adds the bias.
    wanted = x + np.array([-8, -10, -12], np.float32)
    np.testing.assert_allclose(compute(to_model(as_inference(given)), {"x": x})[0], wanted, rtol=1e-5, atol=1e-5)
