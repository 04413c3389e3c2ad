from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import numpy_helper
from onnx_models import classifier, drawn, floats, model, node

from stackproof.matrix.bringing.origin import Origin, Tensor, write_origin
from stackproof.matrix.importing.prepare import Imported, Wishes, import_proto

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
