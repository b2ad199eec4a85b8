"""Posteriors of the sampler (``sampler``): stored where the pair was sampled, else from its tables.

A pair that was not sampled gets the posteriors of the chain model (:mod:`align.features.chain`) with what
the sampler learnt, c being expected links: the emission (c(s, t) + b) / (c(s) + b V), likewise for NULL, and
the jumps. The fertilities are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from align.core.kernels import kernel
from align.features import chain, competition, context
from align.features.resources import Resources
from align.statistics.prior import JUMP, LEXICAL, NULL_LEXICAL

if TYPE_CHECKING:
    from align.features.block import Block
    from align.statistics.expected_links import ExpectedLinks


_NAMES = ("forward_sampled", "reverse_sampled", "sampled", "sampled_log")
_NEIGHBOURS = ("sampled_previous", "sampled_next", "sampled_both_neighbours")


def posteriors(block: Block) -> chain.Posteriors:
    """Return the posteriors of each edge of a block; 0 where there is neither a sample nor tables."""
    edges = int(block.offsets[-1])
    lexicon, links = block.resources.lexicon, block.resources.links
    if block.stored is None:
        forward, reverse = (np.zeros(edges, dtype=np.float32) for _ in range(2))
        wanted = np.ones(len(block.shapes), dtype=bool)
    else:
        forward, reverse = block.stored.dense(block.shapes)
        wanted = ~block.stored.sampled
    if lexicon is not None and links is not None and wanted.any():
        run_tables(block, links, block.expected_links, wanted, forward, reverse)
    return chain.Posteriors(forward, reverse, np.sqrt(forward * reverse))


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``posterior``."""
    return (*_NAMES, *competition.names("sampled"), *_NEIGHBOURS)


def fill(block: Block, out: np.ndarray) -> None:
    """Write the group ``posterior``.

    The posteriors both ways, their geometric mean h, max(ln p, -10) / 10 + 1 of their product p, the
    competition of h, h(j-1, k-1), h(j+1, k+1) and the geometric mean of these two.
    """
    found = block.sampled
    chain.write_posteriors(found.forward, found.reverse, found.joint, out)
    own = len(_NAMES)
    competition.compete(found.joint, block.shapes, block.offsets, out[own:])
    context.neighbours(block.shapes, block.offsets, found.joint, out[own + len(competition.SUFFIXES) :])


def jump_weights(counted: np.ndarray, length: int) -> np.ndarray:
    """Return the weight of a jump by d positions at index ``length + d``, float64, shape (2 length + 1,).

    Parameters
    ----------
    counted : ndarray of float32, shape (2 L + 1,)
        Expected jumps by d positions at index L + d.
    length : int
        The longest jump wanted.
    """
    weights = np.full(2 * length + 1, JUMP)  # the chain divides by their sum
    centre = len(counted) // 2
    reach = min(length, centre)
    weights[length - reach : length + reach + 1] += counted[centre - reach : centre + reach + 1]
    return weights


def run_tables(
    block: Block,
    links: ExpectedLinks,
    of_edges: tuple[np.ndarray, np.ndarray],
    wanted: np.ndarray,
    forward: np.ndarray,
    reverse: np.ndarray,
) -> None:
    """Write the posteriors that tables of expected links give the edges of the wanted pairs.

    Parameters
    ----------
    block : Block
        N pairs with E edges.
    links : ExpectedLinks
        The tables.
    of_edges : (ndarray, ndarray)
        Their links of each edge in both directions, float32, shape (E,).
    wanted : ndarray of bool, shape (N,)
        The pairs.
    forward, reverse : ndarray of float32, shape (E,)
        Written to.
    """
    source, target = block.source, block.target
    n_source, n_target = len(links.forward_totals), len(links.reverse_totals)
    counts, reverse_counts = of_edges
    longest = chain.padded(int(block.shapes.max(initial=1)))
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
        block.source_starts,
        block.target_starts,
        forward,
        reverse,
    )


def _null(of_words: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return the probability of words to be made by NULL, float64."""
    return (of_words + NULL_LEXICAL) / (table.sum(dtype=np.float64) + NULL_LEXICAL * len(table))


@kernel(error_model="numpy")
def _learnt_chains(  # type: ignore[no-untyped-def]
    shapes, offsets, wanted,
    counts, totals, null, jumps, reverse_counts, reverse_totals, reverse_null, reverse_jumps,
    source_starts, target_starts, forward, reverse,
):  # fmt: skip
    backward_jumps, reverse_backward = jumps[::-1].copy(), reverse_jumps[::-1].copy()
    memory, emissions = chain.chain_memory(len(jumps) // 2)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        if not wanted[i] or n == 0 or m == 0:
            continue
        first, start, edge = source_starts[i], target_starts[i], offsets[i]
        width = chain.width_of(n)
        emission = emissions[: m * width].reshape(m, width)
        emission[:, n:] = 0.0
        for j in range(n):
            for k in range(m):
                emission[k, j] = (counts[edge + j * m + k] + LEXICAL) / totals[first + j]
        word = chain.run_chain(emission, null[start : start + m], m, n, jumps, backward_jumps, memory)
        for j in range(n):
            for k in range(m):
                forward[edge + j * m + k] = word[k, j]
        width = chain.width_of(m)
        emission = emissions[: n * width].reshape(n, width)
        emission[:, m:] = 0.0
        for j in range(n):
            for k in range(m):
                emission[j, k] = (reverse_counts[edge + j * m + k] + LEXICAL) / reverse_totals[start + k]
        null_source = reverse_null[first : first + n]
        word = chain.run_chain(emission, null_source, n, m, reverse_jumps, reverse_backward, memory)
        for j in range(n):
            for k in range(m):
                reverse[edge + j * m + k] = word[j, k]
