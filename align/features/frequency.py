"""Features of how frequent the two words are: rare words rarely translate frequent ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from align.features.resources import Resources
from align.kernels import kernel

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


def fill(block: Block, features: np.ndarray, column: int) -> None:
    """Write the group ``frequency``.

    With f the relative frequency of a word in its half of the bitext (a count of 0 is taken as a half) and
    r its rank: abs(ln f_s - ln f_t) / 10 and abs(ln r_s - ln r_t) / 10; each side's max(ln f, -16) / 16 + 1
    and the product of the two; whether both or one only is among the words of 2 in 1,000 tokens and more;
    whether each was seen at most twice.
    """
    source, target = block.source, block.target
    _frequency(
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
        features,
        column,
    )


@kernel(error_model="numpy")
def _frequency(  # type: ignore[no-untyped-def]
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
    features,
    column,
):
    zero, one = np.float32(0.0), np.float32(1.0)
    tenth, lowest = np.float32(0.1), np.float32(16.0)
    frequent = np.float32(np.log(FREQUENT))
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for j in range(n):
            s = source_starts[i] + j
            source_level = max(source_logs[s], -lowest) / lowest + one
            source_often = source_logs[s] >= frequent
            for k in range(m):
                t = target_starts[i] + k
                out = features[offsets[i] - offsets[0] + j * m + k]
                target_level = max(target_logs[t], -lowest) / lowest + one
                target_often = target_logs[t] >= frequent
                out[column] = min(abs(source_logs[s] - target_logs[t]) * tenth, one)
                out[column + 1] = min(abs(source_ranks[s] - target_ranks[t]) * tenth, one)
                out[column + 2] = source_level
                out[column + 3] = target_level
                out[column + 4] = source_level * target_level
                out[column + 5] = one if source_often and target_often else zero
                out[column + 6] = one if source_often != target_often else zero
                out[column + 7] = one if source_counts[s] <= RARE else zero
                out[column + 8] = one if target_counts[t] <= RARE else zero
