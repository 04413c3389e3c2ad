"""What every framework's convolutions, pools, normalisations, losses and updates must do beyond ONNX's suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
from layer_cases import Layer, convolutions, convolved, drawn, evaluate, normalisations, pools
from number_runs import gradients
from onnx import TensorProto, helper

from stackproof.backends.errors import UnsupportedError
from stackproof.matrix.importing.convert import to_program

if TYPE_CHECKING:
    from types import ModuleType

TRAINING = np.ones((), bool)
LAYERS = [*convolutions(), *pools(), *normalisations()]


class LayerContract:
    """Attributes: the target's `evaluate` module, and which of the layers are compiled too, as a step."""

    module: ClassVar[ModuleType]
    compiled_step: ClassVar[int]

    def outputs(self, op: str, *inputs: Any, **settings: Any) -> list[Any]:
        return evaluate(self.module, op, inputs, **settings)

    def forget(self) -> None:
        """Called before each compilation."""

    @pytest.mark.parametrize("layer", LAYERS, ids=str)
    def test_is_its_formula(self, layer: Layer) -> None:
        (made,) = self.outputs(layer.op, *layer.inputs, **layer.attributes)
        np.testing.assert_allclose(made, layer.wanted, rtol=1e-12, atol=1e-13)

    def test_is_its_formula_when_compiled(self) -> None:
        for layer in LAYERS[:: self.compiled_step]:
            self.forget()
            (made,) = self.outputs(layer.op, *layer.inputs, compiled=True, **layer.attributes)
            np.testing.assert_allclose(made, layer.wanted, rtol=1e-12, atol=1e-13)

    @pytest.mark.parametrize("layer", [*LAYERS[::9], *normalisations()], ids=str)
    def test_half_precision_stays_half(self, layer: Layer) -> None:
        (made,) = self.outputs(layer.op, *(value.astype(np.float16) for value in layer.inputs), **layer.attributes)
        assert made.dtype == np.float16
        np.testing.assert_allclose(made, layer.wanted, rtol=0.02, atol=0.02)

    @pytest.mark.parametrize(
        "form",
        [
            {"strides": (2, 3), "pads": (1, 0, 0, 1)},
            {"strides": (1, 2), "dilations": (2, 1), "pads": (1, 1, 1, 1)},
            {"group": 2, "strides": (2, 2)},
            {"group": 4, "dilations": (2, 3), "strides": (3, 2), "pads": (2, 1, 0, 2)},
        ],
    )
    def test_a_transposed_convolution_is_the_transpose(self, form: dict[str, Any]) -> None:
        form = {"group": 1, "strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0), **form}
        data, weight = drawn(2, 4, 11, 12), drawn(8, 4 // form["group"], 3, 2)
        there = convolved(data, weight, form)
        cotangent = drawn(*there.shape)
        spans = [(k - 1) * d + 1 for k, d in zip((3, 2), form["dilations"], strict=True)]
        missing = [
            (size + form["pads"][axis] + form["pads"][axis + 2] - spans[axis]) % form["strides"][axis]
            for axis, size in enumerate((11, 12))
        ]
        (back,) = self.outputs("ConvTranspose", cotangent, weight, output_padding=tuple(missing), **form)
        assert back.shape == data.shape
        np.testing.assert_allclose((back * data).sum(), (there * cotangent).sum(), rtol=1e-11)

    def test_a_stated_shape_decides_what_a_transposed_convolution_cuts(self) -> None:
        data, weight = np.ones((1, 1, 3)), np.array([[[1.0, 2.0]]])
        whole = [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]
        cut = {"output_shape": (5,), "strides": (2,)}
        (lower,) = self.outputs("ConvTranspose", data, weight, **cut)
        (upper,) = self.outputs("ConvTranspose", data, weight, auto_pad="SAME_UPPER", **cut)
        (larger,) = self.outputs("ConvTranspose", data, weight, output_shape=(8,), strides=(2,))
        assert lower.tolist() == [[whole[1:]]]
        assert upper.tolist() == [[whole[:5]]]
        assert larger.tolist() == [[[0.0, *whole, 0.0]]]

    @pytest.mark.parametrize("compiled", [False, True])
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_places_of_maxima(self, order: str, *, compiled: bool) -> None:
        data = drawn(2, 3, 5, 4)
        form = {"kernel_shape": (3, 2), "strides": (2, 1), "pads": (1, 1, 1, 0), "storage_order": int(order == "F")}
        values, places = self.outputs("MaxPool", data, outputs=2, compiled=compiled, **form)
        flat = data.reshape(2, 3, 20) if order == "C" else data.transpose(0, 1, 3, 2).reshape(2, 3, 20)
        assert places.dtype == np.int64
        np.testing.assert_array_equal(flat.reshape(-1)[places], values)

    def test_the_place_of_equal_maxima_is_the_first(self) -> None:
        data = np.array([[[[-np.inf, 1.0, 1.0, 0.0]]]])
        values, places = self.outputs("MaxPool", data, outputs=2, kernel_shape=(1, 3))
        assert values.tolist() == [[[[1.0, 1.0]]]]
        assert places.tolist() == [[[[1, 1]]]]

    @pytest.mark.parametrize("dtype", ["int8", "uint8"])
    def test_pools_of_integers(self, dtype: str) -> None:
        bounds = np.iinfo(dtype)
        data = np.array([[[bounds.min, bounds.min, bounds.max, 3]]], dtype)
        (made,) = self.outputs("MaxPool", data, kernel_shape=(2,), pads=(1, 1))
        assert made.dtype == dtype
        assert made.tolist() == [[[bounds.min, bounds.min, bounds.max, bounds.max, 3]]]

    def test_regions_are_pooled_by_bins(self) -> None:
        data = np.arange(20.0).reshape(1, 1, 4, 5)
        regions = np.array([[0.0, 1, 1, 4, 3], [0, 0, 0, 0, 0], [0, 9, 9, 12, 12]])
        (made,) = self.outputs("MaxRoiPool", data, regions, pooled_shape=(2, 2))
        assert made[0, 0].tolist() == [[12.0, 14.0], [17.0, 19.0]]
        assert made[1, 0].tolist() == [[0.0, 0.0], [0.0, 0.0]]
        assert made[2, 0].tolist() == [[0.0, 0.0], [0.0, 0.0]]

    def test_offsets_move_the_places_of_a_window(self) -> None:
        rows, columns = np.meshgrid(np.arange(6.0), np.arange(7.0), indexing="ij")
        data = (2 * rows + 3 * columns)[None, None]
        offsets = np.concatenate((np.full((1, 1, 2, 3), 1.25), np.full((1, 1, 2, 3), 0.5)), axis=1)
        form = {"strides": (2, 2), "kernel_shape": (1, 1)}
        (made,) = self.outputs("DeformConv", data[:, :, :4, :6], np.ones((1, 1, 1, 1)), offsets, **form)
        wanted = 2 * (rows[:4:2, :6:2] + 1.25) + 3 * (columns[:4:2, :6:2] + 0.5)
        # The row below the image is 0: the last sampled rows lie between 3 and 4.
        np.testing.assert_allclose(made[0, 0, 0, :2], wanted[0, :2], rtol=1e-14)
        np.testing.assert_allclose(made[0, 0, 1, :2], 0.75 * (2 * 3 + 3 * (columns[2, :4:2] + 0.5)), rtol=1e-14)

    @pytest.mark.parametrize("rank", [1, 2, 3])
    def test_without_offsets_a_deformed_convolution_is_a_plain_one(self, rank: int) -> None:
        size = {1: (7,), 2: (6, 5), 3: (4, 5, 4)}[rank]
        form = {"strides": (2,) * rank, "dilations": (1,) * rank, "group": 2, "pads": (1,) * 2 * rank}
        data, weight, bias = drawn(2, 4, *size), drawn(6, 2, *(2,) * rank), drawn(6)
        wanted = convolved(data, weight, form)
        offsets = np.zeros((2, 2 * 2**rank * rank, *wanted.shape[2:]))
        mask = np.full((2, 2 * 2**rank, *wanted.shape[2:]), 0.5)
        (made,) = self.outputs("DeformConv", data, weight, offsets, bias, mask, offset_group=2, **form)
        np.testing.assert_allclose(made, 0.5 * wanted + bias.reshape(-1, *(1,) * rank), rtol=1e-12, atol=1e-13)

    @pytest.mark.parametrize(("op", "settings"), [("LpPool", {"kernel_shape": (2,)}), ("GlobalLpPool", {})])
    def test_a_window_of_nothing_has_no_slope(self, op: str, settings: dict[str, Any]) -> None:
        (gradient,) = gradients(self.module, op, np.zeros((1, 1, 2)), **settings)
        assert gradient.tolist() == [[[0.0, 0.0]]]

    @pytest.mark.parametrize("power", [1, 2])
    def test_a_vector_of_nothing_stays(self, power: int) -> None:
        data = np.array([[0.0, 0.0], [3.0, -4.0]])
        (made,) = self.outputs("LpNormalization", data, p=power)
        (gradient,) = gradients(self.module, "LpNormalization", data, p=power)
        np.testing.assert_allclose(made, [[0.0, 0.0], np.array([3.0, -4.0]) / (7.0 if power == 1 else 5.0)])
        assert np.isfinite(gradient).all()

    def test_equal_values_have_no_slope_of_their_variance(self) -> None:
        (gradient,) = gradients(self.module, "MeanVarianceNormalization", np.ones((2, 1, 2, 2)))
        assert np.isfinite(gradient).all()

    @pytest.mark.parametrize("compiled", [False, True])
    def test_a_batch_of_one_element_has_no_variance(self, *, compiled: bool) -> None:
        data, scale, bias = drawn(1, 3), drawn(3), drawn(3)
        settings = {"training_mode": 1, "momentum": 0.75, "outputs": 3, "compiled": compiled}
        made = self.outputs("BatchNormalization", data, scale, bias, np.ones(3), np.ones(3), **settings)
        np.testing.assert_allclose(made[0], bias[None])
        np.testing.assert_allclose(made[1], 0.75 + 0.25 * data[0])
        np.testing.assert_allclose(made[2], np.full(3, 0.75))

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("shape", [(5, 3), (4, 3, 2), (2, 3, 4, 2), (2, 3, 2, 2, 2)])
    def test_running_statistics_are_of_the_population(self, shape: tuple[int, ...], dtype: str) -> None:
        data, axes = drawn(*shape) + 2.0, (0, *range(2, len(shape)))
        old = np.array([1.0, 2.0, 3.0])
        inputs = [value.astype(dtype) for value in (data, np.ones(3), np.zeros(3), old, old)]
        made = self.outputs("BatchNormalization", *inputs, training_mode=1, momentum=0.5, outputs=3)
        np.testing.assert_allclose(made[1], 0.5 * old + 0.5 * data.mean(axes), rtol=1e-6)
        np.testing.assert_allclose(made[2], 0.5 * old + 0.5 * data.var(axes), rtol=1e-6)
        assert [value.dtype for value in made] == [dtype] * 3

    def test_statistics_of_a_layer_norm_have_gradients(self) -> None:
        data = drawn(2, 5)
        outputs = self.outputs("LayerNormalization", data, np.ones(5), outputs=3)
        np.testing.assert_allclose(outputs[1], data.mean(axis=1, keepdims=True), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(outputs[2], (data.var(axis=1, keepdims=True) + 1e-5) ** -0.5, rtol=1e-12)

    @pytest.mark.parametrize("op", ["LayerNormalization", "RMSNormalization", "GroupNormalization"])
    def test_the_first_stage_rounds_as_stated(self, op: str) -> None:
        data, form = drawn(2, 4, 6), {"num_groups": 2} if op == "GroupNormalization" else {}
        size = 4 if op == "GroupNormalization" else 6
        inputs = [data.astype(np.float32), np.ones(size, np.float32)]
        inputs += [np.zeros(size, np.float32)] if op == "GroupNormalization" else []
        fine, coarse = (self.outputs(op, *inputs, stash_type=stash, **form)[0] for stash in (1, 10))
        assert fine.dtype == coarse.dtype == np.float32
        np.testing.assert_allclose(coarse, fine, rtol=0.02, atol=0.02)
        assert (coarse == coarse.astype(np.float16)).all()
        assert (fine != coarse).any()

    @pytest.mark.parametrize("compiled", [False, True])
    def test_a_seed_says_what_is_dropped(self, *, compiled: bool) -> None:
        data = drawn(4, 5)
        inputs = (data, np.array(0.25), TRAINING)
        made, mask = self.outputs("Dropout", *inputs, seed=5, outputs=2, compiled=compiled)
        wanted = np.random.RandomState(5).uniform(0.0, 1.0, (4, 5)) >= 0.25
        np.testing.assert_array_equal(mask, wanted)
        np.testing.assert_allclose(made, np.where(wanted, data / 0.75, 0.0))

    def test_without_a_seed_each_run_drops_others(self) -> None:
        inputs = (np.ones((50, 40)), np.array(0.25), TRAINING)
        first, second = (self.outputs("Dropout", *inputs)[0] for _ in range(2))
        assert (first != second).any()
        assert abs(first.mean() - 1.0) < 0.1

    def test_without_a_seed_nothing_is_compiled(self) -> None:
        inputs = (np.ones(3), np.array(0.25), TRAINING)
        with pytest.raises(Exception, match="Dropout in training mode and without a seed"):
            self.outputs("Dropout", *inputs, compiled=True)

    def test_all_cannot_be_dropped(self) -> None:
        with pytest.raises(UnsupportedError, match=r"ratio of 1\.0"):
            self.outputs("Dropout", np.ones(3), np.array(1.0), TRAINING)

    @pytest.mark.parametrize(
        ("op", "inputs", "attributes", "match"),
        [
            ("GroupNormalization", (np.ones((1, 4, 2)), np.ones(4), np.ones(4)), {"num_groups": 3}, "4 channels in 3"),
            ("RMSNormalization", (np.ones((1, 4)), np.ones(4)), {"stash_type": 7}, "stash_type of int64"),
            ("CausalConvWithState", (np.ones((1, 1, 2)), np.ones((1, 1, 1))), {"activation": "relu"}, "'relu'"),
        ],
    )
    def test_refuses(self, op: str, inputs: tuple[Any, ...], attributes: dict[str, Any], match: str) -> None:
        with pytest.raises(UnsupportedError, match=match):
            self.outputs(op, *inputs, **attributes)

    def test_the_first_steps_of_adam_are_exact_in_float32(self) -> None:
        gradient = np.full(2, 0.5)
        for count in (1, 2):
            values = (np.array(0.1), np.array(count), np.zeros(2), gradient, np.zeros(2), np.zeros(2))
            inputs = [value.astype(np.int64 if value.dtype.kind == "i" else np.float32) for value in values]
            made = self.outputs("Adam", *inputs, outputs=3, epsilon=0.0)[0]
            rate = 0.1 * np.sqrt(1 - 0.999**count) / (1 - 0.9**count)
            np.testing.assert_allclose(made, -rate * 0.1 / np.sqrt(0.001), rtol=2e-6)

    @pytest.mark.parametrize("compiled", [False, True])
    def test_gradients_of_a_graph_and_of_its_gradient(self, *, compiled: bool) -> None:
        data, weight = drawn(2, 3), drawn(3, 4)
        fed = {"X": data.astype(np.float32), "W": weight.astype(np.float32)}
        made = self.module.Evaluation(to_program(_twice_differentiated()), compile=compiled).run(fed)
        slope = 1 - np.tanh(data @ weight) ** 2
        curve = -2 * np.tanh(data @ weight) * slope
        np.testing.assert_allclose(made["dX"], slope @ weight.T, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(made["dW"], data.T @ slope, rtol=1e-4, atol=1e-5)
        # The sum of dX is the sum over outputs of slope times the sum of W's column.
        wanted = data.T @ (curve * weight.sum(axis=0)) + slope.sum(axis=0)
        np.testing.assert_allclose(made["ddW"], wanted, rtol=1e-4, atol=1e-5)

    def test_a_gradient_has_gradients(self) -> None:
        fed = {"X": drawn(2, 3).astype(np.float32), "W": drawn(3, 4).astype(np.float32)}
        evaluation = self.module.Evaluation(to_program(_twice_differentiated()))
        found = evaluation.gradients(fed, ["W"], {"dX": np.ones((2, 3), np.float32)})
        np.testing.assert_allclose(found["W"], evaluation.run(fed)["ddW"], rtol=1e-5, atol=1e-6)


def _twice_differentiated() -> Any:
    """A sum of `tanh(X W)`, its gradients, and the gradient of the sum of the first."""
    domain = "ai.onnx.preview.training"
    nodes = [
        helper.make_node("MatMul", ["X", "W"], ["H"]),
        helper.make_node("Tanh", ["H"], ["A"]),
        helper.make_node("ReduceSum", ["A"], ["Y"], keepdims=0),
        helper.make_node("Gradient", ["X", "W"], ["dX", "dW"], domain=domain, xs=["X", "W"], y="Y"),
        helper.make_node("Gradient", ["W", "X"], ["ddW"], domain=domain, xs=["W"], zs=["X"], y="dX"),
    ]
    shapes: dict[str, list[int]] = {"X": [2, 3], "W": [3, 4], "dX": [2, 3], "dW": [3, 4], "ddW": [3, 4]}
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    return helper.make_model(helper.make_graph(nodes, "twice", infos[:2], infos[2:]))
