"""Two vector spaces into one: an orthogonal map of each side to a middle space, learnt from word pairs.

With the unit vectors of d word pairs as the rows of X and Y (d, p) and the decomposition
``U S V' = svd(Y' X)``, the maps ``x -> x V`` and ``y -> y U`` bring the pairs as close to each other as
rotations can: they maximise ``sum_i <V' x_i, U' y_i>`` [1]_ [2]_ (the orthogonal Procrustes problem).
Words are then compared by their cosine, or by CSLS, which lowers the score of hubs, words near to
everything [3]_. From a small dictionary a larger one can be induced: the words that are each other's
nearest [4]_.

References
----------
.. [1] Xing, Wang, Liu and Lin, "Normalized word embedding and orthogonal transform", NAACL 2015.
.. [2] Smith, Turban, Hamblin and Hammerla, "Offline bilingual word vectors", ICLR 2017.
.. [3] Conneau et al., "Word translation without parallel data", ICLR 2018, section 2.3.
.. [4] Artetxe, Labaka and Agirre, "Learning principled bilingual mappings", EMNLP 2016.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

# Rows of a similarity matrix held at once, and neighbours that measure how much of a hub a word is.
CHUNK = 256
NEIGHBOURS = 10

# Induced pairs, and the neighbours of candidates, are sought among so many of the most frequent words.
FREQUENT = 10_000

# Rows turned at once. The library of matrix products keeps a buffer that grows with them for good.
ROTATED = 2048

# Singular values below this share of the largest one come from no pair.
NEGLIGIBLE = 1e-6

# The least number that float32 holds with all its digits.
LEAST = np.finfo(np.float32).tiny


@dataclass(frozen=True)
class Map:
    """Rotations of both sides to the middle space, float32 (p, p), applied from the right to row vectors.

    They are orthogonal, but for columns of zeros past `rank`, the directions that the word pairs speak of.
    """

    source: np.ndarray
    target: np.ndarray
    rank: int
    pairs: int  # that it was learnt from


@dataclass(frozen=True)
class Check:
    """How far word pairs that the map was not learnt from lie from random ones."""

    pairs: int  # held-out pairs; with 0 all else is None
    cosine: float | None = None  # mean of the held-out pairs, in [-1, 1]
    random: float | None = None  # mean of 10,000 random pairs
    spread: float | None = None  # their standard deviation
    # Share, in [0, 1], of held-out source words whose nearest target word is one of their translations.
    precision: float | None = None
    precision_csls: float | None = None
    candidates: int = 0  # target words it was sought among

    @property
    def gap(self) -> float | None:
        """Mean cosine of held-out pairs less that of random pairs."""
        return None if self.cosine is None or self.random is None else self.cosine - self.random

    @property
    def chance(self) -> float | None:
        """A gap that as many random pairs exceed in one case of forty, by the normal distribution."""
        return None if self.spread is None else 2.0 * self.spread / math.sqrt(self.pairs)


def has_vector(matrix: np.ndarray) -> np.ndarray:
    """Return which rows have a direction, bool, shape (V,).

    Rows of zeros have none, nor have rows of numbers that float32 cannot hold in full (below 1.2e-38): the
    scale that makes their length one is beyond float32.
    """
    return np.asarray(((matrix >= LEAST) | (matrix <= -LEAST)).any(axis=1))


def unit_rows(matrix: np.ndarray) -> np.ndarray:
    """Return the rows scaled to length one, float32, shape (V, p); zeros where there is no vector."""
    squares = np.einsum("ip,ip->i", matrix, matrix, dtype=np.float64)
    scales = np.divide(1.0, np.sqrt(squares), out=np.zeros_like(squares), where=has_vector(matrix))
    return (matrix * scales[:, None].astype(np.float32)).astype(np.float32, copy=False)


def centre_rows(matrix: np.ndarray) -> np.ndarray:
    """Subtract the mean of the rows, but those of zeros, and scale to length one again.

    Parameters
    ----------
    matrix : ndarray of float32, shape (V, p)
        Unit rows; zeros stand for no vector, and stay.
    """
    found = has_vector(matrix)
    if found.sum() < 2:
        return matrix
    moved = matrix - matrix[found].mean(axis=0, dtype=np.float64).astype(np.float32)
    moved[~found] = 0.0
    return unit_rows(moved)


def fit(source: np.ndarray, target: np.ndarray, pairs: np.ndarray) -> Map:
    """Learn the map from word pairs.

    Parameters
    ----------
    source, target : ndarray of float32, shape (V, p)
        Unit rows.
    pairs : ndarray of int, shape (d, 2)
        Source word, target word; both with vectors.

    Returns
    -------
    Map
        With fewer pairs than p, or pairs that span less, the directions they do not speak of are left out
        (columns of zeros): any rotation of those would fit, and none could be trusted.
    """
    x, y = source[pairs[:, 0]].astype(np.float64), target[pairs[:, 1]].astype(np.float64)
    u, singular, vt = np.linalg.svd(y.T @ x)
    v = vt.T
    rank = int((singular > NEGLIGIBLE * max(singular[0], 1e-300)).sum()) if len(pairs) else 0
    # A pair of singular vectors is known up to a common sign: make the largest entry of v positive.
    largest = v[np.abs(v).argmax(axis=0), np.arange(len(v))]
    signs = np.where(largest < 0, -1.0, 1.0)
    signs[rank:] = 0.0
    return Map((v * signs).astype(np.float32), (u * signs).astype(np.float32), rank, len(pairs))


def refine(source: np.ndarray, target: np.ndarray, start: Map, *, rounds: int) -> Map:
    """Learn the map again from the words that are each other's nearest under it, `rounds` times.

    The words are in order of frequency, and the first `FREQUENT` with vectors are used.
    """
    chosen = [np.flatnonzero(has_vector(side))[:FREQUENT] for side in (source, target)]
    current = start
    for _ in range(rounds):
        best = mutual_nearest(
            rotate(source[chosen[0]], current.source), rotate(target[chosen[1]], current.target)
        )
        if len(best) <= start.pairs // 2:  # the map is too poor to find even what it was learnt from
            break
        current = fit(source, target, np.stack([chosen[0][best[:, 0]], chosen[1][best[:, 1]]], axis=1))
    return current


def apply(matrix: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """Return the rows in the middle space at length one, float32, shape (V, p)."""
    return unit_rows(rotate(matrix, rotation))


def rotate(matrix: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """Return ``matrix @ rotation``, float32, shape (V, p), made `ROTATED` rows at a time."""
    turned = np.empty((len(matrix), rotation.shape[1]), dtype=np.float32)
    for start in range(0, len(matrix), ROTATED):
        rows = slice(start, start + ROTATED)
        np.matmul(matrix[rows], rotation, out=turned[rows])
    return turned


def mean_similarity(source: np.ndarray, target: np.ndarray, pairs: np.ndarray) -> float | None:
    """Return the mean cosine of word pairs (unit rows); None where there are none."""
    if not len(pairs):
        return None
    return float(_cosines(source, target, pairs).mean())


def _cosines(source: np.ndarray, target: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the cosine of each pair of words (unit rows), float64."""
    cosines: np.ndarray = np.einsum("ip,ip->i", source[pairs[:, 0]], target[pairs[:, 1]], dtype=np.float64)
    return cosines


def neighbourhood(rows: np.ndarray, others: np.ndarray, *, nearest: int = NEIGHBOURS) -> np.ndarray:
    """Return the mean cosine of each row with its nearest other rows.

    Parameters
    ----------
    rows, others : ndarray of float32, shapes (a, p) and (b, p)
        Unit rows.
    nearest : int
        How many, >= 1; all b where there are fewer.

    Returns
    -------
    ndarray of float32, shape (a,)
    """
    nearest = min(nearest, len(others))
    means = np.zeros(len(rows), dtype=np.float32)
    if not nearest:
        return means
    for start in range(0, len(rows), CHUNK):
        cosines = rows[start : start + CHUNK] @ others.T
        top = np.partition(cosines, len(others) - nearest, axis=1)[:, len(others) - nearest :]
        means[start : start + CHUNK] = top.mean(axis=1)
    return means


def csls(
    source: np.ndarray, target: np.ndarray, source_means: np.ndarray, target_means: np.ndarray
) -> np.ndarray:
    """Return the scores ``2 cos(x, y) - r(x) - r(y)``, float32, shape (a, b) [3]_.

    Parameters
    ----------
    source, target : ndarray of float32, shapes (a, p) and (b, p)
        Unit rows.
    source_means, target_means : ndarray of float32, shapes (a,) and (b,)
        Their mean cosines with their nearest words of the other side (:func:`neighbourhood`).
    """
    return 2.0 * (source @ target.T) - source_means[:, None] - target_means[None, :]


def mutual_nearest(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the pairs of words that are each other's nearest by CSLS, int64, shape (d, 2).

    Works through the similarities `CHUNK` rows at a time; ties go to the lower number.
    """
    if not len(source) or not len(target):
        return np.zeros((0, 2), dtype=np.int64)
    source_means, target_means = neighbourhood(source, target), neighbourhood(target, source)
    forward = np.zeros(len(source), dtype=np.int64)
    backward = np.zeros(len(target), dtype=np.int64)
    best = np.full(len(target), -np.inf, dtype=np.float32)
    for start in range(0, len(source), CHUNK):
        rows = slice(start, start + CHUNK)
        scores = csls(source[rows], target, source_means[rows], target_means)
        forward[rows] = scores.argmax(axis=1)
        top = scores.max(axis=0)
        higher = top > best
        backward[higher] = scores.argmax(axis=0)[higher] + start
        best[higher] = top[higher]
    words = np.flatnonzero(backward[forward] == np.arange(len(source)))
    return np.stack([words, forward[words]], axis=1)


def check(
    source: np.ndarray,
    target: np.ndarray,
    pairs: np.ndarray,
    *,
    candidates: int,
    rng: np.random.Generator,
) -> Check:
    """Compare held-out word pairs with random ones, in the middle space.

    Parameters
    ----------
    source, target : ndarray of float32, shape (V, p)
        Unit rows, in order of frequency.
    pairs : ndarray of int, shape (d, 2)
        Held-out source and target words, all with vectors.
    candidates : int
        Translations are sought among so many of the most frequent target words with vectors.
    rng : numpy.random.Generator
        Draws the random pairs.
    """
    if not len(pairs):
        return Check(0)
    words = np.flatnonzero(has_vector(target))[:candidates]
    means = neighbourhood(target[words], source[has_vector(source)][:FREQUENT])
    return Check(
        len(pairs),
        mean_similarity(source, target, pairs),
        *_of_random(source, target, rng),
        _precision(source, target, pairs, words, np.zeros_like(means)),
        _precision(source, target, pairs, words, means),
        len(words),
    )


def _of_random(source: np.ndarray, target: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """Return mean and standard deviation of the cosine of 10,000 random pairs of words with vectors."""
    words = [np.flatnonzero(has_vector(side)) for side in (source, target)]
    drawn = [rng.choice(each, 10_000) for each in words]
    cosines = _cosines(source, target, np.stack(drawn, axis=1))
    return float(cosines.mean()), float(cosines.std())


def _precision(
    source: np.ndarray, target: np.ndarray, pairs: np.ndarray, words: np.ndarray, means: np.ndarray
) -> float:
    """Return the share of source words whose best of the target `words` by CSLS makes one of the pairs."""
    queries = np.unique(pairs[:, 0])
    # The mean of a source word moves all its scores alike: it does not change which is the highest.
    none = np.zeros(CHUNK, dtype=np.float32)
    right = {(int(a), int(b)) for a, b in pairs}
    hits = 0
    for start in range(0, len(queries), CHUNK):
        chunk = queries[start : start + CHUNK]
        best = words[csls(source[chunk], target[words], none[: len(chunk)], means).argmax(axis=1)]
        hits += sum((int(a), int(b)) in right for a, b in zip(chunk, best, strict=True))
    return hits / len(queries)
