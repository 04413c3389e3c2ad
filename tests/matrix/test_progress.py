"""What is told of progress, as lines and as a bar."""

from __future__ import annotations

import io
import re
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.matrix.progress import BarReporter, PlainReporter, Reporter, choose_reporter

if TYPE_CHECKING:
    from collections.abc import Callable

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def plain(tell: Callable[[Reporter], None], *, verbose: bool = False) -> list[str]:
    stream = io.StringIO()
    with PlainReporter(stream, verbose=verbose) as reporter:
        tell(reporter)
    return stream.getvalue().splitlines()


def everything(reporter: Reporter) -> None:
    reporter.plan(6)
    reporter.start("resolve", "torch2.13.0-py311")
    reporter.finish("resolve", "torch2.13.0-py311", 0.04, reused=True)
    reporter.start("build", "torch2.13.0-py311")
    reporter.finish("build", "torch2.13.0-py311", 12.34, reused=False)
    reporter.start("run", "torch2.13.0-py311-tiny")
    reporter.fail("run", "torch2.13.0-py311-tiny", "a [red]crash[/red]")
    reporter.skip(1)
    reporter.plan(1)
    reporter.finish("build", "torch2.13.0-py311", 0.0, reused=True)


def test_lines_say_what_ended_and_how_far_it_is() -> None:
    assert plain(everything) == [
        "[2/6] build      torch2.13.0-py311: done in 12.3 s",
        "[3/6] run        torch2.13.0-py311-tiny: failed: a [red]crash[/red]",
    ]


def test_verbose_lines_say_what_begins_and_what_is_reused() -> None:
    assert plain(everything, verbose=True) == [
        "[0/6] resolve    torch2.13.0-py311: started",
        "[1/6] resolve    torch2.13.0-py311: nothing changed, reused",
        "[1/6] build      torch2.13.0-py311: started",
        "[2/6] build      torch2.13.0-py311: done in 12.3 s",
        "[2/6] run        torch2.13.0-py311-tiny: started",
        "[3/6] run        torch2.13.0-py311-tiny: failed: a [red]crash[/red]",
        "[4/6] build      torch2.13.0-py311: nothing changed, reused",
    ]


def test_threads_lose_no_count() -> None:
    stream, interval = io.StringIO(), sys.getswitchinterval()
    reporter = PlainReporter(stream)
    reporter.plan(2000)

    def work() -> None:
        for _ in range(250):
            reporter.finish("run", "cell", 0.0, reused=False)

    threads = [threading.Thread(target=work) for _ in range(8)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    counted = [int(line[1 : line.index("/")]) for line in stream.getvalue().splitlines()]
    assert counted == list(range(1, 2001))


def bar(tell: Callable[[Reporter], None]) -> tuple[BarReporter, str]:
    stream = Terminal()
    with BarReporter(stream) as reporter:
        tell(reporter)
        # The bar is drawn a few times a second: this is its last look.
        reporter._progress.refresh()
    return reporter, stream.getvalue()


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("wide")
def test_a_bar_counts_the_same_and_leaves_failures_standing() -> None:
    reporter, written = bar(everything)
    (task,) = reporter._progress.tasks
    assert (task.completed, task.total) == (4, 6)
    shown = ESCAPES.sub("", written)
    assert "4/6" in shown
    assert "run torch2.13.0-py311-tiny: a [red]crash[/red]" in shown


@pytest.mark.usefixtures("wide")
def test_a_bar_shows_what_is_at_work() -> None:
    def tell(reporter: Reporter) -> None:
        reporter.plan(9)
        for number in range(4):
            reporter.start("run", f"cell{number}")
        reporter.finish("run", "cell0", 1.0, reused=False)

    reporter, written = bar(tell)
    (task,) = reporter._progress.tasks
    assert task.description == "run cell1, run cell2 and 1 more"
    assert "run cell1, run cell2 and 1 more" in ESCAPES.sub("", written)


@pytest.mark.usefixtures("wide")
def test_a_bar_has_no_colours_where_none_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    coloured = re.compile(r"\x1b\[(?:[0-9]+;)*3[0-8]")
    assert coloured.search(bar(everything)[1])
    monkeypatch.setenv("NO_COLOR", "1")
    assert not coloured.search(bar(everything)[1])


def test_a_bar_is_taken_away_when_an_error_passes() -> None:
    reporter = BarReporter(Terminal())
    with pytest.raises(KeyboardInterrupt), reporter:
        raise KeyboardInterrupt
    assert not reporter._progress.live.is_started


@pytest.mark.parametrize(
    ("stream", "choice", "kind"),
    [
        (io.StringIO(), {}, PlainReporter),
        (io.StringIO(), {"verbose": True}, PlainReporter),
        (Terminal(), {}, BarReporter),
        (Terminal(), {"verbose": True}, PlainReporter),
        (Terminal(), {"quiet": True}, Reporter),
        (Terminal(), {"quiet": True, "verbose": True}, Reporter),
    ],
)
def test_the_reporter_suits_the_stream(stream: io.StringIO, choice: dict[str, bool], kind: type[Reporter]) -> None:
    given: dict[str, Any] = {"quiet": False, "verbose": False, **choice}
    assert type(choose_reporter(stream=stream, **given)) is kind


def test_quiet_says_nothing() -> None:
    stream = Terminal()
    with choose_reporter(quiet=True, verbose=False, stream=stream) as reporter:
        everything(reporter)
    assert stream.getvalue() == ""


def test_the_stream_is_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with choose_reporter(quiet=False, verbose=False) as reporter:
        everything(reporter)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 2
