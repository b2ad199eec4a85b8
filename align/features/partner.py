"""Features of words that statistics know little of: the same name, number or sign in the other sentence.

Where statistics say who translates whom, spelling adds little; of a word that was never seen, it says all. So
how far two words are alike counts here by what is not known of them: u = 1 / (1 + c) of a word seen c times,
which is 1 for one never seen. The pair itself says nothing of its words: where it was sampled, and so is
counted, c is how often a word stands elsewhere.
"""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel
from align.features.block import Block, Resources, Side, chosen
from align.features.spelling import likenesses

_NAMES = (
    "partner",
    "partner_unknown",
    "partner_best",
    "partner_elsewhere",
    "partner_elsewhere_unknown",
    "partners_elsewhere",
    "partner_not_near",
    "source_unknown",
    "target_unknown",
    "both_unknown",
    "both_unknown_near",
)
(
    _PARTNER, _PARTNER_UNKNOWN, _BEST, _ELSEWHERE, _ELSEWHERE_UNKNOWN, _BOTH_ELSEWHERE, _NOT_NEAR,
    _SOURCE_UNKNOWN, _TARGET_UNKNOWN, _BOTH_UNKNOWN, _BOTH_UNKNOWN_NEAR,
) = range(len(_NAMES))  # fmt: skip


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``partner``."""
    return _NAMES


def fill(block: Block, out: np.ndarray) -> None:
    """Write the group ``partner``.

    With l how far two words are alike (:func:`align.features.spelling.likenesses`) and u = 1 / (1 + c) of
    each word, the larger being v: ``partner`` = l, ``partner_unknown`` = v l; ``partner_best`` = v l where no
    other word of either side is as much alike; ``partner_elsewhere`` = the largest of l' - l and 0 for other
    words of both sides, and v times that; ``partners_elsewhere`` = v times the lesser of l' - l of either
    side; ``partner_not_near`` = v l times the distance of the two relative places; u of each side, their
    product, and that times 1 less the distance.
    """
    source, target = (elsewhere(block, side) for side in (block.source, block.target))
    _write_partner(
        block.shapes, block.offsets, source, block.source.starts, target, block.target.starts,
        block.of_edges(likenesses), block.shared(chosen), out,
    )  # fmt: skip


def elsewhere(block: Block, side: Side) -> np.ndarray:
    """Return how often each token's word was counted in other pairs, int64, shape (T,)."""
    stored, counts = block.pairs.posteriors, side.counts
    if stored is None:
        return counts
    found = counts.copy()
    _leave_out(side.starts, side.tokens, stored.sampled, found)
    return found


@kernel
def _leave_out(starts, tokens, counted, counts):  # type: ignore[no-untyped-def]
    """Take from counts what words have in their own sentence; of frequent words that is next to nothing."""
    for i in range(len(counted)):
        first, last = starts[i], starts[i + 1]
        if not counted[i]:
            continue
        for token in range(first, last):
            if counts[token] > 0 and counts[token] <= last - first:
                own = 0
                for other in range(first, last):
                    own += 1 if tokens[other] == tokens[token] else 0
                counts[token] = max(counts[token] - own, 0)


@kernel(error_model="numpy")
def _write_partner(  # type: ignore[no-untyped-def]
    shapes, offsets, source_counts, source_starts, target_counts, target_starts, alike, wanted, out
):
    """Write what :func:`fill` says."""
    zero, one = np.float32(0.0), np.float32(1.0)
    widest = 1
    for i in range(len(shapes)):
        widest = max(widest, shapes[i, 1])
    first, second = np.empty(widest, dtype=np.float32), np.empty(widest, dtype=np.float32)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        first[:m], second[:m] = zero, zero
        for j in range(n):
            row = alike[offsets[i] + j * m : offsets[i] + (j + 1) * m]
            for k in range(m):
                second[k] = max(second[k], min(row[k], first[k]))
                first[k] = max(first[k], row[k])
        for j in range(n):
            start, stop = offsets[i] + j * m, offsets[i] + (j + 1) * m
            row = alike[start:stop]
            row_first, row_second = zero, zero
            for k in range(m):
                row_second = max(row_second, min(row[k], row_first))
                row_first = max(row_first, row[k])
            token = source_starts[i] + j
            source = one / np.float32(1 + source_counts[token])
            for at in range(wanted.starts[token], wanted.starts[token + 1]):
                place = np.int64(wanted.targets[at])
                target = one / np.float32(1 + target_counts[target_starts[i] + place])
                unknown, own = max(source, target), row[place]
                apart = np.float32(abs((j + 0.5) / n - (place + 0.5) / m))
                in_row = row_second if own == row_first else row_first
                in_column = second[place] if own == first[place] else first[place]
                rival, lesser = max(in_row, in_column), min(in_row, in_column)
                out[_PARTNER, at] = own
                out[_PARTNER_UNKNOWN, at] = unknown * own
                out[_BEST, at] = unknown * own if own > rival else zero
                out[_ELSEWHERE, at] = max(rival - own, zero)
                out[_ELSEWHERE_UNKNOWN, at] = unknown * max(rival - own, zero)
                out[_BOTH_ELSEWHERE, at] = unknown * max(lesser - own, zero)
                out[_NOT_NEAR, at] = unknown * own * apart
                out[_SOURCE_UNKNOWN, at] = source
                out[_TARGET_UNKNOWN, at] = target
                out[_BOTH_UNKNOWN, at] = source * target
                out[_BOTH_UNKNOWN_NEAR, at] = source * target * (one - apart)
