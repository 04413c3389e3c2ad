"""Built programs are sound ONNX, and compute what the models' formulas say, written down here once more in numpy."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from whole_programs import as_onnx_holds_it, reference_loss

from stackproof.backends.data import batch
from stackproof.backends.model_sizes import elements
from stackproof.backends.models.build import build_program
from stackproof.backends.program import OPSET
from stackproof.backends.spec import Cnn, Data, Gpt, Mlp, Optimizer, Resnet, Schedule, Spec, Train

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stackproof.backends.program import Program
    from stackproof.backends.spec import Model

    Tensors = Mapping[str, np.ndarray]

CHOICES = {
    "norm": ("rmsnorm", "layernorm"),
    "activation": ("swiglu", "gelu"),
    "position": ("rope", "learned"),
    "tied": (True, False),
    "bias": (False, True),
    "hidden": (0, 20),
}
GPTS = [
    Gpt(layers=2, width=16, heads=2, context=6, vocabulary=11, **dict(zip(CHOICES, values, strict=True)))  # type: ignore[arg-type]
    for values in itertools.product(*CHOICES.values())
]
MLPS = [Mlp(inputs=5, hidden=(7, 6), outputs=3, activation=name) for name in ("relu", "gelu", "tanh")]
MLPS.append(Mlp(inputs=5, hidden=(), outputs=3))
CNNS = [Cnn(image=(2, 8, 12), channels=(3, 4), outputs=3), Cnn(image=(1, 2, 2), channels=(5,), outputs=2)]
RESNETS = [
    Resnet(image=(2, 9, 6), channels=(3, 3, 5), blocks=(2, 1, 1), outputs=3),
    Resnet(image=(1, 4, 4), channels=(4,), blocks=(1,), outputs=2),
]
EPSILON = float(np.float32(1e-5))


def spec_of(model: Model, **train: Any) -> Spec:
    kind = {"gpt": "tokens", "mlp": "vectors", "cnn": "images", "resnet": "images"}[model.kind]
    return Spec("small", model, Data(kind, batch=3), Optimizer(), Schedule(), Train(**train))


def name_of(model: Model) -> str:
    if isinstance(model, Gpt):
        return "-".join(str(getattr(model, name)) for name in CHOICES)
    return model.activation if isinstance(model, Mlp) else f"{model.image}"


def onnx_model(program: Program) -> onnx.ModelProto:
    """Return the program as an ONNX model, its tensors as initializers and its loss and outputs as outputs."""
    held = {**program.parameters, **program.constants, **program.state}
    inputs = [
        helper.make_tensor_value_info(entry.name, helper.np_dtype_to_tensor_dtype(np.dtype(entry.dtype)), entry.shape)
        for entry in program.inputs
    ]
    ranks = {program.loss: 0, **dict.fromkeys(program.outputs, 3 if program.inputs[0].name == "tokens" else 2)}
    outputs = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None] * rank) for name, rank in ranks.items()
    ]
    nodes = [helper.make_node(node.op, node.inputs, node.outputs, **node.attributes) for node in program.nodes]
    tensors = [numpy_helper.from_array(value, name) for name, value in held.items()]
    graph = helper.make_graph(nodes, program.name, inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])


def sizes(model: onnx.ModelProto) -> dict[str, tuple[int, ...]]:
    inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    return {
        value.name: tuple(axis.dim_value for axis in value.type.tensor_type.shape.dim)
        for value in inferred.graph.output
    }


@pytest.mark.parametrize("model", [*GPTS, *MLPS, *CNNS, *RESNETS], ids=name_of)
def test_programs_are_sound_onnx(model: Model) -> None:
    made = onnx_model(build_program(spec_of(model)))
    onnx.checker.check_model(made, full_check=True)
    logits = (3, model.context, model.vocabulary) if isinstance(model, Gpt) else (3, model.outputs)
    assert sizes(made) == {"loss": (), "logits": logits}


@pytest.mark.parametrize("model", [*MLPS, *CNNS], ids=name_of)
def test_programs_with_mean_squared_error_are_sound_onnx(model: Model) -> None:
    made = onnx_model(build_program(spec_of(model, loss="mean-squared-error")))
    onnx.checker.check_model(made, full_check=True)
    assert sizes(made)["loss"] == ()


@pytest.mark.parametrize("model", [*GPTS, *MLPS, *CNNS, *RESNETS], ids=name_of)
def test_a_program_takes_what_the_data_gives(model: Model) -> None:
    losses = ("cross-entropy",) if isinstance(model, Gpt) else ("cross-entropy", "mean-squared-error")
    for loss in losses:
        spec = spec_of(model, loss=loss)
        given = {name: (value.dtype.name, value.shape) for name, value in batch(spec, 0).items()}
        assert {entry.name: (entry.dtype, entry.shape) for entry in build_program(spec).inputs} == given


@pytest.mark.parametrize("model", GPTS, ids=name_of)
def test_gpt_computes_its_formula(model: Gpt) -> None:
    assert_computes(spec_of(model, seed=3), gpt_logits)


@pytest.mark.parametrize("loss", ["cross-entropy", "mean-squared-error"])
@pytest.mark.parametrize("model", MLPS, ids=name_of)
def test_mlp_computes_its_formula(model: Mlp, loss: str) -> None:
    assert_computes(spec_of(model, loss=loss), mlp_logits)


@pytest.mark.parametrize("loss", ["cross-entropy", "mean-squared-error"])
@pytest.mark.parametrize("model", CNNS, ids=name_of)
def test_cnn_computes_its_formula(model: Cnn, loss: str) -> None:
    assert_computes(spec_of(model, loss=loss), cnn_logits)


@pytest.mark.parametrize("loss", ["cross-entropy", "mean-squared-error"])
@pytest.mark.parametrize("model", RESNETS, ids=name_of)
def test_resnet_computes_its_formula(model: Resnet, loss: str) -> None:
    assert_computes(spec_of(model, loss=loss), resnet_logits)


@pytest.mark.parametrize("model", RESNETS, ids=name_of)
def test_running_statistics_are_state_that_each_step_replaces(model: Resnet) -> None:
    program = build_program(spec_of(model))
    norms = sorted(name.removesuffix(".scale") for name in program.parameters if name.endswith(".scale"))
    assert sorted(program.state) == sorted(f"{norm}.{key}" for norm in norms for key in ("mean", "variance"))
    assert all((value == name.endswith("variance")).all() for name, value in program.state.items())
    made = {output: node for node in program.nodes for output in node.outputs}
    for name, new in program.updates.items():
        assert made[new].op == "BatchNormalization"
        assert made[new].inputs[made[new].outputs.index(new) + 2] == name


def assert_computes(spec: Spec, logits: Any) -> None:
    """Hold a program's loss, away from its initial parameters, against the formula."""
    program = as_onnx_holds_it(build_program(spec))
    draw = np.random.default_rng(5)
    moved = {
        name: (value + draw.normal(0.0, 0.3, value.shape)).astype(np.float32)
        for name, value in program.parameters.items()
    }
    fed = batch(spec, 1)
    wide = {name: value.astype(np.float64) for name, value in moved.items()}
    expected = loss_of(spec, fed, logits(spec.model, wide, fed))
    found = reference_loss(replace(program, parameters=moved), fed)
    assert found == pytest.approx(expected, rel=1e-7)


def loss_of(spec: Spec, fed: Tensors, logits: np.ndarray) -> float:
    if spec.train.loss == "mean-squared-error":
        return float(np.mean((logits - fed["targets"]) ** 2))
    labels = (fed["targets"] if isinstance(spec.model, Gpt) else fed["labels"]).reshape(-1)
    scores = logits.reshape(len(labels), -1)
    chosen = scores[np.arange(len(labels)), labels]
    return float(np.mean(np.log(np.sum(np.exp(scores), axis=1)) - chosen))


def gpt_logits(model: Gpt, parameters: Tensors, fed: Tensors) -> np.ndarray:
    stream = parameters["embedding"][fed["tokens"]]
    if model.position == "learned":
        stream = stream + parameters["positions"]
    for index in range(model.layers):
        stream = stream + attention(model, parameters, f"block{index}.attention", stream)
        stream = stream + feed_forward(model, parameters, f"block{index}.feed", stream)
    head = parameters["embedding"].T if model.tied else parameters["head.weight"]
    return normed(model, parameters, "final", stream) @ head


def attention(model: Gpt, parameters: Tensors, name: str, stream: np.ndarray) -> np.ndarray:
    source = normed(model, parameters, name, stream)
    query, key, value = (
        linear(parameters, f"{name}.{part}", source).reshape(*stream.shape[:2], model.heads, -1).swapaxes(1, 2)
        for part in ("query", "key", "value")
    )
    if model.position == "rope":
        query, key = rotated(query), rotated(key)
    scores = query @ key.swapaxes(2, 3) / math.sqrt(model.width / model.heads)
    scores = np.where(np.tri(model.context, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = (weights / weights.sum(axis=-1, keepdims=True)) @ value
    return linear(parameters, f"{name}.out", mixed.swapaxes(1, 2).reshape(stream.shape))


def rotated(heads: np.ndarray) -> np.ndarray:
    """Turn element i and its partner half a head further by `position / 10000 ** (2 i / size)`, as complex numbers."""
    half = heads.shape[-1] // 2
    angle = np.arange(heads.shape[2])[:, None] * 10000.0 ** (-np.arange(half) / half)
    turned = (heads[..., :half] + 1j * heads[..., half:]) * np.exp(1j * angle)
    return np.concatenate([turned.real, turned.imag], axis=-1)


def feed_forward(model: Gpt, parameters: Tensors, name: str, stream: np.ndarray) -> np.ndarray:
    source = normed(model, parameters, name, stream)
    up = linear(parameters, f"{name}.up", source)
    assert up.shape[-1] == (model.hidden or 4 * model.width)
    if model.activation == "gelu":
        return linear(parameters, f"{name}.down", gelu(up))
    gate = linear(parameters, f"{name}.gate", source)
    return linear(parameters, f"{name}.down", gate / (1.0 + np.exp(-gate)) * up)


def normed(model: Gpt, parameters: Tensors, name: str, source: np.ndarray) -> np.ndarray:
    if model.norm == "rmsnorm":
        return source / np.sqrt(np.mean(source**2, axis=-1, keepdims=True) + EPSILON) * parameters[f"{name}.norm.scale"]
    centred = source - source.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt(source.var(axis=-1, keepdims=True) + EPSILON)
    return scaled * parameters[f"{name}.norm.scale"] + parameters[f"{name}.norm.bias"]


def linear(parameters: Tensors, name: str, source: np.ndarray) -> np.ndarray:
    return source @ parameters[f"{name}.weight"] + parameters.get(f"{name}.bias", 0.0)


def gelu(values: np.ndarray) -> np.ndarray:
    return values * 0.5 * (1.0 + np.vectorize(math.erf)(values / math.sqrt(2.0)))


def mlp_logits(model: Mlp, parameters: Tensors, fed: Tensors) -> np.ndarray:
    active = {"relu": lambda values: np.maximum(values, 0.0), "gelu": gelu, "tanh": np.tanh}[model.activation]
    current = fed["features"].astype(np.float64)
    for index in range(len(model.hidden)):
        current = active(linear(parameters, f"layer{index}", current))
    return linear(parameters, "head", current)


def cnn_logits(model: Cnn, parameters: Tensors, fed: Tensors) -> np.ndarray:
    current = fed["features"].astype(np.float64)
    for index in range(len(model.channels)):
        padded = np.pad(current, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        wide = np.einsum("bchwij,ocij->bohw", windows, parameters[f"block{index}.weight"])
        wide = np.maximum(wide + parameters[f"block{index}.bias"][:, None, None], 0.0)
        samples, depth, height, width = wide.shape
        current = wide.reshape(samples, depth, height // 2, 2, width // 2, 2).max(axis=(3, 5))
    return linear(parameters, "head", current.mean(axis=(2, 3)))


def resnet_logits(model: Resnet, parameters: Tensors, fed: Tensors) -> np.ndarray:
    """Return the formula of He et al., 2015, section 3, with option B for the shortcuts."""
    current = np.maximum(convolved(parameters, "stem", "stem.norm", fed["features"].astype(np.float64), 1), 0.0)
    for stage, count in enumerate(model.blocks):
        for index in range(count):
            name, stride, beside = f"stage{stage}.block{index}", 2 if stage and not index else 1, current
            inner = np.maximum(convolved(parameters, f"{name}.conv0", f"{name}.norm0", current, stride), 0.0)
            inner = convolved(parameters, f"{name}.conv1", f"{name}.norm1", inner, 1)
            if inner.shape != current.shape:
                beside = convolved(parameters, f"{name}.shortcut", f"{name}.shortcut.norm", current, stride)
            current = np.maximum(inner + beside, 0.0)
    return linear(parameters, "head", current.mean(axis=(2, 3)))


def convolved(parameters: Tensors, name: str, norm: str, data: np.ndarray, stride: int) -> np.ndarray:
    """Convolve with the same padding on every side, and normalise over the batch."""
    weight = parameters[f"{name}.weight"]
    side = weight.shape[-1] // 2
    padded = np.pad(data, ((0, 0), (0, 0), (side, side), (side, side)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axis=(2, 3))
    made = np.einsum("bchwij,ocij->bohw", windows[:, :, ::stride, ::stride], weight)
    mean, variance = made.mean(axis=(0, 2, 3), keepdims=True), made.var(axis=(0, 2, 3), keepdims=True)
    scale, bias = (parameters[f"{norm}.{key}"][:, None, None] for key in ("scale", "bias"))
    return scale * (made - mean) / np.sqrt(variance + EPSILON) + bias


@pytest.mark.parametrize("model", [*GPTS, *MLPS, *CNNS, *RESNETS], ids=name_of)
def test_parameters_have_the_elements_that_the_rules_count(model: Model) -> None:
    parameters = build_program(spec_of(model)).parameters
    assert sum(value.size for value in parameters.values()) == elements(model)
    assert {value.dtype.name for value in parameters.values()} == {"float32"}


def test_initial_tensors_have_the_deviations_that_the_papers_ask_for() -> None:
    gpt = build_program(spec_of(Gpt(layers=2, width=128, bias=True, norm="layernorm"))).parameters
    mlp = build_program(spec_of(Mlp(inputs=200, hidden=(300,), outputs=50))).parameters
    cnn = build_program(spec_of(Cnn(image=(16, 8, 8), channels=(64,)))).parameters
    resnet = build_program(spec_of(Resnet(channels=(32, 64)))).parameters
    expected = {
        "block0.attention.query.weight": (gpt, 0.02),
        "embedding": (gpt, 0.02),
        "block1.attention.out.weight": (gpt, 0.02 / math.sqrt(4)),
        "block0.feed.down.weight": (gpt, 0.02 / math.sqrt(4)),
        "layer0.weight": (mlp, math.sqrt(2 / 200)),
        "block0.weight": (cnn, math.sqrt(2 / (9 * 16))),
        "stage1.block0.conv0.weight": (resnet, math.sqrt(2 / (9 * 32))),
        "stage1.block0.shortcut.weight": (resnet, math.sqrt(2 / 32)),
    }
    for name, (parameters, deviation) in expected.items():
        values = parameters[name].astype(np.float64)
        assert np.std(values) == pytest.approx(deviation, rel=0.02)
        assert abs(np.mean(values)) < 4 * deviation / math.sqrt(values.size)
        assert np.abs(values).max() <= deviation * math.sqrt(3.0) * (1 + 1e-7)
    assert not gpt["block0.attention.query.bias"].any()
    assert not mlp["layer0.bias"].any()
    assert (gpt["final.norm.scale"] == 1.0).all()
    assert not gpt["final.norm.bias"].any()


def test_an_untrained_gpt_knows_nothing() -> None:
    spec = spec_of(Gpt(vocabulary=50, tied=False))
    assert reference_loss(build_program(spec), batch(spec, 0)) == pytest.approx(math.log(50), rel=0.01)


def test_the_same_spec_is_the_same_bits() -> None:
    spec = spec_of(GPTS[0])
    assert build_program(spec).digest == build_program(spec).digest


def test_another_seed_draws_every_weight_anew_and_leaves_the_graph() -> None:
    first, second = (build_program(spec_of(GPTS[0], seed=seed)) for seed in (0, 1))
    assert first.nodes == second.nodes
    for name, value in first.parameters.items():
        assert np.array_equal(value, second.parameters[name]) is name.endswith("norm.scale")


def test_a_tensor_depends_on_its_seed_and_name_only() -> None:
    small, large = (build_program(spec_of(replace(GPTS[0], layers=layers))).parameters for layers in (2, 3))
    for name, value in small.items():
        if "out.weight" not in name and "down.weight" not in name:
            assert np.array_equal(value, large[name])
    weights = [value.tobytes() for name, value in large.items() if name.endswith("query.weight")]
    assert len(set(weights)) == 3


@pytest.mark.parametrize("name", CHOICES)
def test_every_option_makes_another_program(name: str) -> None:
    first, second = (replace(GPTS[0], **{name: value}) for value in CHOICES[name])  # type: ignore[arg-type]
    assert build_program(spec_of(first)).digest != build_program(spec_of(second)).digest
