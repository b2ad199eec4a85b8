"""Posteriors of the hidden Markov model (:mod:`align.statistics.markov`), from its tables for any text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from align.features import chain, competition, posterior
from align.features.resources import Resources

if TYPE_CHECKING:
    from align.features.block import Block

# Words are made by NULL with the probability that the model was learnt with, 0.2, not the chain's.
_ODDS = 0.2 / (1 - 0.2) * (1 - chain.NULL_PROBABILITY) / chain.NULL_PROBABILITY

_NAMES = ("forward_markov", "reverse_markov", "markov", "markov_log")


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``markov``."""
    return (*_NAMES, *competition.names("markov"))


def fill(block: Block, out: np.ndarray) -> None:
    """Write the group ``markov``; 0 where there are no tables.

    The posteriors both ways, their geometric mean and max(ln p, -10) / 10 + 1 of their product p, the
    competition of the mean.
    """
    forward, reverse, joint = posteriors(block)
    chain.write_posteriors(forward, reverse, joint, out)
    competition.compete(joint, block.shapes, block.offsets, out[len(_NAMES) :])


def posteriors(block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the posteriors of each edge both ways and their geometric mean, float32, shape (E,)."""
    forward, reverse = (np.zeros(int(block.offsets[-1]), dtype=np.float32) for _ in range(2))
    links = block.resources.markov
    if links is not None:
        wanted = np.ones(len(block.shapes), dtype=bool)
        posterior.run_tables(block, links, block.markov_links, wanted, forward, reverse, null_odds=_ODDS)
    return forward, reverse, np.sqrt(forward * reverse)
