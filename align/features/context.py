"""Features of the neighbours: a link is likelier where the words around it are linked in parallel.

The score of a neighbouring edge is the chain's joint posterior h. An *anchor* is an edge that is the best of
its row and of its column with h above a threshold; (j, k) is judged by how far it leaves the diagonal
that the nearest anchor to its left, and to its right, begins.
"""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel
from align.features.block import Block, Resources
from align.features.chain import chain_posteriors
from align.features.maps import neighbours

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
_WINDOW, _LEFT_ANCHOR, _RIGHT_ANCHOR = map(
    _NAMES.index, ("window", "left_anchor_distance", "right_anchor_distance")
)


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``context``."""
    return _NAMES


def fill(block: Block, out: np.ndarray) -> None:
    """Write the group ``context``.

    ``previous`` = h(j-1, k-1), ``next`` = h(j+1, k+1), ``both_neighbours`` their geometric mean, ``window``
    the mean of h(j+x, k+x) over 1 <= abs(x) <= 3; 0 beyond the sentence. For the nearest anchor (a, b) with
    a < j, or the sentence's beginning (-1, -1), the distance is abs((k - b) - (j - a)), at most 10,
    divided by 10; ``straight`` is distance 0 and ``near`` distance 1 word. Likewise to the right, where
    the sentence's end is (n, m).
    """
    joint = block.shared(chain_posteriors).joint
    neighbours(block.shapes, block.offsets, joint, out)
    _write_window(block.shapes, block.offsets, joint, out[_WINDOW])
    _write_anchors(block.shapes, block.offsets, joint, out[_LEFT_ANCHOR:_RIGHT_ANCHOR], out[_RIGHT_ANCHOR:])


@kernel(error_model="numpy")
def _write_window(shapes, offsets, joint, window):  # type: ignore[no-untyped-def]
    """Write the mean over the window, the nearest neighbours first."""
    zero, width = np.float32(0.0), np.float32(2 * WINDOW)
    for edge in range(len(joint)):
        window[edge] = zero
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for j in range(n):
            row = window[offsets[i] + j * m : offsets[i] + (j + 1) * m]
            for x in range(1, WINDOW + 1):
                if j >= x:
                    other = joint[offsets[i] + (j - x) * m : offsets[i] + (j - x + 1) * m]
                    for k in range(x, m):
                        row[k] += other[k - x]
                if j + x < n:
                    other = joint[offsets[i] + (j + x) * m : offsets[i] + (j + x + 1) * m]
                    for k in range(m - x):
                        row[k] += other[k + x]
            for k in range(m):
                row[k] /= width


@kernel(error_model="numpy")
def _write_anchors(shapes, offsets, joint, left, right):  # type: ignore[no-untyped-def]
    """Write how far each edge leaves the diagonals of the anchors to its left and to its right."""
    longest = 1
    for i in range(len(shapes)):
        longest = max(longest, shapes[i, 0], shapes[i, 1])
    anchors = np.empty(longest, dtype=np.int64)
    best_row = np.empty(longest, dtype=np.int64)
    best_score = np.empty(longest, dtype=np.float32)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        best_score[:m] = np.float32(-1.0)
        for j in range(n):
            row = joint[offsets[i] + j * m : offsets[i] + (j + 1) * m]
            best, score = -1, np.float32(-1.0)
            for k in range(m):
                if row[k] > score:
                    best, score = k, row[k]
                if row[k] > best_score[k]:
                    best_score[k], best_row[k] = row[k], j
            anchors[j] = best if score > ANCHOR_THRESHOLD else -1
        for j in range(n):
            if anchors[j] >= 0 and best_row[anchors[j]] != j:
                anchors[j] = -1
        row, column = -1, -1
        for j in range(n):
            start = offsets[i] + j * m
            _leave(column - row + j, left, start, m)
            if anchors[j] >= 0:
                row, column = j, anchors[j]
        row, column = n, m
        for j in range(n - 1, -1, -1):
            start = offsets[i] + j * m
            _leave(column - row + j, right, start, m)
            if anchors[j] >= 0:
                row, column = j, anchors[j]


@kernel(error_model="numpy")
def _leave(place, out, start, m):  # type: ignore[no-untyped-def]
    """Write the distance of target words 0 to m from a place, and whether it is 0, or 1."""
    zero, one, farthest = np.float32(0.0), np.float32(1.0), np.float32(FARTHEST)
    at, distances, straight, near = np.int32(place), out[0], out[1], out[2]
    for k in range(m):
        apart = np.int32(abs(np.int32(k) - at))
        distances[start + k] = min(np.float32(apart), farthest) / farthest
        straight[start + k] = one if apart == 0 else zero
        near[start + k] = one if apart == 1 else zero
