from __future__ import annotations

import pytest

from stackproof.backends.errors import UnsupportedError
from stackproof.backends.recurrence import named_activations


def test_each_direction_has_the_activations_of_the_operator() -> None:
    assert named_activations("GRU", {}, 2) == [("Sigmoid", {}), ("Tanh", {})] * 2


def test_parameters_are_used_up_by_the_activations_that_have_them() -> None:
    attributes = {
        "activations": ("hardsigmoid", "Tanh", "LEAKYRELU"),
        "activation_alpha": (0.3, 0.1),
        "activation_beta": (0.4,),
    }
    found = named_activations("LSTM", attributes, 1)
    assert found == [("HardSigmoid", {"alpha": 0.3, "beta": 0.4}), ("Tanh", {}), ("LeakyRelu", {"alpha": 0.1})]


@pytest.mark.parametrize(
    ("activations", "what"), [(("Tanh",), "takes 1 activations for each of 2"), (("Tanh", "Sine"), "Sine")]
)
def test_activations_that_are_refused(activations: tuple[str, ...], what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        named_activations("RNN", {"activations": activations}, 2)
