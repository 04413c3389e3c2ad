"""Normal and beta numbers from uniform ones, with IEEE 754 additions, products, quotients and square roots only.

So their bits depend neither on the C library nor on how numpy was built. Logarithm and exponential are series.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .words import shares, words

if TYPE_CHECKING:
    from .words import Key

# ln 2 in two parts, the first with zeros at its end, so that its product with an exponent is exact.
_LN2_HIGH, _LN2_LOW = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")
_ROOT_HALF = 0.7071067811865476
_LOG_TERMS, _EXP_TERMS = 12, 14
_SMALLEST_EXPONENT = -745.0
_HALF_STEP = 2.0**-54

# Algorithm AS 241 (Wichura, 1988): numerators and denominators, highest power first, of the middle, the tails and the
# far tails.
# fmt: off
_MIDDLE = (
    (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
     1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080),
    (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
     5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0),
)
_TAIL = (
    (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258,
     3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940, 2.05319162663775882187, 1.0),
)
_FAR = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580, 5.46378491116411436990, 6.65790464350110377720),
    (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0),
)
# fmt: on
_MIDDLE_HALF, _MIDDLE_SQUARE = 0.425, 0.180625
_TAIL_SHIFT, _FAR_SHIFT = 1.6, 5.0


def log(values: np.ndarray) -> np.ndarray:
    """Return natural logarithms of positive float64 numbers, within two units of the last place."""
    part, exponent = np.frexp(values)
    low = part < _ROOT_HALF
    part, exponent = np.where(low, part * 2.0, part), exponent - low
    ratio = (part - 1.0) / (part + 1.0)
    series = _horner([1.0 / (2 * term + 1) for term in reversed(range(_LOG_TERMS))], ratio * ratio)
    return exponent * _LN2_HIGH + (exponent * _LN2_LOW + 2.0 * ratio * series)


def exp(values: np.ndarray) -> np.ndarray:
    """Return exponentials of float64 numbers up to 700, within two units of the last place; tiny ones are zero."""
    values = np.maximum(values, _SMALLEST_EXPONENT)
    exponent = np.floor(values / (_LN2_HIGH + _LN2_LOW) + 0.5)
    rest = (values - exponent * _LN2_HIGH) - exponent * _LN2_LOW
    terms = [1.0]
    for term in range(1, _EXP_TERMS):
        terms.append(terms[-1] / term)
    return np.ldexp(_horner(terms[::-1], rest), exponent.astype(np.int64))


def normal(drawn: np.ndarray) -> np.ndarray:
    """Return a standard normal float64 number for each uint64 word: the quantile of its upper 53 bits and a half.

    Source: Wichura, algorithm AS 241, 1988.
    """
    share = (shares(drawn) + _HALF_STEP).reshape(-1)
    centred = share - 0.5
    made = _ratio(_MIDDLE, _MIDDLE_SQUARE - centred * centred) * centred
    out = np.flatnonzero(np.abs(centred) > _MIDDLE_HALF)
    edge = np.sqrt(-log(np.minimum(share[out], 1.0 - share[out])))
    tail = np.where(edge <= _FAR_SHIFT, _ratio(_TAIL, edge - _TAIL_SHIFT), _ratio(_FAR, edge - _FAR_SHIFT))
    made[out] = np.where(centred[out] < 0.0, -tail, tail)
    return made.reshape(drawn.shape)


def beta(key: Key, samples: np.ndarray, alpha: float) -> np.ndarray:
    """Return a number of Beta(alpha, alpha) for each sample, float64.

    Source: Jöhnk's algorithm, 1964, in logarithms: `u**(1/alpha) / (u**(1/alpha) + v**(1/alpha))` of the first pair of
    uniform numbers whose powers have a sum of at most 1.
    """
    made, pending, attempt = np.zeros(len(samples)), np.arange(len(samples)), 0
    while pending.size:
        # Each attempt has a pair of words of its own.
        drawn = _pair(key, samples[pending], attempt)
        left, right = (log(drawn[:, side] + _HALF_STEP) / alpha for side in (0, 1))
        good = exp(left) + exp(right) <= 1.0
        made[pending[good]] = 1.0 / (1.0 + exp(np.minimum(right - left, 700.0)))[good]
        pending, attempt = pending[~good], attempt + 1
    return made


def _pair(key: Key, samples: np.ndarray, attempt: int) -> np.ndarray:
    first = words((key[0], key[1] ^ attempt), samples, 2)
    return shares(first)


def _ratio(pair: tuple[tuple[float, ...], tuple[float, ...]], at: np.ndarray) -> np.ndarray:
    return _horner(pair[0], at) / _horner(pair[1], at)


def _horner(terms: list[float] | tuple[float, ...], at: np.ndarray) -> np.ndarray:
    total = np.full_like(at, terms[0])
    for term in terms[1:]:
        total *= at
        total += term
    return total
