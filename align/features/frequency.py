"""Features of which words they are: how frequent (rare ones rarely translate frequent ones), and identity.

Whether either word is a given one of the most frequent ones of its side can say of one language pair what no
other feature can: that a word is seldom linked at all.
"""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel
from align.features.block import Block, Resources, ends

FREQUENT = 0.002
RARE = 2

# Words a side that have a feature of their own.
IDENTITIES = 30

_NAMES = (
    "frequency_difference",
    "rank_difference",
    "source_frequency",
    "target_frequency",
    "frequency_product",
    "both_frequent",
    "one_frequent",
    "source_rare",
    "target_rare",
)
(
    _FREQUENCY_DIFFERENCE, _RANK_DIFFERENCE, _SOURCE_FREQUENCY, _TARGET_FREQUENCY, _FREQUENCY_PRODUCT,
    _BOTH_FREQUENT, _ONE_FREQUENT, _SOURCE_RARE, _TARGET_RARE,
) = range(len(_NAMES))  # fmt: skip


def frequency_names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``frequency``."""
    return _NAMES


def fill_frequency(block: Block, out: np.ndarray) -> None:
    """Write the group ``frequency``.

    With f the relative frequency of a word in its half of the bitext (a count of 0 is taken as a half) and
    r its rank: abs(ln f_s - ln f_t) / 10 and abs(ln r_s - ln r_t) / 10; each side's max(ln f, -16) / 16 + 1
    and the product of the two; whether both or one only is among the words of 2 in 1,000 tokens and more;
    whether each was seen at most twice.
    """
    _write_frequency(block.shapes, block.offsets, block.source, block.target, out)


def identity_names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``identity``."""
    sides = (("source", resources.source_vocabulary), ("target", resources.target_vocabulary))
    return tuple(f"{side}.{word}" for side, words in sides for word in words.words[:IDENTITIES])


def fill_identity(block: Block, out: np.ndarray) -> None:
    """Write the group ``identity``: 1 in the row of the source word and in that of the target word."""
    out[:] = 0.0
    of_edges, row = block.shared(ends), 0
    for side, words in ((block.source, of_edges.source_word), (block.target, of_edges.target_word)):
        ids, named = side.words[words], min(IDENTITIES, side.size)
        edges = np.flatnonzero(ids < named)
        out[row + ids[edges], edges] = 1.0
        row += named


@kernel(error_model="numpy")
def _write_frequency(shapes, offsets, source, target, out):  # type: ignore[no-untyped-def]
    """Write what :func:`fill_frequency` says."""
    # Loops with one result each: the compiler makes vector instructions of them.
    zero, one = np.float32(0.0), np.float32(1.0)
    tenth, lowest = np.float32(0.1), np.float32(16.0)
    frequent = np.float32(np.log(FREQUENT))
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        here = target.starts[i]
        logs, ranks, counts = target.log_frequencies[here:], target.log_ranks[here:], target.counts[here:]
        for j in range(n):
            s = source.starts[i] + j
            log, rank = source.log_frequencies[s], source.log_ranks[s]
            level = max(log, -lowest) / lowest + one
            often = log >= frequent
            start, stop = offsets[i] + j * m, offsets[i] + (j + 1) * m
            column = out[_FREQUENCY_DIFFERENCE, start:stop]
            for k in range(m):
                column[k] = min(abs(log - logs[k]) * tenth, one)
            column = out[_RANK_DIFFERENCE, start:stop]
            for k in range(m):
                column[k] = min(abs(rank - ranks[k]) * tenth, one)
            column = out[_SOURCE_FREQUENCY, start:stop]
            for k in range(m):
                column[k] = level
            column, product = out[_TARGET_FREQUENCY, start:stop], out[_FREQUENCY_PRODUCT, start:stop]
            for k in range(m):
                column[k] = max(logs[k], -lowest) / lowest + one
            for k in range(m):
                product[k] = level * column[k]
            column = out[_BOTH_FREQUENT, start:stop]
            for k in range(m):
                column[k] = one if often & (logs[k] >= frequent) else zero
            column = out[_ONE_FREQUENT, start:stop]
            for k in range(m):
                column[k] = one if often != (logs[k] >= frequent) else zero
            rare = one if source.counts[s] <= RARE else zero
            column = out[_SOURCE_RARE, start:stop]
            for k in range(m):
                column[k] = rare
            column = out[_TARGET_RARE, start:stop]
            for k in range(m):
                column[k] = one if counts[k] <= RARE else zero
