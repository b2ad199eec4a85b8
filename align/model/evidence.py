r"""How far two linked words are known to be translations of each other, whatever stands around them.

Where nothing is known, links follow from places: any two sentences, of any languages, have some. With p(t|s)
of Model 1 and q(t) the share of the target text that is t, a sentence of m words without any relation has t
with probability m q(t) at most, so that

    p(t|s) / (p(t|s) + m q(t))

is how far t is owed to s and not to chance; likewise the other way. The evidence of a link is the largest of
the geometric mean of both, l^2 for words spelt alike (:func:`align.features.spelling.likenesses`) and the
square of a positive cosine. Two words that were counted together in the pair itself and nowhere else have no
evidence from tables: every pair would speak for itself.
"""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel
from align.features.block import Block
from align.features.lexical import associations
from align.features.spelling import likeness_of

# So often two words must have met elsewhere: counts are whole numbers, but for rounding.
_MET = 0.5


def evidence(block: Block, edges: np.ndarray) -> np.ndarray:
    """Return the evidence of some edges.

    Parameters
    ----------
    block : Block
        N pairs; those that were sampled are taken to be counted in the tables.
    edges : ndarray of int64, shape (L,)
        As numbers in the block.

    Returns
    -------
    ndarray of float64, shape (L,)
        In [0, 1].
    """
    pairs = np.searchsorted(block.offsets, edges, side="right") - 1
    n, m = block.shapes[pairs].T.astype(np.int64)
    j, k = np.divmod(edges - block.offsets[pairs], m)
    source, target = block.source.starts[pairs] + j, block.target.starts[pairs] + k
    dice, forward, reverse = block.of_edges(associations)[:, edges].astype(np.float64)
    counts = block.source.counts[source], block.target.counts[target]
    own = np.zeros(len(edges))
    stored = block.pairs.posteriors
    if stored is not None:
        sampled = stored.sampled[pairs]
        own[sampled] = _own(block, pairs[sampled], source[sampled], target[sampled])
    met = dice * (counts[0] + counts[1]) / 2 - own > _MET
    of_tables = np.sqrt(
        _against_chance(forward, m * counts[1] / block.resources.target_tokens)
        * _against_chance(reverse, n * counts[0] / block.resources.source_tokens)
    )
    cosines = np.zeros(len(edges), dtype=np.float32)
    if block.resources.dimensions:
        words = block.source.tokens[source], block.target.tokens[target]
        _cosines(*words, block.source.vectors, block.target.vectors, cosines)
    alike = likeness_of(block, edges, source, target).astype(np.float64)
    found: np.ndarray = np.maximum.reduce([met * of_tables, alike**2, np.maximum(cosines, 0.0) ** 2])
    return np.minimum(found, 1.0)


def _against_chance(probability: np.ndarray, chance: np.ndarray) -> np.ndarray:
    some = probability > 0
    return np.where(some, probability / np.where(some, probability + chance, 1.0), 0.0)


def _own(block: Block, pairs: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return how often the two words of each link meet in their own pair."""
    times = [
        _times(side.tokens, side.starts, pairs, side.tokens[tokens])
        for side, tokens in ((block.source, source), (block.target, target))
    ]
    return np.minimum(*times)


@kernel
def _times(tokens, starts, pairs, words):  # type: ignore[no-untyped-def]
    """Return how often each word stands in its sentence."""
    found = np.zeros(len(words))
    for link in range(len(words)):
        for token in range(starts[pairs[link]], starts[pairs[link] + 1]):
            if tokens[token] == words[link]:
                found[link] += 1.0
    return found


@kernel
def _cosines(sources, targets, source_vectors, target_vectors, found):  # type: ignore[no-untyped-def]
    for link in range(len(sources)):
        x, y = source_vectors[sources[link]], target_vectors[targets[link]]
        total = np.float32(0.0)
        for c in range(len(x)):
            total += x[c] * y[c]
        found[link] = total
