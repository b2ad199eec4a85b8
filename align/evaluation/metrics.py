"""Alignment error rate, precision, recall and F1, with bootstrap intervals and a signature.

For links A against sure links S and possible links P, S a subset of P, sums taken over the corpus ([1]_,
section 6.1):

    precision = |A & P| / |A|,   recall = |A & S| / |S|,   AER = 1 - (|A & S| + |A & P|) / (|A| + |S|).

F1 is the harmonic mean of precision and recall. Everything comes from one row of five counts a sentence
pair, so that figures of a part, of each pair, and of resampled corpora cost a sum of rows.

References
----------
.. [1] F. J. Och and H. Ney, "A systematic comparison of various statistical alignment models",
   Computational Linguistics 29(1), 2003.
.. [2] P. Koehn, "Statistical significance tests for machine translation evaluation", EMNLP 2004.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from align.core.version import __version__
from align.links import Link, format_pharaoh

# The columns of the statistics: |A|, |S|, |A & S|, |A & P|, |P|.
COLUMNS = ("links", "sure", "sure_matched", "possible_matched", "possible")

# The figures, in the order of the columns of `figures`.
FIGURES = ("aer", "precision", "recall", "f1")

# The coverage of intervals.
_LEVEL = 0.95

# Resampled corpora are drawn in blocks of about so many numbers.
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Score:
    """Corpus figures: counts, and what follows from them, in [0, 1]; None where undefined (0/0)."""

    pairs: int
    links: int  # |A|
    sure: int  # |S|
    possible: int  # |P|, the sure links among them
    sure_matched: int  # |A & S|
    possible_matched: int  # |A & P|
    aer: float | None
    precision: float | None
    recall: float | None
    f1: float | None

    def line(self) -> str:
        """Return ``AER 0.0560 P 0.9705 R 0.9126 F1 0.9407 pairs 347 links 2905 ...`` on one line."""
        counts = f"pairs {self.pairs} links {self.links} sure {self.sure} possible {self.possible}"
        return f"{figures_text(self)} {counts}"

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Macro:
    """Means of the figures of each pair.

    Corpus figures weigh links, these weigh pairs: one missed link in a pair of one link counts as much
    here as thirty in a pair of thirty.
    """

    aer: float | None  # in [0, 1]; None where no pair has the figure
    precision: float | None
    recall: float | None
    f1: float | None
    aer_pairs: int  # those in which the figure is defined
    precision_pairs: int
    recall_pairs: int
    f1_pairs: int


@dataclass(frozen=True)
class Intervals:
    """Percentile intervals of the corpus figures; None where one is undefined in every sample."""

    level: float  # the coverage, in (0, 1)
    samples: int  # resampled corpora
    seed: int  # they were drawn with
    aer: tuple[float, float] | None
    precision: tuple[float, float] | None
    recall: tuple[float, float] | None
    f1: tuple[float, float] | None


@dataclass(frozen=True)
class Difference:
    """A paired comparison of two hypotheses in one of `FIGURES`; None where either is undefined.

    Attributes
    ----------
    difference : float or None
        First minus second, on the corpus.
    interval : (float, float) or None
        Percentile interval of the difference over resampled corpora.
    p_value : float or None
        Two-sided: in (0, 1]; twice the part of the samples in which the difference has the other sign or
        is zero (one is added to both counts, so that it is never 0), at most 1.
    """

    figure: str
    difference: float | None
    interval: tuple[float, float] | None
    p_value: float | None


def statistics(hypothesis: Sequence[Sequence[Link]], gold: Sequence[Sequence[Link]]) -> np.ndarray:
    """Count links pair by pair.

    Parameters
    ----------
    hypothesis : sequence of sequence of Link
        N pairs. Every link counts, marked possible or not; one listed twice counts once.
    gold : sequence of sequence of Link
        The same N pairs.

    Returns
    -------
    ndarray of int64, shape (N, 5)
        `COLUMNS` of each pair.

    Raises
    ------
    ValueError
        If the numbers of pairs differ.
    """
    if len(hypothesis) != len(gold):
        raise ValueError(f"{len(hypothesis)} pairs in the hypothesis but {len(gold)} in the gold")
    counts = np.zeros((len(gold), len(COLUMNS)), dtype=np.int64)
    for row, (guessed, known) in enumerate(zip(hypothesis, gold, strict=True)):
        links = {(link.source, link.target) for link in guessed}
        possible = {(link.source, link.target) for link in known}
        sure = {(link.source, link.target) for link in known if link.sure}
        counts[row] = len(links), len(sure), len(links & sure), len(links & possible), len(possible)
    return counts


def figures(sums: np.ndarray, *, empty_precision: float | None = None) -> np.ndarray:
    """Return the figures of rows of counts; the one place where the formulas stand.

    Parameters
    ----------
    sums : ndarray of int64 or float64, shape (B, 5)
        Rows of counts: sentence pairs, or sums over corpora.
    empty_precision : float, optional
        The precision of no links at all, in [0, 1]; None: undefined.

    Returns
    -------
    ndarray of float64, shape (B, 4)
        `FIGURES`; NaN where undefined.
    """
    links, sure, sure_matched, possible_matched, _ = np.asarray(sums, dtype=np.float64).T
    aer = 1.0 - _ratio(sure_matched + possible_matched, links + sure)
    precision = _ratio(possible_matched, links)
    if empty_precision is not None:
        precision = np.where(links == 0, empty_precision, precision)
    recall = _ratio(sure_matched, sure)
    # Nothing right at all is an F1 of 0, though the harmonic mean of 0 and 0 is not defined.
    both = precision + recall
    f1 = np.where(both == 0, 0.0, _ratio(2 * precision * recall, both))
    return np.stack([aer, precision, recall, f1], axis=1)


def score(statistics: np.ndarray, *, empty_precision: float | None = None) -> Score:
    """Return the corpus (micro) figures of per-pair counts, shape (N, 5); see :func:`figures`."""
    sums = statistics.sum(axis=0, dtype=np.int64)
    values = figures(sums[None], empty_precision=empty_precision)[0]
    counts = {name: int(count) for name, count in zip(COLUMNS, sums, strict=True)}
    return Score(pairs=len(statistics), **counts, **_by_name(values))


def macro(statistics: np.ndarray, *, empty_precision: float | None = None) -> Macro:
    """Return the means over pairs; see :func:`figures` for ``empty_precision``."""
    values = figures(statistics, empty_precision=empty_precision)
    known = ~np.isnan(values)
    means = _ratio(np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0))
    counts = {f"{name}_pairs": int(count) for name, count in zip(FIGURES, known.sum(axis=0), strict=True)}
    return Macro(**_by_name(means), **counts)


def bootstrap(
    statistics: np.ndarray, *, samples: int = 1000, seed: int = 1, empty_precision: float | None = None
) -> Intervals:
    """Return percentile intervals of the corpus figures under resampling of pairs ([2]_).

    Parameters
    ----------
    statistics : ndarray of int64, shape (N, 5)
        Counts of each pair.
    samples : int
        Resampled corpora, >= 1.
    seed : int
        >= 0; the same seed gives the same intervals.
    empty_precision : float, optional
        See :func:`figures`.
    """
    values = figures(resampled(statistics, samples, seed), empty_precision=empty_precision)
    ends = {name: interval(column) for name, column in zip(FIGURES, values.T, strict=True)}
    return Intervals(level=_LEVEL, samples=samples, seed=seed, **ends)


def paired_bootstrap(
    first: np.ndarray, second: np.ndarray, *, figure: str = "aer", samples: int = 1000, seed: int = 1
) -> Difference:
    """Compare two hypotheses on the same pairs, resampled together ([2]_).

    Parameters
    ----------
    first, second : ndarray of int64, shape (N, 5)
        Counts of each pair of both hypotheses against the same gold.
    figure : str
        One of `FIGURES`.
    samples, seed
        As in :func:`bootstrap`.

    Raises
    ------
    ValueError
        If the numbers of pairs differ, or there is no such figure.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} pairs against {len(second)}: not the same corpus")
    column = FIGURES.index(figure)
    observed = figures(np.stack([first.sum(axis=0), second.sum(axis=0)]))[:, column]
    # Drawn side by side, so that both have the same pairs in each sample.
    sums = resampled(np.hstack([first, second]), samples, seed)
    drawn = [figures(half)[:, column] for half in np.hsplit(sums, 2)]
    differences = drawn[0] - drawn[1]
    known = differences[~np.isnan(differences)]
    difference = float(observed[0] - observed[1])
    if np.isnan(difference) or not len(known):
        return Difference(figure, None, None, None)
    against = int((known * np.sign(difference) <= 0).sum()) if difference else len(known)
    p_value = min(1.0, 2.0 * (against + 1) / (len(known) + 1))
    return Difference(figure, difference, interval(differences), p_value)


def resampled(statistics: np.ndarray, samples: int, seed: int) -> np.ndarray:
    """Return the summed counts of resampled corpora, as the bootstrap draws them.

    Pairs with the same counts are drawn together: how often each kind comes among N draws is multinomial.

    Parameters
    ----------
    statistics : ndarray of int64, shape (N, columns)
        Counts of each pair.
    samples : int
        Resampled corpora, >= 1.
    seed : int
        >= 0.

    Returns
    -------
    ndarray of float64, shape (samples, columns)
    """
    pairs = len(statistics)
    if pairs == 0:
        return np.zeros((samples, statistics.shape[1]))
    kinds, counts = np.unique(statistics, axis=0, return_counts=True)
    generator = np.random.default_rng(seed)
    block = max(1, _BLOCK // len(kinds))
    sums = [
        # Whole numbers far below 2**53: the products and sums are exact.
        generator.multinomial(pairs, counts / pairs, size=min(block, samples - start)) @ kinds.astype(float)
        for start in range(0, samples, block)
    ]
    return np.concatenate(sums)


def interval(values: np.ndarray) -> tuple[float, float] | None:
    """Return the percentile interval (95 %) of the values that are not NaN, None if there are none."""
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    low, high = np.quantile(known, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return float(low), float(high)


def checksum(gold: Sequence[Sequence[Link]]) -> str:
    """Return 12 hexadecimal digits of the SHA-256 of gold links: the same whatever format they came in."""
    text = "".join(f"{format_pharaoh(sorted(links), scores=False)}\n" for links in gold)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def signature(score: Score, gold: Sequence[Sequence[Link]], **settings: object) -> dict[str, Any]:
    """Return what a figure has to be quoted with: the gold, the counts, the settings, the version."""
    return {
        "gold": checksum(gold),
        "pairs": score.pairs,
        "links": score.links,
        "sure": score.sure,
        "possible": score.possible,
        **settings,
        "version": __version__,
    }


def signature_text(signature: Mapping[str, Any]) -> str:
    """Return a signature as ``name:value|name:value``."""
    return "|".join(f"{name}:{value}" for name, value in signature.items())


def figures_text(figures: Any) -> str:
    """Return ``AER 0.0560 P 0.9705 R 0.9126 F1 0.9407``; each ``n/a`` where undefined.

    ``figures`` is a record with the fields `FIGURES`, each a number, None, or a pair of numbers (then both
    are written, with a dash between).
    """
    names = ("AER", "P", "R", "F1")
    return " ".join(
        f"{name} {_number(getattr(figures, field))}" for name, field in zip(names, FIGURES, strict=True)
    )


def _number(value: float | tuple[float, float] | None) -> str:
    if value is None:
        return "n/a"
    if isinstance(value, tuple):
        return "-".join(f"{end:.4f}" for end in value)
    return f"{value:.4f}"


def _ratio(over: np.ndarray, under: np.ndarray) -> np.ndarray:
    """Divide; NaN where ``under`` is 0."""
    return np.divide(over, under, out=np.full(over.shape, np.nan), where=under != 0)


def _by_name(values: np.ndarray) -> dict[str, Any]:
    """Return a row of figures by name, None for NaN."""
    return {
        name: None if np.isnan(value) else float(value) for name, value in zip(FIGURES, values, strict=True)
    }
