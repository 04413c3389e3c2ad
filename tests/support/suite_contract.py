"""ONNX's whole suite of operators as tests; each framework's suite subclasses this with its module."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pytest
from expected_failures import read_expected, reason_of, surprises
from required import need
from suite_cases import collected, counted, operator_of, operators_of, prepared
from suite_outcome import outcome

from stackproof.backends.registry import operators

if TYPE_CHECKING:
    from types import ModuleType


# Operators in no case of the suite: the tests of numbers, of layers, of moving values and of gradients have them.
_WITHOUT_CASE = """
    ConcatFromSequence GlobalLpPool Gradient LabelEncoder MaxRoiPool Multinomial RandomNormal RandomNormalLike
    RandomUniform SequenceErase SeededDropout
"""
WITHOUT_CASE = frozenset(_WITHOUT_CASE.split())


# Some cases of each kind that a framework must be able to compile: what is static, narrow, drawn out, or has a body.
_COMPILED = """
    test_adam test_attention_3d_causal test_cast_FLOAT_to_INT4 test_cast_INT4_to_FLOAT test_constant_pad test_gather_0
    test_lstm_defaults test_reduce_max_negative_axes_keepdims_example test_resize_upsample_sizes_nearest
    test_sce_mean_log_prob test_softmax_axis_2_expanded test_if
"""
COMPILED = tuple(_COMPILED.split())


def groups() -> dict[str, list[str]]:
    """Return the names of the cases that count by the operator that they are about."""
    found: dict[str, list[str]] = {}
    for name, case in counted().items():
        found.setdefault(operator_of(case), []).append(name)
    return found


class SuiteContract:
    """What a framework must do.

    Attributes:
        target: As in the rule table.
        module: Its `evaluate` module.
        compiled: Whether cases are compiled where the framework can, which is quicker where each operation that is
            evaluated is compiled on its own.
    """

    target: ClassVar[str]
    module: ClassVar[ModuleType]
    compiled: ClassVar[bool] = False

    def missing_compiler(self) -> str:
        """Say why the framework cannot compile here, or return an empty string."""
        return ""

    @pytest.mark.parametrize("operator", sorted(groups()))
    def test_does_what_the_cases_want(self, operator: str) -> None:
        found = {name: self.outcome(name) for name in groups()[operator]}
        assert surprises(read_expected(), found, self.target) == []

    def outcome(self, name: str) -> str:
        if self.compiled and not reason_of(read_expected(), name, self.target):
            found = self.outcome_of(name, compiled=True)
            # What is refused once an input has become a constant is tried as the case has it.
            if not found.startswith(("refused", "import")):
                return found
        return self.outcome_of(name, compiled=False)

    def outcome_of(self, name: str, *, compiled: bool) -> str:
        try:
            case = prepared(collected()[name], static=compiled)
        except Exception as error:  # noqa: BLE001 - a model that is refused is a case that fails
            return f"import: {error}"
        return outcome(self.module, case, compile=compiled)

    @pytest.mark.parametrize("name", COMPILED)
    def test_is_compiled(self, name: str) -> None:
        need("compiler", self.missing_compiler())
        assert self.outcome_of(name, compiled=True) == ""

    def test_every_rule_is_in_a_case_or_has_tests_of_its_own(self) -> None:
        covered = set().union(*map(operators_of, counted().values())) | WITHOUT_CASE
        assert {name for name in operators(self.target) if not name.endswith("Last")} - covered == set()

    def test_few_are_left_out(self) -> None:
        assert len(collected()) - len(counted()) < 0.02 * len(collected())
