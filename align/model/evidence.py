r"""How far two words are known to be translations of each other, whatever stands around them.

Where nothing is known, links follow from places: any two sentences, of any languages, have some. With p(t|s)
what is known of the words and q(t) the share of the target text that is t, a sentence of m words without any
relation has t with probability m q(t) at most, so that

    p(t|s) / (p(t|s) + m q(t))

is how far t is owed to s and not to chance; likewise the other way. The evidence for two words is the largest
of the geometric mean of both, l^2 for words spelt alike (:func:`align.features.spelling.likenesses`) and c^8
for vectors with a positive cosine c: those of words that are seldom seen are often somewhat alike.

p(t|s) is that of the chain (:func:`align.features.chain.probabilities`), from the links that the sampler
expects, or Model 1's where it has not run. Every pair would speak for itself: where it was sampled its own
links are not counted, and two words that were counted together there and nowhere else have no evidence from
tables. Two numbers of different values have none at all: that they met often says that texts count.
"""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel
from align.features.block import Block
from align.features.chain import SPELLING
from align.features.cosine import cosines
from align.features.lexical import associations, expected_links
from align.features.posterior import sampled_posteriors
from align.features.spelling import likenesses, spellings
from align.statistics.sampler_priors import LEXICAL
from align.text.words import NUMBER

# So often two words must have met elsewhere: counts are whole numbers, but for rounding.
_MET = 0.5


def evidence(block: Block) -> np.ndarray:
    """Return the evidence for the two words of each edge, float32 in [0, 1], shape (E,).

    The pairs that were sampled are taken to be counted in the tables.
    """
    given, edges = block.resources, int(block.offsets[-1])
    stored, links = block.pairs.posteriors, given.links
    sampled = np.zeros(len(block.shapes), dtype=bool) if stored is None else stored.sampled
    own = (np.zeros(edges, dtype=np.float32),) * 2
    if links is None:
        found = block.of_edges(associations)[1:]
        totals = np.zeros(len(block.source.words), np.float32), np.zeros(len(block.target.words), np.float32)
    else:
        found = block.of_edges(expected_links)
        totals = block.source.of_words(links.forward_totals), block.target.of_words(links.reverse_totals)
        if sampled.any():
            posteriors = block.shared(sampled_posteriors)
            own = posteriors.forward, posteriors.reverse
    result = np.empty(edges, dtype=np.float32)
    words = (block.whole or block).shared(spellings)
    _write_evidence(
        (block.shapes, block.offsets, sampled), (block.source, block.target),
        tuple(side.kinds == NUMBER for side in words), totals,
        (given.source_tokens, given.target_tokens), block.of_edges(associations)[0], found, own,
        (block.of_edges(likenesses), block.of_edges(cosines)), links is not None, result,
    )  # fmt: skip
    return result


@kernel(error_model="numpy")
def _write_evidence(  # type: ignore[no-untyped-def]
    pairs, sides, numbers, totals, texts, dice, found, own, alike, linked, out
):
    """Write what :func:`evidence` says; ``linked`` tells numbers of links from probabilities."""
    shapes, offsets, sampled = pairs
    source, target = sides
    spelling, cosine = alike
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        first, second = source.starts[i], target.starts[i]
        # What links of each word there are elsewhere, and how many of it there are by chance.
        rows, columns = np.zeros(n), np.zeros(m)
        by_chance, back_by_chance = np.zeros(m), np.zeros(n)
        if sampled[i]:
            for j in range(n):
                for k in range(m):
                    rows[j] -= own[0][offsets[i] + j * m + k]
                    columns[k] -= own[1][offsets[i] + j * m + k]
        for j in range(n):
            rows[j] = max(rows[j] + totals[0][source.tokens[first + j]], 0.0) + LEXICAL * target.size
            back_by_chance[j] = n * source.counts[first + j] / texts[0]
        for k in range(m):
            columns[k] = max(columns[k] + totals[1][target.tokens[second + k]], 0.0) + LEXICAL * source.size
            by_chance[k] = m * target.counts[second + k] / texts[1]
        taken = 1.0 if sampled[i] else 0.0
        for j in range(n):
            s, start, stop = source.tokens[first + j], offsets[i] + j * m, offsets[i] + (j + 1) * m
            _write_alike(spelling[start:stop], cosine[start:stop], out[start:stop])
            for k in range(m):
                edge, t = start + k, target.tokens[second + k]
                if numbers[0][s] and numbers[1][t]:
                    out[edge] = np.float64(spelling[edge]) * np.float64(spelling[edge])
                    continue
                # Few words were ever seen together: the rest is done for these alone.
                if dice[edge] == 0.0:
                    continue
                met = dice[edge] * (source.counts[first + j] + target.counts[second + k]) / 2
                if sampled[i] and _MET < met <= min(n, m) + _MET:
                    met -= _own_times(source, first, n, s, target, second, m, t)
                if met > _MET:
                    ahead, back = np.float64(found[0, edge]), np.float64(found[1, edge])
                    if linked:
                        spelt = SPELLING * np.float64(spelling[edge])
                        more = LEXICAL + spelt
                        ahead = (max(ahead - taken * own[0][edge], 0.0) + more) / (rows[j] + spelt)
                        back = (max(back - taken * own[1][edge], 0.0) + more) / (columns[k] + spelt)
                    if ahead > 0 and back > 0:
                        ahead /= ahead + by_chance[k]
                        of_tables = np.sqrt(ahead * back / (back + back_by_chance[j]))
                        out[edge] = max(out[edge], np.float32(min(of_tables, 1.0)))


@kernel
def _write_alike(spelling, cosine, out):  # type: ignore[no-untyped-def]
    """Write the evidence that spelling and vectors give for a word and all it meets."""
    for k in range(len(out)):
        likeness = np.float64(spelling[k])
        square = np.float64(max(cosine[k], np.float32(0.0)) * max(cosine[k], np.float32(0.0)))
        out[k] = min(max(likeness * likeness, square * square * square * square), 1.0)


@kernel
def _own_times(source, first, n, s, target, second, m, t):  # type: ignore[no-untyped-def]
    """Return how often two words meet in their own pair."""
    sources = targets = 0
    for j in range(first, first + n):
        sources += 1 if source.tokens[j] == s else 0
    for k in range(second, second + m):
        targets += 1 if target.tokens[k] == t else 0
    return min(sources, targets)
