"""Posteriors of the sampler (:mod:`align.sampler`): stored where the pair was sampled, else from its tables.

A pair that was not sampled gets the posteriors of the chain model (:mod:`align.features.chain`) with what
the sampler learnt, c being expected links: the emission (c(s, t) + b) / (c(s) + b V), likewise for NULL, and
the jumps. The fertilities are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from align.features import association, chain, competition
from align.features.resources import Resources
from align.kernels import kernel

if TYPE_CHECKING:
    from align.features.block import Block
    from align.lexicon import Lexicon
    from align.posteriors import Links

# The sampler's priors, in counts a word, a word made by NULL, and a distance.
LEXICAL, NULL_LEXICAL, JUMP = 3e-4, 1e-3, 0.5

_NAMES = ("forward_sampled", "reverse_sampled", "sampled", "sampled_log")
_NEIGHBOURS = ("sampled_previous", "sampled_next", "sampled_both_neighbours")


def posteriors(block: Block) -> chain.Posteriors:
    """Return the posteriors of each edge of a block; 0 where there is neither a sample nor tables."""
    edges = int(block.offsets[-1])
    if block.stored is None:
        forward, reverse = (np.zeros(edges, dtype=np.float32) for _ in range(2))
        wanted = np.ones(len(block.shapes), dtype=bool)
    else:
        forward, reverse = block.stored.dense(block.shapes)
        wanted = ~block.stored.sampled
    lexicon, links = block.resources.lexicon, block.resources.links
    if lexicon is not None and links is not None and wanted.any():
        _run_tables(block, lexicon, links, wanted, forward, reverse)
    return chain.Posteriors(forward, reverse, np.sqrt(forward * reverse))


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``posterior``."""
    return (*_NAMES, *competition.names("sampled"), *_NEIGHBOURS)


def fill(block: Block, features: np.ndarray, column: int) -> None:
    """Write the group ``posterior``.

    The posteriors both ways, their geometric mean h, max(ln p, -10) / 10 + 1 of their product p, the
    competition of h, h(j-1, k-1), h(j+1, k+1) and the geometric mean of these two.
    """
    found = block.sampled
    first, last = block.offsets[0], block.offsets[-1]
    chain.write_posteriors(first, last, found.forward, found.reverse, found.joint, features, column)
    column += len(_NAMES)
    competition.compete(found.joint, block.shapes, block.offsets, features, column)
    _neighbours(block.shapes, block.offsets, found.joint, features, column + len(competition.SUFFIXES))


def jump_weights(counted: np.ndarray, length: int) -> np.ndarray:
    """Return the weight of a jump by d positions at index ``length + d``, float64, shape (2 length + 1,).

    Parameters
    ----------
    counted : ndarray of float32, shape (2 L + 1,)
        Expected jumps by d positions at index L + d.
    length : int
        The longest jump wanted.
    """
    weights = np.full(2 * length + 1, JUMP)
    centre = len(counted) // 2
    reach = min(length, centre)
    weights[length - reach : length + reach + 1] += counted[centre - reach : centre + reach + 1]
    return weights / weights.sum()


def _run_tables(
    block: Block,
    lexicon: Lexicon,
    links: Links,
    wanted: np.ndarray,
    forward: np.ndarray,
    reverse: np.ndarray,
) -> None:
    source, target = block.source, block.target
    n_source, n_target = len(links.forward_totals), len(links.reverse_totals)
    counts, _, reverse_counts = association.of_edges(
        block, lexicon, (links.forward, links.forward, links.reverse)
    )
    longest = int(block.shapes.max(initial=1))
    _learnt_chains(
        block.shapes,
        block.offsets,
        wanted,
        counts,
        (source.of_words(links.forward_totals) + LEXICAL * n_target)[source.tokens],
        _null(target.of_words(links.null_forward), links.null_forward)[target.tokens],
        jump_weights(links.forward_jumps, longest),
        reverse_counts,
        (target.of_words(links.reverse_totals) + LEXICAL * n_source)[target.tokens],
        _null(source.of_words(links.null_reverse), links.null_reverse)[source.tokens],
        jump_weights(links.reverse_jumps, longest),
        source.starts,
        target.starts,
        forward,
        reverse,
    )


def _null(of_words: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return the probability of words to be made by NULL, float64."""
    return (of_words + NULL_LEXICAL) / (table.sum(dtype=np.float64) + NULL_LEXICAL * len(table))


@kernel
def _learnt_chains(  # type: ignore[no-untyped-def]
    shapes, offsets, wanted,
    counts, totals, null, jumps, reverse_counts, reverse_totals, reverse_null, reverse_jumps,
    source_starts, target_starts, forward, reverse,
):  # fmt: skip
    longest = len(jumps) // 2
    backward_jumps, reverse_backward = jumps[::-1].copy(), reverse_jumps[::-1].copy()
    emission = np.empty((longest, longest))
    word = np.empty((longest, longest))
    empty = np.empty((longest, longest))
    backward = np.empty((2, longest))
    norms = np.empty(longest)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        if not wanted[i] or n == 0 or m == 0:
            continue
        first, start = source_starts[i], target_starts[i]
        for j in range(n):
            for k in range(m):
                emission[k, j] = (counts[offsets[i] + j * m + k] + LEXICAL) / totals[first + j]
        chain.run_chain(
            emission, null[start : start + m], m, n, jumps, backward_jumps, word, empty, backward, norms
        )
        for j in range(n):
            for k in range(m):
                edge = offsets[i] + j * m + k
                forward[edge] = word[k, j]
                emission[j, k] = (reverse_counts[edge] + LEXICAL) / reverse_totals[start + k]
        chain.run_chain(
            emission,
            reverse_null[first : first + n],
            n,
            m,
            reverse_jumps,
            reverse_backward,
            word,
            empty,
            backward,
            norms,
        )
        for j in range(n):
            for k in range(m):
                reverse[offsets[i] + j * m + k] = word[j, k]


@kernel
def _neighbours(shapes, offsets, joint, features, column):  # type: ignore[no-untyped-def]
    zero = np.float32(0.0)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for j in range(n):
            for k in range(m):
                edge = offsets[i] + j * m + k
                before = joint[edge - m - 1] if j > 0 and k > 0 else zero
                after = joint[edge + m + 1] if j + 1 < n and k + 1 < m else zero
                out = features[edge - offsets[0]]
                out[column] = before
                out[column + 1] = after
                out[column + 2] = np.sqrt(before * after)
