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

References
----------
.. [1] R. Oestling and J. Tiedemann, "Efficient Word Alignment with Markov Chain Monte Carlo", Prague
   Bulletin of Mathematical Linguistics 106, 2016.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from align import sampler_kernels
from align.candidates import Candidates
from align.corpus import Corpus, Sentences
from align.lexicon import Lexicon

# Fertilities from 0 to this are told apart; more count as this.
MOST_FERTILE = 5
# What a word's fertility is before anything is known of it: mostly one.
FERTILITY_PRIOR = np.array([0.3, 0.4, 0.15, 0.08, 0.04, 0.03], dtype=np.float32)

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
        From :func:`align.candidates.find`: of the target words and of the source words.
    lexicon : Lexicon
        The tables they were found with: the first links are drawn by their probabilities.
    schedule : Schedule
    priors : Priors
    known : tuple of Known, optional
        What is known beforehand of either direction.
    seed : int
        >= 0. The same seed gives the same result, whatever `jobs` is.
    jobs : int
        Threads: with 2 or more the directions run side by side.
    on_sweep : function, optional
        Called after each sweep of either direction, from its thread.

    Returns
    -------
    forward, reverse : Direction
    """
    n_source, n_target = len(lexicon.source_counts), len(lexicon.target_counts)

    def run(side: int) -> Direction:
        both = (corpus.source, corpus.target)
        task = _Task(
            both[side],
            both[1 - side],
            candidates[side],
            np.append((lexicon.forward, lexicon.reverse)[side], np.float32(0.0)),
            (n_source, n_target)[side],
            (n_target, n_source)[side],
            side,
            None if known is None else known[side],
        )
        return _run_chains(task, schedule, priors, seed, on_sweep)

    if jobs == 1:
        return run(0), run(1)
    with ThreadPoolExecutor(2) as pool:
        forward, reverse = pool.map(run, (0, 1))
    return forward, reverse


@dataclass(frozen=True)
class _Task:
    hidden: Sentences
    observed: Sentences
    candidates: Candidates
    table: np.ndarray
    n_hidden: int
    n_observed: int
    side: int
    known: Known | None

    @property
    def longest(self) -> int:
        """The longest jump, plus one."""
        return int(self.hidden.lengths().max(initial=0)) + 1


@dataclass(frozen=True)
class _Sums:
    """What the kept sweeps add up to."""

    unit: np.float32
    posterior: np.ndarray
    null_posterior: np.ndarray
    jumps: np.ndarray


def _run_chains(
    task: _Task, schedule: Schedule, priors: Priors, seed: int, on_sweep: Callable[[], None] | None
) -> Direction:
    kept = schedule.chains * schedule.kept
    observed = np.array(task.observed.ids)
    sums = _Sums(
        np.float32(SCALE // kept),
        np.zeros(len(task.candidates), dtype=np.uint16),
        np.zeros(len(observed), dtype=np.uint16),
        np.zeros(2 * task.longest + 1),
    )
    for chain in range(schedule.chains):
        state = np.random.SeedSequence([seed, chain, 1 - task.side]).generate_state(1, np.uint64)
        _run_chain(task, schedule, priors, state, sums, on_sweep)
    whole = 1.0 / (float(sums.unit) * kept)
    expected = np.zeros(len(task.table))
    # 16 bits hold multiples of SCALE // kept
    sampler_kernels.finish(task.candidates.cells, sums.posterior, SCALE * whole, expected)
    null_links = np.bincount(observed, weights=sums.null_posterior, minlength=task.n_observed) * whole
    return Direction(
        sums.posterior,
        (expected[:-1] * whole).astype(np.float32),
        null_links.astype(np.float32),
        (sums.jumps / kept).astype(np.float32),
    )


def _run_chain(
    task: _Task,
    schedule: Schedule,
    priors: Priors,
    state: np.ndarray,
    sums: _Sums,
    on_sweep: Callable[[], None] | None,
) -> None:
    hidden, observed = np.array(task.hidden.ids), np.array(task.observed.ids)
    starts, observed_starts = task.hidden.offsets, task.observed.offsets
    offsets, places, cells = task.candidates.offsets, task.candidates.places, task.candidates.cells
    texts = (hidden, starts, observed, observed_starts, offsets, places, cells)
    made = (starts, observed_starts, offsets, places)
    links = np.empty(len(observed), dtype=np.int16)
    values = np.full(len(task.table), priors.lexical, dtype=np.float32)
    totals = np.full(task.n_hidden, priors.lexical * task.n_observed, dtype=np.float32)
    null = np.full(task.n_observed + 1, priors.null_lexical, dtype=np.float32)
    jump_prior = np.full(len(sums.jumps), priors.jump)
    if task.known is not None:
        values[:-1] += task.known.links
        totals += task.known.totals
        null[:-1] += task.known.null_links
        if task.known.jumps is not None:
            jump_prior += task.known.jumps_to(len(jump_prior) // 2)
    null[-1] = null[:-1].sum(dtype=np.float64)
    sampler_kernels.begin(*texts, links, values, totals, null, np.array(task.table), priors.null, state)
    fertility = np.zeros((task.n_hidden, MOST_FERTILE + 1), dtype=np.float32)
    odds = np.float32(priors.null / (1.0 - priors.null))
    for model, count in enumerate((schedule.lexical, schedule.jumps, schedule.fertility)):
        if model == 2:
            sampler_kernels.count_fertility(hidden, *made, links, fertility)
            fertility += np.float32(priors.fertility) * FERTILITY_PRIOR
        for sweep in range(count):
            seen = np.zeros(len(sums.jumps), dtype=np.int64)
            sampler_kernels.count_jumps(*made, links, seen)
            weights = (seen + jump_prior) / (seen.sum() + jump_prior.sum())
            keep = model == 2 and sweep >= count - schedule.kept
            if keep:
                sums.jumps[:] += seen
            sampler_kernels.sweep(
                *texts,
                *(links, values, totals, null, weights.astype(np.float32), fertility, model, odds),
                *(sums.unit if keep else np.float32(0.0), sums.posterior, sums.null_posterior, state),
            )
            if on_sweep is not None:
                on_sweep()
