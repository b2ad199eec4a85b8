"""Which pairs the lexicon is learnt from: all, or a seeded choice of as many as fit the memory.

N pairs are the first N of one random order, so that a larger choice has the smaller one in it. How many fit
depends on the text, the options and ``--memory`` alone.
"""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

import numpy as np

from align.core.arrays import load_array
from align.core.errors import WorkError
from align.data.corpus import Corpus
from align.statistics.candidates import check_cells
from align.statistics.cooccurrence import Cooccurrence
from align.statistics.lexicon import Lexicon
from align.statistics.stems import MOST_PAIRS
from pipeline.stages.lexicon.places import no_pair, text_folders
from pipeline.stages.preprocess.copies import load_copies, surplus
from pipeline.stages.preprocess.gold import SAME
from pipeline.work import budget
from pipeline.work.resources import show_size
from pipeline.work.stage import StageContext

# Cells grow less than in proportion to the pairs: with about this power of them.
_GROWTH = 0.75


class Selection:
    """The pairs that are used, fewer of them whenever they turn out not to fit.

    Parameters
    ----------
    context : StageContext
        That of the stage ``lexicon``.
    pairs : int
        As the stage's option.
    sizes : tuple of int
        Words of both vocabularies.
    prior_cells : int
        Cells of the prior.
    sampled : bool
        Whether links are sampled.

    Attributes
    ----------
    chosen : int
        Pairs of the corpus that are used.
    needed : int
        Bytes that the stage takes at its peak with them, of those steps that were looked at so far.
    all : int
        Pairs that might be used, with those of the gold text.

    Raises
    ------
    InputError
        If there is no text.
    """

    def __init__(
        self,
        context: StageContext,
        pairs: int,
        sizes: tuple[int, int],
        *,
        prior_cells: int,
        sampled: bool,
    ) -> None:
        self._context, self.sizes, self._prior_cells, self._sampled = context, sizes, prior_cells, sampled
        folder = context.inputs["preprocess"]
        counted = np.array(load_array(folder / "in_statistics.npy"))
        counted[surplus(load_copies(folder))] = False
        usable = np.flatnonzero(counted)
        folders = text_folders(context)
        self._size = Corpus.load_count(folders[0])
        order = np.random.default_rng(context.seed).permutation(usable)
        del usable, counted
        self._gold = load_array(folder / SAME) < 0 if folders[1:] else np.zeros(0, dtype=bool)
        self.all = len(order) + int(self._gold.sum())
        if not self.all:
            raise no_pair(context)
        self._gold_tokens = int(_tokens_in(folders[1])[self._gold].sum()) if folders[1:] else 0
        self._wanted = min(pairs or len(order), len(order))
        self._order = order[: self._wanted].copy()
        del order
        self._tokens = np.cumsum(_tokens_in(folders[0])[self._order])
        self.chosen, self.needed = self._wanted, 0
        if self._wanted and self._index_memory() > context.memory:
            self.chosen = _rounded(self._most_indexed())
            # There will never be more of them.
            self._order, self._tokens = self._order[: self.chosen].copy(), self._tokens[: self.chosen].copy()

    @property
    def complete(self) -> bool:
        """Whether all pairs that are wanted are used."""
        return self.chosen == self._wanted

    @property
    def count(self) -> int:
        """Pairs that are used, with those of the gold text."""
        return self.chosen + int(self._gold.sum())

    def used(self, chosen: int | None = None) -> np.ndarray:
        """Return which pairs of the corpus, then of the gold text, are used, bool; or were, if so many."""
        used = np.concatenate([np.zeros(self._size, dtype=bool), self._gold])
        used[self._order[: self.chosen if chosen is None else chosen]] = True
        return used

    def fits_tables(self, cooccurrence: Cooccurrence) -> bool:
        """Say whether index and Model 1 fit the memory; if not, take fewer pairs.

        Raises
        ------
        WorkError
            If not even the gold text does, or one pair.
        """
        self.needed = max(self._index_memory(), self._tables_memory(cooccurrence, 1))
        return self._fits()

    def fits_sampling(self, lexicon: Lexicon) -> bool:
        """Say whether what is made of the tables fits as well; if not, take fewer pairs."""
        if self._sampled:
            check_cells(lexicon.cells)
        tokens, words = self._tokens_of(self.chosen), sum(self.sizes)
        few = self.count <= MOST_PAIRS
        needed = budget.sampling_memory(lexicon.cells, tokens, words, stems=few) if self._sampled else 0
        self.needed = max(self.needed, needed)
        return self._fits()

    def threads(self, cooccurrence: Cooccurrence) -> int:
        """Return how many threads have room for their own arrays, at least one."""
        return budget.most_workers(
            lambda jobs: self._tables_memory(cooccurrence, jobs), self._context.memory, self._context.jobs
        )

    def tell(self) -> None:
        """Warn where not all pairs that were wanted are used."""
        if not self.complete:
            self._context.warn(
                f"using {self.chosen} of {self._wanted} pairs: more do not fit "
                f"{show_size(self._context.memory)}; give a larger --memory to use all "
                f"(the same as lexicon.pairs={self.chosen})"
            )

    def described(self) -> str:
        """Say how many of the pairs that were wanted are used, and why not all."""
        memory = show_size(self._context.memory)
        return f"{self.chosen} of {self._wanted} pairs, for lack of memory ({memory})"

    def _fits(self) -> bool:
        """Say whether what is needed fits and is of any pair; if not, take fewer or give up (WorkError)."""
        memory = self._context.memory
        if self.needed <= memory and self.count:
            return True
        if self.chosen == 0 or memory <= budget.BASE:
            raise WorkError(
                f"lexicon: it takes {show_size(self.needed)} of {show_size(memory)}; give a larger --memory"
            )
        share = (memory - budget.BASE) / (self.needed - budget.BASE)
        fewer = int(0.97 * self.chosen * share ** (1 / _GROWTH))
        self.chosen = min(_rounded(fewer), self.chosen - 1)
        return False

    def _tables_memory(self, cooccurrence: Cooccurrence, jobs: int) -> int:
        estimating = cooccurrence.memory(self._prior_cells, jobs=jobs)
        return budget.tables_memory(estimating, sum(self.sizes), self.chosen)

    def _tokens_of(self, chosen: int) -> int:
        return self._gold_tokens + (int(self._tokens[chosen - 1]) if chosen else 0)

    def _index_memory(self, chosen: int | None = None) -> int:
        tokens = self._tokens_of(self.chosen if chosen is None else chosen)
        return budget.index_memory(tokens, self._size, sum(self.sizes))

    def _most_indexed(self) -> int:
        """Return how many pairs can be indexed within the memory."""
        return bisect_right(range(1, self._wanted + 1), self._context.memory, key=self._index_memory)


def _tokens_in(folder: Path) -> np.ndarray:
    """Return the words of both sides of each pair of a text, int64, shape (N,)."""
    return Corpus.load_shapes(folder).sum(axis=1, dtype=np.int64)


def _rounded(pairs: int) -> int:
    """Return a number, not above, of two digits and zeros: one that a user can write."""
    unit = 10 ** max(0, len(str(pairs)) - 2)
    return pairs // unit * unit
