"""What every framework's arithmetic must do beyond ONNX's suite; each framework's suite subclasses this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
from number_cases import FORMULAS, Case, Formula, cast_cases, integer_cases, scale_cases, whole_cases
from number_runs import gradients, run, same
from quantized_cases import quantized_cases

from stackproof.backends.errors import UnsupportedError
from stackproof.backends.values import Narrow

if TYPE_CHECKING:
    from types import ModuleType

EXACT = [*whole_cases(), *cast_cases(), *integer_cases(), *scale_cases()]


class NumberContract:
    """Attributes: the target's `evaluate` module, and which of the exact cases are compiled too, as a step."""

    module: ClassVar[ModuleType]
    compiled_step: ClassVar[int]

    @pytest.mark.parametrize("case", EXACT, ids=str)
    def test_exact(self, case: Case) -> None:
        same(run(self.module, case.op, *case.inputs, **case.attributes), case.wanted)

    def test_exact_when_compiled(self) -> None:
        plain = [case for case in EXACT if not isinstance(case.wanted, Narrow)]
        for case in plain[:: self.compiled_step]:
            same(run(self.module, case.op, *case.inputs, compiled=True, **case.attributes), case.wanted)

    @pytest.mark.parametrize("formula", FORMULAS, ids=str)
    def test_float64_to_the_last_digits(self, formula: Formula) -> None:
        data = np.linspace(-3.7, 3.9, 41)
        made = run(self.module, formula.op, data, **formula.attributes)
        np.testing.assert_allclose(made, formula.function(data), rtol=2e-14, atol=2e-15)

    @pytest.mark.parametrize("op", ["Relu", "LeakyRelu", "Elu", "ThresholdedRelu", "PRelu"])
    def test_the_slope_of_a_corner_is_that_of_the_lower_side(self, op: str) -> None:
        further: dict[str, Any] = {"ThresholdedRelu": {"alpha": 0.0}, "Relu": {}, "PRelu": {}}.get(op, {"alpha": 0.25})
        inputs = (np.zeros(1), np.full(1, 0.25)) if op == "PRelu" else (np.zeros(1),)
        wanted = 0.0 if op in ("Relu", "ThresholdedRelu") else 0.25
        assert gradients(self.module, op, *inputs, **further)[0].tolist() == [wanted]

    @pytest.mark.parametrize("op", ["Max", "Min"])
    def test_equals_share_the_gradient_of_an_extreme(self, op: str) -> None:
        left, right = gradients(self.module, op, np.array([1.0, 2.0]), np.array([1.0, 2.0]))
        assert left.tolist() == right.tolist() == [0.5, 0.5]

    @pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
    def test_equals_share_the_gradient_of_a_reduced_extreme(self, op: str) -> None:
        (gradient,) = gradients(self.module, op, np.array([2.0, 2.0]), np.array([0]))
        assert gradient.tolist() == [0.5, 0.5]

    def test_a_bound_passes_the_gradient(self) -> None:
        data, low, high = gradients(self.module, "Clip", np.array([-1.0, 0.0, 1.0, 2.0]), np.array(0.0), np.array(1.0))
        assert data.tolist() == [0.0, 1.0, 1.0, 0.0]
        assert (float(low), float(high)) == (1.0, 1.0)

    def test_a_lower_bound_above_the_upper_one_loses(self) -> None:
        made = run(self.module, "Clip", np.array([-1.0, 5.0]), np.array(3.0), np.array(2.0))
        assert made.tolist() == [2.0, 2.0]

    def test_the_length_of_nothing_has_no_slope(self) -> None:
        (gradient,) = gradients(self.module, "ReduceL2", np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([1]))
        np.testing.assert_allclose(gradient, [[0.0, 0.0], [0.6, 0.8]], rtol=1e-15)

    @pytest.mark.parametrize("data", [[0.0, 2.0, 3.0], [0.0, 0.0, 3.0]])
    def test_a_product_with_zeros_has_gradients(self, data: list[float]) -> None:
        (gradient,) = gradients(self.module, "ReduceProd", np.array(data), np.array([0]))
        assert gradient.tolist() == [data[1] * data[2], data[0] * data[2], data[0] * data[1]]

    def test_a_reduction_over_no_axes_applies_its_function(self) -> None:
        data, none = np.array([-2.0, 3.0]), np.array([], np.int64)
        made = run(self.module, "ReduceSumSquare", data, none, noop_with_empty_axes=1)
        assert made.tolist() == [4.0, 9.0]
        made = run(self.module, "ReduceLogSumExp", data, none, noop_with_empty_axes=1)
        assert made.tolist() == [-2.0, 3.0]

    def test_the_mean_of_integers_is_cut(self) -> None:
        same(run(self.module, "ReduceMean", np.array([[-3, -4], [3, 4]]), np.array([1]), keepdims=0), np.array([-3, 3]))

    @pytest.mark.parametrize("size", [1, 2, 3, 5])
    def test_compiled_determinants(self, size: int) -> None:
        data = np.random.default_rng(size).standard_normal((4, size, size))
        data[0, 0] = 0.0
        made = run(self.module, "Det", data, compiled=True)
        np.testing.assert_allclose(made, np.linalg.det(data), rtol=1e-12, atol=1e-14)

    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
    def test_remainders_have_the_sign_that_is_asked_for(self, dtype: str) -> None:
        left = np.array([5.5, -5.5, 5.5, -5.5, 0.0, -0.0, 4.0, -4.0, 1.0, -1.0], dtype)
        right = np.array([2, 2, -2, -2, -3, 3, 2, 2, np.inf, np.inf], dtype)
        same(run(self.module, "Mod", left, right), np.mod(left, right))
        np.testing.assert_array_equal(run(self.module, "Mod", left, right, fmod=1), np.fmod(left, right))

    def test_bits_keep_their_places(self) -> None:
        data = np.array([1.5, -0.0, np.inf], np.float32)
        same(run(self.module, "BitCast", data, to=12), data.view(np.uint32))
        same(run(self.module, "BitCast", data.view(np.uint32), to=1), data)

    @pytest.mark.parametrize("to", [22, 17, 11])
    def test_bits_of_another_width_are_refused(self, to: int) -> None:
        with pytest.raises(UnsupportedError, match="BitCast from float32 to"):
            run(self.module, "BitCast", np.zeros(2, np.float32), to=to)

    def test_an_unknown_rounding_is_refused(self) -> None:
        with pytest.raises(UnsupportedError, match="round_mode 'sideways'"):
            run(self.module, "Cast", np.ones(1, np.float32), to=24, round_mode="sideways")

    @pytest.mark.parametrize("op", ["RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike"])
    def test_draws(self, op: str) -> None:
        inputs: tuple[Any, ...] = (np.zeros((50, 40)),) if op.endswith("Like") else ()
        further: dict[str, Any] = {} if inputs else {"shape": (50, 40), "dtype": 11}
        further |= {"mean": 3.0, "scale": 0.5} if "Normal" in op else {"low": 2.0, "high": 4.0}
        once, again = (run(self.module, op, *inputs, seed=7.0, **further) for _ in range(2))
        free = [run(self.module, op, *inputs, **further) for _ in range(2)]
        assert once.dtype == np.float64
        assert once.shape == (50, 40)
        assert abs(once.mean() - 3.0) < 0.1
        assert abs(once.std() - (0.5 if "Normal" in op else 3**-0.5)) < 0.05
        assert (once == again).all()
        assert (free[0] != free[1]).any()

    def test_draws_of_chances(self) -> None:
        chances = np.repeat(np.array([[0.0, 1.0, 0.25]], np.float32), 2000, axis=0)
        made = run(self.module, "Bernoulli", chances, dtype=9, seed=1.0)
        assert made.dtype == np.bool_
        assert not made[:, 0].any()
        assert made[:, 1].all()
        assert abs(made[:, 2].mean() - 0.25) < 0.05

    def test_draws_of_classes(self) -> None:
        weights = np.log(np.array([[0.5, 0.25, 0.25], [1e-30, 1e-30, 1.0]], np.float32))
        made = run(self.module, "Multinomial", weights, sample_size=3000, seed=2.0, dtype=7)
        assert made.dtype == np.int64
        assert made.shape == (2, 3000)
        assert abs((made[0] == 0).mean() - 0.5) < 0.05
        assert (made[1] == 2).all()

    @pytest.mark.parametrize("case", quantized_cases(), ids=str)
    def test_quantized(self, case: Case) -> None:
        same(run(self.module, case.op, *case.inputs, **case.attributes), case.wanted)

    def test_scales_that_do_not_fit_are_refused(self) -> None:
        scales = np.ones((2, 3), np.float32)
        with pytest.raises(UnsupportedError, match=r"scales of shape \(2, 3\)"):
            run(self.module, "QuantizeLinear", np.ones((2, 6), np.float32), scales)

    def test_a_range_of_a_run_is_refused_when_compiled(self) -> None:
        numbers = [np.array(value, np.float32) for value in (0.0, 3.0, 1.0)]
        with pytest.raises(Exception, match="depends on the values of a run"):
            run(self.module, "Range", *numbers, compiled=True)
