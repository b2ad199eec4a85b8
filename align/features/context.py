"""Features of the neighbours: a link is likelier where the words around it are linked in parallel.

The score of a neighbouring edge is the chain's joint posterior h. An *anchor* is an edge that is the best of
its row and of its column with h above a threshold; (j, k) is judged by how far it leaves the diagonal
that the nearest anchor to its left, and to its right, begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from align.features.resources import Resources
from align.kernels import kernel

if TYPE_CHECKING:
    from align.features.block import Block

ANCHOR_THRESHOLD = 0.3
WINDOW = 3
FARTHEST = 10

_NAMES = (
    "previous",
    "next",
    "both_neighbours",
    "window",
    "left_anchor_distance",
    "left_anchor_straight",
    "left_anchor_near",
    "right_anchor_distance",
    "right_anchor_straight",
    "right_anchor_near",
)


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``context``."""
    return _NAMES


def fill(block: Block, features: np.ndarray, column: int) -> None:
    """Write the group ``context``.

    ``previous`` = h(j-1, k-1), ``next`` = h(j+1, k+1), ``both_neighbours`` their geometric mean, ``window``
    the mean of h(j+x, k+x) over 1 <= abs(x) <= 3; 0 beyond the sentence. For the nearest anchor (a, b) with
    a < j, or the sentence's beginning (-1, -1), the distance is abs((k - b) - (j - a)), at most 10,
    divided by 10; ``straight`` is distance 0 and ``near`` distance 1 word. Likewise to the right, where
    the sentence's end is (n, m).
    """
    _context(block.shapes, block.offsets, block.chain.joint, features, column)


@kernel(error_model="numpy")
def _context(shapes, offsets, joint, features, column):  # type: ignore[no-untyped-def]
    zero, one = np.float32(0.0), np.float32(1.0)
    longest = 1
    for i in range(len(shapes)):
        longest = max(longest, shapes[i, 0], shapes[i, 1])
    anchors = np.empty(longest, dtype=np.int64)
    best_row = np.empty(longest, dtype=np.int64)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        first = offsets[i]  # the score of (j, k) is joint[first + j * m + k]
        for k in range(m):
            best_row[k] = -1
            for j in range(n):
                if best_row[k] < 0 or joint[first + j * m + k] > joint[first + best_row[k] * m + k]:
                    best_row[k] = j
        for j in range(n):
            anchors[j] = -1
            best = -1
            for k in range(m):
                if best < 0 or joint[first + j * m + k] > joint[first + j * m + best]:
                    best = k
            if best >= 0 and best_row[best] == j and joint[first + j * m + best] > ANCHOR_THRESHOLD:
                anchors[j] = best
        for j in range(n):
            for k in range(m):
                edge = first + j * m + k
                out = features[edge - offsets[0]]
                step = m + 1  # from an edge to the next one on its diagonal
                before = joint[edge - step] if j > 0 and k > 0 else zero
                after = joint[edge + step] if j + 1 < n and k + 1 < m else zero
                total = before + after
                for x in range(2, WINDOW + 1):
                    if j >= x and k >= x:
                        total += joint[edge - x * step]
                    if j + x < n and k + x < m:
                        total += joint[edge + x * step]
                out[column] = before
                out[column + 1] = after
                out[column + 2] = np.sqrt(before * after)
                out[column + 3] = total / np.float32(2 * WINDOW)
        left, left_column = -1, -1
        for j in range(n):
            for k in range(m):
                out = features[first - offsets[0] + j * m + k]
                distance = abs((k - left_column) - (j - left))
                out[column + 4] = np.float32(min(distance, FARTHEST)) / np.float32(FARTHEST)
                out[column + 5] = one if distance == 0 else zero
                out[column + 6] = one if distance == 1 else zero
            if anchors[j] >= 0:
                left, left_column = j, anchors[j]
        right, right_column = n, m
        for j in range(n - 1, -1, -1):
            for k in range(m):
                out = features[first - offsets[0] + j * m + k]
                distance = abs((right_column - k) - (right - j))
                out[column + 7] = np.float32(min(distance, FARTHEST)) / np.float32(FARTHEST)
                out[column + 8] = one if distance == 0 else zero
                out[column + 9] = one if distance == 1 else zero
            if anchors[j] >= 0:
                right, right_column = j, anchors[j]
