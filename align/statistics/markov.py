r"""A hidden Markov model of who made whom, learnt by expectation maximisation, both directions agreeing.

Each observed word t_k was made by the word at place a_k of the other side, or by NULL, which keeps the place
of the word before (Vogel, Ney and Tillmann 1996 [1]_; NULL as in Och and Ney 2003 [2]_, section 2.1.2, with
one fixed probability p_0):

    p(a, t | s) = prod_k  p_0 e(t_k | NULL)   or   (1 - p_0) e(t_k | s_(a_k)) w(a_k - a_(k-1)) / Z(a_(k-1)),

Z(i) being the sum of the weights of all jumps from place i that stay in the sentence; the place before the
first word is -1. Each distance has a weight of its own: far ones in one bin together take most jumps.

A round takes the posteriors of both directions. Where they are to agree (Liang, Taskar and Klein 2006 [3]_)
it puts their products in place of either: a word has its links with q_jk = p_jk r_jk and none with
q_0k = p_0k (1 - sum_j r_jk), p being of its own direction and r of the other, all divided by their sum. Jumps
are those of the direction itself. Then, c being expected numbers with the prior b of each word,

    e(t | s) = (c(s, t) + b) / (c(s) + b V),       e(t | NULL) likewise,
    w(d) = (c(d) + b) / (g(d) + b B),              g(d) = sum over jumps whose start i allows d of 1 / Z(i),

where the last is the step of Hunter 2004 [4]_ for choices among subsets: c(d) / sum c(d) would learn short
jumps from short sentences and call them short for that reason. B is what a distance never seen is up against.

References
----------
.. [1] S. Vogel, H. Ney, C. Tillmann, "HMM-Based Word Alignment in Statistical Translation", COLING 1996.
.. [2] F. J. Och and H. Ney, "A Systematic Comparison of Various Statistical Alignment Models",
   Computational Linguistics 29(1), 2003.
.. [3] P. Liang, B. Taskar, D. Klein, "Alignment by Agreement", NAACL 2006.
.. [4] D. R. Hunter, "MM algorithms for generalized Bradley-Terry models", Annals of Statistics 32(1), 2004.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from align.core.ragged import edge_offsets, read_only
from align.data.corpus import Corpus
from align.statistics import lexicon_kernels, markov_kernels
from align.statistics.lexicon import Lexicon
from align.statistics.sampler import Direction, Known, shapes_of

# Pairs a call of the kernels: few enough that their edges take little memory.
_BLOCK = 500
# Before anything is learnt a jump counts exp(-_DECAY |d - 1|) and a little.
_DECAY, _LITTLE = 0.2, 0.003


@dataclass(frozen=True)
class Priors:
    """Parameters of the priors, and what is not learnt.

    Attributes
    ----------
    lexical : float
        Counts a word made by another begins with, > 0.
    null_lexical : float
        The same for words made by NULL.
    null : float
        Probability p_0 that a word is made by NULL, in (0, 1).
    jump : float
        Jumps by each distance to begin with, >= 0.
    against : float
        What they are up against, B, >= 0.
    """

    lexical: float = 3e-4
    null_lexical: float = 1e-3
    null: float = 0.2
    jump: float = 0.5
    against: float = 2000.0


def train(
    corpus: Corpus,
    lexicon: Lexicon,
    *,
    rounds: int = 5,
    agreement: bool = True,
    priors: Priors = Priors(),
    known: tuple[Known, Known] | None = None,
    jobs: int = 1,
    on_round: Callable[[float, float], None] | None = None,
) -> tuple[Direction, Direction]:
    """Learn from a corpus in both directions, beginning with Model 1.

    Parameters
    ----------
    corpus : Corpus
        N sentence pairs, ids below the vocabularies' sizes.
    lexicon : Lexicon
        Model 1's tables; words without a cell in it are not counted.
    rounds : int
        Rounds of expectation maximisation, >= 1.
    agreement : bool
        Whether the directions agree, else each is learnt by itself.
    priors : Priors
    known : tuple of Known, optional
        What is known beforehand of either direction; its jumps are not used.
    jobs : int
        Threads, >= 1; the result does not depend on it.
    on_round : function, optional
        Called after each round with the log-likelihoods, in nats, of the target side given the source and of
        the source side given the target, under what the round began with.

    Returns
    -------
    forward, reverse : Direction
        Expected links; their posteriors are empty. `jumps` are the weights, which sum to the jumps expected.
    """
    sides = _begin(corpus, lexicon, priors, known)
    starts = [*range(0, len(corpus), _BLOCK), len(corpus)]
    with ThreadPoolExecutor(jobs) as pool:
        for _ in range(rounds):
            for side in sides:
                side.clear()
            expect = _Expectation(corpus, lexicon, sides, priors.null, agreement)
            # A few blocks at a time, counted in their order: the same sums with any number of threads.
            blocks = list(pairwise(starts))
            for first in range(0, len(blocks), jobs):
                for found in pool.map(expect, blocks[first : first + jobs]):
                    for side, part in zip(sides, found, strict=True):
                        side.add(part)
            for side in sides:
                side.maximise(priors)
            if on_round is not None:
                on_round(sides[0].likelihood, sides[1].likelihood)
    forward, reverse = (side.result() for side in sides)
    return forward, reverse


@dataclass(frozen=True)
class _Part:
    """What one direction says of a block: where it counts, and what."""

    cells: np.ndarray
    posterior: np.ndarray
    observed: np.ndarray
    null_posterior: np.ndarray
    seen: np.ndarray
    chances: np.ndarray
    likelihood: float


class _Side:
    """One direction: its probabilities, and the counts they are made from."""

    def __init__(self, owners: np.ndarray, sizes: tuple[int, int], longest: int, known: Known | None) -> None:
        self.owners, self.known = owners, known
        self.n_hidden, self.n_observed = sizes
        distances = np.arange(-longest - 1, longest + 2)
        self.jumps = np.exp(-_DECAY * np.abs(distances - 1)) + _LITTLE
        self.clear()

    def clear(self) -> None:
        self.links, self.null_links = np.zeros(len(self.owners)), np.zeros(self.n_observed)
        self.seen, self.chances = np.zeros(len(self.jumps)), np.zeros(len(self.jumps))
        self.likelihood = 0.0

    def add(self, part: _Part) -> None:
        markov_kernels.add(part.cells, part.posterior, self.links)
        markov_kernels.add(part.observed, part.null_posterior, self.null_links)
        self.seen += part.seen
        self.chances += part.chances
        self.likelihood += part.likelihood

    def maximise(self, priors: Priors) -> None:
        self.set_words(priors)
        weights = (self.seen + priors.jump) / np.maximum(self.chances + priors.jump * priors.against, 1e-300)
        self.jumps = weights / weights.sum()

    def set_words(self, priors: Priors) -> None:
        """Make the probabilities of words from the counts."""
        links, null = self.links, self.null_links
        totals = np.bincount(self.owners, weights=links, minlength=self.n_hidden)
        if self.known is not None:
            links, totals = links + self.known.links, totals + self.known.totals
            null = null + self.known.null_links
        divided = 1.0 / (totals + priors.lexical * self.n_observed)
        self.table = (links + priors.lexical) * divided[self.owners]
        self.missing = priors.lexical * divided
        self.null = (null + priors.null_lexical) / (null.sum() + priors.null_lexical * self.n_observed)

    def result(self) -> Direction:
        links, null_links, jumps = (
            values.astype(np.float32)
            for values in (self.links, self.null_links, self.jumps * self.seen.sum())
        )
        return Direction(np.zeros(0, dtype=np.uint16), links, null_links, jumps)


def _begin(
    corpus: Corpus, lexicon: Lexicon, priors: Priors, known: tuple[Known, Known] | None
) -> tuple[_Side, _Side]:
    """Return both directions with what Model 1 expects."""
    tables, owners = (lexicon.forward, lexicon.reverse), (lexicon.sources(), lexicon.targets)
    counts, null = (
        (lexicon.source_counts, lexicon.target_counts),
        (lexicon.null_forward, lexicon.null_reverse),
    )
    shapes = shapes_of(corpus)
    sides = []
    for number in range(2):
        side = _Side(
            owners[number],
            (len(counts[number]), len(counts[1 - number])),
            int(shapes[:, number].max(initial=1)),
            None if known is None else known[number],
        )
        side.links = tables[number] * counts[number].astype(np.float64)[owners[number]]
        side.null_links = null[number].astype(np.float64) * (priors.null * counts[1 - number].sum())
        side.set_words(priors)
        sides.append(side)
    return sides[0], sides[1]


@dataclass(frozen=True)
class _Expectation:
    """The expectation of a block of pairs, in both directions."""

    corpus: Corpus
    lexicon: Lexicon
    sides: tuple[_Side, _Side]
    null: float
    agreement: bool

    def __call__(self, block: tuple[int, int]) -> list[_Part]:
        part = self.corpus.block(*block)
        shapes = shapes_of(part)
        edges = edge_offsets(shapes)
        cells = np.empty(int(edges[-1]), dtype=np.int64)
        texts = part.source, part.target
        ids = [np.array(text.ids) for text in texts]
        lexicon_kernels.find_cells(
            read_only(texts[0].ids),
            texts[0].offsets,
            read_only(texts[1].ids),
            texts[1].offsets,
            read_only(self.lexicon.offsets),
            read_only(self.lexicon.targets),
            edges,
            cells,
        )
        found = []
        for number, side in enumerate(self.sides):
            posterior = np.zeros(len(cells), dtype=np.float32)
            null_posterior = np.zeros(len(ids[1 - number]))
            seen, chances = np.zeros(len(side.jumps)), np.zeros(len(side.jumps))
            likelihood = markov_kernels.expect(
                *(ids[number], texts[number].offsets, ids[1 - number], texts[1 - number].offsets),
                *(edges, cells, number == 0, side.table, side.missing, side.null, side.jumps, self.null),
                *(posterior, null_posterior, seen, chances),
            )
            found.append(_Part(cells, posterior, ids[1 - number], null_posterior, seen, chances, likelihood))
        if self.agreement:
            markov_kernels.agree(
                *(shapes, edges, texts[0].offsets, texts[1].offsets),
                *(found[0].posterior, found[1].posterior),
                *(found[0].null_posterior, found[1].null_posterior),
            )
        return found
