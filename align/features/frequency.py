"""Features of which words they are: how frequent (rare ones rarely translate frequent ones), and identity.

Whether either word is a given one of the most frequent ones of its side can say of one language pair what no
other feature can: that a word is seldom linked at all.
"""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel
from align.features.block import Block, Resources, chosen, ends

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
    _write_frequency(block.shapes, block.source, block.target, block.shared(chosen), out)


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
def _write_frequency(shapes, source, target, wanted, out):  # type: ignore[no-untyped-def]
    """Write what :func:`fill_frequency` says."""
    zero, one = np.float32(0.0), np.float32(1.0)
    tenth, lowest = np.float32(0.1), np.float32(16.0)
    frequent = np.float32(np.log(FREQUENT))
    for i in range(len(shapes)):
        here = target.starts[i]
        logs, ranks, counts = target.log_frequencies[here:], target.log_ranks[here:], target.counts[here:]
        for s in range(source.starts[i], source.starts[i + 1]):
            log, rank = source.log_frequencies[s], source.log_ranks[s]
            level = max(log, -lowest) / lowest + one
            often, rare = log >= frequent, one if source.counts[s] <= RARE else zero
            for at in range(wanted.starts[s], wanted.starts[s + 1]):
                k = wanted.targets[at]
                other_level = max(logs[k], -lowest) / lowest + one
                other_often = logs[k] >= frequent
                out[_FREQUENCY_DIFFERENCE, at] = min(abs(log - logs[k]) * tenth, one)
                out[_RANK_DIFFERENCE, at] = min(abs(rank - ranks[k]) * tenth, one)
                out[_SOURCE_FREQUENCY, at], out[_TARGET_FREQUENCY, at] = level, other_level
                out[_FREQUENCY_PRODUCT, at] = level * other_level
                out[_BOTH_FREQUENT, at] = one if often & other_often else zero
                out[_ONE_FREQUENT, at] = one if often != other_often else zero
                out[_SOURCE_RARE, at] = rare
                out[_TARGET_RARE, at] = one if counts[k] <= RARE else zero
