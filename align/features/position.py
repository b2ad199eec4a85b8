"""Features of the places of two words in their sentences.

Places are taken at the middle of a word, (j + 1/2) / n and (k + 1/2) / m, so that sentences of one word
need no special case.
"""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel
from align.features.block import Block, Resources

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
(
    _DISTANCE, _DISTANCE_SQUARED, _DISTANCE_ROOT, _WORDS_APART, _ON_DIAGONAL, _BOTH_FIRST, _BOTH_LAST,
) = range(len(_NAMES))  # fmt: skip


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``position``."""
    return _NAMES


def fill(block: Block, out: np.ndarray) -> None:
    """Write the group ``position``.

    ``distance`` = abs((j + 1/2) / n - (k + 1/2) / m), its square and its root; ``words_apart`` = distance
    in target words, at most 10, divided by 10; ``on_diagonal`` where it is at most half a word.
    """
    _write_position(block.shapes, block.offsets, out)


@kernel(error_model="numpy")
def _write_position(shapes, offsets, out):  # type: ignore[no-untyped-def]
    """Write what :func:`fill` says."""
    zero, one = np.float32(0.0), np.float32(1.0)
    widest = 1
    for i in range(len(shapes)):
        widest = max(widest, shapes[i, 1])
    distances = np.empty(widest)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for j in range(n):
            start, stop = offsets[i] + j * m, offsets[i] + (j + 1) * m
            # Over the common denominator 2nm both places are integers: no rounding decides a tie.
            place, denominator = float((2 * j + 1) * m), 2.0 * n * m
            on_diagonal = out[_ON_DIAGONAL, start:stop]
            for k in range(m):
                apart = abs(place - np.float64((2 * k + 1) * n))
                distances[k] = apart / denominator
            for k in range(m):
                on_diagonal[k] = one if abs(place - np.float64((2 * k + 1) * n)) <= n else zero
            column = out[_DISTANCE, start:stop]
            for k in range(m):
                column[k] = distances[k]
            column = out[_DISTANCE_SQUARED, start:stop]
            for k in range(m):
                column[k] = distances[k] * distances[k]
            column = out[_DISTANCE_ROOT, start:stop]
            for k in range(m):
                column[k] = np.sqrt(distances[k])
            column = out[_WORDS_APART, start:stop]
            for k in range(m):
                column[k] = min(distances[k] * m, FARTHEST) / FARTHEST
        for edge in range(offsets[i], offsets[i + 1]):
            out[_BOTH_FIRST, edge] = zero
            out[_BOTH_LAST, edge] = zero
        if n > 0 and m > 0:
            out[_BOTH_FIRST, offsets[i]] = one
            out[_BOTH_LAST, offsets[i + 1] - 1] = one
