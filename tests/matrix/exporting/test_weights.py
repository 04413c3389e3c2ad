from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from ml_dtypes import bfloat16
from onnx_models import drawn, floats, info, model, node
from safetensors.numpy import load_file, save_file

from stackproof.backends.errors import InputError
from stackproof.backends.models.build import build_program
from stackproof.backends.program import dump, load
from stackproof.matrix.bringing.origin import Origin, Tensor, write_origin
from stackproof.matrix.exporting.names import CONVENTIONS, names_of
from stackproof.matrix.exporting.weights import save_weights, with_weights
from stackproof.matrix.importing.prepare import Wishes, import_proto
from stackproof.matrix.spec_file import load_spec

if TYPE_CHECKING:
    from stackproof.backends.program import Program

EXAMPLES = Path(__file__).parents[3] / "examples"


def program(name: str) -> Program:
    return build_program(load_spec(EXAMPLES / f"{name}_tiny.toml"))


def emptied(given: Program) -> Program:
    return replace(
        given,
        parameters={name: np.zeros_like(value) for name, value in given.parameters.items()},
        state={name: np.zeros_like(value) for name, value in given.state.items()},
    )


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("name", ["gpt", "mlp", "cnn", "resnet"])
def test_weights_come_back_bit_for_bit_under_any_names(tmp_path: Path, name: str, convention: str) -> None:
    given, path = program(name), tmp_path / "w.safetensors"
    assert save_weights(given, path, convention) == len(given.parameters) + len(given.state)
    assert with_weights(emptied(given), path).digest == given.digest


def test_a_torch_file_is_what_a_state_dict_is(tmp_path: Path) -> None:
    given, path = program("mlp"), tmp_path / "w.safetensors"
    save_weights(given, path, "torch")
    made = load_file(path)
    # torch.nn.Linear(inputs, outputs).weight has the shape (outputs, inputs).
    np.testing.assert_array_equal(made["layer0.weight"], given.parameters["layer0.weight"].T)
    np.testing.assert_array_equal(made["layer0.bias"], given.parameters["layer0.bias"])
    header = path.read_bytes()[8 : 8 + int.from_bytes(path.read_bytes()[:8], "little")]
    assert json.loads(header)["__metadata__"]["format"] == "pt"


# What each framework's own layers call their variables, and how those are laid out.
LAYOUTS = {
    "torch": {
        "conv.weight": (8, 3, 5, 4), "conv.bias": (8,), "bn.weight": (8,), "bn.bias": (8,), "bn.running_mean": (8,),
        "bn.running_var": (8,), "fc.weight": (6, 8), "fc.bias": (6,), "table.weight": (11, 6),
    },
    "tensorflow": {
        "conv/kernel": (5, 4, 3, 8), "conv/bias": (8,), "bn/gamma": (8,), "bn/beta": (8,), "bn/moving_mean": (8,),
        "bn/moving_variance": (8,), "fc/kernel": (8, 6), "fc/bias": (6,), "table/embeddings": (11, 6),
    },
    "jax": {
        "params/conv/kernel": (5, 4, 3, 8), "params/conv/bias": (8,), "params/bn/scale": (8,), "params/bn/bias": (8,),
        "batch_stats/bn/mean": (8,), "batch_stats/bn/var": (8,), "params/fc/kernel": (8, 6), "params/fc/bias": (6,),
        "params/table/embedding": (11, 6),
    },
}  # fmt: skip


def imported(*, transposed: bool) -> Program:
    """Return a program of every kind of layer; its matrix is (outputs, inputs), through a node or an attribute."""
    norm = ["wide", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"]
    linear = (
        [node("Transpose", ["fc.weight"], ["turned"], perm=[1, 0]), node("MatMul", ["flat", "turned"], ["product"]),
         node("Add", ["product", "fc.bias"], ["scores"])]
        if transposed
        else [node("Gemm", ["flat", "fc.weight", "fc.bias"], ["scores"], transB=1)]
    )  # fmt: skip
    nodes = [
        node("Conv", ["x", "conv.weight", "conv.bias"], ["wide"]),
        node("BatchNormalization", norm, ["normal"]),
        node("GlobalAveragePool", ["normal"], ["pooled"]),
        node("Flatten", ["pooled"], ["flat"]),
        *linear,
        node("Gather", ["table.weight", "ids"], ["rows"]),
        node("Mul", ["scores", "rows"], ["y"]),
    ]
    tensors = {name: drawn(*shape, seed=len(name)) for name, shape in LAYOUTS["torch"].items()}
    inputs = [floats("x", 2, 3, 5, 4), info("ids", 7, [2])]
    wishes = Wishes(loss="mean-squared-error", training=True)
    return import_proto(model(nodes, inputs, [floats("y", 2, 6)], tensors), "m.onnx", wishes, "m").program


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("convention", LAYOUTS)
def test_each_framework_finds_its_own_names_and_layouts(tmp_path: Path, convention: str, *, transposed: bool) -> None:
    save_weights(imported(transposed=transposed), tmp_path / "w", convention)
    assert {name: value.shape for name, value in load_file(tmp_path / "w").items()} == LAYOUTS[convention]
    kernel = {"torch": "conv.weight", "tensorflow": "conv/kernel", "jax": "params/conv/kernel"}[convention]
    made, wanted = load_file(tmp_path / "w")[kernel], drawn(8, 3, 5, 4, seed=len("conv.weight"))
    if convention != "torch":
        wanted = np.moveaxis(wanted, (0, 1), (3, 2))
    np.testing.assert_array_equal(made, wanted)


def test_a_file_of_a_framework_is_known_by_its_names(tmp_path: Path) -> None:
    given = imported(transposed=False)
    weights = {name: drawn(*shape, seed=30) for name, shape in LAYOUTS["tensorflow"].items()}
    save_file(weights, tmp_path / "w")
    made = with_weights(given, tmp_path / "w")
    np.testing.assert_array_equal(made.parameters["fc.weight"], weights["fc/kernel"].T)
    np.testing.assert_array_equal(made.state["bn.running_var"], weights["bn/moving_variance"])


def test_a_count_of_batches_beside_the_weights_is_left_alone(tmp_path: Path) -> None:
    given = imported(transposed=False)
    save_file({**_torch(), "bn.num_batches_tracked": np.array(3)}, tmp_path / "w")
    assert with_weights(emptied(given), tmp_path / "w").digest == given.digest


def _torch() -> dict[str, np.ndarray]:
    return {name: drawn(*shape, seed=len(name)) for name, shape in LAYOUTS["torch"].items()}


def test_a_file_that_fits_in_two_layouts_is_asked_about(tmp_path: Path) -> None:
    nodes = [node("MatMul", ["x", "fc.weight"], ["y"])]
    given = model(nodes, [floats("x", 4, 3)], [floats("y", 4, 3)], {"fc.weight": drawn(3, 3)})
    made = import_proto(given, "m.onnx", Wishes(loss="mean-squared-error"), "m").program
    save_file({"fc.weight": drawn(3, 3)}, tmp_path / "w")
    with pytest.raises(InputError, match=r"fits under the names of plain and of torch.*say which it is with --names"):
        with_weights(made, tmp_path / "w")
    np.testing.assert_array_equal(with_weights(made, tmp_path / "w", "torch").parameters["fc.weight"], drawn(3, 3).T)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"fc.bias": None}, "fc.bias: is missing"),
        ({"fc.bias": drawn(7)}, r"fc.bias: has the shape \[7\], and the model's is \[6\]"),
        ({"fc.bias": np.arange(6)}, "fc.bias: is of type int64, and the model's is float32"),
        ({"fc.bias": np.full(6, np.nan, np.float32)}, "fc.bias: holds NaN or infinity"),
        ({"more": drawn(1)}, "has 1 tensors that the model has not: more"),
    ],
)
def test_weights_that_do_not_fit_are_refused(tmp_path: Path, change: dict[str, np.ndarray], why: str) -> None:
    tensors = {name: value for name, value in {**_torch(), **change}.items() if value is not None}
    save_file(tensors, tmp_path / "w")
    with pytest.raises(InputError, match=why):
        with_weights(imported(transposed=False), tmp_path / "w", "torch")


def test_a_file_that_is_no_safetensors_is_refused(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(b"nothing of the kind")
    for path in (tmp_path / "w", tmp_path / "missing"):
        with pytest.raises(InputError, match="cannot be read as safetensors"):
            with_weights(imported(transposed=False), path)


def test_two_tensors_never_get_one_name() -> None:
    nodes = [node("MatMul", ["x", "layer.weight"], ["a"]), node("MatMul", ["a", "layer.kernel"], ["y"])]
    tensors = {"layer.weight": drawn(3, 3), "layer.kernel": drawn(3, 3, seed=1)}
    given = model(nodes, [floats("x", 4, 3)], [floats("y", 4, 3)], tensors)
    made = import_proto(given, "m.onnx", Wishes(loss="mean-squared-error"), "m").program
    assert {named.name for named in names_of(made, "torch").values()} == {"layer.weight", "layer.kernel"}
    assert [named.name for named in names_of(made, "tensorflow").values()] == ["layer.weight", "layer.kernel"]


def test_weights_from_torch_keep_their_names_and_layouts(tmp_path: Path) -> None:
    nodes = [
        node("MatMul", ["x", "proj.weight"], ["a"]),
        node("MatMul", ["a", "w"], ["b"]),
        node("Gemm", ["b", "fc.weight"], ["y"], transB=1),
    ]
    tensors = {"proj.weight": drawn(4, 3), "w": drawn(3, 3, seed=1), "fc.weight": drawn(5, 3, seed=2)}
    given = model(nodes, [floats("x", 2, 4)], [floats("y", 2, 5)], tensors)
    write_origin(given, Origin("torch 2.13.0", tuple(Tensor(name, value.shape) for name, value in tensors.items())))
    made = import_proto(given, "m.onnx", Wishes(loss="mean-squared-error"), "m").program
    made = load(dump(made))
    save_weights(made, tmp_path / "w", "torch")
    stored = load_file(tmp_path / "w")
    assert set(stored) == set(tensors)
    assert all((stored[name] == value).all() for name, value in tensors.items())
    assert with_weights(emptied(made), tmp_path / "w").digest == made.digest
    save_weights(made, tmp_path / "tf", "tensorflow")
    shapes = {name: value.shape for name, value in load_file(tmp_path / "tf").items()}
    assert shapes == {"proj/kernel": (4, 3), "w/kernel": (3, 3), "fc/kernel": (3, 5)}
    save_file(stored, tmp_path / "bare")
    assert with_weights(emptied(made), tmp_path / "bare").digest == made.digest


@pytest.mark.parametrize("dtype", [np.float16, bfloat16])
def test_weights_of_half_the_bytes_are_taken(tmp_path: Path, dtype: type) -> None:
    halves = {name: value.astype(dtype) for name, value in _torch().items()}
    save_file(halves, tmp_path / "w")
    made = with_weights(imported(transposed=False), tmp_path / "w", "torch")
    np.testing.assert_array_equal(made.parameters["fc.bias"], halves["fc.bias"].astype(np.float32), strict=True)


def test_weights_beyond_the_range_of_float32_are_refused(tmp_path: Path) -> None:
    save_file({**_torch(), "fc.bias": np.full(6, 1e300)}, tmp_path / "w")
    with pytest.raises(InputError, match=r"fc\.bias: holds numbers beyond the range of float32"):
        with_weights(imported(transposed=False), tmp_path / "w", "torch")
