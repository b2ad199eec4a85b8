"""What several groups do with one feature of many edges: copies, scaled logarithms."""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel

LOWEST = -10.0

# The bits of sqrt(1/2): what is left of a number when its power of two is taken off begins there.
_HALF_ROOT = np.int32(0x3F3504F3)
_FRACTION = np.int32(23)


@kernel(error_model="numpy")
def copy(values, out):  # type: ignore[no-untyped-def]
    """Copy values; an assignment of arrays would check shapes, which takes the compiler half a second."""
    for at in range(len(values)):
        out[at] = values[at]


@kernel(error_model="numpy")
def scaled_log(values, out):  # type: ignore[no-untyped-def]
    """Write max(ln p, -10) / 10 + 1 of each p in [0, 1] (float32) to ``out``, exact to 2e-7.

    p = 2^e x with x between sqrt(1/2) and sqrt(2), so ln p = e ln 2 + ln x, and with s = (x - 1) / (x + 1)
    ln x = 2 (s + s^3 / 3 + s^5 / 5 + s^7 / 7 + ...), where abs(s) < 0.172. Unlike the library's logarithm
    this has no call and no branch: the compiler makes vector instructions of it.
    """
    count = len(values)
    bits = values.view(np.int32)
    rest = np.empty(count, dtype=np.int32)
    powers = np.empty(count, dtype=np.float32)
    for at in range(count):
        power = (bits[at] - _HALF_ROOT) >> _FRACTION
        rest[at] = bits[at] - np.int32(power << _FRACTION)
        powers[at] = np.float32(power)
    fractions = rest.view(np.float32)
    one, two, zero = np.float32(1.0), np.float32(2.0), np.float32(0.0)
    third, fifth, seventh = np.float32(1 / 3), np.float32(1 / 5), np.float32(1 / 7)
    tenth, ln2 = np.float32(-1.0 / LOWEST), np.float32(np.log(2.0))
    lowest = np.float32(np.exp(LOWEST))
    for at in range(count):
        s = (fractions[at] - one) / (fractions[at] + one)
        square = s * s
        ln = two * s * (one + square * (third + square * (fifth + square * seventh)))
        found = (powers[at] * ln2 + ln) * tenth + one
        out[at] = found if values[at] > lowest else zero
