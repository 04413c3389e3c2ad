"""Dropout of models from files: it becomes dropout by counter, or is refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import drawn, floats, info, model, node

from stackproof.backends.data import batches
from stackproof.backends.errors import InputError
from stackproof.backends.program import Body, Input, Node, Program
from stackproof.backends.recipe import Train
from stackproof.backends.seeded_dropout import OPERATOR, STEP, attributes_of
from stackproof.matrix.compiling import compile_spec
from stackproof.matrix.exporting.inference import as_inference
from stackproof.matrix.exporting.onnx_graph import to_model
from stackproof.matrix.importing.dropouts import seed_dropouts
from stackproof.matrix.importing.prepare import Wishes, import_proto
from stackproof.matrix.spec_file import load_spec

if TYPE_CHECKING:
    from pathlib import Path

    from onnx import ModelProto, NodeProto


ON = np.array(True)  # noqa: FBT003 - numpy's only form of a boolean array
SETTINGS = {"w": drawn(3, 3), "ratio": np.array(0.25, np.float32), "on": ON, "w2": drawn(3, 2, seed=1)}


def dropping(*nodes: NodeProto, inputs: Any = (), tensors: Any = None) -> ModelProto:
    """Return two linear layers with what makes `d` of `h` between them."""
    between = nodes or (node("Dropout", ["h", "ratio", "on"], ["d", "mask"], name="drop"),)
    whole = [node("MatMul", ["x", "w"], ["h"]), *between, node("MatMul", ["d", "w2"], ["y"])]
    used = {name for entry in whole for name in entry.input} | {"on", "ratio"}
    held = {name: value for name, value in {**SETTINGS, **(tensors or {})}.items() if name in used}
    return model(whole, [floats("x", 4, 3), *inputs], [floats("y", 4, 2)], held)


def imported(given: ModelProto, **wishes: Any) -> Program:
    asked = Wishes(loss="mean-squared-error", numbers=Train(seed=3), **wishes)
    return import_proto(given, "m.onnx", asked, "m").program


def refusal(given: ModelProto) -> str:
    with pytest.raises(InputError) as caught:
        imported(given)
    return str(caught.value)


def test_dropout_in_training_mode_is_by_counter() -> None:
    program = imported(dropping())
    (made,) = (entry for entry in program.nodes if entry.op == OPERATOR)
    assert (made.inputs, made.outputs) == (("h", STEP), ("d",))
    assert made.attributes == attributes_of("d", 0.25, 3)
    assert program.inputs[-1].name == STEP
    assert not any(entry.op == "Dropout" for entry in program.nodes)


def test_a_ratio_that_is_left_out_is_a_half() -> None:
    (made,) = (e for e in imported(dropping(node("Dropout", ["h", "", "on"], ["d"]))).nodes if e.op == OPERATOR)
    assert made.attributes["ratio"] == 0.5


def test_training_mode_can_be_asked_for() -> None:
    given = dropping(node("Dropout", ["h", "ratio"], ["d"]))
    assert STEP not in [entry.name for entry in imported(given).inputs]
    assert STEP in [entry.name for entry in imported(given, training=True).inputs]


def test_a_program_that_is_only_evaluated_keeps_its_dropout() -> None:
    program = import_proto(dropping(), "m.onnx", Wishes(), "m").program
    assert [entry.op for entry in program.nodes] == ["MatMul", "Dropout", "MatMul"]


def test_one_in_a_branch_is_by_counter_too() -> None:
    graph = helper.make_graph(
        [node("Dropout", ["h", "ratio", "on"], ["inside"])], "then", [], [helper.make_empty_tensor_value_info("inside")]
    )
    other = helper.make_graph([node("Neg", ["h"], ["neg"])], "else", [], [helper.make_empty_tensor_value_info("neg")])
    choice = node("If", ["which"], ["d"], then_branch=graph, else_branch=other)
    program = imported(dropping(choice, inputs=[info("which", TensorProto.BOOL, [])]))
    (branch,) = (entry for entry in program.nodes if entry.op == "If")
    (made,) = branch.attributes["then_branch"].nodes  # type: ignore[union-attr]
    assert (made.op, made.inputs) == (OPERATOR, ("h", STEP))


def test_what_is_not_known_beforehand_is_refused_by_name() -> None:
    one = node("Dropout", ["h", "share", "on"], ["d"])
    text = refusal(dropping(one, inputs=[info("share", TensorProto.FLOAT, [])]))
    assert "d: the ratio of this Dropout is worked out in each step" in text
    two = node("Dropout", ["h", "ratio", "flag"], ["d"])
    text = refusal(dropping(two, inputs=[info("flag", TensorProto.BOOL, [])]))
    assert "d: the training mode of this Dropout is worked out in each step" in text


def test_a_mask_that_is_used_is_refused_by_name() -> None:
    nodes = [
        node("Dropout", ["h", "ratio", "on"], ["dropped", "mask"]),
        node("Where", ["mask", "dropped", "h"], ["d"]),
    ]
    assert "dropped: the mask of this Dropout, mask, is used" in refusal(dropping(*nodes))


def test_a_ratio_of_one_is_refused() -> None:
    text = refusal(dropping(tensors={"ratio": np.array(1.0, np.float32)}))
    assert "d: the ratio of this Dropout is 1, and must be at least 0 and below 1" in text


def test_one_in_a_loop_is_refused() -> None:
    inside = (Node("Dropout", ("old", "ratio", "on"), ("new",)),)
    loop = Node("Loop", ("times", "on", "h"), ("d",), {"body": Body(("count", "go", "old"), inside, ("go", "new"))})
    constants = {"times": np.array(2), "on": ON, "ratio": np.array(0.25, np.float32)}
    program = Program("m", (Input("h", "float32", (4,)),), (loop,), "d", {}, constants)
    with pytest.raises(InputError, match=r"m\.onnx: new: this Dropout stands in a Loop, and would drop the same"):
        seed_dropouts(program, 0, "m.onnx")


def test_an_input_with_the_name_of_the_count_is_refused() -> None:
    nodes = [node("Dropout", ["h", "ratio", "on"], ["kept"]), node("Add", ["kept", STEP], ["d"])]
    assert f"{STEP}: is a name in the model already" in refusal(dropping(*nodes, inputs=[floats(STEP, 4, 3)]))


def test_inference_passes_the_input_on() -> None:
    inference = as_inference(imported(dropping()))
    assert [entry.name for entry in inference.inputs] == ["x"]
    made = to_model(inference)
    data = drawn(4, 3, seed=4)
    (found,) = onnx.reference.ReferenceEvaluator(made).run(None, {"x": data})
    np.testing.assert_allclose(found, data @ SETTINGS["w"] @ SETTINGS["w2"], rtol=1e-5)


def test_a_spec_takes_its_own_seed_and_counts_its_steps(tmp_path: Path) -> None:
    onnx.save(dropping(), tmp_path / "m.onnx")
    path = tmp_path / "own.toml"
    path.write_text(
        '[model]\nonnx = "m.onnx"\n[data]\nbatch = 4\n[train]\nsteps = 3\nseed = 12\nloss = "mean-squared-error"\n'
    )
    spec = load_spec(path)
    program = compile_spec(spec)
    assert [entry.attributes["seed"] for entry in program.nodes if entry.op == OPERATOR] == [12]
    assert [entry[STEP].tolist() for entry in batches(spec, program.inputs)] == [[0], [1], [2]]
