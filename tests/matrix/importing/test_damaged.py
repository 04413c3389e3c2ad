"""Files that are damaged, or ask for more than a machine has: each is refused by name, at once."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import classifier, drawn, evaluate, floats, info, model, node, whole

from stackproof.backends.errors import InputError
from stackproof.matrix.importing import limits
from stackproof.matrix.importing.loading import file_digest, load_model
from stackproof.matrix.importing.prepare import Imported, Wishes, import_proto

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from onnx import ModelProto, NodeProto

SQUARES = Wishes(loss="mean-squared-error")
DOMAIN = "com.example"


def imported(given: ModelProto, wishes: Wishes = SQUARES) -> Imported:
    return import_proto(given, "m.onnx", wishes, "m")


def refusal(given: ModelProto, wishes: Wishes = SQUARES) -> str:
    with pytest.raises(InputError) as caught:
        imported(given, wishes)
    return str(caught.value)


def linear(weight: np.ndarray | TensorProto | None = None, *more: NodeProto, **tensors: Any) -> ModelProto:
    nodes = [node("MatMul", ["x", "w"], ["y"] if not more else ["a"], name="layer"), *more]
    held = {"w": drawn(3, 2) if weight is None else weight, **tensors}
    return model(nodes, [floats("x", 4, 3)], [floats("y", 4, 2)], held)


def weight_of(change: Callable[[TensorProto], None]) -> TensorProto:
    tensor = helper.make_tensor("w", TensorProto.FLOAT, [3, 2], drawn(3, 2).reshape(-1).tolist())
    change(tensor)
    return tensor


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda tensor: tensor.ClearField("float_data"), r"w: has no data, and its shape [3, 2] asks for 6"),
        (lambda tensor: tensor.float_data.pop(), r"w: has 5 numbers of data, and its shape [3, 2] asks for 6"),
        (
            lambda tensor: tensor.dims.__setitem__(0, 2**40),
            r"w: has 6 numbers of data, and its shape [1099511627776, 2]",
        ),
        (lambda tensor: tensor.dims.__setitem__(0, -3), r"w: its shape [-3, 2] has a size below 0"),
        (lambda tensor: [tensor.dims.__setitem__(i, -tensor.dims[i]) for i in (0, 1)], "w: its shape [-3, -2] has a"),
    ],
)
def test_tensors_whose_data_do_not_fit_their_shape_are_named(change: Callable[[Any], None], text: str) -> None:
    assert text in refusal(linear(weight_of(change)))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (TensorProto.FLOAT16, [1.0, 2.0, 3.0]),
        (TensorProto.BFLOAT16, [1.0, 2.0, 3.0]),
        (TensorProto.DOUBLE, [1.0, 2.0, 3.0]),
        (TensorProto.FLOAT8E4M3FN, [1.0, 2.0, 3.0]),
        (TensorProto.INT4, [1, 2, 3]),
        (TensorProto.UINT2, [1, 2, 3]),
        (TensorProto.FLOAT4E2M1, [1.0, 2.0, 3.0]),
        (TensorProto.UINT8, [1, 2, 3]),
        (TensorProto.UINT64, [1, 2, 3]),
        (TensorProto.BOOL, [True, False, True]),
        (TensorProto.INT64, []),
    ],
)
def test_whole_tensors_of_every_kind_of_storage_are_taken(kind: int, values: list[Any]) -> None:
    tensor = helper.make_tensor("t", kind, [len(values)], values)
    given = model([node("Cast", ["t"], ["y"], to=TensorProto.FLOAT)], [], [floats("y", len(values))], {"t": tensor})
    made = imported(given, Wishes())
    assert [float(value) for value in evaluate(made.program, {})[0]] == [float(value) for value in values]


def test_a_damaged_tensor_of_a_node_is_named_by_the_node() -> None:
    tensor = helper.make_tensor("", TensorProto.FLOAT, [3], [1, 2, 3])
    tensor.float_data.pop()
    constant = node("Constant", [], ["k"], name="three", value=tensor)
    assert "three: has 2 numbers of data" in refusal(linear(None, constant, node("Relu", ["a"], ["y"])))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("form", ["value", "value_floats", "value_float", "sparse_value"])
def test_a_constant_node_is_checked_as_an_initializer_is(form: str, value: float) -> None:
    spoilt = np.array([value], np.float32)
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(spoilt, "v"), numpy_helper.from_array(np.array([1])), [2]
    )
    held = {
        "value": numpy_helper.from_array(np.append(spoilt, np.float32(1))),
        "value_floats": [value, 1.0],
        "value_float": value,
        "sparse_value": sparse,
    }
    constant = node("Constant", [], ["k"], **{form: held[form]})
    text = refusal(linear(None, constant, node("Mul", ["a", "k"], ["y"])))
    assert "k: 1 of its" in text
    assert "are NaN or infinite" in text


def test_a_single_infinity_that_nodes_only_choose_by_may_stay() -> None:
    constant = node("Constant", [], ["k"], value_float=np.inf)
    made = imported(linear(None, constant, node("Min", ["a", "k"], ["y"])))
    x = drawn(4, 3, seed=1)
    np.testing.assert_allclose(evaluate(made.program, {"x": x})[0], x @ drawn(3, 2), rtol=1e-6)


def test_infinity_of_a_mask_counts_only_where_it_is_not_trained() -> None:
    mask = np.array([[0, -np.inf], [0, 0], [0, 0]], np.float32)
    for weight in (mask, np.full((3, 2), -np.inf, np.float32)):
        assert "w: " in refusal(linear(weight))
        assert "no training goes on from there" in refusal(linear(weight))
        biased = linear(weight, node("Add", ["a", "b"], ["y"]), b=drawn(2))
        frozen = imported(biased, Wishes(loss="mean-squared-error", freeze=("w",))).program
        assert list(frozen.parameters) == ["b"]
        np.testing.assert_array_equal(frozen.constants["w"], weight)
        passed = Wishes(loss="mean-squared-error", allow_not_finite=True)
        assert list(imported(linear(weight), passed).program.parameters) == ["w"]


def test_the_shape_that_a_group_norm_keeps_is_known_at_the_end_too() -> None:
    nodes = [node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2)]
    tensors = {"s": drawn(4), "b": drawn(4, seed=1)}
    made = imported(model(nodes, [floats("x", 2, 4, 3)], [floats("y", 2, 4, 3)], tensors))
    assert {entry.name: entry.shape for entry in made.program.inputs} == {"x": (2, 4, 3), "targets": (2, 4, 3)}


def test_an_output_that_is_an_input_trains_nothing() -> None:
    assert "has no parameter that is trained" in refusal(model([], [floats("x", 2, 3)], [floats("x", 2, 3)]))


def test_an_output_whose_shape_the_values_decide_is_refused() -> None:
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("NonZero", ["h"], ["at"]), node("Cast", ["at"], ["y"], to=1)]
    text = refusal(model(nodes, [floats("x", 4, 3)], [floats("y", "a", "b")], {"w": drawn(3, 2)}))
    assert "y: its shape is not known before the model runs" in text


@pytest.mark.parametrize("op", ["Identity", "Transpose", "Cast"])
def test_a_weight_behind_any_number_of_moves_is_trained(op: str) -> None:
    names = ["w", *(f"t{number}" for number in range(1400))]
    more = {"to": TensorProto.FLOAT} if op == "Cast" else {}
    nodes = [node(op, [taken], [made], **more) for taken, made in pairwise(names)]
    given = model([*nodes, node("MatMul", ["x", names[-1]], ["y"])], [floats("x", 4, 3)], [floats("y", 4, 3)])
    given.graph.initializer.append(numpy_helper.from_array(drawn(3, 3), "w"))
    if op == "Identity":  # a copy of a weight is a question to the user, as it is with one node
        assert "w, t0: t0 and w are one tensor in the graph" in refusal(given)
    else:
        assert list(imported(given).program.parameters) == ["w"]


def test_ids_behind_any_number_of_moves_are_bounded_by_their_table() -> None:
    names = ["ids", *(f"t{number}" for number in range(1400))]
    kinds = [TensorProto.INT32, TensorProto.INT64]
    nodes = [node("Cast", [a], [b], to=kinds[i % 2]) for i, (a, b) in enumerate(pairwise(names))]
    given = model([*nodes, node("Gather", ["w", names[-1]], ["y"])], [whole("ids", 4)], [floats("y", 4, 3)])
    given.graph.initializer.append(numpy_helper.from_array(drawn(7, 3), "w"))
    assert imported(given).program.inputs[0].bound == 7


@pytest.mark.parametrize("opset", [17, 28])
def test_a_constant_node_that_holds_nothing_is_named(opset: int) -> None:
    nodes = [node("Constant", [], ["k"], name="empty"), node("Add", ["x", "k"], ["y"])]
    text = refusal(model(nodes, [floats("x", 2)], [floats("y", 2)], opset=opset), Wishes())
    assert "empty: is a Constant without a value" in text
    inside = helper.make_function(
        DOMAIN, "f", ["a"], ["b"], [nodes[0], node("Add", ["a", "k"], ["b"])], [helper.make_opsetid("", opset)]
    )
    call = node("f", ["x"], ["y"], domain=DOMAIN)
    text = refusal(model([call], [floats("x", 2)], [floats("y", 2)], functions=[inside]), Wishes())
    assert "empty: is a Constant without a value" in text


def doubling(depth: int) -> ModelProto:
    """Return a model of functions that each call the next one twice."""
    opsets = [helper.make_opsetid("", 28), helper.make_opsetid(DOMAIN, 1)]
    functions = []
    for number in range(depth):
        calls = [
            node(f"f{number + 1}", ["a"], ["c"], domain=DOMAIN),
            node(f"f{number + 1}", ["c"], ["b"], domain=DOMAIN),
        ]
        functions.append(helper.make_function(DOMAIN, f"f{number}", ["a"], ["b"], calls, opsets))
    functions.append(helper.make_function(DOMAIN, f"f{depth}", ["a"], ["b"], [node("Relu", ["a"], ["b"])], opsets))
    call = node("f0", ["x"], ["y"], domain=DOMAIN)
    return model([call], [floats("x", 2)], [floats("y", 2)], functions=functions)


def test_functions_that_would_open_without_end_are_refused_before() -> None:
    assert imported(doubling(5), Wishes()).operators == {"Relu": 32}
    assert "has 33554432 nodes once its functions are opened, and 262144 are too many" in refusal(
        doubling(25), Wishes()
    )


def ranging(limit: np.ndarray, *first: NodeProto) -> ModelProto:
    """Return a model that adds the sum of all numbers below a limit."""
    nodes = [
        *first,
        node("Range", ["zero", "end" if first else "limit", "one"], ["many"]),
        node("Cast", ["many"], ["wide"], to=TensorProto.FLOAT),
        node("ReduceSum", ["wide"], ["sum"], keepdims=0),
        node("Add", ["a", "sum"], ["y"]),
    ]
    ends = {"zero": np.zeros((), limit.dtype), "one": np.ones((), limit.dtype), "limit": limit}
    return linear(None, *nodes, **ends)


def test_a_range_of_more_numbers_than_any_machine_holds_is_not_worked_out() -> None:
    assert imported(ranging(np.array(10**13))).operators["Range"] == 1


def test_a_long_range_is_not_worked_out_where_its_length_is_only_known_on_the_way() -> None:
    doubled = node("Mul", ["limit", "limit"], ["end"])
    assert "Range" not in imported(ranging(np.array(20.0, np.float32), doubled)).operators
    assert imported(ranging(np.array(3000.0, np.float32), doubled)).operators["Range"] == 1


@pytest.mark.parametrize(
    ("op", "tensors", "count"),
    [
        ("Range", (np.array(0.0), np.array(2.0**23), np.array(1.0)), 2**23),
        ("ConstantOfShape", (np.array([2**12, 2**11]),), 2**23),
        ("Expand", (drawn(1, 1), np.array([2**12, 2**11])), 2**23),
        ("Tile", (drawn(1, 2), np.array([2**12, 2**10])), 2**23),
        ("Pad", (drawn(1), np.array([0, 2**23 - 1])), 2**23),
    ],
)
def test_what_a_node_makes_is_counted_before_it_is_worked_out(
    op: str, tensors: tuple[np.ndarray, ...], count: int
) -> None:
    held = [numpy_helper.from_array(value, f"t{place}") for place, value in enumerate(tensors)]
    made = node(op, [tensor.name for tensor in held], ["y"])
    holder = model([made], [], [floats("y", None)])
    assert not limits.makes_at_most(holder, made, held, count - 1)
    assert limits.makes_at_most(holder, made, held, count)


@pytest.mark.parametrize("size", [0, -1])
def test_a_size_below_one_is_taken_as_open_and_said(size: int) -> None:
    given = classifier()
    given.graph.input[0].type.tensor_type.shape.dim[0].dim_value = size
    given.graph.output[0].type.tensor_type.shape.dim[0].dim_value = size
    made = imported(given, Wishes(loss="cross-entropy", batch=3))
    assert [entry.shape for entry in made.program.inputs] == [(3, 3, 8, 8), (3,)]
    assert [trap.message for trap in made.traps if trap.name == "size-taken-as-open"] == [
        f"the size 0 of x is {size} in the model: it is taken as open"
    ]
    given.graph.input[0].type.tensor_type.shape.dim[2].dim_value = size
    assert "x: its size 2 (without a name) is open" in refusal(given, Wishes(loss="cross-entropy", batch=3))


def test_inputs_and_outputs_that_say_nothing_of_themselves_are_named() -> None:
    given = linear()
    given.graph.input[0].type.tensor_type.ClearField("shape")
    assert "x: the input has no shape in the model: give its sizes, such as --shape x=" in refusal(given)
    made = imported(given, Wishes(loss="mean-squared-error", shapes={"x": (5, 3)}))
    assert made.program.inputs[0].shape == (5, 3)
    given = linear()
    given.graph.output[0].type.tensor_type.ClearField("shape")
    assert "y: the output has no shape in the model" in refusal(given)
    given = linear()
    given.graph.input[0].ClearField("type")
    assert "x: the input has no type in the model" in refusal(given)
    given = model([node("Relu", ["x"], ["y"])], [info("x", TensorProto.UNDEFINED, [2])], [floats("y", 2)])
    assert "x: the input has no type in the model" in refusal(given)


def test_a_misfit_of_a_node_without_a_name_names_its_output_and_what_it_takes() -> None:
    nodes = [node("Relu", ["x"], ["r"]), node("MatMul", ["r", "w"], ["y"]), node("Relu", ["y"], ["z"])]
    text = refusal(model(nodes, [floats("x", 4, 5)], [floats("z", 4, 2)], {"w": drawn(3, 2)}))
    assert text.startswith("m.onnx: y: its shapes do not fit: MatMul takes r [4, 5] and w [3, 2]; ONNX says: ")


def test_a_misfit_that_a_value_decides_is_named_too() -> None:
    nodes = [node("Squeeze", ["x", "axes"], ["y"])]
    text = refusal(model(nodes, [floats("x", 4, 5)], [floats("y", 5)], {"axes": np.array([0])}))
    assert text.startswith("m.onnx: y: its shapes do not fit: Squeeze takes x [4, 5] and axes [1]; ONNX says: ")


def test_a_pipe_is_no_model(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.onnx")
    for read in (load_model, file_digest):
        with pytest.raises(InputError, match=r"is a pipe or a device: name an \.onnx file"):
            read(tmp_path / "m.onnx")


def test_a_long_name_of_a_file_of_tensors_is_shown_in_short(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(linear(), path, save_as_external_data=True, location="m.data", size_threshold=0)
    changed = onnx.load(path, load_external_data=False)
    next(e for e in changed.graph.initializer[0].external_data if e.key == "location").value = "x" * 5000
    path.write_bytes(changed.SerializeToString())
    with pytest.raises(InputError, match=r'w: its data are in "x+\.\.\.", and there is no such file') as caught:
        load_model(path)
    assert len(str(caught.value)) < 300 + len(str(path))
