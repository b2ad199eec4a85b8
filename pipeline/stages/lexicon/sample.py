"""Which pairs the lexicon is learnt from: all, or a seeded sample of those that fit the memory.

The sample of N pairs is the first N of one random order, so that a larger one has the smaller one in it. How
many fit depends on the text, the options and ``--memory`` alone.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from align.core.arrays import load_array
from align.core.errors import InputError, WorkError
from align.data.corpus import Corpus
from align.statistics.cooccurrence import Cooccurrence
from align.statistics.lexicon import Lexicon
from pipeline.stages.lexicon.sampling import WORK, text_folders, texts
from pipeline.stages.preprocess.gold import SAME
from pipeline.work import budget
from pipeline.work.disk import sync_file, sync_folder, write_json
from pipeline.work.kept import checksums, fits
from pipeline.work.stage import StageContext
from pipeline.work.usage import show_size

# Cells grow less than in proportion to the pairs: with about this power of them.
_GROWTH = 0.75

_STATE = "tables.json"


class Sample:
    """The pairs that are used, fewer of them whenever they turn out not to fit.

    Parameters
    ----------
    context : StageContext
        That of the stage ``lexicon``.
    pairs : int
        As the stage's option.
    sizes : tuple of int
        Words of both vocabularies.
    known_cells : int
        Cells of the prior.
    chains : bool
        Whether links are sampled.
    index : function
        :func:`align.statistics.cooccurrence.index`, or what does the same elsewhere.

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
        known_cells: int,
        *,
        chains: bool,
        index: Callable[..., Cooccurrence],
    ) -> None:
        self._make_index = index
        self._context, self._sizes, self._known_cells = context, sizes, known_cells
        self._chains = chains
        folder = context.inputs["preprocess"]
        usable = np.flatnonzero(load_array(folder / "in_statistics.npy"))
        folders = text_folders(context)
        self._size = Corpus.load_count(folders[0])
        order = np.random.default_rng(context.seed).permutation(usable)
        del usable
        self._gold = load_array(folder / SAME) < 0 if folders[1:] else np.zeros(0, dtype=bool)
        self.all = len(order) + int(self._gold.sum())
        if not self.all:
            raise InputError(f"{folder}: no pair may be counted; look at the reasons in its rejects.tsv")
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

    def used(self, chosen: int) -> np.ndarray:
        """Return which pairs of the corpus, then of the gold text, are used, bool."""
        used = np.concatenate([np.zeros(self._size, dtype=bool), self._gold])
        used[self._order[:chosen]] = True
        return used

    def index(self) -> Cooccurrence:
        """Index as many pairs as fit.

        Raises
        ------
        WorkError
            If not even the gold text does, or one pair.
        """
        context = self._context
        while True:
            together = self._make_index(
                texts(context), *self._sizes, used=self.used(self.chosen), jobs=context.jobs
            )
            self.needed = max(self._index_memory(), self._tables_memory(together, 1))
            if self.needed <= context.memory and self.count:
                return replace(together, jobs=self._threads(together))
            self._take_fewer()

    def can_go_on(self, lexicon: Lexicon) -> bool:
        """Say whether what is made of the tables fits as well; if not, fewer pairs are to be taken."""
        tokens, words = self._tokens_of(self.chosen), sum(self._sizes)
        needed = budget.sampling_memory(lexicon.cells, tokens, words) if self._chains else 0
        self.needed = max(self.needed, needed)
        if self.needed <= self._context.memory:
            return True
        self._take_fewer()
        return False

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

    def _take_fewer(self) -> None:
        memory = self._context.memory
        if self.chosen == 0 or memory <= budget.BASE:
            raise WorkError(
                f"lexicon: it takes {show_size(self.needed)} of {show_size(memory)}; give a larger --memory"
            )
        share = (memory - budget.BASE) / (self.needed - budget.BASE)
        fewer = int(0.97 * self.chosen * share ** (1 / _GROWTH))
        self.chosen = min(_rounded(fewer), self.chosen - 1)

    def _threads(self, together: Cooccurrence) -> int:
        """Return how many threads have room for their own arrays, at least one."""
        return budget.most_workers(
            lambda jobs: self._tables_memory(together, jobs), self._context.memory, self._context.jobs
        )

    def _tables_memory(self, together: Cooccurrence, jobs: int) -> int:
        estimating = together.memory(self._known_cells, jobs=jobs)
        return budget.tables_memory(estimating, sum(self._sizes), self.chosen)

    def _tokens_of(self, chosen: int) -> int:
        return self._gold_tokens + (int(self._tokens[chosen - 1]) if chosen else 0)

    def _index_memory(self, chosen: int | None = None) -> int:
        tokens = self._tokens_of(self.chosen if chosen is None else chosen)
        return budget.index_memory(tokens, self._size, sum(self._sizes))

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


def read_state(context: StageContext) -> dict[str, Any] | None:
    """Return the figures of the tables that a killed run left, None where they are not whole.

    None, too, where this run makes others.
    """
    path = context.folder / WORK / _STATE
    if not path.exists():
        return None
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        same = state["memory"] == context.memory or (state["all"] and state["memory"] <= context.memory)
        figures, whole = dict(state["figures"]), fits(context.folder, state["sums"])
    except (OSError, ValueError, KeyError, TypeError):
        same, figures, whole = True, {}, False
    if same and not whole:
        context.say("the statistics of an earlier run cannot be read whole; they are made anew")
    return figures if same and whole else None


def write_state(context: StageContext, figures: dict[str, Any], *, complete: bool) -> None:
    """Flush the tables to the disk and note that they are whole.

    ``complete`` says that all pairs wanted are in them.
    """
    work = context.folder / WORK
    work.mkdir(exist_ok=True)
    sums = checksums(context.folder, "*.npy")
    for name in sums:
        sync_file(context.folder / name)
    sync_folder(context.folder)
    state = {"memory": context.memory, "all": complete, "figures": figures, "sums": sums}
    write_json(work / _STATE, state)
    sync_folder(work)
