"""Features that name words: whether either word is a given one of the most frequent ones of its side.

They can say of one language pair what no other feature can: that a word is seldom linked at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from align.core.kernels import kernel
from align.features.resources import Resources

if TYPE_CHECKING:
    from align.features.block import Block

# Words a side that have a feature of their own.
IDENTITIES = 30


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``identity``."""
    sides = (("source", resources.source_vocabulary), ("target", resources.target_vocabulary))
    return tuple(f"{side}.{word}" for side, words in sides for word in words.words[:IDENTITIES])


def fill(block: Block, out: np.ndarray) -> None:
    """Write the group ``identity``: 1 in the row of the source word and in that of the target word."""
    out[:] = 0.0
    source, target = block.source, block.target
    own = min(IDENTITIES, source.size)
    write_identity(
        block.shapes,
        block.offsets,
        source.words[source.tokens],
        block.source_starts,
        target.words[target.tokens],
        block.target_starts,
        own,
        out,
    )


@kernel
def write_identity(  # type: ignore[no-untyped-def]
    shapes, offsets, source, source_starts, target, target_starts, own, out
):
    """Write ones; ``own`` words of the source have features, the target's follow."""
    others = len(out) - own
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for j in range(n):
            s = source[source_starts[i] + j]
            for k in range(m):
                edge, t = offsets[i] + j * m + k, target[target_starts[i] + k]
                if s < own:
                    out[s, edge] = 1.0
                if t < others:
                    out[own + t, edge] = 1.0
