"""What `SeededDropout` must be on every framework: numpy's mask to the bit, and a gradient through what is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from stackproof.backends.data import batch, batches
from stackproof.backends.models.build import build_program
from stackproof.backends.program import Input, Node, Program
from stackproof.backends.schedule import rates
from stackproof.backends.seeded_dropout import OPERATOR, STEP, attributes_of, mask, step_input
from stackproof.backends.session import Options
from stackproof.backends.spec import Data, Gpt, Mlp, Optimizer, Resnet, Schedule, Spec, Train
from stackproof.matrix.compiling import compile_spec
from stackproof.matrix.spec_file import load_spec

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

RATIO, SEED = 0.3, 2**32 - 5
SHAPES = [(7, 3), (4, 5, 6), (1,), (2, 1, 3, 5)]
MLP = Spec(
    "mlp",
    Mlp(inputs=5, hidden=(7, 6), outputs=3, activation="tanh", dropout=0.4),
    Data("vectors", 5),
    Optimizer("sgd", 0.1),
    Schedule(),
    Train(3, seed=8, loss="mean-squared-error"),
)
GPT = Spec(
    "gpt",
    Gpt(layers=1, width=8, heads=2, context=4, vocabulary=8, dropout=0.2),
    Data("tokens", 3),
    Optimizer(lr=1e-2),
    Schedule(),
    Train(2),
)
RESNET = Spec(
    "resnet",
    Resnet(image=(2, 6, 6), channels=(3, 4), blocks=(1, 1), stochastic_depth=0.5),
    Data("images", 6),
    Optimizer("sgd", 0.1),
    Schedule(),
    Train(2),
)

# The rates of an update that changes nothing.
STILL = np.array([0.0, 1.0, 1.0, 1.0])
OWN = """
[model]
onnx = "m.onnx"
[data]
batch = 5
[optimizer]
kind = "sgd"
[train]
steps = 3
seed = 6
loss = "mean-squared-error"
"""


def node_of(shape: tuple[int, ...], dtype: str, *, rows: bool = False) -> Program:
    node = Node(OPERATOR, ("x", STEP), ("y",), attributes_of("y", RATIO, SEED, rows=rows))
    return Program("p", (Input("x", dtype, shape), step_input()), (node,), "", {}, {}, ("y",))


def mlp_loss(batch: dict[str, np.ndarray]) -> float:
    """The model's formula in numpy, with the masks of `seeded_dropout.mask`."""
    program = build_program(MLP)
    held = {name: value.astype(np.float64) for name, value in program.parameters.items()}
    current = batch["features"].astype(np.float64)
    for index in range(2):
        current = np.tanh(current @ held[f"layer{index}.weight"] + held[f"layer{index}.bias"])
        kept = mask(current.shape, attributes_of(f"layer{index}.dropped", 0.4, 8), int(batch[STEP][0]))
        current = np.where(kept, current / 0.6, 0.0)
    made = current @ held["head.weight"] + held["head.bias"]
    return float(np.mean((made - batch["targets"]) ** 2))


def write_own(folder: Path) -> dict[str, np.ndarray]:
    """Write a spec of a model with a Dropout node beside the model's file, and return its weights."""
    draw = np.random.default_rng(4)
    weights = {"w": draw.standard_normal((3, 7)), "v": draw.standard_normal((7, 2))}
    held = {
        **{n: v.astype(np.float32) for n, v in weights.items()},
        "on": np.ones((), bool),
        "r": np.float32([0.25])[0],
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Dropout", ["h", "r", "on"], ["d"]),
        helper.make_node("MatMul", ["d", "v"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", size]) for n, size in (("x", 3), ("y", 2)))
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in held.items()]
    graph = helper.make_graph(nodes, "own", [x], [y], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10), folder / "m.onnx")
    (folder / "own.toml").write_text(OWN, encoding="utf-8")
    return {name: held[name].astype(np.float64) for name in weights}


def own_loss(weights: dict[str, np.ndarray], batch: dict[str, np.ndarray]) -> float:
    made = batch["x"].astype(np.float64) @ weights["w"]
    kept = mask(made.shape, attributes_of("d", 0.25, 6), int(batch[STEP][0]))
    return float(np.mean((np.where(kept, made / 0.75, 0.0) @ weights["v"] - batch["targets"]) ** 2))


class SeededContract:
    """Attributes: the target's `evaluate` and `session` modules, and the executions that a session has."""

    module: ClassVar[ModuleType]
    sessions: ClassVar[ModuleType]
    executions: ClassVar[tuple[str, ...]]

    def forget(self) -> None:
        """Called before each compilation."""

    def evaluation(self, program: Program, *, compiled: bool) -> Any:
        self.forget()
        return self.module.Evaluation(program, compile=compiled)

    @pytest.mark.parametrize("compiled", [False, True])
    @pytest.mark.parametrize("rows", [False, True])
    def test_the_bits_are_those_of_numpy(self, *, rows: bool, compiled: bool) -> None:
        for shape in SHAPES[:: 3 if compiled else 1]:
            evaluation = self.evaluation(node_of(shape, "float32", rows=rows), compiled=compiled)
            data = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
            for step in (0, 1, 2**31 - 1):
                made = evaluation.run({"x": data, STEP: np.array([step])})["y"]
                kept = mask(shape, attributes_of("y", RATIO, SEED, rows=rows), step)
                wanted = np.where(kept, data * np.float32(1 / (1 - RATIO)), np.float32(0))
                assert made.dtype == np.float32
                assert made.tobytes() == wanted.tobytes(), (shape, step)

    def test_what_is_dropped_is_zero_whatever_it_was(self) -> None:
        evaluation = self.evaluation(node_of((40,), "float32"), compiled=False)
        made = evaluation.run({"x": np.full(40, np.inf, np.float32), STEP: np.array([0])})["y"]
        assert set(made.tolist()) == {0.0, np.inf}

    @pytest.mark.parametrize("rows", [False, True])
    def test_a_gradient_goes_through_what_is_kept(self, *, rows: bool) -> None:
        evaluation = self.evaluation(node_of((5, 3), "float64", rows=rows), compiled=False)
        draw = np.random.default_rng(2)
        data, cotangent = draw.standard_normal((2, 5, 3))
        found = evaluation.gradients({"x": data, STEP: np.array([4])}, ["x"], {"y": cotangent})["x"]
        kept = mask((5, 3), attributes_of("y", RATIO, SEED, rows=rows), 4)
        np.testing.assert_allclose(found, np.where(kept, cotangent / (1 - RATIO), 0.0), rtol=1e-14)

    @pytest.mark.parametrize("precision", ["float32", "float64"])
    def test_a_session_drops_other_elements_in_each_step(self, precision: str) -> None:
        program = build_program(MLP)
        given = batches(MLP, program.inputs)
        for execution in self.executions:
            self.forget()
            session = self.sessions.open_session(program, MLP, Options(precision, compile=True, execution=execution))
            losses = [session.read(session.step(session.place(entry), STILL)[0]) for entry in given]
            tolerance = 1e-12 if precision == "float64" else 1e-5
            np.testing.assert_allclose(losses, [mlp_loss(entry) for entry in given], rtol=tolerance, err_msg=execution)
            # The number of the step alone decides.
            other = {**given[0], STEP: given[1][STEP]}
            assert session.read(session.step(session.place(other), STILL)[0]) != losses[0]

    def test_micro_batches_drop_each_for_itself(self) -> None:
        spec = replace(MLP, train=replace(MLP.train, steps=2, accumulate=2))
        program = build_program(spec)
        self.forget()
        options = Options("float64", compile=True, execution=self.executions[0])
        session = self.sessions.open_session(program, spec, options)
        for step, entry in enumerate(batches(spec, program.inputs)):
            parts = [batch(MLP, 2 * step + place, program.inputs) for place in range(2)]
            assert entry[STEP].reshape(-1).tolist() == [2 * step, 2 * step + 1]
            loss = session.read(session.step(session.place(entry), STILL)[0])
            np.testing.assert_allclose(loss, np.mean([mlp_loss(part) for part in parts]), rtol=1e-12)

    def test_a_model_from_a_file_drops_others_in_each_step(self, tmp_path: Path) -> None:
        weights = write_own(tmp_path)
        spec = load_spec(tmp_path / "own.toml")
        program = compile_spec(spec)
        given = batches(spec, program.inputs)
        wanted = [own_loss(weights, entry) for entry in given]
        assert len(set(wanted)) == len(wanted)
        for execution in self.executions:
            self.forget()
            session = self.sessions.open_session(program, spec, Options("float64", compile=True, execution=execution))
            losses = [session.read(session.step(session.place(entry), STILL)[0]) for entry in given]
            np.testing.assert_allclose(losses, wanted, rtol=1e-11, err_msg=execution)

    @pytest.mark.parametrize("spec", [GPT, RESNET], ids=lambda spec: spec.name)
    def test_models_that_drop_train_to_the_same_numbers_in_every_execution(self, spec: Spec) -> None:
        program, made = build_program(spec), {}
        given = batches(spec, program.inputs)
        for execution in ("", *self.executions):
            self.forget()
            options = Options("float64", compile=bool(execution), execution=execution or "compiled")
            session = self.sessions.open_session(program, spec, options)
            steps = [session.step(session.place(e), rate) for e, rate in zip(given, rates(spec), strict=True)]
            made[execution] = [session.read(loss) for loss, _ in steps]
        for execution, losses in made.items():
            np.testing.assert_allclose(losses, made[""], rtol=1e-11, err_msg=execution)
