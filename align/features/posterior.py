"""Posteriors of the sampler (``sampler``): stored where the pair was sampled, else from its tables.

A pair that was not sampled gets the posteriors of the chain model (:mod:`align.features.chain`) with what
the sampler learnt: translations, NULL and jumps. The fertilities are left out.
"""

from __future__ import annotations

import numpy as np

from align.features.block import Block, Resources, chosen
from align.features.chain import jump_table, null_odds, probabilities, run_chains
from align.features.maps import EdgePosteriors, fill_posteriors, neighbours, posterior_names

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
        of_tables = _of_tables(block, wanted)
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
    around = out[-len(_NEIGHBOURS) :]
    neighbours(block.shapes, block.offsets, found.joint, block.shared(chosen), around)


def _of_tables(block: Block, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the posteriors both ways that tables of expected links give the edges of the wanted pairs."""
    emissions = block.of_edges(probabilities)
    ahead, back = (
        run_chains(block, emission, null, jump_table(block, ahead=ahead), ahead=ahead, wanted=wanted)
        for emission, null, ahead in zip(emissions, block.shared(null_odds), (True, False), strict=True)
    )
    return ahead, back
