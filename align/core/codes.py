"""Numbers >= 0 in a byte each, on a scale of equal ratios: for tables that are handed on.

Code 0 is 0, the codes 1 to 255 go from ``highest / 2 ** octaves`` to ``highest`` in equal steps of the
logarithm, so that a value is kept to the same share of itself wherever it lies. What is larger than the
scale is taken for its end, what is below half a step under its beginning for 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_STEPS = 254


class Scale(NamedTuple):
    """The values that codes stand for.

    Attributes
    ----------
    highest : float
        The value of code 255, > 0.
    octaves : float
        Doublings from the value of code 1 to that of code 255, > 0.
    """

    highest: float
    octaves: float

    @property
    def values(self) -> np.ndarray:
        """The value of each code, float32, shape (256,)."""
        steps = np.arange(_STEPS + 1) / _STEPS
        return np.append(0.0, self.highest * 2.0 ** (self.octaves * (steps - 1))).astype(np.float32)

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Return the code nearest to each value, uint8, of the same shape; values are >= 0."""
        with np.errstate(divide="ignore"):
            place = (np.log2(values / self.highest, dtype=np.float64) / self.octaves + 1) * _STEPS
        return np.clip(np.rint(place) + 1, 0, _STEPS + 1).astype(np.uint8)

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """Return the value of each code, float32."""
        found: np.ndarray = self.values[codes]
        return found


# To 3 in 100 of themselves and to 5 in 100.
PROBABILITIES = Scale(1.0, 24.0)
COUNTS = Scale(2.0**28, 36.0)


def smallest_whole(values: np.ndarray) -> np.ndarray:
    """Return whole numbers >= 0 in the smaller of 16 and 32 bits that holds them, else as they are."""
    largest = int(values.max(initial=0))
    for kind in (np.uint16, np.uint32):
        if largest <= np.iinfo(kind).max:
            return values.astype(kind)
    return values
