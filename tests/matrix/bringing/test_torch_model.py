"""What in a PyTorch model cannot be exported to train, by what its modules say of themselves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stackproof.backends.errors import InputError
from stackproof.matrix.bringing.torch_model import check_model

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Model:
    """A model of one table, with the attributes of `torch.nn.Embedding`."""

    training = True

    def __init__(self, *, trained: bool = True, **changed: Any) -> None:
        usual = {"max_norm": None, "padding_idx": None, "scale_grad_by_freq": False, "sparse": False}
        weight = SimpleNamespace(requires_grad=trained, value=np.zeros((7, 4)))
        self._table = SimpleNamespace(training=True, num_embeddings=7, weight=weight, **{**usual, **changed})

    def named_modules(self) -> Iterator[tuple[str, Any]]:
        yield from (("", self), ("words.table", self._table))

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        yield from ()


@pytest.mark.parametrize(
    "changed", [{"max_norm": 0.5}, {"padding_idx": 0}, {"scale_grad_by_freq": True}, {"sparse": True}]
)
def test_a_table_that_a_graph_does_not_tell_is_refused_by_name(changed: dict[str, Any]) -> None:
    (key,) = changed
    with pytest.raises(InputError, match=rf"Net: words\.table: .*\({key}\).*: make it (None|False)"):
        check_model("Net", _Model(**changed))


def test_a_plain_table_passes_and_a_frozen_one_may_pad() -> None:
    check_model("Net", _Model())
    check_model("Net", _Model(trained=False, padding_idx=0))
