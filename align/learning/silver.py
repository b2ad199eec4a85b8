"""Silver labels: links good enough to train on where nobody has made any by hand.

Three methods, all of which give matchings (a labelling that is none cannot train a matching model) of the N
pairs of a block, where a pair may have no link:

``sampled``
    The maximum-weight matching among links with p(j, k) = sqrt(f(j, k) r(j, k)) above a threshold, f and r
    the sampled probabilities of both directions (:mod:`align.statistics.sampler`); doubtful ones cost
    nothing.
``cosine``
    The best target word of each source word by the cosine of their vectors; of several source words that
    choose the same target word the nearest keeps it.
``mutual``
    Links (j, k) that are each other's best and above a threshold, by

        x(j, k) = s(j, k) + b (s(j - 1, k - 1) + s(j + 1, k + 1)) - c |(j + 1/2) / n - (k + 1/2) / m|,
        s(j, k) = cosine(j, k) + a sqrt(p(k | j) p(j | k)),

    with the lexical probabilities of Model 1. Neighbours that fit as well speak for a link: of all the parts
    this is the one that helps most. Where a word has no vector the lexical part stands in for the cosine.

Mutual best with a prior of position finds fewer links than a maximum-weight matching, but more of them
are right (Jalili Sabet et al. 2020, "SimAlign", tables 2 and 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from align.core.kernels import kernel
from align.core.ragged import edge_offsets, read_only
from align.data.corpus import Corpus
from align.matching.assignment import solve
from align.problems.labels import Labels
from align.statistics.lexicon import Lexicon, edge_values
from align.statistics.posteriors import Posteriors

# Sampled links less probable than this are wrong, more probable ones below the threshold doubtful.
_DOUBTFUL = 0.15


def sampled(block: Corpus, posteriors: Posteriors, *, threshold: float = 0.6) -> Labels:
    """Label pairs by what was sampled of them.

    Parameters
    ----------
    posteriors : Posteriors
        Of these pairs; one that was not sampled gets no link.
    threshold : float
        Links need a higher probability, in [0, 1].
    """
    shapes = block.shapes()
    offsets = edge_offsets(shapes)
    forward, reverse = posteriors.dense(shapes)
    probable = np.sqrt(forward * reverse).astype(np.float64)
    sure = solve(np.where(probable > threshold, probable, -1.0), shapes, offsets)
    there = sure | (probable > _DOUBTFUL)
    labels = Labels.from_edges(there, shapes)
    return replace(labels, sure=sure[there])


def cosine(
    block: Corpus, source_vectors: np.ndarray, target_vectors: np.ndarray, *, threshold: float = 0.3
) -> Labels:
    """Label pairs by the nearest target word of each source word.

    Parameters
    ----------
    source_vectors, target_vectors : ndarray of float32, shapes (Vs, p) and (Vt, p)
        In one space, of unit length, or zero where a word has none.
    threshold : float
        Links need a higher cosine, in [-1, 1].
    """
    similarity = _similarity(block, (source_vectors, target_vectors), None, 0.0)
    return _labels(block, similarity, _link_nearest, threshold)


def mutual(
    block: Corpus,
    source_vectors: np.ndarray | None = None,
    target_vectors: np.ndarray | None = None,
    lexicon: Lexicon | None = None,
    *,
    lexical: float = 2.0,
    neighbours: float = 0.2,
    position: float = 0.5,
    threshold: float = 0.3,
) -> Labels:
    """Label pairs by words that are each other's best.

    Parameters
    ----------
    source_vectors, target_vectors
        As of :func:`cosine`; optional.
    lexicon : Lexicon, optional
        Lexical probabilities.
    lexical : float
        Weight a of the lexical probabilities against the cosine of the vectors, >= 0.
    neighbours : float
        Weight b of the neighbours on the diagonal, >= 0.
    position : float
        Weight c of the distance to the diagonal, >= 0.
    threshold : float
        Links need a higher x.
    """
    similarity = _similarity(block, (source_vectors, target_vectors), lexicon, lexical)
    return _labels(block, similarity, _link_mutual, threshold, neighbours, position)


def _labels(block: Corpus, similarity: np.ndarray, link: Callable[..., None], *settings: float) -> Labels:
    """Return the links that a kernel makes from the similarity of the words of each pair."""
    shapes, linked = block.shapes(), np.zeros(len(similarity), dtype=np.bool_)
    settings = tuple(map(float, settings))  # whole numbers would be compiled anew
    for (n, m), start in zip(shapes.tolist(), edge_offsets(shapes).tolist(), strict=False):
        if n and m:
            own = slice(start, start + n * m)
            link(similarity[own].reshape(n, m), linked[own].reshape(n, m), *settings)
    return Labels.from_edges(linked, shapes)


class Evidence(NamedTuple):
    """How well the rest of a bitext explains pairs: the best Dice of each source word."""

    total: float  # their sum, >= 0
    words: int  # source words

    @property
    def mean(self) -> float:
        """The mean, in [0, 1]; 0 without words."""
        return self.total / self.words if self.words else 0.0

    @classmethod
    def join(cls, parts: Sequence[Evidence]) -> Evidence:
        """Put that of several blocks together; the sum runs in their order."""
        return cls(sum((part.total for part in parts), 0.0), sum(part.words for part in parts))


def evidence(block: Corpus, lexicon: Lexicon, *, counted: bool) -> Evidence:
    """Return how well the rest of the bitext explains pairs.

    True pairs score clearly higher than the same sentences paired at random, unless the bitext is not one.
    A pair that was counted for the lexicon would speak for itself; its own share in the counts is
    taken off first.

    Parameters
    ----------
    lexicon : Lexicon
        Tables of the whole bitext.
    counted : bool
        Whether the pairs were counted for the tables, as they stand.
    """
    dice, _, _ = edge_values(lexicon, block)
    source, target = _sides(block, (lexicon.source_counts, lexicon.target_counts))
    return Evidence(*_sum_best(source, target, dice, edge_offsets(block.shapes()), counted))


class _Side(NamedTuple):
    """The words of one side of a block, and what is known of each word of the vocabulary."""

    ids: np.ndarray
    offsets: np.ndarray
    known: np.ndarray


def _sides(block: Corpus, known: Sequence[np.ndarray]) -> Iterator[_Side]:
    for side, own in zip((block.source, block.target), known, strict=True):
        yield _Side(read_only(side.ids), side.offsets, read_only(own))


def _similarity(
    block: Corpus, vectors: Sequence[np.ndarray | None], lexicon: Lexicon | None, lexical: float
) -> np.ndarray:
    """Return s of every edge, float64, shape (E,)."""
    offsets = edge_offsets(block.shapes())
    association = np.zeros(offsets[-1], dtype=np.float32)
    if lexicon is not None:
        _, forward, reverse = edge_values(lexicon, block)
        association = np.sqrt(forward * reverse)
    none = np.zeros((0, 1), dtype=np.float32)
    source, target = _sides(block, [none if own is None else own for own in vectors])
    similarity = np.empty(offsets[-1])
    _fill_similarity(source, target, association, float(lexical), offsets, similarity)
    return similarity


@kernel
def _fill_similarity(
    source: _Side,
    target: _Side,
    association: np.ndarray,
    lexical: float,
    offsets: np.ndarray,
    similarity: np.ndarray,
) -> None:
    for i in range(len(offsets) - 1):
        edge = offsets[i]
        for s in source.ids[source.offsets[i] : source.offsets[i + 1]]:
            known = s < len(source.known) and source.known[s].any()
            for t in target.ids[target.offsets[i] : target.offsets[i + 1]]:
                lexical_part = float(association[edge])
                near = lexical_part
                if known and t < len(target.known) and target.known[t].any():
                    near = 0.0
                    for x in range(source.known.shape[1]):
                        near += source.known[s, x] * target.known[t, x]
                similarity[edge] = near + lexical * lexical_part
                edge += 1


@kernel
def _link_nearest(x: np.ndarray, linked: np.ndarray, threshold: float) -> None:
    """Link each source word's best target word; the best of the source words that choose it gets it."""
    n, m = x.shape
    keeper = np.full(m, -1, dtype=np.int64)
    for j in range(n):
        k = int(np.argmax(x[j]))
        if x[j, k] > threshold and (keeper[k] < 0 or x[j, k] > x[keeper[k], k]):
            keeper[k] = j
    for k in range(m):
        if keeper[k] >= 0:
            linked[keeper[k], k] = True


@kernel
def _link_mutual(
    s: np.ndarray, linked: np.ndarray, threshold: float, neighbours: float, position: float
) -> None:
    """Link the words that are each other's best."""
    n, m = s.shape
    row_best, column_best = np.zeros(n, dtype=np.int64), np.zeros(m, dtype=np.int64)
    row_score, column_score = np.full(n, -np.inf), np.full(m, -np.inf)
    for j in range(n):
        for k in range(m):
            x = s[j, k] - position * abs((j + 0.5) / n - (k + 0.5) / m)
            if j > 0 and k > 0:
                x += neighbours * s[j - 1, k - 1]
            if j + 1 < n and k + 1 < m:
                x += neighbours * s[j + 1, k + 1]
            if x > row_score[j]:
                row_best[j], row_score[j] = k, x
            if x > column_score[k]:
                column_best[k], column_score[k] = j, x
    for j in range(n):
        k = row_best[j]
        if column_best[k] == j and row_score[j] > threshold:
            linked[j, k] = True


@kernel
def _sum_best(
    source: _Side, target: _Side, dice: np.ndarray, offsets: np.ndarray, counted: bool
) -> tuple[float, int]:
    """Return the sum over source words of their best Dice, and the number of words."""
    total, words = 0.0, 0
    for i in range(len(offsets) - 1):
        words_s = source.ids[source.offsets[i] : source.offsets[i + 1]]
        words_t = target.ids[target.offsets[i] : target.offsets[i + 1]]
        edge = offsets[i]
        for s in words_s:
            best = 0.0
            for t in words_t:
                if dice[edge] > 0:
                    both = source.known[s] + target.known[t]
                    joint = dice[edge] * both / 2
                    if counted:
                        own_source, own_target = _count(words_s, s), _count(words_t, t)
                        joint -= min(own_source, own_target)
                        both -= own_source + own_target
                    if joint > 0.5:
                        best = max(best, 2 * joint / both)
                edge += 1
            total += best
            words += 1
    return total, words


@kernel
def _count(words: np.ndarray, word: int) -> int:
    """Return how often a word occurs."""
    times = 0
    for each in words:
        if each == word:
            times += 1
    return times
