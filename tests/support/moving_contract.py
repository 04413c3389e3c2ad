"""What the rules that move, pick and resize values must do; each framework's suite subclasses this with its module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
from moving_cases import (
    DTYPES,
    compiled_cases,
    differences,
    ints,
    moving_cases,
    resizing_cases,
    sampling_cases,
    scattering_cases,
    together,
)
from number_runs import gradients, run

from stackproof.backends.errors import UnsupportedError
from stackproof.backends.program import Input, Node, Program

if TYPE_CHECKING:
    from types import ModuleType

    from operator_cases import Case


class MovingContract:
    """Attributes: the framework's `evaluate` module, and one in how many cases is compiled."""

    module: ClassVar[ModuleType]
    compiled_step: ClassVar[int] = 1

    def found(self, cases: list[Case], *, compiled: bool = False) -> dict[str, str]:
        program, fed = together(cases)
        return differences(cases, self.module.Evaluation(program, compile=compiled).run(fed))

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_moves(self, dtype: str) -> None:
        assert self.found([case for case in moving_cases() if case.name.endswith(f"-{dtype}")]) == {}

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_scatters(self, dtype: str) -> None:
        assert self.found([case for case in scattering_cases() if case.name.endswith(f"-{dtype}")]) == {}

    def test_resizes(self) -> None:
        assert self.found(resizing_cases()) == {}

    def test_samples(self) -> None:
        assert self.found(sampling_cases()) == {}

    def test_the_same_when_compiled(self) -> None:
        cases = compiled_cases()[:: self.compiled_step]
        assert len({case.op for case in cases}) > 4
        assert self.found(cases, compiled=True) == {}

    @pytest.mark.parametrize("op", ["NonZero", "Unique"])
    def test_a_shape_that_depends_on_values_is_refused_when_compiled(self, op: str) -> None:
        with pytest.raises(Exception, match=f"the shape of what {op} makes depends on the values of a run"):
            run(self.module, op, np.ones((2, 3), np.float32), compiled=True)

    def test_samples_that_depend_on_values_are_refused_when_compiled(self) -> None:
        regions, images = np.array([[0.0, 0, 3, 3]], np.float32), ints(0)
        with pytest.raises(Exception, match="RoiAlign without sampling_ratio"):
            run(self.module, "RoiAlign", np.ones((1, 1, 4, 4), np.float32), regions, images, compiled=True)

    def test_a_condition_of_the_model_may_be_compiled(self) -> None:
        kept = run(self.module, "Compress", np.arange(4.0), np.array([True, False, True]), compiled=True)
        assert kept.tolist() == [0.0, 2.0]

    @pytest.mark.parametrize(
        ("op", "attributes", "word"),
        [
            ("LabelEncoder", {"keys_strings": ("a",), "values_int64s": (1,)}, "keys_strings"),
            ("TfIdfVectorizer", {"pool_strings": ("a",), "mode": "TF"}, "pool_strings"),
        ],
    )
    def test_text_is_refused(self, op: str, attributes: dict[str, Any], word: str) -> None:
        with pytest.raises(UnsupportedError, match=word):
            run(self.module, op, ints(1, 2), **attributes)

    def test_products_with_zeros_have_gradients(self) -> None:
        data, places, updates = np.array([2.0, 0.0, 3.0]), ints(0, 1, 1), np.array([0.0, 4.0, 5.0])
        found = gradients(self.module, "ScatterElements", data, places, updates, reduction="mul")
        assert [gradient.tolist() for gradient in found] == [[0.0, 20.0, 1.0], [2.0, 0.0, 0.0]]

    @pytest.mark.parametrize("reduction", ["max", "min"])
    def test_equal_extremes_share_their_gradient(self, reduction: str) -> None:
        sign = 1.0 if reduction == "max" else -1.0
        data, updates = sign * np.array([1.0, 2.0]), sign * np.array([1.0, 1.0, 0.0])
        found = gradients(self.module, "ScatterElements", data, ints(0, 0, 1), updates, reduction=reduction)
        np.testing.assert_allclose(found[0], [1 / 3, 1.0])
        np.testing.assert_allclose(found[1], [1 / 3, 1 / 3, 0.0])

    @pytest.mark.parametrize("largest", [0, 1])
    def test_the_first_of_equal_elements_is_chosen_and_gets_the_gradient(self, largest: int) -> None:
        (found,) = gradients(self.module, "TopK", np.array([3.0, 3.0, 3.0]), ints(2), largest=largest)
        assert found.tolist() == [1.0, 1.0, 0.0]

    def test_what_is_not_taken_has_no_part_in_gradients(self) -> None:
        data = np.array([1.0, np.inf, np.nan])
        found = gradients(self.module, "Where", np.array([True, False, False]), data, np.zeros(3))
        assert [gradient.tolist() for gradient in found] == [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
        (triangle,) = gradients(self.module, "Trilu", np.array([[1.0, 2.0], [np.inf, 3.0]]), upper=1)
        assert triangle.tolist() == [[1.0, 1.0], [0.0, 1.0]]

    def test_padding_gives_its_gradient_back(self) -> None:
        (found,) = gradients(self.module, "Pad", np.array([1.0, 2.0, 3.0]), ints(2, 1), mode="reflect")
        assert found.tolist() == [1.0, 3.0, 2.0]

    @pytest.mark.parametrize(
        ("sizes", "wanted"),
        [(np.array(2), [[0, 1], [2, 3], [4]]), (ints(1, 4), [[0], [1, 2, 3, 4]]), (ints(5), [[0, 1, 2, 3, 4]])],
    )
    def test_splits_to_sequences(self, sizes: np.ndarray, wanted: list[list[int]]) -> None:
        made = run(self.module, "SplitToSequence", np.arange(5), sizes)
        assert [part.tolist() for part in made] == wanted

    def test_sequences_count_from_the_end_too(self) -> None:
        nodes = (
            Node("SequenceConstruct", ("a", "b"), ("two",)),
            Node("SequenceInsert", ("two", "c", "before_last"), ("three",)),
            Node("SequenceErase", ("three", "first"), ("kept",)),
            Node("SequenceAt", ("kept", "before_last"), ("last",)),
        )
        inputs = tuple(Input(name, "int64", (1,)) for name in "abc")
        constants = {"before_last": np.array(-1), "first": np.array(-3)}
        program = Program("sequences", inputs, nodes, "", {}, constants, ("three", "last"))
        made = self.module.Evaluation(program).run({"a": ints(1), "b": ints(2), "c": ints(3)})
        assert [value.tolist() for value in made["three"]] == [[1], [3], [2]]
        assert made["last"].tolist() == [2]
