"""Llamas, mixtures of experts, BERT, vision transformers, bottlenecks and U-Nets compute what their papers say."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from model_formulas import bert_logits, bottleneck_logits, llama_logits, moe_logits, unet_logits, vit_logits
from whole_programs import as_onnx_holds_it, reference_loss

from stackproof.backends.data import batch
from stackproof.backends.model_sizes import elements, largest_tensor
from stackproof.backends.models.build import build_program
from stackproof.backends.reading import read_spec
from stackproof.backends.spec import Bert, Gpt, Llama, Moe, Resnet, Unet, Vit

if TYPE_CHECKING:
    from stackproof.backends.spec import Model, Spec

_SMALL: dict[str, Any] = {"layers": 2, "width": 16, "heads": 4, "context": 6, "vocabulary": 11}
LLAMAS = [
    Llama(**_SMALL, key_heads=2, hidden=10),
    Llama(**_SMALL, key_heads=1, hidden=7, rope_base=50.0, tied=True),
    Llama(**_SMALL, key_heads=4, hidden=10),
]
MOES = [
    Moe(**_SMALL, key_heads=2, hidden=5, experts=4, active=2, balance=0.5),
    Moe(**_SMALL, key_heads=4, hidden=5, experts=3, active=1, balance=0.25),
    Moe(**_SMALL, key_heads=2, hidden=5, experts=2, active=2, balance=0.0, tied=True),
]
BERTS = [Bert(**_SMALL), Bert(**{**_SMALL, "layers": 1, "context": 10}, segments=3, hidden=12)]
VITS = [
    Vit(image=(2, 8, 4), patch=2, layers=2, width=16, heads=4, outputs=3),
    Vit(image=(1, 6, 6), patch=3, layers=1, width=8, heads=1, hidden=5, outputs=2),
]
BOTTLENECKS = [
    Resnet(image=(2, 19, 17), channels=(3, 4), blocks=(2, 2), outputs=3, block="bottleneck", stem="imagenet"),
    Resnet(image=(1, 16, 16), channels=(2,), blocks=(1,), outputs=2, block="bottleneck", stem="imagenet"),
]
UNETS = [
    Unet(image=(2, 8, 12), channels=(3, 4, 5), norm="batchnorm", outputs=3),
    Unet(image=(1, 4, 6), channels=(2, 3), norm="none", outputs=2),
]
OTHERS = [
    Gpt(**_SMALL, key_heads=2),
    Gpt(**_SMALL, key_heads=1, bias=True, norm="layernorm", activation="gelu-tanh", position="learned"),
    Resnet(image=(2, 9, 7), channels=(4, 4, 5), blocks=(2, 1, 3), outputs=7, block="bottleneck"),
    Resnet(image=(2, 9, 7), channels=(4, 4, 5), blocks=(2, 1, 3), outputs=7, stem="imagenet"),
    Resnet(image=(2, 9, 7), channels=(8, 2), blocks=(1, 2), outputs=7, block="bottleneck"),
]
EVERY = [*LLAMAS, *MOES, *BERTS, *VITS, *BOTTLENECKS, *UNETS, *OTHERS]


def spec_of(model: Model, **train: Any) -> Spec:
    read = read_spec({"model": {"kind": model.kind}, "data": {"batch": 3}, "train": train}, "small.toml", "small")
    return replace(read, model=model)


def name_of(model: Model) -> str:
    return f"{model.kind}{EVERY.index(model)}"


@pytest.mark.parametrize("model", EVERY, ids=name_of)
def test_parameters_have_the_elements_that_the_rules_count(model: Model) -> None:
    parameters = build_program(spec_of(model)).parameters
    assert sum(value.size for value in parameters.values()) == elements(model)
    assert max(value.size for value in parameters.values()) == largest_tensor(model)


@pytest.mark.parametrize("model", EVERY, ids=name_of)
def test_a_program_takes_what_the_data_gives(model: Model) -> None:
    spec = spec_of(model)
    given = {name: (value.dtype.name, value.shape) for name, value in batch(spec, 0).items()}
    assert {entry.name: (entry.dtype, entry.shape) for entry in build_program(spec).inputs} == given


@pytest.mark.parametrize("loss", ["mean-squared-error", "huber", "binary-cross-entropy", "kl-divergence"])
@pytest.mark.parametrize("model", [VITS[0], UNETS[0]], ids=name_of)
def test_images_take_every_loss(model: Model, loss: str) -> None:
    spec = spec_of(model, loss=loss)
    given = {name: (value.dtype.name, value.shape) for name, value in batch(spec, 0).items()}
    program = build_program(spec)
    assert {entry.name: (entry.dtype, entry.shape) for entry in program.inputs} == given
    assert math.isfinite(reference_loss(program, batch(spec, 0)))


@pytest.mark.parametrize("model", LLAMAS, ids=name_of)
def test_llama_computes_its_formula(model: Llama) -> None:
    spec, fed, parameters, found = moved(model)
    assert found == pytest.approx(cross_entropy(spec, fed, llama_logits(model, parameters, fed)), rel=1e-7)


@pytest.mark.parametrize("model", MOES, ids=name_of)
def test_a_mixture_of_experts_computes_its_formula(model: Moe) -> None:
    spec, fed, parameters, found = moved(model)
    logits, balance = moe_logits(model, parameters, fed)
    assert found == pytest.approx(cross_entropy(spec, fed, logits) + balance, rel=1e-7)
    assert (balance > 0) is (model.balance > 0)


@pytest.mark.parametrize("model", BERTS, ids=name_of)
def test_bert_computes_its_formula(model: Bert) -> None:
    spec, fed, parameters, found = moved(model)
    assert found == pytest.approx(cross_entropy(spec, fed, bert_logits(model, parameters, fed)), rel=1e-7)


@pytest.mark.parametrize("model", VITS, ids=name_of)
def test_vit_computes_its_formula(model: Vit) -> None:
    spec, fed, parameters, found = moved(model)
    assert found == pytest.approx(cross_entropy(spec, fed, vit_logits(model, parameters, fed)), rel=1e-7)


@pytest.mark.parametrize("model", BOTTLENECKS, ids=name_of)
def test_bottlenecks_compute_their_formula(model: Resnet) -> None:
    spec, fed, parameters, found = moved(model)
    assert found == pytest.approx(cross_entropy(spec, fed, bottleneck_logits(model, parameters, fed)), rel=1e-7)


@pytest.mark.parametrize("model", UNETS, ids=name_of)
def test_unet_computes_its_formula(model: Unet) -> None:
    spec, fed, parameters, found = moved(model)
    logits = np.moveaxis(unet_logits(model, parameters, fed), 1, -1)
    assert found == pytest.approx(cross_entropy(spec, fed, logits), rel=1e-7)


def test_tanh_gelu_is_near_the_exact_one_and_is_not_it() -> None:
    found = []
    for activation in ("gelu", "gelu-tanh"):
        program, fed = moved_program(spec_of(Gpt(**_SMALL, activation=activation)))
        found.append(reference_loss(program, fed))
    assert found[0] == pytest.approx(found[1], rel=1e-2)
    assert found[0] != found[1]


def test_the_balance_loss_is_least_where_every_expert_gets_the_same() -> None:
    """With a router of zeros all shares are alike, and the loss is `balance` per layer (Switch Transformers, 2.2)."""
    model = Moe(**_SMALL, key_heads=2, hidden=5, balance=0.5)
    plain = replace(model, balance=0.0)
    losses = []
    for each in (model, plain):
        program = build_program(spec_of(each))
        parameters = {
            name: np.zeros_like(value) if "router" in name else value for name, value in program.parameters.items()
        }
        losses.append(reference_loss(replace(program, parameters=parameters), batch(spec_of(each), 0)))
    assert losses[0] - losses[1] == pytest.approx(0.5 * model.layers, rel=1e-6)


@pytest.mark.parametrize(("model", "places"), [(BERTS[0], 5), (VITS[0], 5)], ids=["bert", "vit"])
def test_embeddings_and_sublayers_are_dropped(model: Bert | Vit, places: int) -> None:
    spec = spec_of(replace(model, dropout=0.5))
    program = build_program(spec)
    nodes = [node for node in program.nodes if node.op == "SeededDropout"]
    assert len(nodes) == places
    assert len({node.attributes["stream"] for node in nodes}) == places
    assert {node.attributes["ratio"] for node in nodes} == {0.5}
    assert "step" in batch(spec, 0, program.inputs)


def moved_program(spec: Spec) -> tuple[Any, dict[str, np.ndarray]]:
    """Return the spec's program away from its initial parameters, and a batch."""
    program, draw = as_onnx_holds_it(build_program(spec)), np.random.default_rng(5)
    parameters = {
        name: (value + draw.normal(0.0, 0.3, value.shape)).astype(np.float32)
        for name, value in program.parameters.items()
    }
    return replace(program, parameters=parameters), batch(spec, 1)


def moved(model: Model) -> tuple[Spec, dict[str, np.ndarray], dict[str, np.ndarray], float]:
    spec = spec_of(model, seed=3)
    program, fed = moved_program(spec)
    wide = {name: value.astype(np.float64) for name, value in program.parameters.items()}
    return spec, fed, wide, reference_loss(program, fed)


def cross_entropy(spec: Spec, fed: dict[str, np.ndarray], logits: np.ndarray) -> float:
    """Return the mean over all labels that are not ignored, with classes on the last axis."""
    labels = (fed["targets"] if "targets" in fed else fed["labels"]).reshape(-1)
    counted = labels != spec.train.ignore_label
    scores = logits.reshape(len(labels), -1)[counted]
    chosen = scores[np.arange(len(scores)), labels[counted]]
    return float(np.mean(np.log(np.sum(np.exp(scores), axis=1)) - chosen))
