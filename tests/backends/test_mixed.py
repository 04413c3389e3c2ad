from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from whole_programs import as_onnx_holds_it, reference_loss

from stackproof.backends.data import batch
from stackproof.backends.errors import UnsupportedError
from stackproof.backends.mixed import mixed
from stackproof.backends.models.build import build_program
from stackproof.backends.program import Body, Input, Node, Program
from stackproof.backends.spec import Data, Gpt, Mlp, Optimizer, Resnet, Schedule, Spec, Train
from stackproof.backends.widening import widened_node

FLOAT, HALF, DOUBLE, BRAIN = 1, 10, 11, 16
MODELS = {
    "gpt": (Gpt(layers=1, width=16, heads=2, context=8, vocabulary=16), "tokens"),
    "mlp": (Mlp(hidden=(8,)), "vectors"),
    "resnet": (Resnet(image=(2, 8, 8), channels=(3, 4), blocks=(1, 1)), "images"),
}
WEIGHT = np.ones((4, 4), np.float32)


def spec_of(kind: str) -> Spec:
    model, data = MODELS[kind]
    return Spec(kind, model, Data(data, 4), Optimizer(), Schedule(), Train(1))


def small(*nodes: Node, **constants: np.ndarray) -> Program:
    inputs = (Input("x", "float32", (2, 4)), Input("ids", "int64", (3,)))
    return Program("p", inputs, nodes, nodes[-1].outputs[0], {"w": WEIGHT, "b": WEIGHT[0]}, constants)


def _with_wide_casts_back(node: Node) -> Node:
    return replace(node, attributes={"to": DOUBLE}) if node.attributes.get("to") == FLOAT else node


def written(program: Program) -> list[str]:
    return [f"{node.op}({', '.join(node.inputs)}) -> {', '.join(node.outputs)}" for node in program.nodes]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", list(MODELS))
def test_the_loss_is_near_that_of_float32_and_not_the_same(kind: str, dtype: str) -> None:
    program, fed = build_program(spec_of(kind)), batch(spec_of(kind), 0)
    wide = reference_loss(as_onnx_holds_it(program), fed)
    # The reference is in float64, and so are the casts back.
    made = mixed(program, dtype)
    made = replace(made, nodes=tuple(_with_wide_casts_back(node) for node in made.nodes))
    narrow = reference_loss(as_onnx_holds_it(made), fed)
    assert narrow != wide
    assert narrow == pytest.approx(wide, rel=2e-2 if dtype == "bfloat16" else 3e-3)


@pytest.mark.parametrize("kind", list(MODELS))
def test_every_product_is_narrow_and_every_norm_and_loss_is_wide(kind: str) -> None:
    nodes = mixed(build_program(spec_of(kind)), "bfloat16").nodes
    products = [node for node in nodes if node.op in {"Attention", "Conv", "Gemm", "MatMul"}]
    assert products
    assert all(name.endswith(":narrow") for node in products for name in (*node.inputs, *node.outputs) if name)
    sums = [node for node in nodes if node.op in {"BatchNormalization", "RMSNormalization", "SoftmaxCrossEntropyLoss"}]
    assert sums
    assert not any(name.endswith(":narrow") for node in sums for name in (*node.inputs, *node.outputs))


def test_casts_go_in_once_and_out_where_something_wide_follows() -> None:
    program = small(
        Node("MatMul", ("x", "w"), ("a",)),
        Node("Relu", ("a",), ("r",)),
        Node("MatMul", ("r", "w"), ("c",)),
        Node("ReduceMean", ("c",), ("loss",), {"keepdims": 0}),
    )
    assert written(mixed(program, "bfloat16")) == [
        "Cast(x) -> x:narrow",
        "Cast(w) -> w:narrow",
        "MatMul(x:narrow, w:narrow) -> a:narrow",
        "Relu(a:narrow) -> r:narrow",
        "MatMul(r:narrow, w:narrow) -> c:narrow",
        "Cast(c:narrow) -> c",
        "ReduceMean(c) -> loss",
    ]
    assert [n.attributes["to"] for n in mixed(program, "float16").nodes if n.op == "Cast"] == [HALF, HALF, FLOAT]
    assert [n.attributes["to"] for n in mixed(program, "bfloat16").nodes if n.op == "Cast"] == [BRAIN, BRAIN, FLOAT]


def test_a_sum_with_something_wide_is_wide_and_one_with_a_single_number_is_not() -> None:
    program = small(
        Node("MatMul", ("x", "w"), ("a",)),
        Node("Mul", ("a", "half"), ("h",)),
        Node("Add", ("h", "b"), ("s",)),
        half=np.array(0.5, np.float32),
    )
    assert written(mixed(program, "bfloat16"))[3:] == [
        "Cast(half) -> half:narrow",
        "Mul(a:narrow, half:narrow) -> h:narrow",
        "Cast(h:narrow) -> h",
        "Add(h, b) -> s",
    ]


def test_integers_are_left_alone() -> None:
    program = small(
        Node("MatMul", ("x", "w"), ("a",)),
        Node("Gather", ("a", "ids"), ("g",), {"axis": 0}),
        Node("MatMul", ("i", "i"), ("p",)),
        i=np.ones((2, 2), np.int64),
    )
    assert written(mixed(program, "bfloat16"))[3:] == [
        "Gather(a:narrow, ids) -> g:narrow",
        "MatMul(i, i) -> p",
    ]


def test_what_is_wanted_of_a_program_is_there_under_its_own_name() -> None:
    program = replace(small(Node("MatMul", ("x", "w"), ("a",)), Node("Relu", ("a",), ("r",))), outputs=("a",))
    assert written(mixed(program, "bfloat16"))[-2:] == ["Cast(r:narrow) -> r", "Cast(a:narrow) -> a"]


def test_control_flow_is_refused() -> None:
    body = Body((), (), ("x",))
    program = small(Node("If", ("c",), ("y",), {"then_branch": body, "else_branch": body}), c=np.array(True))  # noqa: FBT003 - an array
    with pytest.raises(UnsupportedError, match="If has bodies"):
        mixed(program, "bfloat16")


def test_a_float64_run_computes_the_function_without_narrow_rounding() -> None:
    program, fed = build_program(spec_of("gpt")), batch(spec_of("gpt"), 0)
    made = mixed(program, "bfloat16")
    made = replace(made, nodes=tuple(widened_node(node, "float64") for node in made.nodes))
    exact = reference_loss(as_onnx_holds_it(program), fed)
    assert reference_loss(as_onnx_holds_it(made), fed) == pytest.approx(exact, rel=1e-13)
