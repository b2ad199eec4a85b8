r"""Lexical statistics of a bitext: what the words of a pair say about each other, one number a cell.

A cell is a pair (s, t) of a source and a target word that occur together. It holds

    dice(s, t) = 2 joint(s, t) / (count(s) + count(t)),    joint(s, t) = sum_i min(b_i(s), b_i(t)),

with b_i(w) the occurrences of word w in its sentence of pair i, and p(t | s) and p(s | t) of IBM Model 1
(:mod:`align.statistics.model1`). Each model has a module of its own and gives one array over the cells in
each direction; a further model is a further pair of such arrays, trained from these.

The tables are estimated over all cells; then those are dropped in which both probabilities are below
``min_probability``. Under the smoothing of Model 1 this is nearly all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from align.core.arrays import load_array, save_array
from align.core.errors import InputError
from align.core.ragged import offsets_of, read_only
from align.data.corpus import Corpus
from align.statistics import cooccurrence, lexicon_kernels, model1
from align.statistics.cooccurrence import Cooccurrence, shrunk
from align.statistics.model1_runs import Counts


@dataclass(frozen=True)
class Lexicon:
    """Sparse tables over the pairs of words that occur together, row by row.

    Attributes
    ----------
    offsets : ndarray of int64, shape (Vs + 1,)
        The cells of source word s are ``offsets[s]`` to ``offsets[s + 1]``.
    targets : ndarray of int32, shape (cells,)
        Target words, ascending for each source word.
    dice : ndarray of float32, shape (cells,)
        Dice coefficient, in (0, 1].
    forward : ndarray of float32, shape (cells,)
        p(target | source) of Model 1, in [0, 1].
    reverse : ndarray of float32, shape (cells,)
        p(source | target) of Model 1, in [0, 1].
    null_forward : ndarray of float32, shape (Vt,)
        p(target | NULL).
    null_reverse : ndarray of float32, shape (Vs,)
        p(source | NULL).
    source_counts, target_counts : ndarray of int64, shapes (Vs,) and (Vt,)
        Occurrences of each word in the text the tables come from.
    """

    offsets: np.ndarray
    targets: np.ndarray
    dice: np.ndarray
    forward: np.ndarray
    reverse: np.ndarray
    null_forward: np.ndarray
    null_reverse: np.ndarray
    source_counts: np.ndarray
    target_counts: np.ndarray

    @property
    def cells(self) -> int:
        """Pairs of words with an entry."""
        return len(self.targets)

    def sources(self) -> np.ndarray:
        """Return the source word of every cell, int32, shape (cells,)."""
        return np.repeat(np.arange(len(self.source_counts), dtype=np.int32), np.diff(self.offsets))

    def joint(self) -> np.ndarray:
        """Return how often the words of each cell occur together, float32, shape (cells,)."""
        both = self.source_counts[self.sources()] + self.target_counts[self.targets]
        return (self.dice * both / 2).astype(np.float32)

    def words(self, first: int, last: int) -> Lexicon:
        """Return the rows of source words ``first`` to ``last``, numbered from 0."""
        begin, end = self.offsets[first], self.offsets[last]
        return Lexicon(
            self.offsets[first : last + 1] - begin,
            self.targets[begin:end],
            self.dice[begin:end],
            self.forward[begin:end],
            self.reverse[begin:end],
            self.null_forward,
            self.null_reverse[first:last],
            self.source_counts[first:last],
            self.target_counts,
        )

    @classmethod
    def join(cls, runs: Sequence[Lexicon]) -> Lexicon:
        """Return the tables of run after run of source words, at least one: :meth:`words` undone."""
        sizes = np.concatenate([np.diff(run.offsets) for run in runs])
        offsets = offsets_of(sizes)
        targets, dice, forward, reverse, null_reverse, source_counts = (
            np.concatenate([getattr(run, name) for run in runs])
            for name in ("targets", "dice", "forward", "reverse", "null_reverse", "source_counts")
        )
        first = runs[0]
        return cls(
            *(offsets, targets, dice, forward, reverse),
            *(first.null_forward, null_reverse, source_counts, first.target_counts),
        )

    def renumbered(
        self, source_ids: np.ndarray, target_ids: np.ndarray, n_source: int, n_target: int
    ) -> Lexicon:
        """Return the tables over other vocabularies.

        Parameters
        ----------
        source_ids, target_ids : ndarray of int, shapes (Vs,) and (Vt,)
            The new id of each word, no two the same; -1 for a word that is to go.
        n_source, n_target : int
            Sizes of the new vocabularies.
        """
        source, target = source_ids[self.sources()], target_ids[self.targets]
        kept = np.flatnonzero((source >= 0) & (target >= 0))
        kept = kept[np.lexsort((target[kept], source[kept]))]
        offsets = offsets_of(np.bincount(source[kept], minlength=n_source))

        def moved(values: np.ndarray, ids: np.ndarray, size: int) -> np.ndarray:
            result = np.zeros(size, dtype=values.dtype)
            result[ids[ids >= 0]] = values[ids >= 0]
            return result

        return Lexicon(
            offsets,
            target[kept].astype(np.int32),
            self.dice[kept],
            self.forward[kept],
            self.reverse[kept],
            moved(self.null_forward, target_ids, n_target),
            moved(self.null_reverse, source_ids, n_source),
            moved(self.source_counts, source_ids, n_source),
            moved(self.target_counts, target_ids, n_target),
        )

    def save(self, folder: Path) -> None:
        """Write one ``.npy`` file a field into ``folder``, made if missing."""
        folder.mkdir(parents=True, exist_ok=True)
        for field in fields(self):
            save_array(folder / f"{field.name}.npy", getattr(self, field.name))

    @classmethod
    def load(cls, folder: Path, *, mapped: bool = False) -> Lexicon:
        """Read what :meth:`save` wrote; ``mapped`` leaves the cells on disk (memory-mapped).

        Raises
        ------
        InputError
            If a file is missing, is no array file, or does not fit the others.
        """
        arrays = {}
        for name in (field.name for field in fields(cls)):
            path = folder / f"{name}.npy"
            arrays[name] = load_array(path, mapped=mapped, remedy="make the tables again")
            if arrays[name].ndim != 1:
                raise InputError(f"{path}: shape {arrays[name].shape}, not a row; make the tables again")
        lexicon = cls(**arrays)
        cells, n_source, n_target = lexicon.cells, len(lexicon.source_counts), len(lexicon.target_counts)
        sizes = dict.fromkeys(arrays, cells) | {
            "offsets": n_source + 1,
            "null_forward": n_target,
            "null_reverse": n_source,
            "source_counts": n_source,
            "target_counts": n_target,
        }
        for name, values in arrays.items():
            if values.shape != (sizes[name],):
                raise InputError(
                    f"{folder / f'{name}.npy'}: shape {values.shape}, not ({sizes[name]},); "
                    "make the tables again"
                )
        if (
            lexicon.offsets[0] != 0
            or lexicon.offsets[-1] != cells
            or np.diff(lexicon.offsets).min(initial=0) < 0
        ):
            raise InputError(f"{folder / 'offsets.npy'}: does not fit {cells} cells; make the tables again")
        return lexicon


def estimate(
    corpus: Corpus | Cooccurrence,
    n_source: int,
    n_target: int,
    *,
    iterations: int = 5,
    smoothing: float = 0.1,
    min_probability: float = 1e-5,
    prior: Lexicon | None = None,
    prior_weight: float = 1.0,
    jobs: int = 1,
    on_iteration: Callable[[int, float, float], None] | None = None,
) -> Lexicon:
    """Estimate Dice and Model 1 in both directions.

    Parameters
    ----------
    corpus : Corpus or Cooccurrence
        The sentence pairs, or their index where :func:`align.statistics.cooccurrence.index` has made it
        already.
    n_source, n_target : int
        Sizes of the vocabularies Vs and Vt; words with a higher id are left out.
    iterations : int
        Rounds of EM, >= 1.
    smoothing : float
        Dirichlet prior of Model 1 in counts a cell, >= 0; 0 is maximum likelihood.
    min_probability : float
        Cells in which both probabilities are lower are dropped, in [0, 1]; 0 keeps all.
    prior : Lexicon, optional
        Tables of another corpus over the same vocabularies. Its counts, times `prior_weight`, are added to
        those of this corpus, as if its text stood beside, aligned as it was.
    prior_weight : float
        What an occurrence in the text of the prior counts against one in this, > 0.
    jobs : int
        Threads, >= 1; the result does not depend on it.
    on_iteration : function, optional
        Called after each round with its number and the log-likelihoods
        (:func:`align.statistics.model1.train`).

    Returns
    -------
    Lexicon
    """
    together = (
        corpus
        if isinstance(corpus, Cooccurrence)
        else cooccurrence.index([corpus], n_source, n_target, jobs=jobs)
    )
    source_counts, target_counts = counts_with(together, prior, prior_weight)
    rows, targets, dice, known = begin(
        together.rows, *cooccurrence.joint_counts(together), source_counts, target_counts, prior, prior_weight
    )
    tables = model1.train(
        together,
        rows,
        targets,
        iterations=iterations,
        smoothing=smoothing,
        known=known,
        on_iteration=on_iteration,
    )
    lexicon = Lexicon(
        rows,
        targets,
        dice,
        tables.forward,
        tables.reverse,
        tables.null_forward,
        tables.null_reverse,
        source_counts,
        target_counts,
    )
    return prune(lexicon, min_probability)


def counts_with(
    together: Cooccurrence, prior: Lexicon | None, weight: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the occurrences of each source and target word, those of a prior among them."""
    if prior is None:
        return together.source_counts, together.target_counts
    return (
        together.source_counts + _weighted(prior.source_counts, weight),
        together.target_counts + _weighted(prior.target_counts, weight),
    )


def begin(
    rows: np.ndarray,
    targets: np.ndarray,
    joint: np.ndarray,
    source_counts: np.ndarray,
    target_counts: np.ndarray,
    prior: Lexicon | None = None,
    weight: float = 1.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Counts | None]:
    """Make Dice coefficients of joint counts, those of a prior added; of all source words or of a run.

    Parameters
    ----------
    rows : ndarray of int64, shape (words + 1,)
        Where the cells of each word begin, from 0.
    targets, joint : ndarray
        Of the cells (:func:`align.statistics.cooccurrence.joint_counts`); used up.
    source_counts, target_counts : ndarray of int64, shapes (words,) and (Vt,)
        Of :func:`counts_with`.
    prior : Lexicon, optional
        Of the same words (:meth:`Lexicon.words`).
    weight : float
        As of :func:`estimate`.

    Returns
    -------
    rows, targets, dice : ndarray
        Of the cells that are in the corpus or in the prior.
    known : Counts or None
        What Model 1 knows from the prior.
    """
    known = None
    if prior is not None:
        rows, targets, joint, known = _add_prior(rows, targets, joint, prior, weight)
    lexicon_kernels.joint_to_dice(rows, targets, joint, source_counts, target_counts)
    return rows, targets, joint, known


def prune(lexicon: Lexicon, min_probability: float) -> Lexicon:
    """Drop the cells in which both probabilities are below ``min_probability``.

    The cells that stay are moved together within the arrays they are in, to spare memory: the lexicon given
    is used up.
    """
    offsets = np.empty_like(lexicon.offsets)
    kept = lexicon_kernels.move_together(
        lexicon.offsets,
        lexicon.targets,
        lexicon.dice,
        lexicon.forward,
        lexicon.reverse,
        float(min_probability),
        offsets,
    )
    return Lexicon(
        offsets,
        shrunk(lexicon.targets, kept),
        shrunk(lexicon.dice, kept),
        shrunk(lexicon.forward, kept),
        shrunk(lexicon.reverse, kept),
        lexicon.null_forward,
        lexicon.null_reverse,
        lexicon.source_counts,
        lexicon.target_counts,
    )


def edge_values(lexicon: Lexicon, block: Corpus) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Look up every edge of a block of pairs.

    Parameters
    ----------
    lexicon : Lexicon
        The tables; they may lie on disk.
    block : Corpus
        N sentence pairs; a word the tables do not have (its id is too high) has zeros.

    Returns
    -------
    dice, forward, reverse : ndarray of float32, shape (E,)
        E = sum n_i m_i, pair after pair, row by row; 0 where the words have no entry.
    """
    n, m = block.source.lengths(), block.target.lengths()
    offsets = offsets_of(n.astype(np.int64) * m)
    found = np.empty(offsets[-1], dtype=np.int64)
    lexicon_kernels.find_cells(
        read_only(block.source.ids),
        block.source.offsets,
        read_only(block.target.ids),
        block.target.offsets,
        read_only(lexicon.offsets),
        read_only(lexicon.targets),
        offsets,
        found,
    )
    there = found >= 0
    where = found[there]

    def spread(values: np.ndarray) -> np.ndarray:
        result = np.zeros(len(found), dtype=np.float32)
        result[there] = values[where]
        return result

    return spread(lexicon.dice), spread(lexicon.forward), spread(lexicon.reverse)


def _weighted(counts: np.ndarray, weight: float) -> np.ndarray:
    # rounded up: a word of the prior that has a cell has a count
    return np.ceil(weight * counts).astype(np.int64)


def _add_prior(
    rows: np.ndarray, targets: np.ndarray, joint: np.ndarray, prior: Lexicon, weight: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Counts]:
    """Return the cells of corpus and prior together, their joint counts, and the prior's counts."""
    known = tuple(
        read_only(values)
        for values in (
            *(prior.offsets, prior.targets, prior.dice, prior.forward, prior.reverse),
            *(prior.source_counts, prior.target_counts),
        )
    )
    all_rows = np.zeros(len(rows), dtype=np.int64)
    lexicon_kernels.count_united(rows, targets, known[0], known[1], all_rows)
    all_targets = np.empty(all_rows[-1], dtype=np.int32)
    all_joint, forward, reverse = (np.zeros(all_rows[-1], dtype=np.float32) for _ in range(3))
    lexicon_kernels.unite(
        (rows, targets, joint), known, float(weight), all_rows, (all_targets, all_joint, forward, reverse)
    )
    return all_rows, all_targets, all_joint, Counts(forward, reverse)
