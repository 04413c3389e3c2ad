"""What a framework's sessions must do around the gradients: accumulation, clipping, averages, and going on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

from stackproof.backends.accumulating import SHARE
from stackproof.backends.checkpoint import Belonging, Folder
from stackproof.backends.data import batch, batches
from stackproof.backends.errors import InputError
from stackproof.backends.models.build import build_program
from stackproof.backends.schedule import rates
from stackproof.backends.session import Options
from stackproof.backends.spec import Cnn, Data, Gpt, Mlp, Optimizer, Resnet, Schedule, Spec, Train
from stackproof.backends.training import Feed, make_feed, train

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

    from stackproof.backends.session import Session

    Arrays = Mapping[str, np.ndarray]

ADAMW = Optimizer(lr=1e-2, weight_decay=0.1)
MLP = Spec("mlp", Mlp(inputs=3, hidden=(5,), outputs=3), Data("vectors", 2), ADAMW, Schedule("linear", 1), Train(4))
GPT = Spec(
    "gpt", Gpt(layers=1, width=8, heads=2, context=4, vocabulary=8), Data("tokens", 2), ADAMW, Schedule(), Train(4)
)
CNN = Spec("cnn", Cnn(image=(2, 6, 6), channels=(3,)), Data("images", 2), ADAMW, Schedule(), Train(2))
RESNET = Spec(
    "resnet", Resnet(image=(2, 6, 6), channels=(3,), blocks=(1,)), Data("images", 2), ADAMW, Schedule(), Train(4)
)


def trained(spec: Spec, **changes: Any) -> Spec:
    """Return a spec with other settings of its loop."""
    return replace(spec, train=replace(spec.train, **changes))


WEIGHED = replace(trained(GPT, ignore_label=-1, class_weights=(1.0, 2.0, 0.5, 4.0, 1.0, 1.0, 3.0, 1.0)), name="weighed")


def plain(spec: Spec, **changes: Any) -> Spec:
    """Return a spec whose update at rate 1 takes the gradients off the parameters."""
    return replace(trained(spec, **changes), optimizer=Optimizer("sgd", 1.0), schedule=Schedule())


def joined(batch_of_parts: Arrays) -> dict[str, np.ndarray]:
    """Return the samples of all micro-batches as one batch."""
    return {name: v.reshape(-1, *v.shape[2:]) for name, v in batch_of_parts.items() if name != SHARE}


def walked(session: Session, spec: Spec, given: Sequence[Arrays], start: int = 0) -> list[tuple[float, float]]:
    """Make a step with each batch, and return loss and norm of each."""
    made = [session.step(session.place(one), rate) for one, rate in zip(given, rates(spec)[start:], strict=False)]
    return [(session.read(loss), session.read(norm)) for loss, norm in made]


def close(found: Arrays, right: Arrays, within: float = 1e-12) -> None:
    assert list(found) == list(right)
    for name, value in right.items():
        np.testing.assert_allclose(found[name], value, rtol=within, atol=within, err_msg=name)


def same(found: Arrays, right: Arrays) -> bool:
    return list(found) == list(right) and all(found[n].tobytes() == right[n].tobytes() for n in right)


class LoopContract:
    """Attributes: the session module, and the executions it has."""

    module: ClassVar[ModuleType]
    executions: ClassVar[tuple[str, ...]]

    def opened(self, spec: Spec, execution: str = "") -> Session:
        options = Options("float64", compile=bool(execution), execution=execution or "compiled")
        session: Session = self.module.open_session(build_program(spec), spec, options)
        return session

    def slope(self, spec: Spec, given: Arrays, at: Arrays | None = None) -> dict[str, np.ndarray]:
        """Return gradients: what a plain update at rate 1 takes off the parameters."""
        session = self.opened(plain(spec))
        if at is not None:
            session.restore({**session.saved(), **{f"parameter/{name}": value for name, value in at.items()}})
        before = session.parameters()
        session.step(session.place(given), np.array([1.0, 1.0, 1.0, 1.0]))
        return {name: before[name] - value for name, value in session.parameters().items()}

    @pytest.mark.parametrize("spec", [MLP, GPT, CNN, WEIGHED], ids=lambda spec: spec.name)
    def test_micro_batches_equal_one_big_batch(self, spec: Spec) -> None:
        small = trained(spec, accumulate=3, clip_norm=0.5)
        big = replace(trained(spec, clip_norm=0.5), data=replace(spec.data, batch=6))
        given = batches(small)
        several, one = self.opened(small), self.opened(big)
        found = walked(several, small, given)
        assert all((SHARE in entry) is bool(spec.train.class_weights) for entry in given)
        np.testing.assert_allclose(found, walked(one, big, [joined(entry) for entry in given]), rtol=1e-12)
        close(several.parameters(), one.parameters())

    @pytest.mark.parametrize("count", [3, 9])
    def test_accumulation_is_the_same_in_every_execution(self, count: int) -> None:
        settings = {"ema": 0.75, "clip_value": 0.05, "clip_norm": 0.1}
        small = trained(CNN if count == 3 else MLP, accumulate=count, **settings)
        big = replace(trained(small, accumulate=1), data=replace(small.data, batch=2 * count))
        one, given = self.opened(big), batches(small)
        right = walked(one, big, [joined(entry) for entry in given])
        for execution in self.executions:
            session = self.opened(small, execution)
            np.testing.assert_allclose(walked(session, small, given), right, rtol=1e-11, err_msg=execution)
            close(session.parameters(), one.parameters(), 1e-10)
            close(session.averages(), one.averages(), 1e-10)

    def test_micro_batches_count_by_their_shares(self) -> None:
        spec = plain(MLP, accumulate=3)
        session, given, shares = self.opened(spec), batch(spec, 0), np.array([0.5, 0.125, 0.375])
        before = session.parameters()
        loss, _ = session.step(session.place({**given, SHARE: shares}), rates(spec)[0])
        moved = {name: before[name] - value for name, value in session.parameters().items()}
        parts = [{name: value[place] for name, value in given.items()} for place in range(3)]
        slopes = [self.slope(MLP, part) for part in parts]
        right = {name: sum(share * one[name] for share, one in zip(shares, slopes, strict=True)) for name in moved}
        close(moved, right, 1e-14)
        losses = [walked(self.opened(MLP), MLP, [part])[0][0] for part in parts]
        assert session.read(loss) == pytest.approx(float(np.dot(shares, losses)), rel=1e-14)

    def test_running_means_move_with_each_micro_batch(self) -> None:
        spec = trained(RESNET, accumulate=3)
        session, single, given = self.opened(spec), self.opened(RESNET), batch(spec, 0)
        session.step(session.place(given), rates(spec)[0])
        for place in range(3):
            still = np.array([0.0, 1.0, 1.0, 1.0])
            single.step(single.place({name: value[place] for name, value in given.items()}), still)
        close(session.state(), single.state(), 1e-14)

    @pytest.mark.parametrize("count", [1, 3])
    @pytest.mark.parametrize("clip_norm", [0.0, 0.05])
    def test_elements_are_clipped_before_the_norm_is(self, count: int, clip_norm: float) -> None:
        spec = plain(MLP, accumulate=count, clip_value=0.02, clip_norm=clip_norm)
        session, given = self.opened(spec), batch(spec, 0)
        before = session.parameters()
        _, norm = session.step(session.place(given), rates(spec)[0])
        whole = replace(MLP, data=replace(MLP.data, batch=2 * count))
        slopes = self.slope(whole, given if count == 1 else joined(given))
        small = {name: np.clip(value, -0.02, 0.02) for name, value in slopes.items()}
        length = np.sqrt(sum(np.sum(value**2) for value in small.values()))
        assert length > 0.05
        scale = min(1.0, clip_norm / length) if clip_norm else 1.0
        moved = {name: before[name] - value for name, value in session.parameters().items()}
        close(moved, {name: value * scale for name, value in small.items()})
        assert session.read(norm) == pytest.approx(np.sqrt(sum(np.sum(v**2) for v in slopes.values())), rel=1e-12)

    @pytest.mark.parametrize("execution", ["", "compiled"])
    def test_averages_follow_the_parameters(self, execution: str) -> None:
        spec = trained(MLP, ema=0.75)
        session = self.opened(spec, execution)
        initial = right = session.parameters()
        assert same(session.averages(), initial)
        for given, rate in zip(batches(spec), rates(spec), strict=True):
            session.step(session.place(given), rate)
            right = {name: 0.75 * right[name] + 0.25 * value for name, value in session.parameters().items()}
            close(session.averages(), right, 1e-15)
        session.reset(None)
        assert same(session.averages(), initial)

    def test_there_are_averages_only_where_they_are_asked_for(self) -> None:
        session = self.opened(MLP)
        assert session.averages() == {}
        assert not any(name.startswith("average/") for name in session.saved())

    def test_what_is_saved_has_the_same_names_everywhere(self) -> None:
        spec = trained(RESNET, ema=0.5)
        program, session = build_program(spec), self.opened(spec)
        wanted = {f"{role}/{name}" for role in ("parameter", "average") for name in program.parameters}
        wanted |= {f"optimizer/{slot}/{name}" for slot in ("first", "second") for name in program.parameters}
        assert session.saved().keys() == wanted | {f"state/{name}" for name in program.state}

    @pytest.mark.parametrize("spec", [GPT, RESNET], ids=lambda spec: spec.name)
    def test_a_session_that_goes_on_gives_the_same_bits(self, spec: Spec) -> None:
        spec = trained(spec, ema=0.5, accumulate=2)
        given = batches(spec)
        for execution in ("", *(name for name in self.executions if name.startswith("compiled"))):
            whole, first = self.opened(spec, execution), self.opened(spec, execution)
            right = walked(whole, spec, given)
            begun = walked(first, spec, given[:2])
            kept = first.saved()
            walked(first, spec, given[2:], 2)
            first.reset(None)
            first.restore(kept)
            assert [*begun, *walked(first, spec, given[2:], 2)] == right, execution
            assert same(first.saved(), whole.saved()), execution

    @pytest.mark.parametrize("spec", [MLP, GPT], ids=lambda spec: spec.name)
    def test_a_run_that_goes_on_in_another_session_has_the_same_record(self, spec: Spec, tmp_path: Path) -> None:
        feed, folder = make_feed(spec), Folder(tmp_path, 2, Belonging("s", "p", "r"), "here")
        whole = train(self.opened(spec), feed)
        train(self.opened(spec), Feed(feed.batches[:3], feed.rates[:3]), folder)
        found = folder.newest()
        assert found is not None
        assert found.step == 2
        again = train(self.opened(spec), feed, folder, found)
        assert (again.losses, again.grad_norms, again.digest) == (whole.losses, whole.grad_norms, whole.digest)
        assert [file.name for file in sorted(tmp_path.iterdir())] == [f"step-{step:010d}.npz" for step in (2, 4)]

    @pytest.mark.parametrize("last", [False, True])
    def test_tensors_from_elsewhere_are_gone_on_from(self, *, last: bool) -> None:
        name = next((name for name in self.executions if name.endswith("-last")), "")
        spec = trained(CNN, ema=0.5)
        session, draw = self.opened(spec, name if last else ""), np.random.default_rng(3)
        given = {key: draw.uniform(0.0, 0.5, value.shape) for key, value in session.saved().items()}
        session.restore(given)
        assert same(session.saved(), given)
        at = {key.partition("/")[2]: value for key, value in given.items() if key.startswith("parameter/")}
        slope = self.slope(CNN, batch(CNN, 5), at)
        rate, first, second, _ = row = rates(spec)[1]
        session.step(session.place(batch(CNN, 5)), row)
        for key, value in session.parameters().items():
            mean = 0.9 * given[f"optimizer/first/{key}"] + 0.1 * slope[key]
            square = 0.999 * given[f"optimizer/second/{key}"] + 0.001 * slope[key] ** 2
            moved = at[key] * (1 - rate * 0.1) - rate * (mean / first) / (np.sqrt(square / second) + 1e-8)
            np.testing.assert_allclose(value, moved, rtol=1e-11, atol=1e-13, err_msg=key)
            average = 0.5 * given[f"average/{key}"] + 0.5 * moved
            np.testing.assert_allclose(session.averages()[key], average, rtol=1e-11, atol=1e-13, err_msg=key)

    def test_tensors_of_another_spec_are_refused(self) -> None:
        session = self.opened(MLP)
        kept = session.saved()
        name = next(iter(kept))
        for wrong in (
            {key: value for key, value in kept.items() if key != name},
            {**kept, "parameter/other": kept[name]},
            {**kept, name: kept[name][..., :1]},
        ):
            with pytest.raises(InputError, match=r"another spec|no use"):
                session.restore(wrong)
        assert same(session.saved(), kept)
