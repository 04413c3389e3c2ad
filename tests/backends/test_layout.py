from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stackproof.backends.layout import KERNEL, TO_LAST, as_it_is, channels_last, has_images, right_factors
from stackproof.backends.models.build import build_program
from stackproof.backends.program import Input, Node, Program
from stackproof.backends.spec import Cnn, Data, Gpt, Mlp, Optimizer, Resnet, Schedule, Spec, Train


def built(model: Gpt | Mlp | Cnn | Resnet, data: str) -> Program:
    return build_program(Spec("s", model, Data(data, 2), Optimizer(), Schedule(), Train()))


RESNET = built(Resnet(), "images")
CONV = Node("Conv", ("x", "k"), ("y",), {"kernel_shape": (3, 3)})
KERNELS = {"k": np.zeros((2, 3, 3, 3), np.float32)}


def small(*nodes: Node, **changes: object) -> Program:
    made = Program("p", (Input("x", "float32", (1, 3, 4, 5)),), nodes, nodes[-1].outputs[0], KERNELS)
    return replace(made, **changes)  # type: ignore[arg-type]


def operators(program: Program) -> list[str]:
    return [node.op for node in program.nodes]


def test_a_residual_network_needs_no_turning_at_all() -> None:
    turned = channels_last(RESNET)
    assert "Transpose" not in operators(turned.program)
    assert "Conv" not in operators(turned.program)
    assert turned.orders["features"] == TO_LAST
    assert turned.program.inputs[0].shape == (2, 16, 16, 3)


def test_arrays_there_and_back() -> None:
    turned = channels_last(RESNET)
    batch = {"features": np.arange(2 * 3 * 16 * 16, dtype=np.float32).reshape(2, 3, 16, 16), "labels": np.arange(2)}
    there = turned.into(batch)
    assert there["features"][1, 2, 3, 0] == batch["features"][1, 0, 2, 3]
    assert all(np.array_equal(value, batch[name]) for name, value in turned.back(there).items())
    kernel, kept = turned.program.parameters["stem.weight"], RESNET.parameters["stem.weight"]
    assert kernel[1, 2, 0, 5] == kept[5, 0, 1, 2]
    assert all(np.array_equal(v, RESNET.parameters[n]) for n, v in turned.back(turned.program.parameters).items())


def test_which_programs_have_images() -> None:
    assert has_images(RESNET)
    assert has_images(built(Cnn(), "images"))
    assert not has_images(built(Gpt(), "tokens"))
    assert not has_images(built(Mlp(), "vectors"))


def test_an_operator_that_needs_channels_first_gets_them() -> None:
    turned = channels_last(small(CONV, Node("Relu", ("y",), ("r",)), Node("Softmax", ("r",), ("s",), {"axis": 1})))
    assert operators(turned.program) == ["ConvLast", "Relu", "Transpose", "Softmax"]
    assert turned.program.nodes[2].outputs == ("r",)
    assert turned.orders == {"x": TO_LAST, "k": KERNEL}


def test_an_input_that_others_use_too_is_turned_in_the_program() -> None:
    turned = channels_last(small(CONV, Node("ReduceMean", ("x",), ("m",)), Node("Add", ("m", "y"), ("s",))))
    assert turned.orders == {"k": KERNEL}
    assert operators(turned.program) == ["Transpose", "ConvLast", "ReduceMean", "Transpose", "Add"]


def test_channels_are_joined_at_the_end() -> None:
    turned = channels_last(small(CONV, Node("Concat", ("y", "y"), ("c",), {"axis": 1})))
    joined = turned.program.nodes[1]
    assert (joined.op, joined.attributes["axis"]) == ("Concat", 3)
    assert turned.program.nodes[2].outputs == ("c",)


@pytest.mark.parametrize(
    "program",
    [
        small(replace(CONV, attributes={"group": 3})),
        small(replace(CONV, attributes={"dilations": (2, 2)})),
        small(CONV, Node("Transpose", ("k",), ("t",)), Node("Add", ("y", "t"), ("s",))),
        small(Node("Identity", ("k",), ("k2",)), replace(CONV, inputs=("x", "k2"))),
    ],
    ids=["grouped", "dilated", "kernel-shared", "kernel-computed"],
)
def test_other_convolutions_stay_as_they_are(program: Program) -> None:
    turned = channels_last(program)
    assert turned == as_it_is(program)


def test_which_matrices_only_stand_on_the_right_of_a_product() -> None:
    weights = {name: np.zeros((4, 4), "float32") for name in ("plain", "linear", "turned", "twice", "both", "read")}
    weights["bias"] = np.zeros(4, "float32")
    program = small(
        Node("MatMul", ("x", "plain"), ("a",), {}),
        Node("Gemm", ("a", "linear", "bias"), ("b",), {}),
        Node("Gemm", ("b", "turned"), ("c",), {"transB": 1}),
        Node("MatMul", ("c", "twice"), ("d",), {}),
        Node("MatMul", ("twice", "d"), ("e",), {}),
        Node("MatMul", ("both", "both"), ("f",), {}),
        Node("MatMul", ("e", "read"), ("g",), {}),
        Node("Add", ("g", "read"), ("loss",), {}),
        parameters=weights,
    )
    assert right_factors(program) == {"plain", "linear"}
    assert right_factors(replace(program, outputs=("linear",))) == {"plain"}
