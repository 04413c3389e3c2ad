"""Commands that train, and commands that misbehave in every way: told apart, held to limits, and ended whole.

Each is a real process: this interpreter, running a script of a few lines.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import textwrap
import time
from pathlib import Path

import pytest

from stackproof.backends.workload import Order, Ran, run_command
from stackproof.backends.workload_lines import CommandError

HEAD = """
import json, os, signal, sys, time
report = os.fdopen(int(os.environ["STACKPROOF_STEPS_FD"]), "w")
def say(text):
    report.write(text + "\\n")
    report.flush()
def step(number, **more):
    say(json.dumps({"step": number, "loss": 2.0 / number, **more}))
"""
# A child that outlives the command, and holds every pipe open.
CHILD = """
child = os.fork()
if child == 0:
    {leave}
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open("child", "w").write(str(os.getpid()))
    time.sleep(60)
    os._exit(0)
while not os.path.exists("child") or not open("child").read():
    time.sleep(0.01)
"""


def run(folder: Path, code: str, *, steps: int = 3, seconds: float = 20.0, silence: float = 20.0) -> Ran:
    (folder / "train.py").write_text(HEAD + textwrap.dedent(code), encoding="utf-8")
    return run_command(Order(("python", "train.py"), folder, steps, seconds, silence, dict(os.environ)))


def fail(folder: Path, code: str, *, steps: int = 3, seconds: float = 20.0, silence: float = 20.0) -> str:
    with pytest.raises(CommandError) as caught:
        run(folder, code, steps=steps, seconds=seconds, silence=silence)
    return str(caught.value)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_a_command_reports_is_read(tmp_path: Path) -> None:
    made = run(
        tmp_path,
        """
        for number in (1, 2, 3):
            step(number, grad_norm=number, seconds=0.5, samples=8, lr=0.1)
        say('{"final": {"parameters_digest": "abc"}}')
        """,
    )
    assert [entry.loss for entry in made.steps] == [2.0, 1.0, 2.0 / 3.0]
    assert [entry.grad_norm for entry in made.steps] == [1.0, 2.0, 3.0]
    assert (made.digest, made.optional) == ("abc", ("grad_norm", "seconds", "samples"))
    assert (made.rest, made.samples) == (1.0, 16)
    assert made.first > 0


def test_time_is_that_of_the_lines_where_the_command_states_none(tmp_path: Path) -> None:
    made = run(tmp_path, "step(1); time.sleep(0.3); step(2); time.sleep(0.3); step(3)")
    assert 0.6 <= made.rest < 5
    assert (made.samples, made.digest, made.optional) == (None, "", ())


def test_the_last_line_needs_no_end(tmp_path: Path) -> None:
    made = run(tmp_path, "step(1); report.write(json.dumps({'step': 2, 'loss': 1}))", steps=2)
    assert len(made.steps) == 2


def test_lines_may_come_in_pieces(tmp_path: Path) -> None:
    code = """
    for piece in ('{"step": 1, "lo', 'ss": 4}\\n{"step"', ': 2, "loss": 3}\\n'):
        report.write(piece); report.flush(); time.sleep(0.1)
    """
    assert [entry.loss for entry in run(tmp_path, code, steps=2).steps] == [4.0, 3.0]


@pytest.mark.parametrize("loss", ["NaN", "Infinity", "-Infinity", "null", "1e999", "1" + "0" * 400])
def test_a_loss_that_is_not_finite_is_taken_as_such(tmp_path: Path, loss: str) -> None:
    made = run(tmp_path, f"""step(1); say('{{"step": 2, "loss": {loss}}}')""", steps=2)
    assert [entry.loss for entry in made.steps] == [2.0, None]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("Epoch 1: loss 2.31", "is no JSON"),
        ("", "is no JSON"),
        ("[1, 2]", "is no JSON object"),
        ("[" * 30000, "is no JSON"),
        ("{}", "has no step and no loss"),
        ('{"step": 2}', "has no loss"),
        ('{"loss": 2}', "has no step"),
        ('{"step": 1, "loss": 2}', "reports step 1 where step 2 is next"),
        ('{"step": 3, "loss": 2}', "reports step 3 where step 2 is next"),
        ('{"step": 0, "loss": 2}', "reports step 0 where step 2 is next"),
        ('{"step": 2.0, "loss": 2}', "has a step that is no integer"),
        ('{"step": true, "loss": 2}', "has a step that is no integer"),
        ('{"step": 2, "loss": "low"}', "has a loss that is no number"),
        ('{"step": 2, "loss": true}', "has a loss that is no number"),
        ('{"step": 2, "loss": [2]}', "has a loss that is no number"),
        ('{"step": 2, "loss": 2, "grad_norm": 1}', "has grad_norm, unlike the lines before it"),
        ('{"final": {}}', "is the final one, after step 1 of 3"),
        ('{"final": 3}', "is no final line"),
        ("x" * 70000, "is longer than 65536 bytes"),
    ],
)
def test_a_line_that_is_no_step_is_named_with_its_number(tmp_path: Path, line: str, what: str) -> None:
    said = fail(tmp_path, f"step(1); say({line!r}); time.sleep(30)")
    assert f"line 2 of the steps that the command reported {what}" in said
    assert len(said) < 400
    assert json_excerpt(line) in said


def json_excerpt(line: str) -> str:
    return line[:30].replace('"', '\\"')


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("seconds", "-1", "seconds that are no number"),
        ("seconds", "NaN", "seconds that are no number"),
        ("seconds", '"1"', "a seconds that is no number"),
        ("samples", "1.5", "samples that are no count"),
        ("samples", "-1", "samples that are no count"),
        ("grad_norm", "[]", "a grad_norm that is no number"),
    ],
)
def test_what_else_a_line_says_is_held_to_its_form(tmp_path: Path, key: str, value: str, what: str) -> None:
    assert f"has {what}" in fail(tmp_path, f"""say('{{"step": 1, "loss": 2, "{key}": {value}}}')""", steps=1)


def test_an_optional_number_may_not_come_and_go(tmp_path: Path) -> None:
    said = fail(tmp_path, "step(1, samples=3); step(2)", steps=2)
    assert "line 2" in said
    assert "lacks samples, unlike the lines before it" in said


@pytest.mark.parametrize(
    "final", ['{"final": {"parameters_digest": 5}}', '{"final": {"parameters_digest": "' + "a" * 201 + '"}}']
)
def test_a_digest_is_a_short_text(tmp_path: Path, final: str) -> None:
    assert "parameters_digest that is no text" in fail(tmp_path, f"step(1); say({final!r})", steps=1)


def test_nothing_comes_after_the_final_line(tmp_path: Path) -> None:
    assert "line 3" in (said := fail(tmp_path, "step(1); say('{\"final\": {}}'); step(2)", steps=1))
    assert "comes after the final one" in said


def test_more_steps_than_were_asked_for_are_refused(tmp_path: Path) -> None:
    said = fail(tmp_path, "number = 0\nwhile True:\n    number += 1\n    step(number)", steps=5)
    assert "line 6" in said
    assert "reports more than the 5 steps that STACKPROOF_STEPS asks for" in said


def test_a_line_without_an_end_is_not_gathered(tmp_path: Path) -> None:
    start = time.monotonic()
    said = fail(tmp_path, 'while True:\n    report.write("x" * 65536)')
    assert "line 1" in said
    assert "is longer than 65536 bytes" in said
    assert time.monotonic() - start < 15


def test_a_command_that_reports_nothing_is_ended(tmp_path: Path) -> None:
    start = time.monotonic()
    said = fail(tmp_path, "print('loading', file=sys.stderr, flush=True); time.sleep(60)", silence=1.0)
    assert said.startswith("the command reported nothing for 1 s (workload.silence)")
    assert "before it reported a step" in said
    assert "its stderr ends with: loading" in said
    assert time.monotonic() - start < 15


def test_a_command_that_falls_silent_is_ended(tmp_path: Path) -> None:
    said = fail(tmp_path, "step(1); time.sleep(60)", silence=1.0)
    assert "reported nothing for 1 s" in said
    assert "after step 1 of 3" in said


def test_a_command_that_goes_on_for_too_long_is_ended(tmp_path: Path) -> None:
    said = fail(tmp_path, "for n in (1, 2, 3): step(n)\nwhile True: time.sleep(1)", seconds=1.5)
    assert said.startswith("the command did not end within 1.5 s (workload.seconds)")
    assert "after step 3 of 3" in said


def test_a_command_that_fails_says_so_with_the_end_of_its_stderr(tmp_path: Path) -> None:
    said = fail(tmp_path, "step(1)\nfor n in range(50): print('line', n, file=sys.stderr)\nraise ValueError('boom')")
    first, *rest = said.splitlines()
    assert first == "the command ended with status 1 after step 1 of 3; its stderr ends with: ValueError: boom"
    assert len(rest) == 9
    assert rest[-1].strip().startswith("raise ValueError")


def test_a_status_counts_even_after_every_step(tmp_path: Path) -> None:
    said = fail(tmp_path, "for n in (1, 2, 3): step(n)\nsys.exit(7)")
    assert said == "the command ended with status 7 after step 3 of 3; it wrote nothing to stderr"


def test_a_signal_is_named(tmp_path: Path) -> None:
    assert "was ended by signal SIGSEGV after step 1 of 3" in fail(
        tmp_path, "step(1); os.kill(os.getpid(), signal.SIGSEGV)"
    )


@pytest.mark.parametrize(
    ("code", "place"), [("pass", "before it reported a step"), ("step(1); step(2)", "after step 2 of 3")]
)
def test_an_end_without_evidence_is_none(tmp_path: Path, code: str, place: str) -> None:
    said = fail(tmp_path, code)
    assert f"ended as if all were well {place}" in said
    assert "STACKPROOF_STEPS_FD" in said


@pytest.mark.parametrize("leave", ["pass", "os.setsid()"], ids=["stays", "leaves its session"])
def test_a_child_that_holds_the_pipes_open_is_ended(tmp_path: Path, leave: str) -> None:
    start = time.monotonic()
    made = run(tmp_path, CHILD.format(leave=leave) + "\nstep(1)\nstep(2)\nstep(3)")
    assert len(made.steps) == 3
    assert not is_alive(int((tmp_path / "child").read_text()))
    assert time.monotonic() - start < 15


def test_a_child_of_a_command_that_was_ended_is_ended_too(tmp_path: Path) -> None:
    fail(tmp_path, CHILD.format(leave="os.setsid()") + "\ntime.sleep(60)", silence=1.0)
    assert not is_alive(int((tmp_path / "child").read_text()))


def test_a_command_that_does_not_want_to_end_is_killed(tmp_path: Path) -> None:
    code = """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open("own", "w").write(str(os.getpid()))
    while True:
        time.sleep(1)
    """
    start = time.monotonic()
    fail(tmp_path, code, silence=1.0)
    assert not is_alive(int((tmp_path / "own").read_text()))
    assert time.monotonic() - start < 15


def test_a_command_may_end_in_its_own_way(tmp_path: Path) -> None:
    code = """
    def farewell(*_):
        open("farewell", "w").close()
        sys.exit(0)
    signal.signal(signal.SIGTERM, farewell)
    step(1)
    while True:
        time.sleep(0.1)
    """
    assert "reported nothing for 1 s" in fail(tmp_path, code, silence=1.0)
    assert (tmp_path / "farewell").exists()


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_flood_of_output_is_kept_bounded_and_hangs_nothing(tmp_path: Path, stream: str) -> None:
    code = f"""
    for number in (1, 2, 3):
        for _ in range(200):
            sys.{stream}.write("flood " * 20000)
        step(number)
    sys.{stream}.write("the end")
    sys.{stream}.flush()
    sys.exit(1)
    """
    said = fail(tmp_path, code)
    assert "ended with status 1 after step 3 of 3" in said
    assert len(said) < 2000


def test_a_command_that_closes_all_it_has_is_waited_for(tmp_path: Path) -> None:
    made = run(
        tmp_path,
        "for n in (1, 2, 3): step(n)\nreport.close()\nos.close(1)\nos.close(2)\ntime.sleep(0.5)\nos._exit(0)",
    )
    assert len(made.steps) == 3


def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(HEAD + "open('words', 'w').write(repr(sys.argv[1:]))\nstep(1)")
    words = ("$(touch made)", "; touch made", "a b", "*", "")
    run_command(Order(("python", "train.py", *words), tmp_path, 1, 20.0, 20.0, dict(os.environ)))
    assert (tmp_path / "words").read_text() == repr(list(words))
    assert not (tmp_path / "made").exists()


def test_python_is_this_interpreter_and_nothing_waits_for_input(tmp_path: Path) -> None:
    made = run(tmp_path, "open('who', 'w').write(sys.executable + '|' + sys.stdin.read())\nstep(1)", steps=1)
    assert len(made.steps) == 1
    assert (tmp_path / "who").read_text() == f"{sys.executable}|"


@pytest.mark.parametrize("program", ["no-such-program", "./train.sh", "."])
def test_a_program_that_cannot_be_started_is_named(tmp_path: Path, program: str) -> None:
    (tmp_path / "train.sh").write_text("#!/bin/sh\n")
    with pytest.raises(CommandError, match="cannot be started") as caught:
        run_command(Order((program,), tmp_path, 1, 20.0, 20.0, dict(os.environ)))
    assert repr(program) in str(caught.value)


def test_no_descriptors_are_left_open(tmp_path: Path) -> None:
    gc.collect()
    before = len(list(Path("/proc/self/fd").iterdir()))
    run(tmp_path, "step(1)", steps=1)
    fail(tmp_path, "pass")
    with pytest.raises(CommandError):
        run_command(Order(("no-such-program",), tmp_path, 1, 20.0, 20.0, dict(os.environ)))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_signal_to_the_supervisor_ends_the_command(tmp_path: Path) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 2.0)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, "open('own', 'w').write(str(os.getpid()))\ntime.sleep(60)")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert not is_alive(int((tmp_path / "own").read_text()))
