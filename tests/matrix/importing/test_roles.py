from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper
from onnx.shape_inference import infer_shapes
from onnx_models import classifier, drawn, floats, info, model, node

from stackproof.matrix.bringing.origin import Origin, Tensor, write_origin
from stackproof.matrix.importing.describe import describe
from stackproof.matrix.importing.prepare import Imported, Wishes, import_proto
from stackproof.matrix.report.importing import show_import

if TYPE_CHECKING:
    from onnx import NodeProto

TRAINED = Wishes(loss="mean-squared-error")


def imported(nodes: list[NodeProto], tensors: dict[str, Any], wishes: Wishes = TRAINED) -> Imported:
    given = model(nodes, [floats("x", 4, 3)], [floats("y", 4, 3)], tensors)
    return import_proto(given, "m.onnx", wishes, "m")


def test_weights_scales_and_biases_are_trained_and_statistics_are_not() -> None:
    made = import_proto(classifier(4), "m.onnx", Wishes(loss="cross-entropy"), "m")
    names = ["conv.weight", "conv.bias", "bn.weight", "bn.bias", "fc.weight", "fc.bias"]
    assert (list(made.program.parameters), made.roles.frozen, made.roles.why) == (names, (), "by name and use")


def test_a_bias_that_is_added_is_told_from_literals_by_its_name() -> None:
    nodes = [
        node("MatMul", ["x", "w"], ["a"]),
        node("Add", ["a", "layer.bias"], ["b"]),
        node("Add", ["b", "val_3"], ["c"]),
        node("Mul", ["c", "half"], ["y"]),
    ]
    tensors = {"w": drawn(3, 3), "layer.bias": drawn(3), "val_3": drawn(3, seed=1), "half": np.float32(0.5)}
    made = imported(nodes, tensors)
    assert list(made.program.parameters) == ["w", "layer.bias"]
    assert made.roles.frozen == ("val_3", "half")


def test_scale_and_bias_that_an_exporter_made_up_are_literals() -> None:
    # What PyTorch's older exporter makes of a group norm: an instance norm of scale 1 and bias 0, then the real ones.
    one = numpy_helper.from_array(np.ones(3, np.float32))
    nodes = [
        node("Constant", [], ["/norm/Constant_1_output_0"], value=one),
        node("Unsqueeze", ["x", "last"], ["wide"]),
        node("InstanceNormalization", ["wide", "/norm/Constant_1_output_0", "24"], ["even"]),
        node("Squeeze", ["even", "last"], ["narrow"]),
        node("LayerNormalization", ["narrow", "norm.weight", "25"], ["y"]),
    ]
    tensors = {"last": np.array([2]), "24": np.zeros(3), "norm.weight": np.ones(3), "25": [0.5, 1, 2]}
    held = {name: np.asarray(value, np.int64 if name == "last" else np.float32) for name, value in tensors.items()}
    made = imported(nodes, held)
    assert set(made.program.parameters) == {"norm.weight", "25"}
    assert set(made.roles.frozen) == {"/norm/Constant_1_output_0", "24"}


def test_a_weight_is_seen_through_what_only_moves_it() -> None:
    nodes = [node("Transpose", ["w"], ["turned"], perm=[1, 0]), node("MatMul", ["x", "turned"], ["y"])]
    made = imported(nodes, {"w": drawn(3, 3)})
    assert list(made.program.parameters) == ["w"]
    assert [entry.op for entry in made.program.nodes][:2] == ["Transpose", "MatMul"]


def test_what_no_gradient_reaches_is_not_trained() -> None:
    nodes = [
        node("MatMul", ["x", "chooser"], ["scores"]),
        node("ArgMax", ["scores"], ["places"], axis=1, keepdims=0),
        node("Gather", ["table", "places"], ["y"]),
    ]
    made = imported(nodes, {"chooser": drawn(3, 5), "table": drawn(5, 3)})
    assert list(made.program.parameters) == ["table"]
    assert made.roles.frozen == ("chooser",)


def test_patterns_overrule_what_was_decided() -> None:
    nodes = [node("MatMul", ["x", "body.w"], ["a"]), node("Mul", ["a", "head.scale"], ["y"])]
    tensors = {"body.w": drawn(3, 3), "head.scale": np.float32(1)}
    wishes = Wishes(loss="mean-squared-error", train=("head.*",), freeze=("body.*",))
    made = imported(nodes, tensors, wishes)
    assert (list(made.program.parameters), made.roles.frozen) == (["head.scale"], ("body.w",))


def test_the_origin_of_an_export_says_what_is_a_parameter() -> None:
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Add", ["a", "val_1"], ["b"]), node("Mul", ["b", "table"], ["y"])]
    tensors = {"w": drawn(3, 3), "val_1": drawn(3), "table": drawn(3, seed=1)}
    given = model(nodes, [floats("x", 4, 3)], [floats("y", 4, 3)], tensors)
    known = (Tensor("w"), Tensor("val_1"), Tensor("table", role="buffer"))
    write_origin(given, Origin(source="a framework", tensors=known))
    made = import_proto(given, "m.onnx", TRAINED, "m")
    assert (list(made.program.parameters), made.roles.why) == (["w", "val_1"], "as its origin says")


def test_the_origin_says_what_replaces_a_state() -> None:
    nodes = [node("MatMul", ["x", "w"], ["y"]), node("Add", ["count", "one"], ["count.next"])]
    tensors = {"w": drawn(3, 3), "count": np.zeros(1, np.float32), "one": np.ones(1, np.float32)}
    given = model(nodes, [floats("x", 4, 3)], [floats("y", 4, 3), floats("count.next", 1)], tensors)
    known = (Tensor("w"), Tensor("count", role="buffer"))
    write_origin(given, Origin(source="a framework", tensors=known, updates={"count": "count.next"}))
    made = import_proto(given, "m.onnx", Wishes(loss="mean-squared-error", output="y"), "m").program
    assert dict(made.updates) == {"count": "count.next"}
    np.testing.assert_array_equal(made.state["count"], numpy_helper.to_array(given.graph.initializer[1]))


def of_nodes(nodes: list[NodeProto], tensors: dict[str, Any], sizes: tuple[int, ...]) -> Imported:
    given = model(nodes, [floats("x", *sizes)], [info("y", TensorProto.FLOAT, None)], tensors)
    return import_proto(infer_shapes(given), "m.onnx", TRAINED, "m")


@pytest.mark.parametrize(("op", "gates", "peepholes"), [("LSTM", 4, 3), ("GRU", 3, 0), ("RNN", 1, 0)])
def test_biases_and_peepholes_of_a_recurrent_layer_are_trained_and_its_first_state_is_not(
    op: str, gates: int, peepholes: int
) -> None:
    tensors = {"w": drawn(1, gates * 2, 3), "r": drawn(1, gates * 2, 2), "b": drawn(1, gates * 4)}
    tensors |= {"h": drawn(1, 1, 2)}
    inputs = ["x", "w", "r", "b", "", "h"]
    if peepholes:
        tensors |= {"c": drawn(1, 1, 2), "p": drawn(1, peepholes * 2)}
        inputs += ["c", "p"]
    made = of_nodes([node(op, inputs, ["y"], hidden_size=2)], tensors, (4, 1, 3))
    assert list(made.program.parameters) == ["w", "r", "b", *(["p"] if peepholes else [])]
    assert made.roles.frozen == (("h", "c") if peepholes else ("h",))


def test_weight_and_bias_of_a_deformed_convolution_are_trained() -> None:
    tensors = {"w": drawn(2, 3, 1, 1), "b": drawn(2), "offset": drawn(1, 2, 4, 4)}
    made = of_nodes([node("DeformConv", ["x", "w", "offset", "b"], ["y"])], tensors, (1, 3, 4, 4))
    assert (list(made.program.parameters), made.roles.frozen) == (["w", "b"], ("offset",))


@pytest.mark.parametrize("cut", ["Slice", "Split", "Concat"])
def test_fused_weights_are_seen_through_what_cuts_and_joins_them(cut: str) -> None:
    tensors = {"in_proj": drawn(3, 6), "other": drawn(3, 3), "in_bias": drawn(6)}
    tensors |= {name: np.array([value]) for name, value in (("0", 0), ("3", 3), ("axis", 1))}
    parts = {
        "Slice": [node("Slice", ["in_proj", "0", "3", "axis"], ["part"])],
        "Split": [node("Split", ["in_proj"], ["part", "rest"], axis=1, num_outputs=2)],
        "Concat": [node("Slice", ["in_proj", "0", "3", "axis"], ["some"]), node("Concat", ["some", "other"], ["part"],
                   axis=1)],
    }  # fmt: skip
    made = of_nodes([*parts[cut], node("MatMul", ["x", "part"], ["y"])], tensors, (4, 3))
    assert set(made.program.parameters) == {"in_proj", *(["other"] if cut == "Concat" else [])}


def test_what_is_subtracted_and_what_divides_is_trained() -> None:
    nodes = [
        node("MatMul", ["x", "w"], ["a"]),
        node("Sub", ["a", "layer.shift"], ["b"]),
        node("Div", ["b", "layer.scale"], ["c"]),
        node("Sub", ["c", "norm.running_mean"], ["y"]),
    ]
    tensors = {"w": drawn(3, 3), **{name: drawn(3) + 3 for name in ("layer.shift", "layer.scale", "norm.running_mean")}}
    made = imported(nodes, tensors)
    assert list(made.program.parameters) == ["w", "layer.shift", "layer.scale"]
    assert made.roles.frozen == ("norm.running_mean",)


def test_what_makes_an_input_even_is_listed_and_not_trained() -> None:
    nodes = [
        node("Mul", ["x", "share"], ["small"]),
        node("Sub", ["small", "mean"], ["centred"]),
        node("Div", ["centred", "deviation"], ["even"]),
        node("MatMul", ["even", "w"], ["y"]),
    ]
    tensors = {"share": np.float32(0.5), "mean": drawn(3), "deviation": drawn(3) + 3, "w": drawn(3, 3)}
    made = imported(nodes, tensors)
    assert list(made.program.parameters) == ["w"]
    assert set(made.roles.frozen) == {"share", "mean", "deviation"}


def test_a_weight_by_its_length_is_trained() -> None:
    nodes = [
        node("ReduceL2", ["v"], ["length"]),
        node("Div", ["v", "length"], ["direction"]),
        node("MatMul", ["x", "direction"], ["a"]),
        node("LpNormalization", ["u"], ["even"], axis=0),
        node("MatMul", ["a", "even"], ["y"]),
    ]
    assert list(imported(nodes, {"v": drawn(3, 3), "u": drawn(3, 3, seed=1)}).program.parameters) == ["v", "u"]


def test_a_token_that_is_joined_to_others_is_trained() -> None:
    nodes = [node("Concat", ["x", "token"], ["all"], axis=0), node("MatMul", ["all", "w"], ["y"])]
    made = of_nodes(nodes, {"token": drawn(1, 3), "w": drawn(3, 3)}, (4, 3))
    assert list(made.program.parameters) == ["token", "w"]


def test_what_is_used_in_no_known_way_is_listed_with_its_elements() -> None:
    nodes = [
        node("MatMul", ["x", "w"], ["a"]),
        node("Transpose", ["w2"], ["turned"]),
        node("Max", ["turned", "a"], ["b"]),
        node("Mul", ["a", "b"], ["y"]),
    ]
    made = imported(nodes, {"w": drawn(3, 3), "w2": drawn(3, 1)})
    assert (made.roles.frozen, made.roles.frozen_elements) == (("w2",), 3)
    shown = describe(made, "m.onnx")
    assert shown["frozen"] == {"tensors": 1, "elements": 3, "names": ["w2"]}
    text = io.StringIO()
    show_import(shown, text)
    assert "1 tensors, 3 elements: w2\n" in text.getvalue()
    assert "--train NAME" in text.getvalue()
