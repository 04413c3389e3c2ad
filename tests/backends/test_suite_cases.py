"""What is counted of ONNX's suite, and how what is known to fail is held against what is found."""

from __future__ import annotations

import numpy as np
import pytest
from expected_failures import read_expected, reason_of, surprises, unmatched
from suite_cases import (
    LOSS_PREFIXES,
    OPTIMIZERS,
    collected,
    counted,
    exclusion,
    operator_of,
    operators_of,
    shaping,
    with_constants,
)
from suite_outcome import difference

from stackproof.backends.values import Narrow

LISTED = """
    [[failure]]
    case = "test_a*"
    frameworks = ["torch"]
    reason = "its numbers are drawn"
"""


def test_all_losses_and_optimizers_are_there() -> None:
    assert sum(name.startswith(LOSS_PREFIXES) for name in counted()) == 104
    assert sum(bool(OPTIMIZERS & operators_of(case)) for case in counted().values()) == 7


def test_only_strings_and_images_are_left_out() -> None:
    left_out = {operator_of(case) for case in collected().values() if exclusion(case)}
    images_and_strings = {"ImageDecoder", "StringSplit", "StringNormalizer", "StringConcat", "RegexFullMatch"}
    assert left_out == images_and_strings | {"LabelEncoder", "Equal"}


def test_a_case_belongs_to_the_operator_that_it_is_about() -> None:
    assert operator_of(collected()["test_sce_mean_log_prob_expanded"]) == "SoftmaxCrossEntropyLoss"
    assert operator_of(collected()["test_gelu_default_1_expanded"]) == "Gelu"


def test_what_shapes_are_made_of_becomes_constant() -> None:
    case = collected()["test_reshape_reordered_all_dims"]
    names = shaping(case.model.graph)
    model = with_constants(case.model, case.data_sets[0][0], names)
    assert names == {"shape"}
    assert [entry.name for entry in model.graph.input] == ["data"]
    assert [tensor.name for tensor in model.graph.initializer] == ["shape"]


def test_a_failure_that_is_not_listed_and_a_pass_that_is_are_surprises() -> None:
    entries = read_expected(LISTED)
    found = {"test_a1": "wrong", "test_a2": "", "test_b": "wrong", "test_c": ""}
    lines = surprises(entries, found, "torch")
    assert [line.split(" on ")[0] for line in lines] == ["test_a2", "test_b"]
    assert "passes" in lines[0]
    assert [line.split(" on ")[0] for line in surprises(entries, found, "jax")] == ["test_a1", "test_b"]
    assert reason_of(entries, "test_a1", "torch") == "its numbers are drawn"


@pytest.mark.parametrize(
    "text",
    [
        LISTED.replace("reason", "why"),
        LISTED.replace('"torch"', ""),
        LISTED.replace("torch", "numpy"),
        LISTED.replace("its numbers are drawn", ""),
    ],
)
def test_an_entry_is_whole(text: str) -> None:
    with pytest.raises(ValueError, match="test_a"):
        read_expected(text)


def test_each_entry_of_the_list_names_a_case() -> None:
    assert unmatched(read_expected(), counted()) == []
    assert unmatched(read_expected(LISTED), ["test_b"]) == ["test_a*"]


@pytest.mark.parametrize(
    ("made", "want"),
    [
        (np.zeros(2, np.float32), np.zeros(2)),
        (np.zeros((2, 1)), np.zeros(2)),
        (np.zeros(2), np.ones(2)),
        (np.zeros(2), None),
        (None, np.zeros(2)),
        (np.zeros(2), [np.zeros(2)]),
        ([np.zeros(2)], np.zeros(2)),
        ([np.zeros(2)], [np.zeros(2), np.zeros(2)]),
        ([np.zeros(2)], [np.ones(2)]),
        (Narrow(np.zeros(2, np.int8), "int4"), np.zeros(2, np.int8)),
        (Narrow(np.zeros(2, np.int8), "int4"), Narrow(np.zeros(2, np.int8), "int2")),
        (np.array([np.nan]), np.zeros(1)),
    ],
)
def test_a_difference_is_seen(made: object, want: object) -> None:
    assert difference(made, want, 1e-3, 1e-7)


@pytest.mark.parametrize(
    ("made", "want"),
    [
        (np.array([1.0, np.nan]), np.array([1.0005, np.nan])),
        ([np.zeros(2), None], [np.zeros(2), None]),
        (Narrow(np.ones(2, np.float32), "bfloat16"), Narrow(np.full(2, 1.0078125, np.float32), "bfloat16")),
    ],
)
def test_what_is_close_enough_passes(made: object, want: object) -> None:
    assert difference(made, want, 1e-3, 1e-7) == ""
