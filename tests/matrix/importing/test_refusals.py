"""Bad models: each is refused with the place and the mend, and none of them makes a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_models import classifier, drawn, floats, info, model, node, whole

from stackproof.backends.errors import InputError, UnsupportedError
from stackproof.backends.recipe import Train
from stackproof.matrix.importing import supported
from stackproof.matrix.importing.prepare import Wishes, import_proto

if TYPE_CHECKING:
    from onnx import ModelProto

TRAINED = Wishes(loss="mean-squared-error")


def refusal(given: ModelProto, wishes: Wishes = TRAINED) -> str:
    with pytest.raises(InputError) as caught:
        import_proto(given, "m.onnx", wishes, "m")
    assert all(line.startswith("m.onnx: ") for line in str(caught.value).splitlines())
    return str(caught.value)


def linear(weight: np.ndarray, **sizes: int) -> ModelProto:
    rows = sizes.get("rows", weight.shape[0])
    nodes = [node("MatMul", ["x", "w"], ["y"], name="layer")]
    return model(nodes, [floats("x", 4, rows)], [floats("y", 4, weight.shape[1])], {"w": weight})


def test_nodes_in_a_circle_are_named() -> None:
    nodes = [node("Add", ["x", "b"], ["a"], name="first"), node("Relu", ["a"], ["b"], name="second")]
    text = refusal(model(nodes, [floats("x", 2)], [floats("b", 2)]))
    assert "first: Add takes 'b', which only a later node makes" in text


def test_a_tensor_that_nothing_makes_is_named() -> None:
    text = refusal(model([node("Relu", ["nowhere"], ["y"], name="last")], [floats("x", 2)], [floats("y", 2)]))
    assert "last: Relu takes 'nowhere', which nothing makes" in text


def test_shapes_that_do_not_fit_are_refused_with_the_node() -> None:
    text = refusal(linear(drawn(3, 2), rows=5))
    assert "its shapes do not fit" in text
    assert "node name: layer" in text


def test_an_operator_of_another_domain_is_refused_by_name() -> None:
    nodes = [node("FusedMagic", ["x"], ["y"], name="fast", domain="com.example")]
    text = refusal(model(nodes, [floats("x", 2)], [floats("y", 2)]), Wishes())
    assert "fast: operator FusedMagic of com.example has no rule; frameworks that have one: none" in text


def test_an_operator_that_only_some_frameworks_have_is_refused_on_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    made = import_proto(linear(drawn(3, 2)), "m.onnx", TRAINED, "m").program
    known = supported._table()
    monkeypatch.setattr(supported, "_table", lambda: {**known, "MatMul": ["jax", "torch"]})
    supported.check_rules(made, ["torch", "jax"])
    with pytest.raises(UnsupportedError) as caught:
        supported.check_rules(made, ["tensorflow"])
    wanted = "operator MatMul (node that makes 'y') has no rule on tensorflow; frameworks that have one: torch, jax"
    assert str(caught.value) == wanted


def test_an_operator_that_onnx_does_not_have_is_named() -> None:
    text = refusal(model([node("Swoosh", ["x"], ["y"], name="odd")], [floats("x", 2)], [floats("y", 2)]))
    assert "odd: Swoosh is no operator of ONNX's set 28" in text
    text = refusal(model([node("Gelu", ["x"], ["y"], name="odd")], [floats("x", 2)], [floats("y", 2)], opset=13))
    assert "odd: Gelu is no operator of ONNX's set 13; a later one than 13 has it" in text


def test_strings_are_refused_by_name() -> None:
    text = refusal(model([node("Identity", ["words"], ["y"])], [info("words", TensorProto.STRING, [2])], [
        info("y", TensorProto.STRING, [2])
    ]))  # fmt: skip
    assert "words: the input is of type string" in text
    tensor = helper.make_tensor("names", TensorProto.STRING, [1], [b"a"])
    text = refusal(model([node("Relu", ["x"], ["y"])], [floats("x", 2)], [floats("y", 2)], {"names": tensor}))
    assert "names: is a tensor of type string" in text


def test_weights_that_are_not_finite_are_counted_unless_they_may_pass() -> None:
    weight = drawn(3, 2)
    weight[0] = np.nan
    assert "w: 2 of its 6 elements are NaN or infinite" in refusal(linear(weight))
    made = import_proto(linear(weight), "m.onnx", Wishes(loss="mean-squared-error", allow_not_finite=True), "m")
    assert np.isnan(made.program.parameters["w"]).sum() == 2


def test_a_mask_of_infinity_is_no_bad_weight() -> None:
    mask = np.triu(np.full((3, 3), -np.inf, np.float32), 1)
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Add", ["a", "mask"], ["y"])]
    given = model(nodes, [floats("x", 3, 3)], [floats("y", 3, 3)], {"w": drawn(3, 3), "mask": mask})
    assert list(import_proto(given, "m.onnx", TRAINED, "m").program.parameters) == ["w"]


def test_data_that_are_not_as_many_as_the_shape_says_are_refused() -> None:
    tensor = helper.make_tensor("w", TensorProto.FLOAT, [3, 2], drawn(3, 2).tobytes(), raw=True)
    tensor.raw_data = tensor.raw_data[:-4]
    nodes = [node("MatMul", ["x", "w"], ["y"])]
    text = refusal(model(nodes, [floats("x", 4, 3)], [floats("y", 4, 2)], {"w": tensor}))
    assert "w: has 20 bytes of data, and its shape [3, 2] asks for 24" in text


@pytest.mark.parametrize(
    ("wishes", "text"),
    [
        (Wishes(loss="cross-entropy"), "x: its size 0 (batch) is open: give its sizes"),
        (Wishes(shapes={"x": (2, 3, 9, 8)}), "x: its size 2 is 8 in the model, and 9 is given"),
        (Wishes(shapes={"x": (2, 3)}), "x: has 4 sizes in the model and 2 are given"),
        (Wishes(shapes={"z": (2, 3)}, batch=2), "z: is no input of the model; known: x"),
        (Wishes(batch=2, bounds={"x": 3}), "x: is no integer input of the model"),
        (
            Wishes(batch=2, loss="cross-entropy", output="score"),
            "score: is no output of the model; did you mean 'scores'",
        ),
        (Wishes(batch=2, loss="own"), "scores: has the shape [2, 5], and a loss is one number"),
        (Wishes(batch=2, train=("nothing*",)), "train 'nothing*': fits no initializer of the model"),
        (Wishes(batch=2, train=("fc.*",), freeze=("*.bias",)), "fc.bias: is to be trained by one pattern and frozen"),
        (Wishes(batch=2, train=("axes",)), "axes: cannot be trained: its type is int64"),
    ],
)
def test_wishes_that_do_not_fit_the_model_are_refused(wishes: Wishes, text: str) -> None:
    assert text in refusal(classifier(), wishes)


def test_one_output_must_be_named_where_there_are_several() -> None:
    nodes = [node("MatMul", ["x", "w"], ["y"]), node("Relu", ["y"], ["z"])]
    given = model(nodes, [floats("x", 4, 3)], [floats("y", 4, 2), floats("z", 4, 2)], {"w": drawn(3, 2)})
    assert "has 2 outputs, and the loss is of one: name it with output, one of y, z" in refusal(given)


def test_an_input_of_the_name_of_the_labels_is_refused() -> None:
    nodes = [node("MatMul", ["x", "w"], ["y"]), node("Gather", ["y", "labels"], ["z"])]
    given = model(nodes, [floats("x", 4, 3), whole("labels", 2)], [floats("z", 2, 2)], {"w": drawn(3, 2)})
    assert "labels: is the name of the loss's own input" in refusal(given, Wishes(loss="cross-entropy"))


def test_an_operator_set_that_onnx_does_not_know_is_refused() -> None:
    given = model([node("Relu", ["x"], ["y"])], [floats("x", 2)], [floats("y", 2)], opset=99)
    assert "uses operator set 99, and the onnx package here knows 28" in refusal(given)


def test_sequences_cannot_be_fed() -> None:
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [2]))
    nodes = [node("ConcatFromSequence", ["s"], ["y"], axis=0)]
    given = model(nodes, [helper.make_value_info("s", kind)], [floats("y", None)])
    assert "s: is a sequence or an optional, and a batch holds tensors only" in refusal(given, Wishes())


@pytest.mark.parametrize(
    ("shape", "loss", "numbers", "text"),
    [
        ((4,), "kl-divergence", Train(), "y: has the shape [4], and kl-divergence needs scores of shape"),
        (
            (4, 1),
            "kl-divergence",
            Train(),
            'of one class, and kl-divergence compares several: set train.loss = "binary',
        ),
        (
            (4, 3),
            "cross-entropy",
            Train(class_weights=(1, 2)),
            "train.class_weights: has 2 entries and the model has 3",
        ),
        ((4, 5, 3), "cross-entropy", Train(class_weights=(0, 0, 1), ignore_label=2), "leaves every class out"),
        ((4, 3), "cross-entropy", Train(class_weights=(0, 0, 1e-30)), "train.class_weights[2]: must be 0, or from"),
    ],
)
def test_outputs_that_do_not_fit_the_loss_are_refused(
    shape: tuple[int, ...], loss: str, numbers: Train, text: str
) -> None:
    given = model([node("Mul", ["x", "w"], ["y"])], [floats("x", *shape)], [floats("y", *shape)], {"w": drawn(1)})
    assert text in refusal(given, Wishes(loss=loss, numbers=numbers, train=("w",)))


@pytest.mark.parametrize("name", ["targets", "labels"])
def test_a_parameter_of_the_name_of_the_losss_input_is_refused(name: str) -> None:
    given = model([node("MatMul", ["x", name], ["y"])], [floats("x", 4, 3)], [floats("y", 4, 2)], {name: drawn(3, 2)})
    assert f"{name}: is the name of the loss's own input, and a tensor of the model has it" in refusal(given)


def test_a_bound_above_the_rows_of_the_table_is_refused() -> None:
    nodes = [node("Gather", ["table", "ids"], ["y"])]
    given = model(nodes, [whole("ids", 2)], [floats("y", 2, 3)], {"table": drawn(11, 3)})
    fits, above = (Wishes(loss="mean-squared-error", bounds={"ids": bound}) for bound in (11, 12))
    assert import_proto(given, "m.onnx", fits, "m").program.inputs[0].bound == 11
    wanted = "model.bounds.ids: is 12, and the table that ids chooses from has 11 rows: write 11 or less"
    assert wanted in refusal(given, above)


def test_a_bound_above_the_depth_of_one_hot_is_the_users() -> None:
    nodes = [node("OneHot", ["ids", "depth", "pair"], ["hot"]), node("MatMul", ["hot", "w"], ["y"])]
    tensors = {"depth": np.array(5), "pair": np.array([0, 1], np.float32), "w": drawn(5, 3)}
    given = model(nodes, [whole("ids", 2)], [floats("y", 2, 3)], tensors)
    wishes = Wishes(loss="mean-squared-error", bounds={"ids": 9})
    assert import_proto(given, "m.onnx", wishes, "m").program.inputs[0].bound == 9
