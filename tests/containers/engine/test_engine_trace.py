"""BuildKit's progress, recorded from Docker 20.10, and what is no progress at all."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.containers.engine.trace import Output, Step, decode_trace

RUN = "sha256:715f0cac8cdd7be8d5d01b772e6293a9d81c119d5038fc2c5e0f71b038f6f7ca"
STARTED = (
    "CrIBCkdzaGEyNTY6NzE1ZjBjYWM4Y2RkN2JlOGQ1ZDAxYjc3MmU2MjkzYTlkODFjMTE5ZDUwMzhmYzJjNWUwZjcxYjAzOGY2ZjdjYRJHc2hhMjU2"
    "OjU5MjYxMDViMzExODgyOGZlYWI1NzU2OTQzNWU4YjA2Mzk5ZWI3NzJiNThkZTA1MzI0YjlmZTQ0MjBhNmYxOTAaEFsyLzJdIFJVTiBbIi9hIl0q"
    "DAiYmrjYBhDyqOeGAg=="
)
WROTE = (
    "Gq0BCkdzaGEyNTY6NzE1ZjBjYWM4Y2RkN2JlOGQ1ZDAxYjc3MmU2MjkzYTlkODFjMTE5ZDUwMzhmYzJjNWUwZjcxYjAzOGY2ZjdjYRIMCJiauNgG"
    "EN6m6MICGAIiUnJ1bmMgcnVuIGZhaWxlZDogdW5hYmxlIHRvIHN0YXJ0IGNvbnRhaW5lciBwcm9jZXNzOiBleGVjOiAiL2EiOiBwZXJtaXNzaW9u"
    "IGRlbmllZAo="
)
FAILED = (
    "CuwBCkdzaGEyNTY6NzE1ZjBjYWM4Y2RkN2JlOGQ1ZDAxYjc3MmU2MjkzYTlkODFjMTE5ZDUwMzhmYzJjNWUwZjcxYjAzOGY2ZjdjYRJHc2hhMjU2"
    "OjU5MjYxMDViMzExODgyOGZlYWI1NzU2OTQzNWU4YjA2Mzk5ZWI3NzJiNThkZTA1MzI0YjlmZTQ0MjBhNmYxOTAaEFsyLzJdIFJVTiBbIi9hIl0q"
    "DAiYmrjYBhDyqOeGAjIMCJiauNgGELnAz9EDOipleGVjdXRvciBmYWlsZWQgcnVubmluZyBbL2FdOiBleGl0IGNvZGU6IDE="
)


def test_a_step_that_started() -> None:
    assert decode_trace(STARTED) == (Step(RUN, '[2/2] RUN ["/a"]', started=True),)


def test_what_a_step_wrote() -> None:
    said = b'runc run failed: unable to start container process: exec: "/a": permission denied\n'
    assert decode_trace(WROTE) == (Output(RUN, said),)


def test_a_step_that_failed() -> None:
    error = "executor failed running [/a]: exit code: 1"
    assert decode_trace(FAILED) == (Step(RUN, '[2/2] RUN ["/a"]', started=True, done=True, error=error),)


def test_fields_of_a_newer_buildkit_are_passed_over() -> None:
    newer = bytes([(15 << 3) | 0, 7, (16 << 3 | 1) & 0x7F | 0x80, 1]) + bytes(8)
    assert decode_trace(base64.b64encode(newer + base64.b64decode(WROTE)).decode()) == decode_trace(WROTE)


@pytest.mark.parametrize("aux", [None, 7, {}, "", "=", "a", "not base64 at all", "ä", "AAAA", "////////"])
def test_what_is_no_progress_is_left_out(aux: object) -> None:
    assert decode_trace(aux) == ()


@pytest.mark.parametrize("end", range(1, 180, 7))
def test_a_message_that_is_cut_off_is_left_out(end: int) -> None:
    assert decode_trace(base64.b64encode(base64.b64decode(FAILED)[:end]).decode()) == ()


@given(st.binary(max_size=400))
def test_no_bytes_make_it_raise(message: bytes) -> None:
    for event in decode_trace(base64.b64encode(message).decode()):
        assert isinstance(event, Step | Output)
