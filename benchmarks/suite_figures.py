"""What `onnx_suite.py` says of a run: figures, what they must reach, what fails and what does not count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suite_cases import LOSS_PREFIXES, OPTIMIZERS, collected, counted, exclusion, operators_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from suite_runs import Choice

    Outcomes = Mapping[str, Mapping[str, str]]

_EACH, _JOINTLY = 0.95, 0.93
_LOSSES, _OPTIMIZERS = 104, 7


def count(choice: Choice, outcomes: Outcomes) -> tuple[dict[str, float], list[list[str]]]:
    """Return the figures, and the table for people."""
    every = len(collected()) / len(counted())
    figures: dict[str, float] = {"cases": len(choice.cases), "excluded": len(collected()) - len(counted())}
    rows = [["framework", "passed", "of", "share", "share with the excluded", "losses", "optimizers"]]
    for target, found in outcomes.items():
        passed = [name for name, why in found.items() if not why]
        share = len(passed) / len(found)
        losses = sum(name.startswith(LOSS_PREFIXES) for name in passed)
        optimizers = sum(bool(OPTIMIZERS & operators_of(choice.cases[name])) for name in passed)
        figures |= {f"{target}_passed": len(passed), f"{target}_share": share, f"{target}_share_of_all": share / every}
        figures |= {f"{target}_losses": losses, f"{target}_optimizers": optimizers}
        numbers = [len(passed), len(found), f"{share:.4f}", f"{share / every:.4f}", losses, optimizers]
        rows.append([target, *map(str, numbers)])
    shared = set.intersection(*(set(found) for found in outcomes.values()))
    joint = sum(all(not found[name] for found in outcomes.values()) for name in shared)
    share = joint / len(shared)
    figures |= {"jointly_passed": joint, "jointly_share": share, "jointly_share_of_all": share / every}
    rows.append(["jointly", str(joint), str(len(shared)), f"{share:.4f}", f"{share / every:.4f}", "", ""])
    return figures, rows


def required(choice: Choice, outcomes: Outcomes) -> dict[str, dict[str, float]]:
    """Return what the figures must reach; a sample has no count of losses and optimizers."""
    limits: dict[str, dict[str, float]] = {f"{target}_share": {"at_least": _EACH} for target in outcomes}
    limits |= {"jointly_share": {"at_least": _JOINTLY}, "surprises": {"at_most": 0}}
    if choice.whole:
        limits |= {f"{target}_losses": {"at_least": _LOSSES} for target in outcomes}
        limits |= {f"{target}_optimizers": {"at_least": _OPTIMIZERS} for target in outcomes}
    return limits


def tell(outcomes: Outcomes) -> None:
    """Print what fails."""
    for target, found in outcomes.items():
        for name, why in sorted(found.items()):
            if why:
                print(f"{target} {name}: {why}" if len(outcomes) > 1 else f"{name}: {why}")


def tell_exclusions() -> None:
    """Print which cases do not count."""
    reasons: dict[str, list[str]] = {}
    for name, case in collected().items():
        if why := exclusion(case):
            reasons.setdefault(why, []).append(name)
    print(f"{len(collected())} node cases in this onnx, {len(counted())} count")
    for why, names in reasons.items():
        print(f"not counted, {why} ({len(names)}): {', '.join(names)}")
