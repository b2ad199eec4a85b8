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
same second walk serves both. Every cell is summed in one fixed order: any number of threads gives the same
bytes.

References
----------
.. [1] P. F. Brown, S. A. Della Pietra, V. J. Della Pietra, R. L. Mercer, "The mathematics of statistical
   machine translation: parameter estimation", Computational Linguistics 19(2), 1993.
.. [2] D. Riley and D. Gildea, "Improving the IBM alignment models using variational Bayes", ACL 2012.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from align import lexicon_kernels
from align.cooccurrence import Cooccurrence, cut, share


@dataclass(frozen=True)
class Counts:
    """Counts known beforehand, added to the expected ones in every round.

    Attributes
    ----------
    forward, reverse : ndarray of float32, shape (cells,)
        Of target words given source words, and of source words given target words; >= 0.
    """

    forward: np.ndarray
    reverse: np.ndarray


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
    smoothing = float(smoothing)  # a whole number would be compiled anew
    choices = _log_choices(together)
    state = _State.begin(together, rows, targets, known)
    for iteration in range(1, iterations + 1):
        _find_denominators(together, rows, targets, state)
        forward = lexicon_kernels.count_null(
            together.target.words, together.target.repeats, state.ratio, *state.null_pair
        )
        _expect(together, rows, targets, state, known, smoothing, last=iteration == iterations)
        if on_iteration is not None:
            on_iteration(iteration, forward - choices[0], float(state.likelihood.sum()) - choices[1])
        state.end_round(rows, targets, smoothing, last=iteration == iterations)
    lexicon_kernels.scale_columns(targets, state.reverse, state.scale)
    return Tables(
        state.forward,
        state.reverse,
        state.null_forward.astype(np.float32),
        state.null_reverse.astype(np.float32),
    )


@dataclass
class _State:
    """The tables between two rounds: ``reverse`` holds counts, ``scale`` (Vt,) makes them probabilities."""

    forward: np.ndarray
    reverse: np.ndarray
    scale: np.ndarray
    null_forward: np.ndarray
    null_reverse: np.ndarray
    null_forward_counts: np.ndarray
    null_reverse_counts: np.ndarray
    ratio: np.ndarray  # den, then repeats / den, of each entry of the target bags
    likelihood: np.ndarray  # of each source word's occurrences
    column_sizes: np.ndarray
    reverse_smoothing: float = 0.0

    @classmethod
    def begin(
        cls, together: Cooccurrence, rows: np.ndarray, targets: np.ndarray, known: Counts | None
    ) -> _State:
        n_source, n_target, cells = len(rows) - 1, len(together.target_counts), len(targets)
        forward = np.full(cells, 1 / max(n_target, 1), dtype=np.float32)
        reverse = np.full(cells, 1 / max(n_source, 1), dtype=np.float32)
        scale, sizes = np.ones(n_target), np.zeros(n_target)
        lexicon_kernels.count_columns(targets, sizes)
        if known is not None:
            # one count spread over the vocabulary keeps what is not known possible
            forward += known.forward
            lexicon_kernels.divide_rows(rows, forward, known.forward)
            totals = np.zeros(n_target)
            lexicon_kernels.sum_columns(targets, known.reverse, totals)
            reverse += known.reverse
            scale = 1 / (totals + 1)
        return cls(
            forward,
            reverse,
            scale,
            np.full(n_target, 1 / max(n_target, 1)),
            np.full(n_source, 1 / max(n_source, 1)),
            np.zeros(n_target),
            np.zeros(n_source),
            np.empty(len(together.target.words), dtype=np.float32),
            np.zeros(n_source),
            sizes,
        )

    @property
    def null_pair(self) -> tuple[np.ndarray, np.ndarray]:
        return self.null_forward, self.null_forward_counts

    def end_round(self, rows: np.ndarray, targets: np.ndarray, smoothing: float, *, last: bool) -> None:
        """Make the counts that do not belong to one row probabilities."""
        self.reverse_smoothing = 0.0 if last else smoothing
        lexicon_kernels.sum_columns(targets, self.reverse, self.scale)
        lexicon_kernels.invert_totals(self.scale, self.column_sizes, self.reverse_smoothing)
        for null, counts in (
            (self.null_forward, self.null_forward_counts),
            (self.null_reverse, self.null_reverse_counts),
        ):
            null[:] = counts / max(counts.sum(), np.finfo(np.float64).tiny)


def _find_denominators(together: Cooccurrence, rows: np.ndarray, targets: np.ndarray, state: _State) -> None:
    """Fill ``state.ratio`` with den of every entry of the target bags; threads share the sentences."""
    source, target = together.source, together.target
    np.take(state.null_forward.astype(np.float32), target.words, out=state.ratio, mode="clip")

    def add(first: int, last: int) -> None:
        lexicon_kernels.add_denominators(
            first,
            last,
            source.offsets,
            source.sentences,
            source.repeats,
            target.words,
            target.offsets,
            np.zeros(len(state.scale), dtype=np.float32),
            rows,
            targets,
            state.forward,
            state.ratio,
        )

    share(add, cut(target.offsets, together.jobs), together.jobs)


def _expect(
    together: Cooccurrence,
    rows: np.ndarray,
    targets: np.ndarray,
    state: _State,
    known: Counts | None,
    smoothing: float,
    *,
    last: bool,
) -> None:
    """Replace the tables by the next round's; threads share the source words."""
    nothing = np.zeros(0, dtype=np.float32)
    added = (nothing, nothing) if known is None else (known.forward, known.reverse)
    source, target = together.source, together.target

    def expect(first: int, last_word: int) -> None:
        lexicon_kernels.expect_rows(
            first,
            last_word,
            (source.offsets, source.sentences, source.repeats),
            (target.words, target.repeats, target.offsets),
            (rows, targets, state.forward, state.reverse, *added),
            (state.scale, state.ratio, state.null_reverse),
            (state.null_reverse_counts, state.likelihood),
            (state.reverse_smoothing, 0.0 if last else smoothing),
        )

    together.share(expect)


def _log_choices(together: Cooccurrence) -> tuple[float, float]:
    """Return sum_i m_i log(n_i + 1) and sum_i n_i log(m_i + 1)."""
    source, target = together.source, together.target
    n = np.bincount(source.sentences, weights=source.repeats, minlength=len(target.offsets) - 1)
    m = np.zeros(len(target.offsets) - 1)
    lexicon_kernels.sum_runs(target.repeats, target.offsets, m)
    return float(m @ np.log1p(n)), float(n @ np.log1p(m))
