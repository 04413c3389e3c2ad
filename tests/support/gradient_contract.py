"""Gradients as a part of each rule's contract; each framework's suite subclasses this with its module."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest
from differentiable import NOT_DIFFERENTIABLE, differentiable, schemas
from gradient_cases import OWN_FORWARD, gradient_cases
from gradient_outcome import measure

from stackproof.backends.layout import channels_last
from stackproof.backends.program import Input, Node, Program
from stackproof.backends.registry import operators

if TYPE_CHECKING:
    from types import ModuleType

TOLERANCE = 1e-6
# What ends so is an operator with its images channels last, which `backends/layout.py` writes.
TURNED = "Last"
# Operators that are not ONNX's; `seeded_contract.py` takes its gradient.
OWN = {"SeededDropout"}


class GradientContract:
    """Attributes: the target, and its `evaluate` module."""

    target: ClassVar[str]
    module: ClassVar[ModuleType]

    @pytest.mark.parametrize("operator", sorted(differentiable()))
    def test_gradients_are_central_differences(self, operator: str) -> None:
        cases = gradient_cases(operator)
        assert cases
        errors = {
            (case.name, name): error for case in cases for name, error in measure(self.module, case).errors.items()
        }
        assert {where: error for where, error in errors.items() if not error < TOLERANCE} == {}

    def test_every_rule_has_gradients_or_a_reason(self) -> None:
        known = {operator for operator in operators(self.target) if not operator.endswith(TURNED)} - OWN
        assert known - set(differentiable()) - set(NOT_DIFFERENTIABLE) == set()
        assert set(differentiable()) & set(NOT_DIFFERENTIABLE) == set()

    def test_the_lists_name_operators_of_onnx(self) -> None:
        assert {*differentiable(), *NOT_DIFFERENTIABLE} <= set(schemas())

    def test_every_exception_is_of_a_case(self) -> None:
        names = {case.name for operator in differentiable() for case in gradient_cases(operator)}
        assert set(OWN_FORWARD) <= {*names, *differentiable()}

    def test_a_wrong_gradient_is_seen(self) -> None:
        case = gradient_cases("Tanh")[0]
        (name,) = case.directions
        wrong = type(case)(**{**vars(case), "slopes": {name: case.slopes[name] + 1e-3}})
        assert measure(self.module, wrong).errors[name] > TOLERANCE
        assert np.isfinite(measure(self.module, case).errors[name])


class ChannelsLastContract:
    """For targets whose rules have forms for images channels last. Attributes: as above."""

    target: ClassVar[str]
    module: ClassVar[ModuleType]

    def test_forms_with_channels_last_have_the_same_values_and_gradients(self) -> None:
        program = image_program()
        turned = channels_last(program)
        forms = {node.op for node in turned.program.nodes if node.op.endswith(TURNED)}
        assert forms == {operator for operator in operators(self.target) if operator.endswith(TURNED)}
        plain, last = (self.module.Evaluation(made) for made in (program, turned.program))
        batch = {"x": np.random.default_rng(5).standard_normal((2, 3, 8, 7))}
        names, weights = ["x", *program.constants], {"y": np.random.default_rng(6).standard_normal((2, 4, 1, 1))}
        wanted = {**plain.run(batch), **plain.gradients(batch, names, weights)}
        turned_batch = turned.into(batch)
        made = {**last.run(turned_batch), **turned.back(last.gradients(turned_batch, names, weights))}
        for name, want in wanted.items():
            np.testing.assert_allclose(made[name], want, rtol=1e-10, atol=1e-12, err_msg=name)


def image_program() -> Program:
    """Return a program with each operator on images that has a form for channels last."""
    draw = np.random.default_rng(4)
    kernel, shift = draw.standard_normal((4, 3, 3, 3)), draw.standard_normal(4)
    statistics = {name: draw.uniform(0.5, 1.5, 4) for name in ("scale", "bias", "mean", "variance")}
    nodes = (
        Node("Conv", ("x", "kernel", "shift"), ("c",), {"kernel_shape": (3, 3), "pads": (1, 1, 1, 1)}),
        Node("BatchNormalization", ("c", *statistics), ("n",), {}),
        Node("MaxPool", ("n",), ("p",), {"kernel_shape": (2, 2), "strides": (2, 2)}),
        Node("GlobalAveragePool", ("p",), ("y",), {}),
    )
    image = Input("x", "float64", (2, 3, 8, 7))
    return Program("images", (image,), nodes, "", {}, {"kernel": kernel, "shift": shift, **statistics}, ("y",))
