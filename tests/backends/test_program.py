"""Programs: written and read back, and named by their content."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np
import pytest

from stackproof.backends.program import Input, Node, Program, dump, load, tensors_digest

PROGRAM = Program(
    name="tiny",
    inputs=(Input("features", "float32", (2, 3)), Input("labels", "int64", (2,))),
    nodes=(
        Node("Gemm", ("features", "head.weight", "", "bias"), ("logits",), {"alpha": 0.5, "transB": 1}),
        Node("Conv", ("logits", "axes"), ("a", "b"), {"pads": (1, 1), "auto_pad": "NOTSET"}),
    ),
    loss="b",
    parameters={
        "head.weight": np.array([[1.0, -0.0, 3.0]], dtype=np.float32),
        "bias": np.array([0.5], dtype=np.float32),
        "a/b": np.array(2.0, dtype=np.float32),
    },
    constants={"axes": np.array([0, -1], dtype=np.int64), "table": np.ones((2, 2), dtype=np.float32)},
    outputs=("logits",),
)


def test_what_was_written_is_read_back() -> None:
    found = load(dump(PROGRAM))
    for field in ("name", "inputs", "nodes", "loss", "outputs"):
        assert getattr(found, field) == getattr(PROGRAM, field)
    for role in ("parameters", "constants"):
        written, read = getattr(PROGRAM, role), getattr(found, role)
        assert list(read) == list(written)
        for name, value in written.items():
            assert (read[name].dtype, read[name].shape) == (value.dtype, value.shape)
            assert read[name].tobytes() == value.tobytes()
    assert found.digest == PROGRAM.digest


def test_the_same_program_is_the_same_bytes() -> None:
    assert dump(load(dump(PROGRAM))) == dump(PROGRAM)


def test_the_name_is_no_part_of_the_digest() -> None:
    assert replace(PROGRAM, name="other").digest == PROGRAM.digest


def flipped(value: np.ndarray, bit: int) -> np.ndarray:
    content = bytearray(value.tobytes())
    content[bit // 8] ^= 1 << bit % 8
    return np.frombuffer(bytes(content), dtype=value.dtype).reshape(value.shape)


@pytest.mark.parametrize("role", ["parameters", "constants"])
def test_any_bit_of_any_tensor_changes_the_digest(role: str) -> None:
    tensors = getattr(PROGRAM, role)
    digests = {PROGRAM.digest}
    changed = 0
    for name, value in tensors.items():
        for bit in range(value.nbytes * 8):
            digests.add(replace(PROGRAM, **{role: {**tensors, name: flipped(value, bit)}}).digest)
            changed += 1
    assert len(digests) == changed + 1


@pytest.mark.parametrize(
    "changes",
    [
        {"loss": "a"},
        {"outputs": ()},
        {"inputs": PROGRAM.inputs[::-1]},
        {"inputs": (Input("features", "float32", (3, 2)), PROGRAM.inputs[1])},
        {"nodes": PROGRAM.nodes[::-1]},
        {"nodes": (replace(PROGRAM.nodes[0], attributes={"alpha": 0.5000001, "transB": 1}), PROGRAM.nodes[1])},
        {"nodes": (replace(PROGRAM.nodes[0], inputs=("features", "head.weight", "bias")), PROGRAM.nodes[1])},
        {"parameters": dict(reversed(PROGRAM.parameters.items()))},
        {"parameters": {**PROGRAM.parameters, "bias": np.array([[0.5]], dtype=np.float32)}},
        {"parameters": {**PROGRAM.parameters, "a/b": np.array([2.0], dtype=np.float32)}},
        {"constants": {**PROGRAM.constants, "axes": np.array([0, -1], dtype=np.int32)}},
        {"parameters": {}, "constants": {**PROGRAM.constants, **PROGRAM.parameters}},
    ],
)
def test_any_other_graph_has_another_digest(changes: dict[str, object]) -> None:
    assert replace(PROGRAM, **changes).digest != PROGRAM.digest  # type: ignore[arg-type]


def test_a_tensors_digest_does_not_depend_on_layout_order_or_byte_order() -> None:
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    expected = tensors_digest({"a": value, "b": value})
    assert tensors_digest({"b": value, "a": value}) == expected
    assert tensors_digest({"a": np.asfortranarray(value), "b": value.astype(">f4")}) == expected
    assert tensors_digest({"a": np.repeat(value, 2, axis=1)[:, ::2], "b": value}) == expected


def test_a_tensors_digest_is_the_documented_sha_256() -> None:
    # printf 'x\0float32\0(1,)\0\0\0\200\077' | sha256sum
    expected = "75fb1f9cc391cc02975acb2e5864a51d40ce0b1b4e51fc7cca5fa8d0639b1f5d"
    assert tensors_digest({"x": np.ones(1, dtype=np.float32)}) == expected


def without_graph() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, other=np.zeros(1))
    return buffer.getvalue()


@pytest.mark.parametrize("content", [b"", b"nonsense", dump(PROGRAM)[:-100], without_graph()])
def test_bytes_that_are_no_program_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="no program"):
        load(content)


def test_another_schema_version_is_refused() -> None:
    with np.load(io.BytesIO(dump(PROGRAM))) as arrays:
        graph = {**json.loads(arrays["graph"].tobytes()), "schema_version": 1}
    buffer = io.BytesIO()
    np.savez(buffer, graph=np.frombuffer(json.dumps(graph).encode(), dtype=np.uint8))
    with pytest.raises(ValueError, match="program schema 1, this version reads 2"):
        load(buffer.getvalue())
