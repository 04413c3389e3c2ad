from __future__ import annotations

import numpy as np
import pytest

from stackproof.backends.threefry import words

# The known answers of Threefry-2x32 with 20 rounds that Random123 is published with: counter, key, words. The last are
# the first digits of pi.
KNOWN = [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize(("counter", "key", "wanted"), KNOWN)
def test_known_answers(counter: tuple[int, int], key: tuple[int, int], wanted: tuple[int, int]) -> None:
    one, other = words(key, (np.array([counter[0]], np.uint32), np.array([counter[1]], np.uint32)))
    assert (one.dtype, int(one[0]), int(other[0])) == (np.uint32, *wanted)


def test_each_bit_is_as_often_one_as_zero() -> None:
    blocks = np.arange(40_000, dtype=np.uint32)
    one, other = words((1, 2), (blocks, np.full_like(blocks, 3)))
    for made in (one, other):
        shares = [((made >> np.uint32(bit)) & 1).mean() for bit in range(32)]
        # Five standard deviations of 40,000 tosses.
        assert np.abs(np.array(shares) - 0.5).max() < 5 * 0.5 / 200
    assert np.unique(one).size > 39_000
