r"""IBM Model 1 in both directions at once, over the cells of a co-occurrence table.

Every target word of a pair comes from one source word or from NULL, each as likely as the other
(Brown et al. 1993, equation (6) ff. [1]_):

    p(target | source) = prod_k  1 / (n + 1)  sum_{j = 0..n} p(t_k | s_j),      s_0 = NULL,

and the same with the sides exchanged. One round of EM takes the expected counts

    c(t | s) = sum_i b_i(t) a_i(s) p(t | s) / den_i(t),     den_i(t) = p(t | NULL) + sum_s a_i(s) p(t | s)

and makes them probabilities again: c(t | s) / c(s) with smoothing 0, or by variational Bayes under a
symmetric Dirichlet prior of that size (Riley and Gildea 2012 [2]_)

    p(t | s) ~ exp(psi(c(t | s) + smoothing)) / exp(psi(c(s) + smoothing K_s)),

K_s cells in the row, which keeps rare words from taking the blame for everything. The last round is never
smoothed, so that the rows of the result sum to one.

The rounds walk over the source words, with the row of each spread out over an array of the target
vocabulary, so that memory is read in order and nothing is looked up. den needs a walk of its own. In the
other direction den sums over the target words of one sentence and is at hand at once, so that the
same second walk serves both. The first walk is done for runs of sentences, the second for runs of source
words, none of which needs another's result: :func:`train` shares them out to threads, :func:`learn` to
whatever :class:`Walks` stands for. Every cell is summed in one fixed order: any number of threads or runs
gives the same bytes.

References
----------
.. [1] P. F. Brown, S. A. Della Pietra, V. J. Della Pietra, R. L. Mercer, "The mathematics of statistical
   machine translation: parameter estimation", Computational Linguistics 19(2), 1993.
.. [2] D. Riley and D. Gildea, "Improving the IBM alignment models using variational Bayes", ACL 2012.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from align.core.ragged import read_only
from align.statistics import lexicon_kernels
from align.statistics.cooccurrence import Cooccurrence, cut, share
from align.statistics.model1_runs import (
    Cells,
    Counts,
    Round,
    add_denominators,
    begin_denominators,
    expect_run,
)


class Walks(Protocol):
    """Does the walks of the rounds over all runs; what they give comes back in the order of the runs."""

    def divide(self, null: np.ndarray, count: Callable[[np.ndarray, np.ndarray, np.ndarray], None]) -> None:
        """Find den of every entry and call ``count(words, repeats, den)`` for piece after piece of the bags.

        ``null`` is p(t | NULL), float32. ``count`` makes b / den of den in place, for :meth:`expect`.
        """
        ...

    def expect(
        self, scale: np.ndarray, null_reverse: np.ndarray, smoothing: tuple[float, float]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Put the next tables in the place of the old; return NULL's counts and the log-likelihoods, (Vs,).

        The arguments are those of :class:`Round`.
        """
        ...

    def columns(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the target words and the reverse counts of the cells, piece after piece."""
        ...

    def known_columns(self) -> Iterator[tuple[np.ndarray, np.ndarray]] | None:
        """Yield the target words and the reverse counts known beforehand; None: nothing is known."""
        ...


@dataclass(frozen=True)
class Words:
    """What :func:`learn` finds of single words.

    Attributes
    ----------
    scale : ndarray of float64, shape (Vt,)
        Factors that make the reverse counts of the last round probabilities.
    null_forward, null_reverse : ndarray of float32, shapes (Vt,) and (Vs,)
        p(t | NULL) and p(s | NULL).
    """

    scale: np.ndarray
    null_forward: np.ndarray
    null_reverse: np.ndarray


@dataclass(frozen=True)
class Tables:
    """What Model 1 has learnt.

    Attributes
    ----------
    forward, reverse : ndarray of float32, shape (cells,)
        p(t | s) and p(s | t).
    null_forward : ndarray of float32, shape (Vt,)
        p(t | NULL).
    null_reverse : ndarray of float32, shape (Vs,)
        p(s | NULL).
    """

    forward: np.ndarray
    reverse: np.ndarray
    null_forward: np.ndarray
    null_reverse: np.ndarray


def train(
    together: Cooccurrence,
    rows: np.ndarray,
    targets: np.ndarray,
    *,
    iterations: int,
    smoothing: float,
    known: Counts | None = None,
    on_iteration: Callable[[int, float, float], None] | None = None,
) -> Tables:
    """Run EM from a uniform start, or from what is known.

    Parameters
    ----------
    together : Cooccurrence
        The index of the bitext.
    rows : ndarray of int64, shape (Vs + 1,)
        The cells of source word s are ``rows[s]`` to ``rows[s + 1]``.
    targets : ndarray of int32, shape (cells,)
        Target words of the cells; every pair of words that occurs together has one.
    iterations : int
        Rounds, >= 1.
    smoothing : float
        Size of the Dirichlet prior in counts a cell, >= 0; 0 is maximum likelihood.
    known : Counts, optional
        Counts of another corpus.
    on_iteration : function, optional
        Called with the number of the round (from 1) and the log-likelihoods, in nats, of the target side
        given the source and of the source side given the target, under the tables the round began with.

    Returns
    -------
    Tables
    """
    n_source, n_target = len(rows) - 1, len(together.target_counts)
    cells = Cells.begin(rows, targets, n_source, n_target, known)
    words = learn(
        _Threads(together, cells),
        n_source,
        n_target,
        choices=log_choices(together),
        iterations=iterations,
        smoothing=smoothing,
        on_iteration=on_iteration,
    )
    lexicon_kernels.scale_columns(targets, cells.reverse, words.scale)
    return Tables(cells.forward, cells.reverse, words.null_forward, words.null_reverse)


def learn(
    walks: Walks,
    n_source: int,
    n_target: int,
    *,
    choices: tuple[float, float],
    iterations: int,
    smoothing: float,
    on_iteration: Callable[[int, float, float], None] | None = None,
) -> Words:
    """Run EM over cells that lie where ``walks`` has them: all of :func:`train` but the walks.

    Parameters
    ----------
    walks : Walks
        At its first tables (:meth:`Cells.begin`); at the last ones afterwards.
    n_source, n_target : int
        Sizes of the vocabularies.
    choices : tuple of float
        See :func:`log_choices`.
    iterations, smoothing, on_iteration
        As for :func:`train`.

    Returns
    -------
    Words
    """
    smoothing = float(smoothing)  # a whole number would be compiled anew
    scale, sizes = _first_scale(walks, n_target)
    null_forward = np.full(n_target, 1 / max(n_target, 1))
    null_reverse = np.full(n_source, 1 / max(n_source, 1))
    before = 0.0
    for iteration in range(1, iterations + 1):
        now = smoothing if iteration < iterations else 0.0
        null = _Null(null_forward)
        walks.divide(null_forward.astype(np.float32), null.count)
        null_counts, likelihood = walks.expect(scale, null_reverse, (before, now))
        if on_iteration is not None:
            on_iteration(iteration, null.likelihood - choices[0], float(likelihood.sum()) - choices[1])
        scale = np.zeros(n_target)
        for targets, counts in walks.columns():
            lexicon_kernels.sum_columns(read_only(targets), read_only(counts), scale)
        lexicon_kernels.invert_totals(scale, sizes, now)
        null_forward, null_reverse = _shares(null.counts), _shares(null_counts)
        before = now
    return Words(scale, null_forward.astype(np.float32), null_reverse.astype(np.float32))


def _first_scale(walks: Walks, n_target: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the factors of the first tables' columns, and how many cells each has."""
    sizes, totals = np.zeros(n_target), np.zeros(n_target)
    for targets, _ in walks.columns():
        lexicon_kernels.count_columns(read_only(targets), sizes)
    known = walks.known_columns()
    if known is None:
        return np.ones(n_target), sizes
    for targets, counts in known:
        lexicon_kernels.sum_columns(read_only(targets), read_only(counts), totals)
    return 1 / (totals + 1), sizes


class _Null:
    """What NULL gets of the target words in a round, piece after piece, and their log-likelihood."""

    def __init__(self, null: np.ndarray) -> None:
        self._null = null
        self.counts = np.zeros(len(null))
        self.likelihood = 0.0

    def count(self, words: np.ndarray, repeats: np.ndarray, den: np.ndarray) -> None:
        self.likelihood = lexicon_kernels.count_null(
            read_only(words), read_only(repeats), den, self._null, self.counts, self.likelihood
        )


def _shares(counts: np.ndarray) -> np.ndarray:
    return counts / max(counts.sum(), np.finfo(np.float64).tiny)


class _Threads:
    """The walks on threads of this process, over arrays in memory."""

    def __init__(self, together: Cooccurrence, cells: Cells) -> None:
        self._together, self._cells = together, cells
        self._ratio = np.empty(len(together.target.words), dtype=np.float32)

    def divide(self, null: np.ndarray, count: Callable[[np.ndarray, np.ndarray, np.ndarray], None]) -> None:
        together, cells = self._together, self._cells
        target = together.target

        def divide(first: int, last: int) -> None:
            den = self._ratio[target.offsets[first] : target.offsets[last]]
            begin_denominators(target.part(first, last), null, den)
            row = np.zeros(len(null), dtype=np.float32)
            add_denominators(together.source, target.part(first, last), first, cells, den, row)

        share(divide, cut(target.offsets, together.jobs), together.jobs)
        count(target.words, target.repeats, self._ratio)

    def expect(
        self, scale: np.ndarray, null_reverse: np.ndarray, smoothing: tuple[float, float]
    ) -> tuple[np.ndarray, np.ndarray]:
        together, now = self._together, Round(self._ratio, scale, null_reverse, smoothing)
        null_counts, likelihood = np.zeros(len(null_reverse)), np.zeros(len(null_reverse))

        def expect(first: int, last: int) -> None:
            run = slice(first, last)
            null_counts[run], likelihood[run] = expect_run(
                together.source.part(first, last), together.target, self._cells.part(first, last), now, first
            )

        together.share(expect)
        return null_counts, likelihood

    def columns(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        yield self._cells.targets, self._cells.reverse

    def known_columns(self) -> Iterator[tuple[np.ndarray, np.ndarray]] | None:
        known = self._cells.known
        return None if known is None else iter([(self._cells.targets, known.reverse)])


def log_choices(together: Cooccurrence) -> tuple[float, float]:
    """Return sum_i m_i log(n_i + 1) and sum_i n_i log(m_i + 1)."""
    source, target = together.source, together.target
    n, m = np.zeros((2, len(target.offsets) - 1))
    # np.bincount would first make 16 bytes a word of what takes 8.
    lexicon_kernels.sum_columns(read_only(source.sentences), read_only(source.repeats), n)
    lexicon_kernels.sum_runs(target.repeats, target.offsets, m)
    return float(m @ np.log1p(n)), float(n @ np.log1p(m))
