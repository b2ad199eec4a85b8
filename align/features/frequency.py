"""Features of how frequent the two words are: rare words rarely translate frequent ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from align.core.kernels import kernel
from align.features.resources import Resources

if TYPE_CHECKING:
    from align.features.block import Block

FREQUENT = 0.002
RARE = 2

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


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``frequency``."""
    return _NAMES


def fill(block: Block, out: np.ndarray) -> None:
    """Write the group ``frequency``.

    With f the relative frequency of a word in its half of the bitext (a count of 0 is taken as a half) and
    r its rank: abs(ln f_s - ln f_t) / 10 and abs(ln r_s - ln r_t) / 10; each side's max(ln f, -16) / 16 + 1
    and the product of the two; whether both or one only is among the words of 2 in 1,000 tokens and more;
    whether each was seen at most twice.
    """
    source, target = block.source, block.target
    write_frequency(
        block.shapes,
        block.offsets,
        source.log_frequencies,
        source.log_ranks,
        source.counts,
        block.source_starts,
        target.log_frequencies,
        target.log_ranks,
        target.counts,
        block.target_starts,
        out,
    )


@kernel(error_model="numpy")
def write_frequency(  # type: ignore[no-untyped-def]
    shapes,
    offsets,
    source_logs,
    source_ranks,
    source_counts,
    source_starts,
    target_logs,
    target_ranks,
    target_counts,
    target_starts,
    out,
):
    """Write what :func:`fill` says."""
    zero, one = np.float32(0.0), np.float32(1.0)
    tenth, lowest = np.float32(0.1), np.float32(16.0)
    frequent = np.float32(np.log(FREQUENT))
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        here = target_starts[i]
        logs, ranks, counts = target_logs[here:], target_ranks[here:], target_counts[here:]
        for j in range(n):
            s = source_starts[i] + j
            log, rank = source_logs[s], source_ranks[s]
            level = max(log, -lowest) / lowest + one
            often = log >= frequent
            start, stop = offsets[i] + j * m, offsets[i] + (j + 1) * m
            column = out[0, start:stop]
            for k in range(m):
                column[k] = min(abs(log - logs[k]) * tenth, one)
            column = out[1, start:stop]
            for k in range(m):
                column[k] = min(abs(rank - ranks[k]) * tenth, one)
            out[2, start:stop] = level
            column, product = out[3, start:stop], out[4, start:stop]
            for k in range(m):
                column[k] = max(logs[k], -lowest) / lowest + one
            for k in range(m):
                product[k] = level * column[k]
            column = out[5, start:stop]
            for k in range(m):
                column[k] = one if often & (logs[k] >= frequent) else zero
            column = out[6, start:stop]
            for k in range(m):
                column[k] = one if often != (logs[k] >= frequent) else zero
            out[7, start:stop] = one if source_counts[s] <= RARE else zero
            column = out[8, start:stop]
            for k in range(m):
                column[k] = one if counts[k] <= RARE else zero
