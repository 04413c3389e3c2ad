"""Long logs are brought down to the lines that decide."""

from pathlib import Path

from stackproof.matrix.logs import MOST_LINES, decisive_lines, last_exception, read_tail

CHAINED = """\
2026-11-30 10:00:00.1: I tensorflow/core/platform/cpu_feature_guard.cc:227] This TensorFlow binary is optimized
Traceback (most recent call last):
  File "/env/lib/python3.11/site-packages/torch/__init__.py", line 320, in _load_global_deps
    ctypes.CDLL(global_deps_lib_path, mode=ctypes.RTLD_GLOBAL)
OSError: libcudart.so.12: cannot open shared object file: No such file or directory

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "worker.py", line 3, in <module>
    import torch
torch.errors.LoadFailure: could not load the runtime
"""
SEGFAULT = """\
step 1
Fatal Python error: Segmentation fault

Thread 0x00007f01 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 324 in wait

Current thread 0x00007f02 (most recent call first):
  File "/env/lib/python3.11/site-packages/jax/_src/compiler.py", line 300 in backend_compile
  File "worker.zip/stackproof/backends/worker.py", line 10 in main

Extension modules: numpy._core._multiarray_umath (total: 1)
"""


def test_each_traceback_is_brought_to_its_last_line() -> None:
    assert decisive_lines(CHAINED) == (
        "OSError: libcudart.so.12: cannot open shared object file: No such file or directory",
        "torch.errors.LoadFailure: could not load the runtime",
    )
    assert last_exception(CHAINED) == "torch.errors.LoadFailure: could not load the runtime"


def test_native_death_keeps_the_frames_of_the_thread_that_died() -> None:
    assert decisive_lines(SEGFAULT) == (
        "Fatal Python error: Segmentation fault",
        'File "/env/lib/python3.11/site-packages/jax/_src/compiler.py", line 300 in backend_compile',
        'File "worker.zip/stackproof/backends/worker.py", line 10 in main',
    )


def test_log_without_any_gives_its_last_lines() -> None:
    assert decisive_lines("".join(f"line {n}\n\n" for n in range(9))) == tuple(f"line {n}" for n in range(4, 9))
    assert decisive_lines("") == ()
    assert last_exception("all well") == ""


def test_colours_and_overwritten_progress_are_taken_out() -> None:
    assert decisive_lines("\x1b[31mRuntimeError: bad\x1b[0m\n") == ("RuntimeError: bad",)
    assert decisive_lines(" 10%\r 50%\r\x1b[KCUDA error: an illegal access\r\n") == ("CUDA error: an illegal access",)


def test_lines_are_few_and_short_and_each_said_once() -> None:
    repeated = decisive_lines("".join(f"ValueError: {n % 20} {'x' * 1000}\n" for n in range(60)))
    assert len(repeated) == MOST_LINES
    assert all(len(line) <= 300 for line in repeated)
    assert repeated[-1].startswith("ValueError: 19 ")
    assert decisive_lines("ValueError: a\n" * 50) == ("ValueError: a",)


def test_only_the_end_of_a_huge_log_is_read(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    log.write_bytes(b"noise\n" * 500_000 + b"\xff RuntimeError: the end\n")
    tail = read_tail(log)
    assert len(tail) < 300_000
    assert tail.endswith("RuntimeError: the end\n")
    assert read_tail(tmp_path / "none") == ""
