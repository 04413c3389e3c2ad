"""What a framework's rules must do; each framework's suite subclasses this with its target."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest
from drawn_cases import DIFFERENTIATED, drawn_cases
from operator_cases import (
    OPERATORS,
    Case,
    first_output_gradients,
    gradient_error,
    reference,
    run,
)

from stackproof.backends.registry import operators

if TYPE_CHECKING:
    from operator_cases import Target


class OperatorContract:
    """Attributes: the target."""

    target: ClassVar[Target]

    def test_every_operator_has_a_rule(self) -> None:
        assert set(operators(self.target.name)) >= OPERATORS

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("place", range(len(drawn_cases("float64"))), ids=[str(c) for c in drawn_cases("float64")])
    def test_agrees_with_the_reference(self, place: int, dtype: str) -> None:
        case = drawn_cases(dtype)[place]
        for got, want in zip(run(case, self.target), reference(case), strict=True):
            assert got.dtype == want.dtype
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=case.rtol, atol=case.atol)

    @pytest.mark.parametrize("case", [case for case in drawn_cases("float64") if case.op in DIFFERENTIATED], ids=str)
    def test_gradients_are_central_differences(self, case: Case) -> None:
        assert gradient_error(case, self.target) < 1e-7

    @pytest.mark.parametrize("dilations", [(1, 1), (2, 2)])
    def test_the_first_of_equal_maxima_gets_the_gradient(self, dilations: tuple[int, int]) -> None:
        data = np.zeros((1, 1, 3, 3))
        case = Case("ties", "MaxPool", (data,), {"kernel_shape": (2, 2), "strides": (2, 2), "dilations": dilations})
        (gradient,) = first_output_gradients(case, self.target)
        assert gradient.tolist() == [[[[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]]

    @pytest.mark.parametrize("dilations", [(1, 1), (2, 2)])
    @pytest.mark.parametrize("place", [(0, 0), (0, 2), (2, 2)])
    def test_pooling_keeps_what_is_not_a_number(self, place: tuple[int, int], dilations: tuple[int, int]) -> None:
        data = np.arange(9.0).reshape(1, 1, 3, 3)
        data[0, 0][place] = np.nan
        kernel = (2, 2) if dilations == (2, 2) else (3, 3)
        (pooled,) = run(Case("nan", "MaxPool", (data,), {"kernel_shape": kernel, "dilations": dilations}), self.target)
        assert np.isnan(pooled).all()
