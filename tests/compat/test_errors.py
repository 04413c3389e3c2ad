"""The error tree: exit codes, and how faults and near names are worded."""

from __future__ import annotations

import pytest

from stackproof.compat import errors
from stackproof.compat.errors import Fault, InputError, StackproofError, did_you_mean

# Of the public surface: 1 the answer is no, 2 wrong input or usage, 3 something outside failed, 4 interrupted.
CODES = {
    "BusyError": 3,
    "InputError": 2,
    "OutsideError": 3,
    "StackproofError": 3,
    "StoppedError": 4,
    "UnsolvableError": 1,
    "UnsupportedError": 2,
}


def test_every_error_has_its_exit_code() -> None:
    found = {name: getattr(errors, name) for name in errors.__all__}
    codes = {name: entry.exit_code for name, entry in found.items() if hasattr(entry, "exit_code")}
    assert codes == CODES
    assert all(issubclass(found[name], StackproofError) for name in CODES)
    assert issubclass(errors.BusyError, errors.OutsideError)


def test_every_fault_of_an_input_is_told_with_its_place() -> None:
    faults = [Fault("axes.torch[1]", "is empty"), Fault("", "has no specs"), Fault("train.steps", "is 0", "tiny.toml")]
    error = InputError("fleet.toml", faults)
    assert str(error) == "fleet.toml: axes.torch[1]: is empty\nfleet.toml: has no specs\ntiny.toml: train.steps: is 0"
    assert (error.source, error.faults) == ("fleet.toml", tuple(faults))


@pytest.mark.parametrize(
    ("given", "known", "says"),
    [
        ("stpes", ["steps", "seed"], "did you mean 'steps'?"),
        ("zzz", ["steps", "seed"], "known: seed, steps"),
        ("zzz", [], "known: none"),
    ],
)
def test_a_near_name_is_proposed_and_else_all_are_listed(given: str, known: list[str], says: str) -> None:
    assert did_you_mean(given, known) == says
