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


def fill(block: Block, out: np.ndarray) -> None:
    """Write the group ``position``.

    ``distance`` = abs((j + 1/2) / n - (k + 1/2) / m), its square and its root; ``words_apart`` = distance
    in target words, at most 10, divided by 10; ``on_diagonal`` where it is at most half a word.
    """
    _position(block.shapes, block.offsets, out)


@kernel(error_model="numpy")
def _position(shapes, offsets, out):  # type: ignore[no-untyped-def]
    zero, one = np.float32(0.0), np.float32(1.0)
    distances, squares, roots = out[0], out[1], out[2]
    words_apart, on_diagonal = out[3], out[4]
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for j in range(n):
            start = offsets[i] + j * m
            for k in range(m):
                # Over the common denominator 2nm both places are integers: no rounding decides a tie.
                apart = abs((2 * j + 1) * m - (2 * k + 1) * n)
                distance = apart / (2.0 * n * m)
                distances[start + k] = distance
                squares[start + k] = distance * distance
                roots[start + k] = np.sqrt(distance)
                words_apart[start + k] = min(distance * m, FARTHEST) / FARTHEST
                on_diagonal[start + k] = one if apart <= n else zero
        out[5, offsets[i] : offsets[i + 1]] = zero
        out[6, offsets[i] : offsets[i + 1]] = zero
        if n > 0 and m > 0:
            out[5, offsets[i]] = one
            out[6, offsets[i + 1] - 1] = one
