"""Programs that answer, that do not, and that never stop."""

from __future__ import annotations

import sys
import time

from stackproof.compat.doctor.asking import Asked


def ask(code: str, given: str | None = None, limit: float = 10.0) -> tuple[str, str]:
    return Asked([sys.executable, "-I", "-S", "-c", code], given).answer(limit)


def test_what_a_program_writes_comes_back() -> None:
    assert ask("print('12.4')") == ("12.4\n", "")


def test_a_program_gets_its_input_however_long() -> None:
    written, failed = ask("import sys\nfor line in sys.stdin: print(line, end='')", "a line\n" * 100_000)
    assert (len(written), failed) == (700_000, "")


def test_a_program_that_fails_half_way_is_heard_and_its_code_told() -> None:
    assert ask("print('half', flush=True); raise SystemExit(3)") == ("half\n", "exit code 3")


def test_a_program_that_leaves_its_input_unread_is_no_fault() -> None:
    assert ask("print('done')", "x" * 1_000_000) == ("done\n", "")


def test_a_program_that_does_not_answer_is_ended() -> None:
    started = time.monotonic()
    written, failed = ask("import time; print('first', flush=True); time.sleep(60)", limit=1.0)
    assert (written, failed) == ("first\n", "no answer in 1 s")
    assert time.monotonic() - started < 5


def test_a_program_that_closes_its_output_and_goes_on_is_ended() -> None:
    assert ask("import os, time; os.close(1); time.sleep(60)", limit=1.0) == ("", "no answer in 1 s")


def test_a_program_that_never_stops_writing_is_ended_early() -> None:
    written, failed = ask("while True: print('y' * 10_000)", limit=60.0)
    assert failed == "it wrote too much"
    assert len(written) <= 16 * 1024 * 1024


def test_a_program_that_is_not_there_says_so() -> None:
    written, failed = Asked(["/nowhere/program"]).answer(1.0)
    assert written == ""
    assert "No such file" in failed
