"""Changes at random, drawn from (seed, epoch, sample) alone: the same in every batch, on every worker, after resume.

Images are float32 of shape (n, channels, height, width) with values from 0 to 1. Vectors take noise and mixup only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .deviates import normal
from .words import key_of, uniform, words

if TYPE_CHECKING:
    from .words import Key

_IMAGE_AXES = 4
_GRID = 2.0**24
_BLOCK = 1 << 15
_HALF = 0.5
# What each of a sample's uniform numbers decides.
_TOP, _LEFT, _FLIP, _BRIGHTNESS, _CONTRAST, _DRAWS = range(6)


@dataclass(frozen=True)
class Augment:
    """What is changed, in the order of the attributes.

    Attributes:
        crop: Zeros put around an image before a cut of its old size is taken from it; 0 for no cut.
        flip: Whether half of the images are mirrored, left to right.
        brightness: Images are multiplied by a number from `1 - brightness` to `1 + brightness`.
        contrast: Distances from the image's mean are multiplied by a number from `1 - contrast` to `1 + contrast`.
        noise: Standard deviation of the normal noise that is added.
        mixup: Parameter of the beta distribution that a sample's share is drawn from; 0 for no mixup.
        cutmix: The same for the share of an image that stays; 0 for no cutmix. With both, each sample takes one,
            half by half.
    """

    crop: int = 0
    flip: bool = False
    brightness: float = 0.0
    contrast: float = 0.0
    noise: float = 0.0
    mixup: float = 0.0
    cutmix: float = 0.0

    @property
    def mixes(self) -> bool:
        """Say whether samples are mixed, so that labels become shares of classes."""
        return self.mixup > 0 or self.cutmix > 0


def changed(features: np.ndarray, samples: np.ndarray, how: Augment, seed: int, epoch: int) -> np.ndarray:
    """Return the samples changed one by one, float32; mixing is done by `mixing.mixed_batch`.

    Args:
        features: Float32 of shape (n, ...); four axes are images.
        samples: Which sample each row is, int64 of shape (n,).
        how: What is changed.
        seed: What the changes are drawn from.
        epoch: Counting from 0.
    """
    # A few samples at a time stay in the processor's cache.
    rows = max(1, _BLOCK // features[0].size)
    parts = [slice(start, start + rows) for start in range(0, len(features), rows)]
    return np.concatenate([_changed(features[part], samples[part], how, seed, epoch) for part in parts])


def _changed(features: np.ndarray, samples: np.ndarray, how: Augment, seed: int, epoch: int) -> np.ndarray:
    if features.ndim == _IMAGE_AXES:
        drawn = uniform(key_of(seed, f"augment/{epoch}"), samples, _DRAWS)
        features = _moved(features, drawn, how)
        features = _toned(features, drawn, how)
    if how.noise:
        features = features + np.float32(how.noise) * _normal(key_of(seed, f"noise/{epoch}"), samples, features.shape)
    return features


def _moved(images: np.ndarray, drawn: np.ndarray, how: Augment) -> np.ndarray:
    if how.crop:
        places = np.floor(drawn[:, [_TOP, _LEFT]] * (2 * how.crop + 1)).astype(np.int64)
        images = _cut(images, places, how.crop)
    if how.flip:
        images = np.where((drawn[:, _FLIP] < _HALF)[:, None, None, None], images[..., ::-1], images)
    return images


def _cut(images: np.ndarray, places: np.ndarray, crop: int) -> np.ndarray:
    count, _, height, width = images.shape
    padded = np.pad(images, ((0, 0), (0, 0), (crop, crop), (crop, crop)))
    rows = (places[:, :1] + np.arange(height))[:, None, :, None]
    columns = (places[:, 1:] + np.arange(width))[:, None, None, :]
    return padded[np.arange(count)[:, None, None, None], np.arange(images.shape[1])[:, None, None], rows, columns]


def _toned(images: np.ndarray, drawn: np.ndarray, how: Augment) -> np.ndarray:
    if how.brightness:
        images = _clipped(images * _factor(drawn[:, _BRIGHTNESS], how.brightness))
    if how.contrast:
        # The mean of whole numbers: their sum is the same in any order.
        whole = np.rint(images.astype(np.float64) * _GRID).astype(np.int64).sum(axis=(1, 2, 3))
        mean = (whole / (images[0].size * _GRID)).astype(np.float32)[:, None, None, None]
        images = _clipped((images - mean) * _factor(drawn[:, _CONTRAST], how.contrast) + mean)
    return images


def _factor(drawn: np.ndarray, width: float) -> np.ndarray:
    return (1.0 + (drawn * 2.0 - 1.0) * width).astype(np.float32)[:, None, None, None]


def _clipped(images: np.ndarray) -> np.ndarray:
    return np.minimum(np.maximum(images, np.float32(0.0)), np.float32(1.0))


def _normal(key: Key, samples: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    size = int(np.prod(shape[1:], dtype=np.int64))
    return normal(words(key, samples, size)).astype(np.float32).reshape(shape)
