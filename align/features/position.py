"""Features of the places of two words in their sentences.

Places are taken at the middle of a word, (j + 1/2) / n and (k + 1/2) / m, so that sentences of one word
need no special case.
"""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel
from align.features.block import Block, Resources, chosen

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
    _write_position(block.shapes, block.shared(chosen), out)


@kernel(error_model="numpy")
def _write_position(shapes, wanted, out):  # type: ignore[no-untyped-def]
    """Write what :func:`fill` says."""
    zero, one, token = np.float32(0.0), np.float32(1.0), 0
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for j in range(n):
            # Over the common denominator 2nm both places are integers: no rounding decides a tie.
            place, denominator = float((2 * j + 1) * m), 2.0 * n * m
            for at in range(wanted.starts[token], wanted.starts[token + 1]):
                k = np.int64(wanted.targets[at])
                apart = abs(place - np.float64((2 * k + 1) * n))
                distance = apart / denominator
                out[_DISTANCE, at], out[_DISTANCE_SQUARED, at] = distance, distance * distance
                out[_DISTANCE_ROOT, at] = np.sqrt(distance)
                out[_WORDS_APART, at] = min(distance * m, FARTHEST) / FARTHEST
                out[_ON_DIAGONAL, at] = one if apart <= n else zero
                out[_BOTH_FIRST, at] = one if (j == 0) & (k == 0) else zero
                out[_BOTH_LAST, at] = one if (j == n - 1) & (k == m - 1) else zero
            token += 1
