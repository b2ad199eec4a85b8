"""One chain of the sampler (``sampler``) in one direction, over a text that comes block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from align.data.corpus import Corpus
from align.statistics import sampler_kernels
from align.statistics.candidates import Candidates
from align.statistics.lexicon import Lexicon

# Fertilities from 0 to this are told apart; more count as this.
MOST_FERTILE = 5
# What a word's fertility is before anything is known of it: mostly one.
FERTILITY_PRIOR = np.array([0.3, 0.4, 0.15, 0.08, 0.04, 0.03], dtype=np.float32)

_Made = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
_Texts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]

# A probability p is kept as p times this, in 16 bits.
SCALE = 65535


@dataclass(frozen=True)
class Priors:
    """Parameters of the priors.

    Attributes
    ----------
    lexical : float
        Dirichlet parameter of a word given another, in counts a word, > 0.
    null_lexical : float
        The same for words made by NULL.
    null : float
        Prior probability that a word is made by NULL, in (0, 1).
    jump : float
        Dirichlet parameter of a jump, in counts a distance, > 0.
    fertility : float
        Weight of :data:`FERTILITY_PRIOR`, in counts, > 0.
    """

    lexical: float = 3e-4
    null_lexical: float = 1e-3
    null: float = 0.2
    jump: float = 0.5
    fertility: float = 0.5


@dataclass(frozen=True)
class Schedule:
    """How long to sample.

    Attributes
    ----------
    chains : int
        Independent chains, >= 1.
    lexical, jumps, fertility : int
        Sweeps over the corpus with each of the three models, in this order; the last >= 1.
    kept : int
        The last so many sweeps are averaged, 1 to `fertility`.
    """

    chains: int
    lexical: int
    jumps: int
    fertility: int
    kept: int


@dataclass(frozen=True)
class Known:
    """Counts known beforehand in one direction, added to the priors.

    Attributes
    ----------
    links : ndarray of float32, shape (cells,)
        Links of each pair of words, >= 0.
    totals : ndarray of float32, shape (V_hidden,)
        Links of each word to words of the observed side: those to words without a cell as well.
    null_links : ndarray of float32, shape (V_observed,)
        Links of each word to NULL.
    jumps : ndarray of float32, shape (2 L + 1,), optional
        Jumps by d positions, at index L + d.
    """

    links: np.ndarray
    totals: np.ndarray
    null_links: np.ndarray
    jumps: np.ndarray | None = None

    def jumps_to(self, length: int) -> np.ndarray:
        """Return the jumps by at most so many positions, float64, shape (2 length + 1,)."""
        counts = np.zeros(2 * length + 1)
        if self.jumps is not None:
            centre = len(self.jumps) // 2
            reach = min(length, centre)
            counts[length - reach : length + reach + 1] = self.jumps[centre - reach : centre + reach + 1]
        return counts


@dataclass(frozen=True)
class Block:
    """Consecutive pairs of a text, as one direction sees them.

    Attributes
    ----------
    hidden, observed : ndarray of int32
        Word ids of the side that makes words, and of the side that is made.
    hidden_starts, observed_starts : ndarray of int64, shape (pairs + 1,)
        Where their sentences begin, from 0.
    candidates : Candidates
        Of the observed words.
    """

    hidden: np.ndarray
    hidden_starts: np.ndarray
    observed: np.ndarray
    observed_starts: np.ndarray
    candidates: Candidates

    @classmethod
    def of(cls, corpus: Corpus, candidates: tuple[Candidates, Candidates], side: int) -> Block:
        """Return the block of some pairs: target words are observed (0), or source words (1)."""
        texts = corpus.source, corpus.target
        hidden, observed = texts[side], texts[1 - side]
        return cls(
            np.array(hidden.ids), hidden.offsets, np.array(observed.ids), observed.offsets, candidates[side]
        )

    def begin(self) -> tuple[np.ndarray, np.ndarray]:
        """Return room for the sums of the candidates' probabilities and of those of NULL, uint16."""
        return (
            np.zeros(len(self.candidates), dtype=np.uint16),
            np.zeros(len(self.observed), dtype=np.uint16),
        )


class Text(Protocol):
    """Blocks in order, which can be gone through as often as one likes."""

    def __iter__(self) -> Iterator[Block]:
        """Return an iterator from the first block on."""
        ...


class Sums(Protocol):
    """What the kept sweeps of a chain add up to, block by block: of the candidates, and of NULL."""

    def __getitem__(self, number: int, /) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of a block, to be changed in place."""
        ...


@dataclass(frozen=True)
class Task:
    """What the chains of one direction have in common.

    Attributes
    ----------
    side : int
        0: target words are observed, 1: source words.
    table : ndarray of float32, shape (cells,)
        Probabilities of Model 1 of the observed words: the first links are drawn by them.
    n_hidden, n_observed : int
        Sizes of the vocabularies.
    longest : int
        Words of the longest hidden sentence, >= 0.
    schedule : Schedule
    priors : Priors
    seed : int
        >= 0.
    known : Known, optional
        What is known of this direction beforehand.
    """

    side: int
    table: np.ndarray
    n_hidden: int
    n_observed: int
    longest: int
    schedule: Schedule
    priors: Priors = Priors()
    seed: int = 0
    known: Known | None = None

    @classmethod
    def of(cls, lexicon: Lexicon, side: int, longest: int, schedule: Schedule, **others: Any) -> Task:
        """Return the task of a direction over a lexicon."""
        sizes = len(lexicon.source_counts), len(lexicon.target_counts)
        table = (lexicon.forward, lexicon.reverse)[side]
        return cls(side, table, sizes[side], sizes[1 - side], longest, schedule, **others)

    @property
    def unit(self) -> int:
        """What a probability of 1 adds to the sums in a kept sweep, so that 16 bits hold them all."""
        return SCALE // (self.schedule.chains * self.schedule.kept)


def run_chain(
    task: Task,
    text: Text,
    sums: Sums,
    *,
    chain: int,
    on_sweep: Callable[[], None] | None = None,
) -> np.ndarray:
    """Run one chain of one direction.

    Parameters
    ----------
    task : Task
    text : iterable of Block
        The text, which is gone through several times, block by block.
    sums : Sums
        All zero; the probabilities of the kept sweeps, times ``task.unit``, are added.
    chain : int
        Its number, from 0: other chains draw otherwise.
    on_sweep : function, optional
        Called after each sweep.

    Returns
    -------
    ndarray of int64, shape (2 L + 1,)
        Jumps of the kept sweeps by d positions, at index L + d, L = ``task.longest + 1``.
    """
    schedule, priors = task.schedule, task.priors
    state = np.random.SeedSequence([task.seed, chain, 1 - task.side]).generate_state(1, np.uint64)
    values = np.full(len(task.table) + 1, priors.lexical, dtype=np.float32)
    totals = np.full(task.n_hidden, priors.lexical * task.n_observed, dtype=np.float32)
    null = np.full(task.n_observed + 1, priors.null_lexical, dtype=np.float32)
    size = 2 * (task.longest + 1) + 1
    jump_prior, kept_jumps = np.full(size, priors.jump), np.zeros(size, dtype=np.int64)
    if task.known is not None:
        values[:-1] += task.known.links
        totals += task.known.totals
        null[:-1] += task.known.null_links
        if task.known.jumps is not None:
            jump_prior += task.known.jumps_to(size // 2)
    null[-1] = null[:-1].sum(dtype=np.float64)
    seen = np.zeros(size, dtype=np.int64)
    links = _first_links(task, text, (values, totals, null), seen, state)
    fertility = np.zeros((task.n_hidden, MOST_FERTILE + 1), dtype=np.float32)
    odds = np.float32(priors.null / (1.0 - priors.null))
    nothing = np.zeros(0, dtype=np.uint16), np.zeros(0, dtype=np.uint16)
    for model, count in enumerate((schedule.lexical, schedule.jumps, schedule.fertility)):
        if model == 2:
            for number, block in enumerate(text):
                sampler_kernels.count_fertility(block.hidden, *_made(block), links[number], fertility)
            fertility += np.float32(priors.fertility) * FERTILITY_PRIOR
        for sweep in range(count):
            weights = ((seen + jump_prior) / (seen.sum() + jump_prior.sum())).astype(np.float32)
            keep = model == 2 and sweep >= count - schedule.kept
            if keep:
                kept_jumps += seen
            seen[:] = 0
            for number, block in enumerate(text):
                sampler_kernels.sweep(
                    *_texts(block),
                    *(links[number], values, totals, null, weights, fertility, model, odds),
                    *(np.float32(task.unit if keep else 0), *(sums[number] if keep else nothing), state),
                )
                sampler_kernels.count_jumps(*_made(block), links[number], seen)
            if on_sweep is not None:
                on_sweep()
    return kept_jumps


def _first_links(
    task: Task,
    text: Text,
    counts: tuple[np.ndarray, np.ndarray, np.ndarray],
    seen: np.ndarray,
    state: np.ndarray,
) -> list[np.ndarray]:
    """Draw the first links of a chain and count them, and their jumps."""
    table = np.append(task.table, np.float32(0.0))
    links = []
    for block in text:
        own = np.empty(len(block.observed), dtype=np.int16)
        sampler_kernels.begin(*_texts(block), own, *counts, table, task.priors.null, state)
        sampler_kernels.count_jumps(*_made(block), own, seen)
        links.append(own)
    return links


def _texts(block: Block) -> _Texts:
    own = block.candidates
    texts = block.hidden, block.hidden_starts, block.observed, block.observed_starts
    return (*texts, own.offsets, own.places, own.cells)


def _made(block: Block) -> _Made:
    return block.hidden_starts, block.observed_starts, block.candidates.offsets, block.candidates.places
