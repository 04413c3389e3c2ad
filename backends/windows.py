"""Where the windows of convolutions and pools lie: counts, indices and crops, from static shapes."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import UnsupportedError
from .nodes import paddings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


@dataclass(frozen=True)
class Windows:
    """The windows of one node, per spatial axis.

    Attributes:
        sizes: The input's, without padding.
        kernel: Places of a window.
        strides: From one window to the next.
        dilations: From one place of a window to the next.
        pads: What goes before and after the input so that every window fits.
        stated: The padding that the node states; `ceil_mode` may need more.
    """

    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    stated: tuple[tuple[int, int], ...]

    @property
    def rank(self) -> int:
        """Return how many spatial axes there are."""
        return len(self.sizes)

    @property
    def out(self) -> tuple[int, ...]:
        """Return how many windows there are along each axis."""
        return tuple(len(starts) for starts in self._starts())

    @property
    def padded(self) -> tuple[int, ...]:
        """Return the input's sizes with the padding."""
        return tuple(size + sum(pair) for size, pair in zip(self.sizes, self.pads))

    def _starts(self) -> list[range]:
        spans = (dilation * (window - 1) + 1 for window, dilation in zip(self.kernel, self.dilations))
        return [
            range(-pair[0], size + pair[1] - span + 1, stride)
            for size, span, stride, pair in zip(self.sizes, spans, self.strides, self.pads)
        ]

    def seen(self) -> list[np.ndarray]:
        """Return per axis where each window's places lie in the unpadded input, of shape (windows, places)."""
        return [
            np.asarray(starts)[:, None] + np.arange(window) * dilation
            for starts, window, dilation in zip(self._starts(), self.kernel, self.dilations)
        ]

    def counts(self, *, padding: bool) -> tuple[tuple[int, ...], ...]:
        """Return per axis how many elements each window has, at least 1; the product over axes is the window's.

        Args:
            padding: Whether stated padding counts as elements.
        """
        axes = zip(self._starts(), self.kernel, self.dilations, self.sizes, self.stated)
        found = []
        for starts, window, dilation, size, pair in axes:
            low, high = (-pair[0], size + pair[1]) if padding else (0, size)
            reach = [range(start, start + window * dilation, dilation) for start in starts]
            found.append(tuple(max(1, sum(low <= place < high for place in places)) for places in reach))
        return tuple(found)

    def slices(self) -> Iterator[tuple[slice, ...]]:
        """Return what each place of a window sees: a slice of the padded channels-first tensor, in row order."""
        spatial = [
            [slice(place * dilation, place * dilation + (count - 1) * stride + 1, stride) for place in range(window)]
            for window, dilation, count, stride in zip(self.kernel, self.dilations, self.out, self.strides)
        ]
        return ((slice(None), slice(None), *places) for places in itertools.product(*spatial))

    def flat_places(self, *, column_major: bool) -> np.ndarray:
        """Return where in a flattened image each place of each window lies.

        Args:
            column_major: Whether the first spatial axis runs fastest.

        Returns:
            int64 of shape (places, windows...); what lies in padding has no meaning.
        """
        steps = _steps(self.sizes, column_major=column_major)
        found = np.zeros((), dtype=np.int64)
        for seen, step in zip(self.seen(), steps):
            found = found[..., None, None] + seen * step
        rank = self.rank
        order = (*range(1, 2 * rank, 2), *range(0, 2 * rank, 2))
        return np.ascontiguousarray(found.transpose(order).reshape(math.prod(self.kernel), *self.out))


def _steps(sizes: Sequence[int], *, column_major: bool) -> tuple[int, ...]:
    if column_major:
        return tuple(math.prod(sizes[:axis]) for axis in range(len(sizes)))
    return tuple(math.prod(sizes[axis + 1 :]) for axis in range(len(sizes)))


def windows(sizes: Sequence[int], kernel: Sequence[int], attributes: Mapping[str, Any]) -> Windows:
    """Return the windows of a convolution or pool.

    Args:
        sizes: The input's spatial sizes.
        kernel: The window's spatial sizes.
        attributes: The node's.
    """
    rank = len(sizes)
    strides, dilations = (tuple(attributes.get(name) or (1,) * rank) for name in ("strides", "dilations"))
    pads = paddings(sizes, kernel, attributes)
    stated = paddings(sizes, kernel, {**attributes, "ceil_mode": 0})
    return Windows(tuple(sizes), tuple(kernel), strides, dilations, pads, stated)


@dataclass(frozen=True)
class Transposed:
    """What a transposed convolution keeps, per spatial axis.

    Attributes:
        kernel: Places of a window.
        strides: From one window to the next in the output.
        dilations: From one place of a window to the next.
        full: The output's sizes before anything is cut off.
        begin: What is cut off before the output; less than 0 where zeros go there.
        out: The output's sizes.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    full: tuple[int, ...]
    begin: tuple[int, ...]
    out: tuple[int, ...]

    @property
    def end(self) -> tuple[int, ...]:
        """Return what is cut off after the output; less than 0 where zeros go there."""
        return tuple(full - begin - out for full, begin, out in zip(self.full, self.begin, self.out))


def transposed(sizes: Sequence[int], kernel: Sequence[int], attributes: Mapping[str, Any]) -> Transposed:
    """Return the sizes of a `ConvTranspose` node.

    Args:
        sizes: The input's spatial sizes.
        kernel: The window's spatial sizes.
        attributes: The node's.
    """
    rank = len(sizes)
    strides, dilations = (tuple(attributes.get(name) or (1,) * rank) for name in ("strides", "dilations"))
    extra = tuple(attributes.get("output_padding") or (0,) * rank)
    spans = ((window - 1) * dilation + 1 for window, dilation in zip(kernel, dilations))
    full = tuple((size - 1) * stride + span for size, stride, span in zip(sizes, strides, spans))
    auto, wanted = attributes.get("auto_pad", "NOTSET"), attributes.get("output_shape")
    if wanted is None and auto in ("SAME_UPPER", "SAME_LOWER"):
        wanted = tuple(size * stride for size, stride in zip(sizes, strides))
    if wanted is not None:
        totals = [size + more - out for size, more, out in zip(full, extra, wanted)]
        begin = tuple(total // 2 if auto == "SAME_UPPER" else total - total // 2 for total in totals)
        return Transposed(tuple(kernel), strides, dilations, full, begin, tuple(wanted[-rank:]))
    pads = (0,) * (2 * rank) if auto == "VALID" else attributes.get("pads") or (0,) * (2 * rank)
    out = tuple(full[axis] + extra[axis] - pads[axis] - pads[axis + rank] for axis in range(rank))
    return Transposed(tuple(kernel), strides, dilations, full, tuple(pads[:rank]), out)


def unpooled(shape: Sequence[int], attributes: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the shape that `MaxUnpool` counts its indices in.

    Args:
        shape: The pooled tensor's, channels first.
        attributes: The node's.
    """
    kernel = attributes["kernel_shape"]
    rank = len(kernel)
    strides, pads = attributes.get("strides") or (1,) * rank, attributes.get("pads") or (0,) * (2 * rank)
    spatial = (
        (size - 1) * strides[axis] - pads[axis] - pads[axis + rank] + kernel[axis]
        for axis, size in enumerate(shape[2:])
    )
    return (*shape[:2], *spatial)


def spatial_rank(op: str, target: str, rank: int, most: int = 3) -> int:
    """Return a number of spatial axes, checked.

    Raises:
        UnsupportedError: There are none, or more than the framework's functions take.
    """
    if 1 <= rank <= most:
        return rank
    raise UnsupportedError(f"{op} over {rank} spatial axes has no rule on {target}: it takes 1 to {most}")


SILU = "silu"


def causal_activation(attributes: Mapping[str, Any]) -> str:
    """Return the activation of a `CausalConvWithState` node: `SILU` or `none`.

    Raises:
        UnsupportedError: The operator has no such activation.
    """
    name = attributes.get("activation", "none")
    if name not in ("none", "silu", "swish"):
        raise UnsupportedError(f"CausalConvWithState has no activation {name!r}: use silu, swish or none")
    return SILU if name == "swish" else str(name)


def shares(kernel: Sequence[int], counts: Sequence[Sequence[int]]) -> np.ndarray | None:
    """Return what the mean over every place of each window is to be multiplied by, or None where that is 1.

    Args:
        kernel: Places of a window, per axis.
        counts: How many of them are elements, per axis and window.

    Returns:
        float64 of the output's spatial shape.
    """
    if all(set(axis) == {places} for axis, places in zip(counts, kernel)):
        return None
    found = np.ones(())
    for axis, places in zip(counts, kernel):
        found = found[..., None] * (places / np.asarray(axis))
    return np.asarray(found)
