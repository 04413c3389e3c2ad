"""Random numbers by counter: Threefry-2x32 with 20 rounds.

Source: Salmon, Moraes, Dror and Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, 2011, section 4.2. A key and a
counter of two 32-bit words each give two words of 32 bits, by additions, rotations and exclusive ors: the same bits on
every framework and device, with nothing to remember from one draw to the next. Words are int32 throughout, as no
framework has all of this for unsigned ones; additions wrap around.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

ROUNDS = 20
_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
_PARITY = 0x1BD11BDA
_ROUNDS_PER_KEY = 4
_BITS = 32


class Bits(Protocol):
    """The functions of `kit.Kit` that are needed here; `NUMPY` has them for arrays."""

    def exclusive(self, one: Any, other: Any) -> Any:
        """Return the exclusive or of int32 tensors, bit by bit."""

    def shifted_left(self, tensor: Any, count: int) -> Any:
        """Return int32 bits moved up, with zeros below."""

    def shifted_right(self, tensor: Any, count: int) -> Any:
        """Return int32 bits moved down, with zeros above."""

    def settled(self, tensor: Any) -> Any:
        """Return a vector as it is; a compiler is to work it out once, and not in each of its uses."""


def draw(kit: Bits, key: Sequence[int], counter: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the two words of each counter.

    Args:
        kit: A target's `arrays` module, or `NUMPY`.
        key: Two numbers from 0 to 2**32 - 1.
        counter: int32 tensors of one shape.

    Returns:
        int32 tensors of that shape, whose bits are the words.
    """
    keys = (*key, key[0] ^ key[1] ^ _PARITY)
    one, other = counter[0] + _signed(keys[0]), counter[1] + _signed(keys[1])
    for number in range(ROUNDS):
        one = one + other
        other = kit.exclusive(_rotated(kit, other, _ROTATIONS[number % len(_ROTATIONS)]), one)
        one, other = kit.settled(one), kit.settled(other)
        place, rest = divmod(number + 1, _ROUNDS_PER_KEY)
        if not rest:
            one = one + _signed(keys[place % 3])
            other = other + _signed(keys[(place + 1) % 3] + place)
    return one, other


def _rotated(kit: Bits, tensor: Any, count: int) -> Any:
    return kit.exclusive(kit.shifted_left(tensor, count), kit.shifted_right(tensor, _BITS - count))


def _signed(word: int) -> int:
    """Return the int32 number with the lowest 32 bits of a word."""
    return (word + 2**31) % 2**32 - 2**31


class _Numpy:
    def exclusive(self, one: Any, other: Any) -> Any:
        return one ^ other

    def shifted_left(self, tensor: Any, count: int) -> Any:
        return tensor << count

    def shifted_right(self, tensor: Any, count: int) -> Any:
        return (tensor.view(np.uint32) >> count).view(np.int32)

    def settled(self, tensor: Any) -> Any:
        return tensor


NUMPY: Bits = _Numpy()


def words(key: Sequence[int], counter: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the two words of each counter by numpy alone; key as for `draw`, counter and words uint32 vectors."""
    one, other = draw(NUMPY, key, (counter[0].view(np.int32), counter[1].view(np.int32)))
    return one.view(np.uint32), other.view(np.uint32)
