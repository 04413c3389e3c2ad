from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from stackproof.backends.data import batch
from stackproof.backends.layout import channels_last
from stackproof.backends.models.build import build_program
from stackproof.backends.models.graph import Graph
from stackproof.backends.noise import EXACT_OPERATORS
from stackproof.backends.program import Input, Program, dump, load
from stackproof.backends.seeded_dropout import OPERATOR, STEP, attributes_of, is_step, mask, step_input
from stackproof.backends.spec import Cnn, Data, Gpt, Mlp, Onnx, Optimizer, Resnet, Schedule, Spec, Train
from stackproof.backends.threefry import words

if TYPE_CHECKING:
    from stackproof.backends.spec import Model

SHAPE = (300, 401)
GPT = Gpt(layers=2, width=16, heads=2, context=8, vocabulary=16, dropout=0.1)
RESNET = Resnet(image=(2, 8, 8), channels=(3, 4), blocks=(2, 1), stochastic_depth=0.6)


def spec_of(model: Model, batch: int = 2, train: Train | None = None) -> Spec:
    data = Data({"gpt": "tokens", "mlp": "vectors", "onnx": "prototypes"}.get(model.kind, "images"), batch)
    return Spec(model.kind, model, data, Optimizer(), Schedule(), train or Train())


def drops(program: Program) -> dict[str, float]:
    return {node.outputs[0]: node.attributes["ratio"] for node in program.nodes if node.op == OPERATOR}


@pytest.mark.parametrize("ratio", [0.01, 0.25, 0.5, 0.9])
def test_as_many_are_dropped_as_asked_for(ratio: float) -> None:
    kept = mask(SHAPE, attributes_of("a", ratio, 7), 3)
    spread = (ratio * (1 - ratio) / kept.size) ** 0.5
    assert abs(1 - kept.mean() - ratio) < 5 * spread
    # Neither rows, columns nor neighbours stand out.
    assert np.abs(1 - kept.mean(axis=0) - ratio).max() < 6 * spread * SHAPE[1] ** 0.5
    assert abs((kept[:, 1:] & kept[:, :-1]).mean() - (1 - ratio) ** 2) < 0.01


def test_each_step_stream_and_seed_drops_others() -> None:
    masks = [
        mask(SHAPE, attributes_of(name, 0.5, seed), step)
        for name, seed, step in [("a", 0, 0), ("a", 0, 1), ("b", 0, 0), ("a", 1, 0)]
    ]
    for index, one in enumerate(masks):
        for other in masks[index + 1 :]:
            assert abs((one == other).mean() - 0.5) < 0.01
    np.testing.assert_array_equal(masks[0], mask(SHAPE, attributes_of("a", 0.5, 0), 0))


def test_an_element_has_its_word_and_its_threshold() -> None:
    attributes = attributes_of("layer", 0.3, 11)
    blocks = np.arange(8, dtype=np.uint32)
    pair = words((11, attributes["stream"]), (blocks, np.full_like(blocks, 5)))
    wanted = [int(pair[index % 2][index // 2]) // 256 >= 5033165 for index in range(15)]  # 0.3 * 2**24 = 5033164.8
    assert mask((3, 5), attributes, 5).reshape(-1).tolist() == wanted


def test_rows_have_one_word_each() -> None:
    rows = mask((400, 3, 2), attributes_of("a", 0.25, 1, rows=True), 2)
    assert rows.shape == (400, 1, 1)
    np.testing.assert_array_equal(rows.reshape(-1), mask((400,), attributes_of("a", 0.25, 1), 2))


def test_a_graph_without_a_ratio_stays_as_it_is() -> None:
    graph = Graph(0)
    source = graph.input("x", "float32", (2, 3))
    assert graph.dropout(source, "d", 0.0) == graph.drop_rows(source, "r", 0.0) == source
    assert [entry.name for entry in graph.finish("p", "x", ()).inputs] == ["x"]


def test_a_program_counts_its_steps_once() -> None:
    graph = Graph(9)
    source = graph.drop_rows(graph.dropout(graph.input("x", "float32", (2, 3)), "d", 0.1), "r", 0.2)
    program = load(dump(graph.finish("p", source, ())))
    assert [entry.name for entry in program.inputs] == ["x", STEP]
    assert [(n.inputs, n.attributes["rows"], n.attributes["seed"]) for n in program.nodes] == [
        (("x", STEP), 0, 9),
        (("d", STEP), 1, 9),
    ]
    assert program.nodes[0].attributes["stream"] != program.nodes[1].attributes["stream"]


def test_a_batch_has_its_number_where_the_program_asks_for_it() -> None:
    spec = spec_of(Mlp(dropout=0.5))
    inputs = build_program(spec).inputs
    assert batch(spec, 6, inputs)[STEP].tolist() == [6]
    assert STEP not in batch(spec, 6)
    summed = replace(spec, train=Train(accumulate=3))
    assert batch(summed, 2, inputs)[STEP].tolist() == [[6], [7], [8]]


def test_an_own_model_has_its_inputs_and_the_number() -> None:
    spec = spec_of(Onnx(onnx="m.onnx"), 1, Train(loss="mean-squared-error"))
    inputs = (Input("x", "float32", (1, 3)), Input("targets", "float32", (1, 2)), step_input())
    made = batch(spec, 4, inputs)
    assert made[STEP].tolist() == [4]
    np.testing.assert_array_equal(made["x"], batch(spec, 4, inputs[:2])["x"])
    assert not is_step(Input(STEP, "int64", (1,), bound=10))


def test_gpt_drops_embeddings_and_what_is_added() -> None:
    spec = spec_of(GPT)
    wanted = ["embedded", *(f"block{index}.{part}" for index in range(2) for part in ("attention", "feed"))]
    assert drops(build_program(spec)) == dict.fromkeys([f"{name}.dropped" for name in wanted], 0.1)


def test_mlp_drops_each_hidden_layer() -> None:
    spec = spec_of(Mlp(hidden=(8, 8), dropout=0.3))
    assert drops(build_program(spec)) == {"layer0.dropped": 0.3, "layer1.dropped": 0.3}


def test_resnet_drops_later_blocks_more_often() -> None:
    made = drops(build_program(spec_of(RESNET)))
    assert list(made) == ["stage0.block0.dropped", "stage0.block1.dropped", "stage1.block0.dropped"]
    np.testing.assert_allclose(list(made.values()), [0.2, 0.4, 0.6])


def test_dropped_rows_leave_images_channels_last() -> None:
    plain = build_program(spec_of(replace(RESNET, stochastic_depth=0.0)))
    dropping = build_program(spec_of(RESNET))
    counts = [sum(n.op == "Transpose" for n in channels_last(made).program.nodes) for made in (plain, dropping)]
    assert counts[0] == counts[1]


def test_models_without_it_are_as_they_were() -> None:
    for model in (Mlp(), Cnn(), replace(GPT, dropout=0.0)):
        assert STEP not in [entry.name for entry in build_program(spec_of(model)).inputs]


def test_it_rounds() -> None:
    assert OPERATOR not in EXACT_OPERATORS
