"""How far two annotators agree: Cohen's kappa over the cells, AER both ways, F1 of their links.

A cell is a source word and a target word of the same pair. Each annotator puts it into one category: no
link, possible, sure. With p_o the share of the cells in which both say the same, and p_e the share that
would come out if each had kept to how often they use the categories but had drawn the cells at random,

    kappa = (p_o - p_e) / (1 - p_e)                                           ([1]_, equation 1),

1 where they agree everywhere, 0 where no more than by chance, negative below. Most cells have no link
in either, so p_o alone says little, and kappa of links lies close to their F1: the more cells without a link,
the closer ([2]_).

Everything comes from one table of nine counts a sentence pair, so that pairs can be resampled.

References
----------
.. [1] J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement
   20(1), 1960.
.. [2] G. Hripcsak and A. S. Rothschild, "Agreement, the F-measure, and reliability in information retrieval",
   Journal of the American Medical Informatics Association 12(3), 2005.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from align.evaluation.metrics import FIGURES as METRICS
from align.evaluation.metrics import figures, interval, resampled
from align.links import Link

# What a cell is to an annotator, in the order of the rows and columns of a table.
CATEGORIES = ("none", "possible", "sure")

Interval = tuple[float, float] | None


@dataclass(frozen=True)
class Agreement:
    """Figures of agreement between annotators a and b; None where undefined (0/0)."""

    pairs: int
    cells: int
    kappa: float | None  # link (sure or possible) or none; in [-1, 1]
    kappa_kinds: float | None  # none, possible or sure; in [-1, 1]
    aer_ab: float | None  # the error rate of b's links where a's are the gold; in [0, 1]
    aer_ba: float | None  # the other way round
    f1: float | None  # of all links, the same in both directions; in [0, 1]
    f1_sure: float | None  # of the sure links of both
    intervals: dict[str, Interval]  # of each figure, 95 % by bootstrap over pairs; empty if not asked for


FIGURES = ("kappa", "kappa_kinds", "aer_ab", "aer_ba", "f1", "f1_sure")


def tables(
    first: Sequence[Sequence[Link]], second: Sequence[Sequence[Link]], cells: Sequence[int]
) -> np.ndarray:
    """Count the cells of each pair by what both annotators say.

    Parameters
    ----------
    first, second : sequence of sequence of Link
        The links of N pairs, by annotator; a link listed twice counts once, and is sure if it is so once.
    cells : sequence of int
        Source words times target words of each pair, no fewer than its links cover.

    Returns
    -------
    ndarray of int64, shape (N, 3, 3)
        Row: the first annotator's category, of `CATEGORIES`; column: the second's.

    Raises
    ------
    ValueError
        If the numbers of pairs differ.
    """
    if not len(first) == len(second) == len(cells):
        raise ValueError(
            f"{len(first)} and {len(second)} pairs of annotators, of {len(cells)} that have cells"
        )
    counts = np.zeros((len(cells), 3, 3), dtype=np.int64)
    for table, one, other, size in zip(counts, first, second, cells, strict=True):
        ours, theirs = _categories(one), _categories(other)
        for cell in ours.keys() | theirs.keys():
            table[ours.get(cell, 0), theirs.get(cell, 0)] += 1
        table[0, 0] = size - table.sum()
    return counts


def kappa(table: np.ndarray) -> np.ndarray:
    """Return Cohen's kappa.

    Parameters
    ----------
    table : ndarray of int64 or float64, shape (..., k, k)
        How often the first annotator says the row's category where the second says the column's.

    Returns
    -------
    ndarray of float64, shape (...)
        At most 1; NaN where both use one category only, the same: then chance agrees everywhere too.
    """
    table = np.asarray(table, dtype=np.float64)
    total = table.sum(axis=(-2, -1))
    # both shares times the square of the total: counts below 2**26 stay exact
    observed = np.trace(table, axis1=-2, axis2=-1) * total
    expected = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1)
    room = total**2 - expected
    return np.divide(observed - expected, room, out=np.full(room.shape, np.nan), where=room != 0)


def agreement(tables: np.ndarray, *, samples: int = 0, seed: int = 1) -> Agreement:
    """Return the figures of agreement of pairs.

    Parameters
    ----------
    tables : ndarray of int64, shape (N, 3, 3)
        See :func:`tables`; a row may also be the sum over several pairs.
    samples : int
        Resampled corpora for the intervals; 0: no intervals.
    seed : int
        >= 0; the same seed gives the same intervals.
    """
    flat = np.asarray(tables, dtype=np.int64).reshape(-1, 9)
    found = _figures(flat.sum(axis=0, keepdims=True))[0]
    values = {
        name: None if np.isnan(value) else float(value) for name, value in zip(FIGURES, found, strict=True)
    }
    intervals: dict[str, Interval] = {}
    if samples:
        drawn = _figures(resampled(flat, samples, seed))
        intervals = {name: interval(column) for name, column in zip(FIGURES, drawn.T, strict=True)}
    return Agreement(pairs=len(flat), cells=int(flat.sum()), **values, intervals=intervals)


def _figures(flat: np.ndarray) -> np.ndarray:
    """Return `FIGURES` of rows of nine counts, float64, shape (B, 6); NaN where undefined."""
    table = flat.reshape(-1, 3, 3)
    ours, theirs = table[:, 1:].sum(axis=(1, 2)), table[:, :, 1:].sum(axis=(1, 2))
    both = table[:, 1:, 1:].sum(axis=(1, 2))
    sure_ours, sure_theirs, sure_both = table[:, 2].sum(axis=1), table[:, :, 2].sum(axis=1), table[:, 2, 2]
    linked = np.stack([table[:, 0, 0], theirs - both, ours - both, both], axis=1).reshape(-1, 2, 2)
    # the columns of align.evaluation.metrics: |A|, |S|, |A & S|, |A & P|, |P|
    by_ours = np.stack([theirs, sure_ours, table[:, 2, 1:].sum(axis=1), both, ours], axis=1)
    by_theirs = np.stack([ours, sure_theirs, table[:, 1:, 2].sum(axis=1), both, theirs], axis=1)
    all_sure = np.stack([theirs, ours, both, both, ours], axis=1)
    only_sure = np.stack([sure_theirs, sure_ours, sure_both, sure_both, sure_ours], axis=1)
    aer, f1 = METRICS.index("aer"), METRICS.index("f1")
    rates = [figures(by_ours)[:, aer], figures(by_theirs)[:, aer]]
    shares = [figures(all_sure)[:, f1], figures(only_sure)[:, f1]]
    return np.stack([kappa(linked), kappa(table), *rates, *shares], axis=1)


def _categories(links: Sequence[Link]) -> dict[tuple[int, int], int]:
    """Return the categories of the cells that have a link."""
    found: dict[tuple[int, int], int] = {}
    for link in links:
        cell = (link.source, link.target)
        found[cell] = max(found.get(cell, 0), 2 if link.sure else 1)
    return found
