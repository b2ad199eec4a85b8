"""Features of the places of two words in their sentences.

Places are taken at the middle of a word, (j + 1/2) / n and (k + 1/2) / m, so that sentences of one word
need no special case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from align.features.resources import Resources
from align.kernels import kernel

if TYPE_CHECKING:
    from align.features.block import Block

FARTHEST = 10.0

_NAMES = (
    "distance",
    "distance_squared",
    "distance_root",
    "words_apart",
    "on_diagonal",
    "both_first",
    "both_last",
)


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``position``."""
    return _NAMES


def fill(block: Block, features: np.ndarray, column: int) -> None:
    """Write the group ``position``.

    ``distance`` = abs((j + 1/2) / n - (k + 1/2) / m), its square and its root; ``words_apart`` = distance
    in target words, at most 10, divided by 10; ``on_diagonal`` where it is at most half a word.
    """
    _position(block.shapes, block.offsets, features, column)


@kernel(error_model="numpy")
def _position(shapes, offsets, features, column):  # type: ignore[no-untyped-def]
    zero, one = np.float32(0.0), np.float32(1.0)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for j in range(n):
            for k in range(m):
                out = features[offsets[i] - offsets[0] + j * m + k]
                # Over the common denominator 2nm both places are integers: no rounding decides a tie.
                apart = abs((2 * j + 1) * m - (2 * k + 1) * n)
                distance = apart / (2.0 * n * m)
                out[column] = distance
                out[column + 1] = distance * distance
                out[column + 2] = np.sqrt(distance)
                out[column + 3] = min(distance * m, FARTHEST) / FARTHEST
                out[column + 4] = one if apart <= n else zero
                out[column + 5] = one if j == 0 and k == 0 else zero
                out[column + 6] = one if j == n - 1 and k == m - 1 else zero
