"""The two walks of a round of Model 1 (``model1``) for runs of sentences and of source words.

No run needs the result of another one of the same walk, so that they may be done by any thread or machine
that has the arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from align.core.ragged import read_only
from align.statistics import lexicon_kernels
from align.statistics.cooccurrence import Bags, Postings


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
class Cells:
    """The cells of a run of source words, and what a round makes of them in place.

    Attributes
    ----------
    rows : ndarray of int64, shape (words + 1,)
        Those of word s of the run are ``rows[s] - rows[0]`` to ``rows[s + 1] - rows[0]``.
    targets : ndarray of int32, shape (cells,)
        Target words.
    forward : ndarray of float32, shape (cells,)
        p(t | s).
    reverse : ndarray of float32, shape (cells,)
        Counts of s given t, which :attr:`Round.scale` makes probabilities.
    known : Counts, optional
        Counts known beforehand.
    """

    rows: np.ndarray
    targets: np.ndarray
    forward: np.ndarray
    reverse: np.ndarray
    known: Counts | None = None

    @classmethod
    def begin(
        cls,
        rows: np.ndarray,
        targets: np.ndarray,
        n_source: int,
        n_target: int,
        known: Counts | None = None,
    ) -> Cells:
        """Return uniform tables, or those of what is known.

        ``n_source`` and ``n_target`` are the sizes of the whole vocabularies.
        """
        forward = np.full(len(targets), 1 / max(n_target, 1), dtype=np.float32)
        reverse = np.full(len(targets), 1 / max(n_source, 1), dtype=np.float32)
        if known is not None:
            # one count spread over the vocabulary keeps what is not known possible
            forward += known.forward
            lexicon_kernels.divide_rows(rows, forward, known.forward)
            reverse += known.reverse
        return cls(rows, targets, forward, reverse, known)

    def part(self, first: int, last: int) -> Cells:
        """Return those of words ``first`` to ``last`` of the run, the same memory."""
        cells = slice(self.rows[first] - self.rows[0], self.rows[last] - self.rows[0])
        known = self.known and Counts(self.known.forward[cells], self.known.reverse[cells])
        rows = self.rows[first : last + 1]
        return Cells(rows, self.targets[cells], self.forward[cells], self.reverse[cells], known)


@dataclass(frozen=True)
class Round:
    """What the second walk of a round needs of all words.

    Attributes
    ----------
    ratio : ndarray of float32, shape (U,)
        b_i(t) / den_i(t) of each entry of the target bags.
    scale : ndarray of float64, shape (Vt,)
        Factors that make the reverse counts probabilities.
    null_reverse : ndarray of float64, shape (Vs,)
        p(s | NULL).
    smoothing : tuple of float
        That of the reverse counts there are, and that of the forward counts to come, >= 0.
    """

    ratio: np.ndarray
    scale: np.ndarray
    null_reverse: np.ndarray
    smoothing: tuple[float, float]


def begin_denominators(target: Bags, null: np.ndarray, den: np.ndarray) -> None:
    """Fill den of the entries of a run of sentences with p(t | NULL), float32."""
    lexicon_kernels.take(read_only(null), read_only(target.words), den)


def add_denominators(
    source: Postings, target: Bags, first: int, cells: Cells, den: np.ndarray, row: np.ndarray
) -> None:
    """Add what a run of source words gives to den of a run of sentences.

    Run after run of all source words, in order, must be added.

    Parameters
    ----------
    source : Postings
        Of the words of the run, in all sentences (:meth:`~align.statistics.cooccurrence.Postings.part`).
    target : Bags
        The sentences of the run (:meth:`~align.statistics.cooccurrence.Bags.part`).
    first : int
        The number of their first.
    cells : Cells
        Of the words of the run.
    den : ndarray of float32, shape (entries of the run,)
        Is added to.
    row : ndarray of float32, shape (Vt,)
        Room for one source word, whatever is in it.
    """
    lexicon_kernels.add_denominators(
        first,
        (read_only(source.offsets), read_only(source.sentences), read_only(source.repeats)),
        (read_only(target.words), read_only(target.offsets)),
        row,
        (read_only(cells.rows), read_only(cells.targets), read_only(cells.forward)),
        den,
    )


def expect_run(
    source: Postings, target: Bags, cells: Cells, now: Round, first: int
) -> tuple[np.ndarray, np.ndarray]:
    """Put the next tables of a run of source words in the place of the old.

    Parameters
    ----------
    source : Postings
        Of the words of the run (:meth:`~align.statistics.cooccurrence.Postings.part`).
    target : Bags
        All target sentences.
    cells : Cells
        Of the words of the run; ``forward`` and ``reverse`` are changed.
    now : Round
    first : int
        The number of the run's first word.

    Returns
    -------
    null_counts, likelihood : ndarray of float64, shape (words of the run,)
        What NULL gets of each word, and the log-likelihood of its occurrences but for the model's choices.
    """
    nothing = np.zeros(0, dtype=np.float32)
    known = Counts(nothing, nothing) if cells.known is None else cells.known
    size = len(cells.rows) - 1
    null_counts, likelihood = np.zeros(size), np.zeros(size)
    lexicon_kernels.expect_rows(
        (read_only(source.offsets), read_only(source.sentences), read_only(source.repeats)),
        (read_only(target.words), read_only(target.repeats), read_only(target.offsets)),
        (
            *(read_only(cells.rows), read_only(cells.targets), cells.forward, cells.reverse),
            *(read_only(known.forward), read_only(known.reverse)),
        ),
        (read_only(now.scale), read_only(now.ratio), read_only(now.null_reverse[first : first + size])),
        (null_counts, likelihood),
        now.smoothing,
    )
    return null_counts, likelihood
