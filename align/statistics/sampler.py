r"""A Bayesian hidden Markov model with fertility, sampled: who made whom, averaged over several chains.

Each word t_k of the observed side was made by one word s_(a_k) of the other side or by NULL. With all
parameters integrated out (collapsed Gibbs sampling [1]_), the probability of a_k = j given all other links is
proportional to

    (c(s_j, t_k) + b(s_j, t_k)) / (c(s_j) + b(s_j))          lexical counts c over their prior b
    * jump(j - previous) * jump(next - j)                      neighbours that have a link
    * fertility(phi_j + 1 | s_j) / fertility(phi_j | s_j)      phi_j words are linked to s_j already

where counts leave out the word itself. A chain begins with the lexical part alone, adds the jumps, then the
fertilities; what it says in its last sweeps is averaged as probabilities, not as drawn links. Averaging over
several independent chains counts for more than long ones.

Two things are approximate, for speed: the jumps are those of the sweep before, and where a word stands twice
in a sentence, its other occurrence sees a change of its counts at the next sweep only.

The observed side is the target ("forward": target words choose source words) or the source ("reverse").

A chain of one direction depends on no other, so that they may run anywhere, in any order; what they add up to
are whole numbers. It goes through the text block by block and needs one block at a time, so that
the text, its candidates and their probabilities may lie on disk: what a chain holds itself are its counts,
a few bytes a cell and a word of the vocabularies, and one link a word of the text.

References
----------
.. [1] R. Oestling and J. Tiedemann, "Efficient Word Alignment with Markov Chain Monte Carlo", Prague
   Bulletin of Mathematical Linguistics 106, 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np

from align.data.corpus import Corpus
from align.statistics import sampler_kernels
from align.statistics.candidates import Candidates
from align.statistics.lexicon import Lexicon
from align.statistics.sampler_chain import SCALE, Block, Known, Priors, Schedule, Task, run_chain

__all__ = [
    "SCALE", "Average", "Direction", "Known", "Priors", "Schedule", "sample", "schedule_for", "shapes_of",
]  # fmt: skip


@dataclass(frozen=True)
class Direction:
    """What was learnt in one direction.

    Attributes
    ----------
    posterior : ndarray of uint16, shape (C,)
        Probability of each candidate, times :data:`SCALE`.
    links : ndarray of float32, shape (cells,)
        Expected number of links of each pair of words.
    null_links : ndarray of float32, shape (V_observed,)
        Expected number of links of each word to NULL.
    jumps : ndarray of float32, shape (2 L + 1,)
        Expected number of jumps by d positions, at index L + d.
    """

    posterior: np.ndarray
    links: np.ndarray
    null_links: np.ndarray
    jumps: np.ndarray


def schedule_for(pairs: int, *, effort: float = 1.0) -> Schedule:
    """Return how long to sample a corpus: small ones need more and longer chains, and can afford them.

    Parameters
    ----------
    pairs : int
        Sentence pairs, >= 0.
    effort : float
        Multiplies the number of chains, > 0.
    """
    fewer = 20_000 / max(pairs, 1)
    chains = int(np.clip(round(effort * 8 * fewer**0.6), 1, 16))
    longer = float(np.clip(fewer**0.3, 1.0, 4.0))
    return Schedule(
        chains,
        lexical=round(4 * min(fewer, 1.0)),
        jumps=round(2 * longer),
        fertility=round(6 * longer),
        kept=round(4 * longer),
    )


def shapes_of(corpus: Corpus) -> np.ndarray:
    """Return the numbers of words of each pair, int32, shape (N, 2)."""
    return np.stack([corpus.source.lengths(), corpus.target.lengths()], axis=1).astype(np.int32)


def sample(
    corpus: Corpus,
    candidates: tuple[Candidates, Candidates],
    lexicon: Lexicon,
    *,
    schedule: Schedule,
    priors: Priors = Priors(),
    known: tuple[Known, Known] | None = None,
    seed: int = 0,
    jobs: int = 1,
    on_sweep: Callable[[], None] | None = None,
) -> tuple[Direction, Direction]:
    """Sample the links of a corpus in both directions.

    Parameters
    ----------
    corpus : Corpus
        N sentence pairs, ids below the vocabularies' sizes.
    candidates : tuple of Candidates
        From :func:`align.statistics.candidates.find`: of the target words and of the source words.
    lexicon : Lexicon
        The tables they were found with: the first links are drawn by their probabilities.
    schedule : Schedule
    priors : Priors
    known : tuple of Known, optional
        What is known beforehand of either direction.
    seed : int
        >= 0. The same seed gives the same result, whatever `jobs` is.
    jobs : int
        Threads, which share chains and directions.
    on_sweep : function, optional
        Called after each sweep of any chain, from its thread.

    Returns
    -------
    forward, reverse : Direction
    """
    lengths = corpus.source.lengths(), corpus.target.lengths()
    tasks = [
        Task.of(
            lexicon,
            side,
            int(lengths[side].max(initial=0)),
            schedule,
            priors=priors,
            seed=seed,
            known=None if known is None else known[side],
        )
        for side in range(2)
    ]
    blocks = [Block.of(corpus, candidates, side) for side in range(2)]

    def run(work: tuple[int, int]) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
        side, chain = work
        sums = blocks[side].begin()
        return sums, run_chain(tasks[side], [blocks[side]], [sums], chain=chain, on_sweep=on_sweep)

    with ThreadPoolExecutor(jobs) as pool:
        ran = list(pool.map(run, product(range(2), range(schedule.chains))))
    found = []
    for side, task in enumerate(tasks):
        chains = ran[side * schedule.chains : (side + 1) * schedule.chains]
        whole = Average(task)
        posterior = whole.add(blocks[side], [sums for sums, _ in chains])
        found.append(whole.direction(posterior, [jumps for _, jumps in chains]))
    return found[0], found[1]


class Average:
    """Adds up the chains of one direction, block by block."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._share = 1.0 / (float(np.float32(task.unit)) * task.schedule.chains * task.schedule.kept)
        self._expected = np.zeros(len(task.table) + 1)
        self._null = np.zeros(task.n_observed)

    def add(self, block: Block, chains: Iterable[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """Take in a block with its sums of all chains; return the posteriors of its candidates, uint16."""
        posterior, null_posterior = block.begin()
        for sums in chains:
            posterior += sums[0]
            null_posterior += sums[1]
        # 16 bits hold multiples of the unit
        sampler_kernels.finish(block.candidates.cells, posterior, SCALE * self._share, self._expected)
        self._null += np.bincount(block.observed, weights=null_posterior, minlength=len(self._null))
        return posterior

    def direction(self, posterior: np.ndarray, jumps: Sequence[np.ndarray]) -> Direction:
        """Return what all blocks and chains say, with the posteriors and the jumps of each chain."""
        kept = self._task.schedule.chains * self._task.schedule.kept
        return Direction(
            posterior,
            (self._expected[:-1] * self._share).astype(np.float32),
            (self._null * self._share).astype(np.float32),
            (np.array(jumps).sum(axis=0, dtype=np.float64) / kept).astype(np.float32),
        )
