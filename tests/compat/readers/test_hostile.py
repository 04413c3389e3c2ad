"""Input that is broken, huge or made to hurt: no crash, no hang, and nothing dropped in silence."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackproof.compat.readers import read_inputs

SAMPLES = sorted((Path(__file__).parent / "samples").iterdir())
TEXTS = [path.read_bytes() for path in SAMPLES]
# Seconds of processor time. The aim is 2 on a quiet machine; what hangs or is quadratic takes far longer than this,
# which leaves room for a busy one.
LONGEST = 6.0

HOSTILE = {
    "binary": os.urandom(2_000_000),
    "one line": b"torch " * 500_000,
    "version of a megabyte": b"torch==" + b"1." * 500_000 + b"1",
    "digits": b"torch==" + b"1" * 1_000_000,
    "huge integer": b'{"python": ' + b"1" * 10_000 + b"}",
    "deep JSON": b"[" * 1_000_000,
    "deep JSON in lines": b"[\n" * 50_000,
    "deep objects": b'{"packages":' * 100_000,
    "broken objects": b'{"a"\n' * 20_000,
    "deep TOML": b"[[package]]\nname = " + b"[" * 100_000,
    "broken tables": b"a = 1\n[x.y]\n" * 10_000,
    "quotes": b">" * 1_000_000,
    "escapes": b"\x1b[" * 500_000,
    "spaces": (b"torch" + b" " * 4000 + b"x\n") * 100,
    "zero bytes": b"torch==2.1.0\0\0\0\nnumpy==1.26.4\0",
    "not UTF-8": b"torch==2.1.0\n\xff\xfe\xfd\xfc caf\xe9\nnumpy==1.26.4",
    "continued lines": b"a\\\n" * 100_000,
    "stages": b"\n".join(b"FROM a%d AS a%d" % (n, n + 1) for n in range(10_000)),
    "arguments that double": b"FROM a\n" + b"\n".join(b"ARG A%d=$A%d$A%d" % (n + 1, n, n) for n in range(60)),
    "growing argument": b"FROM a\nARG A=xx\n" + b"ARG A=$A$A\n" * 60 + b"RUN pip install $A\n",
    "gpus": b"GPU 0: " + b"a, " * 100_000,
    "conflicts": (b"torch 1.0 requires " + b"a,>" * 1000 + b"x\n") * 100,
    "tables": b"Package Version\n" * 50_000,
    "environment file with empty versions": b"dependencies:\n  - a==\n  - b=\n  - c>=\n  - =\n  - d==|\n",
    "environment files": b"name: x\n" * 20_000,
    "bare headings": b"### Python version\n" * 100_000,
    "prompts": b"user@host:~$ ls -l\n" * 100_000,
    "steps of a build": b"Step 1/2 : RUN pip install torch==1.2\n" * 100_000,
    "reports in Python's spelling": b"{'a': 'b'}\n" * 100_000,
    "pairs in one line": b"{" + b"'a': 'b', " * 100_000 + b"}",
    "nested pairs": b"'PyTorch compiling details': '" + b"\\\\n - x" * 10_000 + b"'",
    "heads of tables": b"| GPU  Name  x |\n\n" * 50_000,
    "sections": b"* CUDA:\n\t- GPU:\n" * 50_000,
    "modules": b" 1) cuda/11.8.0" * 5_000 + b"\n" + b"module load " * 100_000,
}


def measure(data: bytes) -> float:
    start = time.process_time()
    read_inputs([("input", data)]).describe()
    return time.process_time() - start


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_input_ends_soon(kind: str) -> None:
    assert measure(HOSTILE[kind]) < LONGEST


def test_a_hundred_thousand_lines_are_read_in_time() -> None:
    data = "".join(f"package-{number}=={number % 7}.{number % 13}.{number % 9}\n" for number in range(100_000)).encode()
    assert measure(data) < LONGEST
    assert len(read_inputs([("freeze.txt", data)]).packages) == 100_000


def test_good_lines_among_bad_ones_are_found() -> None:
    assert read_inputs([("input", HOSTILE["zero bytes"])]).packages == {"torch", "numpy"}
    assert read_inputs([("input", HOSTILE["not UTF-8"])]).packages == {"torch", "numpy"}


def test_what_is_no_text_is_said() -> None:
    assert read_inputs([("weights.bin", HOSTILE["binary"])]).not_understood == [
        "weights.bin: 2000000 bytes that are no text"
    ]


def test_what_was_not_understood_is_counted_beyond_two_hundred() -> None:
    found = read_inputs([("log.txt", b"".join(b"step %d was slow again\n" % number for number in range(1000)))])
    assert len(found.not_understood) == 201
    assert found.not_understood[-1] == "log.txt: and 800 more lines"


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_cut_anywhere_is_read(path: Path) -> None:
    data = path.read_bytes()
    for end in range(0, len(data), max(1, len(data) // 40)):
        read_inputs([(path.name, data[:end])]).describe()


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=2000))
def test_any_bytes_are_read(data: bytes) -> None:
    assert measure(data) < LONGEST


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet=st.sampled_from("torch==+cu12.[]{}\",:;@#\\ \n-|>`'$()/_"), max_size=300))
def test_any_mixture_of_what_lines_are_made_of_is_read(text: str) -> None:
    assert measure(text.encode()) < LONGEST


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_samples_cut_spliced_and_changed_are_read(data: st.DataObject) -> None:
    pieces: list[bytes] = []
    for _ in range(data.draw(st.integers(1, 3))):
        text = data.draw(st.sampled_from(TEXTS))
        start = data.draw(st.integers(0, len(text)))
        piece = bytearray(text[start : start + data.draw(st.integers(0, 3000))])
        for _ in range(data.draw(st.integers(0, 5)) if piece else 0):
            piece[data.draw(st.integers(0, len(piece) - 1))] = data.draw(st.integers(0, 255))
        pieces.append(bytes(piece))
    assert measure(b"\n".join(pieces)) < LONGEST


def test_no_heavy_module_is_imported_for_a_frozen_environment() -> None:
    code = (
        "import sys; from stackproof.compat.readers import read_inputs; read_inputs([('f', b'torch==2.1.0')]);"
        "print([m for m in ('pip', 'numpy', 'tomllib', 'packaging.markers', 'pydantic', 'yaml') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
