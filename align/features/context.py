"""Features of the neighbours: a link is likelier where the words around it are linked in parallel.

The score of a neighbouring edge is the chain's joint posterior h. An *anchor* is an edge that is the best of
its row and of its column with h above a threshold; (j, k) is judged by how far it leaves the diagonal
that the nearest anchor to its left, and to its right, begins.
"""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel
from align.features.block import Block, Resources, chosen
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
    joint, wanted = block.shared(chain_posteriors).joint, block.shared(chosen)
    neighbours(block.shapes, block.offsets, joint, wanted, out)
    _write_window(block.shapes, block.offsets, joint, wanted, out[_WINDOW])
    left, right = out[_LEFT_ANCHOR:_RIGHT_ANCHOR], out[_RIGHT_ANCHOR:]
    _write_anchors(block.shapes, block.offsets, joint, wanted, left, right)


@kernel(error_model="numpy")
def _write_window(shapes, offsets, joint, wanted, window):  # type: ignore[no-untyped-def]
    """Write the mean over the window, the nearest neighbours first."""
    zero, width, token = np.float32(0.0), np.float32(2 * WINDOW), 0
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for j in range(n):
            for at in range(wanted.starts[token], wanted.starts[token + 1]):
                k, total = np.int64(wanted.targets[at]), zero
                edge = offsets[i] + j * m + k
                for x in range(1, WINDOW + 1):
                    if j >= x and k >= x:
                        total += joint[edge - x * (m + 1)]
                    if j + x < n and k + x < m:
                        total += joint[edge + x * (m + 1)]
                window[at] = total / width
            token += 1


@kernel(error_model="numpy")
def _write_anchors(shapes, offsets, joint, wanted, left, right):  # type: ignore[no-untyped-def]
    """Write how far each edge leaves the diagonals of the anchors to its left and to its right."""
    longest = 1
    for i in range(len(shapes)):
        longest = max(longest, shapes[i, 0], shapes[i, 1])
    anchors = np.empty(longest, dtype=np.int64)
    best_row = np.empty(longest, dtype=np.int64)
    best_score = np.empty(longest, dtype=np.float32)
    token = 0
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
            _leave(column - row + j, wanted, token + j, left)
            if anchors[j] >= 0:
                row, column = j, anchors[j]
        row, column = n, m
        for j in range(n - 1, -1, -1):
            _leave(column - row + j, wanted, token + j, right)
            if anchors[j] >= 0:
                row, column = j, anchors[j]
        token += n


@kernel(error_model="numpy")
def _leave(place, wanted, token, out):  # type: ignore[no-untyped-def]
    """Write the distance of the wanted target words of a token from a place, and whether it is 0, or 1."""
    zero, one, farthest = np.float32(0.0), np.float32(1.0), np.float32(FARTHEST)
    there, distances, straight, near = np.int32(place), out[0], out[1], out[2]
    for at in range(wanted.starts[token], wanted.starts[token + 1]):
        apart = np.int32(abs(wanted.targets[at] - there))
        distances[at] = min(np.float32(apart), farthest) / farthest
        straight[at] = one if apart == 0 else zero
        near[at] = one if apart == 1 else zero
