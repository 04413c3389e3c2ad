from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from moving_cases import ints
from moving_contract import MovingContract
from number_runs import run

from stackproof.backends.on_torch import evaluate
from stackproof.backends.program import Input, Node, Program

if TYPE_CHECKING:
    from collections.abc import Iterator


class TestMoving(MovingContract):
    module = evaluate
    compiled_step = 12

    def test_labels_are_refused_when_compiled(self) -> None:
        labels = {"keys_int64s": (1, 2), "values_int64s": (3, 4)}
        with pytest.raises(Exception, match=r"LabelEncoder has no rule for torch\.compile"):
            run(evaluate, "LabelEncoder", ints(1, 2), compiled=True, **labels)

    def test_a_table_is_compiled_as_often_as_it_is_used(self) -> None:
        nodes = tuple(Node("Trilu", (f"t{step}", f"k{step}"), (f"t{step + 1}",)) for step in range(3))
        constants = {f"k{step}": np.array(step - 1) for step in range(3)}
        program = Program("masks", (Input("t0", "float32", (3, 3)),), nodes, "", {}, constants, ("t3",))
        data = np.arange(9, dtype=np.float32).reshape(3, 3)
        made = evaluate.Evaluation(program, compile=True).run({"t0": data})
        np.testing.assert_array_equal(made["t3"], np.triu(data, 1))

    @pytest.fixture(autouse=True)
    def _nothing_compiled_stays(self) -> Iterator[None]:
        yield
        torch.compiler.reset()
