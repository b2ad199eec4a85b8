"""Features of the neighbours: a link is likelier where the words around it are linked in parallel.

The score of a neighbouring edge is the chain's joint posterior h. An *anchor* is an edge that is the best of
its row and of its column with h above a threshold; (j, k) is judged by how far it leaves the diagonal
that the nearest anchor to its left, and to its right, begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from align.core.kernels import kernel
from align.features import rows
from align.features.resources import Resources

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


def fill(block: Block, out: np.ndarray) -> None:
    """Write the group ``context``.

    ``previous`` = h(j-1, k-1), ``next`` = h(j+1, k+1), ``both_neighbours`` their geometric mean, ``window``
    the mean of h(j+x, k+x) over 1 <= abs(x) <= 3; 0 beyond the sentence. For the nearest anchor (a, b) with
    a < j, or the sentence's beginning (-1, -1), the distance is abs((k - b) - (j - a)), at most 10,
    divided by 10; ``straight`` is distance 0 and ``near`` distance 1 word. Likewise to the right, where
    the sentence's end is (n, m).
    """
    neighbours(block.shapes, block.offsets, block.chain.joint, out)
    write_window(block.shapes, block.offsets, block.chain.joint, out)
    write_anchors(block.shapes, block.offsets, block.chain.joint, out[4:])


@kernel(error_model="numpy")
def neighbours(shapes, offsets, joint, out):  # type: ignore[no-untyped-def]
    """Write h(j-1, k-1), h(j+1, k+1) and their geometric mean to the first three rows."""
    zero = np.float32(0.0)
    before, after, both = out[0], out[1], out[2]
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        if n == 0 or m == 0:
            continue
        first, last = offsets[i], offsets[i + 1]
        # The neighbour is m + 1 edges away; what that finds across the end of a row is put right.
        edge = min(first + m + 1, last)
        before[first:edge] = zero
        rows.copy(joint[first : first + last - edge], before[edge:last])
        rows.copy(joint[edge:last], after[first:last])
        after[first + last - edge : last] = zero
        for j in range(n):
            before[first + j * m] = zero
            after[first + j * m + m - 1] = zero
    for edge in range(len(joint)):
        both[edge] = np.sqrt(before[edge] * after[edge])


@kernel(error_model="numpy")
def write_window(shapes, offsets, joint, out):  # type: ignore[no-untyped-def]
    """Write the mean over the window to row 3, the nearest neighbours standing in rows 0 and 1."""
    before, after, window = out[0], out[1], out[3]
    width = np.float32(2 * WINDOW)
    for edge in range(len(joint)):
        window[edge] = before[edge] + after[edge]
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        first = offsets[i]
        for j in range(n):
            for x in range(2, WINDOW + 1):
                length = m - x
                if j >= x and length > 0:
                    sums = window[first + j * m + x : first + j * m + m]
                    row = joint[first + (j - x) * m : first + (j - x) * m + length]
                    for k in range(length):
                        sums[k] += row[k]
                if j + x < n and length > 0:
                    sums = window[first + j * m : first + j * m + length]
                    row = joint[first + (j + x) * m + x : first + (j + x) * m + m]
                    for k in range(length):
                        sums[k] += row[k]
    for edge in range(len(joint)):
        window[edge] /= width


@kernel(error_model="numpy")
def write_anchors(shapes, offsets, joint, out):  # type: ignore[no-untyped-def]
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
            _leave(column - row + j, out[:3], start, m)
            if anchors[j] >= 0:
                row, column = j, anchors[j]
        row, column = n, m
        for j in range(n - 1, -1, -1):
            start = offsets[i] + j * m
            _leave(column - row + j, out[3:6], start, m)
            if anchors[j] >= 0:
                row, column = j, anchors[j]


@kernel(error_model="numpy")
def _leave(place, out, start, m):  # type: ignore[no-untyped-def]
    """Write the distance of target words 0 to m from a place, and whether it is 0, or 1."""
    zero, one, farthest = np.float32(0.0), np.float32(1.0), np.float32(FARTHEST)
    distances, straight, near = (
        out[0, start : start + m],
        out[1, start : start + m],
        out[2, start : start + m],
    )
    at = np.int32(place)
    for k in range(m):
        distances[k] = min(np.float32(abs(np.int32(k) - at)), farthest) / farthest
    for k in range(m):
        straight[k] = zero
        near[k] = zero
    if 0 <= place < m:
        straight[place] = one
    if 1 <= place <= m:
        near[place - 1] = one
    if -1 <= place < m - 1:
        near[place + 1] = one
