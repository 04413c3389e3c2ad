"""What PyTorch's exporter writes of a node's call, held against what an optimizer made of the node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper
from small_graphs import called, drawn, graph, node, ones, run, signed, values, zeros

from stackproof.matrix.bringing.declaring import declare
from stackproof.matrix.bringing.origin import Origin, Tensor, write_origin
from stackproof.matrix.bringing.traps import find_traps, known_origin, mend, trainable

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto

X = drawn(3, 4, seed=9)

LINEAR = "%l : call_function[target=torch.ops.aten.linear.default](args = (%x, {}), kwargs = {{}})"
NORM = (
    "%n{} : call_function[target=torch.ops.aten.layer_norm.default](args = (%{}, [4], {}, 1e-05, False), kwargs = {{}})"
)
BATCH = (
    "%_native_batch_norm_legit_functional : [num_users=3] = call_function["
    "target=torch.ops.aten._native_batch_norm_legit_functional.default](args = (%conv2d, %p_bn_weight, %p_bn_bias, "
    "%b_bn_running_mean, %b_bn_running_var, True, 0.1, 1e-05), kwargs = {})"
)


def _kinds(model: ModelProto) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(trap.name, trap.severity, trap.tensors) for trap in find_traps(model)]


def _norms(scale: NDArray[np.float32]) -> ModelProto:
    """Two layer norms whose scales were merged."""
    nodes = [
        called(
            node("LayerNormalization", ["x", "n1.weight", "n1.bias"], ["h"]),
            NORM.format(1, "x", "%p_n1_weight, %p_n1_bias"),
        ),
        called(
            node("LayerNormalization", ["h", "n1.weight", "n2.bias"], ["y"]),
            NORM.format(2, "h", "%p_n2_weight, %p_n2_bias"),
        ),
    ]
    tensors = {"n1.weight": scale, "n1.bias": drawn(4, seed=1), "n2.bias": drawn(4, seed=2)}
    return signed(graph(nodes, tensors), ["n1.weight", "n1.bias", "n2.weight", "n2.bias"])


def test_merged_parameters_of_fresh_values_are_split_by_name() -> None:
    model, before = _norms(ones(4)), _norms(ones(4))
    assert _kinds(model) == [("parameters-merged", "mended", ("n1.weight", "n2.weight"))]
    assert mend(model, find_traps(model)) != before
    assert model == before
    mended = mend(model, find_traps(model))
    np.testing.assert_array_equal(run(mended, X), run(model, X))
    assert not np.allclose(run(mended, X, **{"n2.weight": 3 * ones(4)}), run(model, X))
    assert trainable(mended) == {"n1.weight", "n1.bias", "n2.weight", "n2.bias"}
    assert find_traps(mended) == []


def test_merged_parameters_of_other_values_are_asked_about() -> None:
    model = _norms(drawn(4))
    assert _kinds(model)[0] == ("parameters-merged", "refused", ("n1.weight", "n2.weight"))
    declare(model, independent=["n1.weight"])
    assert _kinds(model) == [("parameters-merged", "mended", ("n1.weight", "n2.weight"))]
    declare(model, tied=[("n1.weight",)])
    assert _kinds(model) == [("parameters-merged", "noted", ("n1.weight", "n2.weight"))]


def test_a_transposed_weight_gets_its_name_and_shape() -> None:
    call = LINEAR.format("%p_fc_weight, %p_fc_bias")
    nodes = [called(node("MatMul", ["x", "val_2"], ["h"]), call), called(node("Add", ["h", "fc.bias"], ["y"]), call)]
    model = signed(graph(nodes, {"val_2": drawn(4, 6), "fc.bias": drawn(6, seed=1)}), ["fc.weight", "fc.bias"])
    assert _kinds(model) == [("name-lost", "mended", ("val_2", "fc.weight"))]
    mended = mend(model, find_traps(model))
    np.testing.assert_array_equal(values(mended)["fc.weight"], values(model)["val_2"].T)
    np.testing.assert_array_equal(run(mended, X), run(model, X))
    assert trainable(mended) == {"fc.weight", "fc.bias"}


def test_a_weight_that_gemm_turns_itself_is_not_turned_again() -> None:
    call = LINEAR.format("%p_fc_weight, %p_fc_bias")
    nodes = [called(node("Gemm", ["x", "val_2", "fc.bias"], ["y"], transB=1), call)]
    model = signed(graph(nodes, {"val_2": drawn(6, 4), "fc.bias": drawn(6, seed=1)}), ["fc.weight", "fc.bias"])
    mended = mend(model, find_traps(model))
    np.testing.assert_array_equal(values(mended)["fc.weight"], values(model)["val_2"])
    np.testing.assert_array_equal(run(mended, X), run(model, X))


def _head(copy: NDArray[np.float32]) -> ModelProto:
    """An embedding and a head, tied in the model; the head's weight was copied and transposed."""
    nodes = [
        node("ArgMax", ["x"], ["i"], axis=1, keepdims=0),
        called(
            node("Gather", ["head.weight", "i"], ["h"]),
            "%e : call_function[target=torch.ops.aten.embedding.default](args = (%p_head_weight, %i), kwargs = {})",
        ),
        called(node("MatMul", ["h", "val_5"], ["y"]), LINEAR.format("%p_head_weight").replace("%l", "%l2")),
    ]
    model = graph(nodes, {"head.weight": drawn(5, 4), "val_5": copy})
    return signed(model, ["emb.weight", "head.weight"])


def test_a_copy_of_a_tied_weight_becomes_one_with_it() -> None:
    model = _head(drawn(5, 4).T.copy())
    assert _kinds(model)[0] == ("tied-duplicated", "mended", ("val_5", "head.weight"))
    assert ("parameter-unused", "noted", ("emb.weight",)) in _kinds(model)
    mended = mend(model, find_traps(model))
    assert list(values(mended)) == ["head.weight"]
    np.testing.assert_array_equal(run(mended, X), run(model, X))
    assert trainable(mended) == {"head.weight"}


def test_a_copy_with_other_values_is_refused() -> None:
    assert _kinds(_head(drawn(4, 5, seed=7)))[0] == ("tied-duplicated", "refused", ("val_5", "head.weight"))


def test_a_tie_under_another_name_is_none_where_the_origin_knows_it() -> None:
    model = _head(drawn(5, 4).T.copy())
    mended = mend(model, find_traps(model))
    for tensor in mended.graph.initializer:
        tensor.name = "emb.weight"
    for made in mended.graph.node:
        for place, name in enumerate(made.input):
            made.input[place] = "emb.weight" if name == "head.weight" else name
    write_origin(mended, Origin(tensors=(Tensor("emb.weight", (5, 4), "FLOAT", tied=("head.weight",)),)))
    assert find_traps(mended) == []


def test_a_folded_batch_norm_is_refused_by_the_names_that_are_gone() -> None:
    conv = node("Conv", ["x", "conv.weight", "conv.bias"], ["y"])
    nodes = [called(conv, BATCH, "FuseBatchNormIntoConv")]
    model = graph(nodes, {"conv.weight": drawn(2, 3, 1, 1), "conv.bias": drawn(2)}, (1, 3, 4, 4))
    statistics = ["bn.running_mean", "bn.running_var"]
    signed(model, ["conv.weight", "conv.bias", "bn.weight", "bn.bias"], statistics, statistics)
    gone = ("bn.bias", "bn.running_mean", "bn.running_var", "bn.weight")
    assert _kinds(model) == [("batch-norm-folded", "refused", gone)]


def test_an_older_exporter_gives_folded_kernels_a_name_of_its_own() -> None:
    nodes = [node("Conv", ["x", "onnx::Conv_35", "onnx::Conv_36"], ["y"])]
    model = graph(nodes, {"onnx::Conv_35": drawn(2, 3, 1, 1), "onnx::Conv_36": drawn(2)}, (1, 3, 4, 4))
    (folded, *_) = find_traps(model)
    assert (folded.name, folded.severity, folded.nodes) == ("batch-norm-folded", "refused", ("y",))
    declare(model, accepted=["batch-norm-folded"])
    assert "refused" not in [trap.severity for trap in find_traps(model)]


def test_statistics_merged_with_scales_come_apart_and_the_norm_trains() -> None:
    norm = node("BatchNormalization", ["x", "bn.weight", "bn.bias", "bn.bias", "bn.weight"], ["y"], epsilon=1e-5)
    statistics = ["bn.running_mean", "bn.running_var"]
    model = graph([called(norm, BATCH)], {"bn.weight": ones(4), "bn.bias": zeros(4)})
    signed(model, ["bn.weight", "bn.bias"], statistics, statistics)
    mended = mend(model, find_traps(model))
    assert list(mended.graph.node[0].input) == ["x", "bn.weight", "bn.bias", *statistics]
    assert trainable(mended) == {"bn.weight", "bn.bias"}
    expected = (X - X.mean(0)) / np.sqrt(X.var(0) + 1e-5)
    np.testing.assert_allclose(run(mended, X), expected, rtol=1e-5, atol=1e-6)


def test_a_bias_that_was_taken_out_is_refused_by_name() -> None:
    call = LINEAR.format("%p_fc_weight, %p_fc_bias")
    model = graph([called(node("Gemm", ["x", "fc.weight"], ["y"], transB=1), call)], {"fc.weight": drawn(6, 4)})
    signed(model, ["fc.weight", "fc.bias"])
    assert _kinds(model) == [("parameter-missing", "refused", ("fc.bias",))]


def test_a_parameter_may_have_gone_into_what_was_computed_beforehand() -> None:
    """PyTorch's optimizer computes `gamma.exp()` once and for all; no call names gamma then."""
    mul = "%mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%x, %exp), kwargs = {})"
    model = graph([called(node("Mul", ["x", "exp"], ["y"]), mul)], {"exp": drawn(4)})
    assert _kinds(signed(model, ["gamma"]))[0] == ("parameter-missing", "refused", ("gamma",))


def test_a_parameter_that_nothing_needs_is_noted() -> None:
    mul = "%mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%x, %p_w), kwargs = {})"
    model = graph([called(node("Mul", ["x", "w"], ["y"]), mul)], {"w": drawn(4)})
    assert _kinds(signed(model, ["w", "spare"])) == [("parameter-unused", "noted", ("spare",))]


def test_a_changed_shape_is_refused() -> None:
    model = graph([node("MatMul", ["x", "w"], ["y"])], {"w": drawn(4, 6)})
    write_origin(model, Origin(tensors=(Tensor("w", (6, 4), "FLOAT"),)))
    (trap,) = find_traps(model)
    assert (trap.name, trap.severity) == ("shape-changed", "refused")
    assert "[4, 6] in the graph and [6, 4] in the model" in trap.message


def test_frozen_tensors_buffers_and_literals_are_not_trained() -> None:
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("Add", ["h", "f"], ["g"]), node("Mul", ["g", "val_1"], ["y"])]
    model = graph(nodes, {"w": drawn(4, 6), "f": drawn(6), "val_1": drawn(6, seed=1)})
    write_origin(model, Origin(tensors=(Tensor("w", (4, 6)), Tensor("f", (6,), role="frozen"))))
    assert trainable(model) == {"w"}
    assert _kinds(model) == [("not-a-parameter", "noted", ("val_1",))]


def test_tf2onnx_without_an_origin_is_refused() -> None:
    model = graph([node("MatMul", ["x", "dense/kernel"], ["y"])], {"dense/kernel": drawn(4, 6)})
    model.producer_name = "tf2onnx"
    assert _kinds(model) == [("frozen-by-tf2onnx", "refused", ())]


def test_shapes_computed_at_run_time_are_noted() -> None:
    nodes = [node("Shape", ["x"], ["s"]), node("Reshape", ["x", "s"], ["y"])]
    (trap,) = find_traps(graph(nodes, {}))
    assert (trap.name, trap.severity, trap.nodes) == ("shape-arithmetic", "noted", ("s",))


def test_dropouts_are_read_from_calls_attentions_too() -> None:
    ops = "%{} : [num_users=1] = call_function[target=torch.ops.aten.{}.default](args = ({}), kwargs = {{}})"
    nodes = [
        called(node("Dropout", ["x"], ["h"]), ops.format("d", "native_dropout", "%p_w, 0.3, True")),
        called(node("Dropout", ["h"], ["y"]), ops.format("a", "scaled_dot_product_attention", "%q, %k, %v, None, 0.2")),
    ]
    model = signed(graph(nodes, {"w": drawn(4)}), ["w"])
    origin = known_origin(model)
    assert origin is not None
    assert origin.dropouts == {"d": 0.3, "a": 0.2}
    assert [trap.severity for trap in find_traps(model)] == ["mended", "mended"]


def test_nodes_in_bodies_count_as_uses() -> None:
    """A scale used in a branch of an If and outside of it is shared."""
    branch = helper.make_graph(
        [node("Mul", ["x", "scale"], ["b"])], "branch", [], [helper.make_tensor_value_info("b", 1, [3, 4])]
    )
    other = helper.make_graph(
        [node("Identity", ["x"], ["c"])], "other", [], [helper.make_tensor_value_info("c", 1, [3, 4])]
    )
    nodes = [
        node("If", ["flag"], ["h"], then_branch=branch, else_branch=other),
        node("LayerNormalization", ["h", "scale"], ["y"]),
    ]
    model = graph(nodes, {"flag": np.bool_(1), "scale": ones(4)})
    assert ("parameters-merged", "refused", ("scale",)) in _kinds(model)
