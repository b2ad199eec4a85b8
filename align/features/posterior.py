"""Posteriors of the sampler (``sampler``): stored where the pair was sampled, else from its tables.

A pair that was not sampled gets the posteriors of the chain model (:mod:`align.features.chain`) with what
the sampler learnt, c being expected links: the emission (c(s, t) + b) / (c(s) + b V), likewise for NULL, and
the jumps. The fertilities are left out.
"""

from __future__ import annotations

import numpy as np

from align.features.block import Block, Resources, Side, ends
from align.features.chain import longest_sentence, run_chains
from align.features.lexical import expected_links
from align.features.maps import EdgePosteriors, fill_posteriors, neighbours, posterior_names
from align.statistics.expected_links import ExpectedLinks
from align.statistics.sampler_priors import JUMP, LEXICAL, NULL_LEXICAL

_NEIGHBOURS = ("sampled_previous", "sampled_next", "sampled_both_neighbours")


def sampled_posteriors(block: Block) -> EdgePosteriors:
    """Return the posteriors of each edge of a block; 0 where there is neither a sample nor tables."""
    lexicon, links = block.resources.lexicon, block.resources.links
    stored = block.pairs.posteriors
    if stored is None:
        forward, reverse = np.zeros((2, int(block.offsets[-1])), dtype=np.float32)
        wanted = np.ones(len(block.shapes), dtype=bool)
    else:
        forward, reverse = stored.dense(block.shapes)
        wanted = ~stored.sampled
    if lexicon is not None and links is not None and wanted.any():
        of_tables = _of_tables(block, links, wanted)
        chosen = np.repeat(wanted, np.diff(block.offsets))
        forward = np.where(chosen, of_tables[0], forward)
        reverse = np.where(chosen, of_tables[1], reverse)
    return EdgePosteriors.of(forward=forward, reverse=reverse)


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``posterior``."""
    return (*posterior_names("sampled"), *_NEIGHBOURS)


def fill(block: Block, out: np.ndarray) -> None:
    """Write the group ``posterior``.

    The posteriors both ways, their geometric mean h, max(ln p, -10) / 10 + 1 of their product p, the
    competition of h, h(j-1, k-1), h(j+1, k+1) and the geometric mean of these two.
    """
    found = block.shared(sampled_posteriors)
    fill_posteriors(block, found, out)
    neighbours(block.shapes, block.offsets, found.joint, out[-len(_NEIGHBOURS) :])


def _of_tables(block: Block, links: ExpectedLinks, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the posteriors both ways that tables of expected links give the edges of the wanted pairs."""
    longest, of_edges = longest_sentence(block), block.shared(ends)
    counts = block.of_edges(expected_links)
    source, target = block.source, block.target
    of_sources = (source.of_words(links.forward_totals) + LEXICAL * target.size)[of_edges.source_word]
    of_targets = (target.of_words(links.reverse_totals) + LEXICAL * source.size)[of_edges.target_word]
    forward, reverse = counts.astype(np.float64) + LEXICAL
    null, jumps = _null(target, links.null_forward), _jump_weights(links.forward_jumps, longest)
    ahead = run_chains(block, forward / of_sources, null, jumps, ahead=True, wanted=wanted)
    null, jumps = _null(source, links.null_reverse), _jump_weights(links.reverse_jumps, longest)
    return ahead, run_chains(block, reverse / of_targets, null, jumps, ahead=False, wanted=wanted)


def _jump_weights(counted: np.ndarray, length: int) -> np.ndarray:
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


def _null(side: Side, table: np.ndarray) -> np.ndarray:
    """Return the probability of tokens to be made by NULL, float64."""
    total = table.sum(dtype=np.float64) + NULL_LEXICAL * len(table)
    return ((side.of_words(table) + NULL_LEXICAL) / total).astype(np.float64)[side.tokens]
