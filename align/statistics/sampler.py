r"""A Bayesian hidden Markov model with fertility, sampled: who made whom, averaged over several chains.

Each word t_k of the observed side was made by one word s_(a_k) of the other side or by NULL. With all
parameters integrated out (collapsed Gibbs sampling [1]_), the probability of a_k = j given all other links is
proportional to

    (c(s_j, t_k) + b(s_j, t_k)) / (c(s_j) + b(s_j))          lexical counts c over their prior b
    * jump(j - previous) * jump(next - j)                      neighbours that have a link, see below
    * fertility(phi_j + 1 | s_j) / fertility(phi_j | s_j)      phi_j words are linked to s_j already

where counts leave out the word itself, and b what is known before, of words in small texts by their stems
too (:mod:`align.statistics.stems`); the probability of a jump depends on the word jumped from and on the
words of NULL between (:mod:`align.statistics.jumps`). A chain begins with the lexical part alone, adds the
jumps, then the fertilities; what it says in its last sweeps is averaged as probabilities, not as drawn
links. Averaging over several independent chains counts for more than long ones.

Two things are approximate, for speed: the jumps are those of the sweep before, and where a word stands twice
in a sentence, its other occurrence sees a change of its counts at the next sweep only.

A pair may stand for several copies of it. They have the same links, which count as often, and all of them are
left out of the counts when a link is drawn: copies are no evidence for each other.

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
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from align.core.kernels import kernel
from align.core.ragged import read_only
from align.data.corpus import Corpus
from align.statistics import sampler_priors as prior
from align.statistics.candidates import Candidates
from align.statistics.cooccurrence import sealed
from align.statistics.expected_links import ExpectedLinks
from align.statistics.jumps import BEGINNING, GAPS, Jumps, word_classes
from align.statistics.lexicon import Lexicon
from align.statistics.posteriors import SCALE
from align.statistics.sampler_priors import LexicalPrior

# Up to here float32 holds every whole number: a larger count would no longer grow.
_EXACT = 2.0**24

# The models that a chain goes through.
_LEXICAL, _JUMPS, _FERTILITY = range(3)


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


def schedule_for(pairs: int) -> Schedule:
    """Return how long to sample so many pairs: small corpora need, and can afford, more and longer chains.

    In large ones several short chains are better than fewer long ones.
    """
    fewer = 20_000 / max(pairs, 1)
    chains = int(np.clip(round(5 * fewer**0.25), 3, 16))
    longer = float(np.clip(fewer**0.2, 2 / 3, 4.0))
    return Schedule(
        chains,
        lexical=round(4 * min(fewer, 1.0)),
        jumps=round(2 * longer),
        fertility=round(6 * longer),
        kept=round(4 * longer),
    )


class Block(NamedTuple):
    """Consecutive pairs of a text, as one direction sees them.

    Attributes
    ----------
    hidden, observed : ndarray of int32
        Word ids of the side that makes words, and of the side that is made.
    hidden_starts, observed_starts : ndarray of int64, shape (pairs + 1,)
        Where their sentences begin, from 0.
    offsets, places, cells : ndarray
        The :class:`~align.statistics.candidates.Candidates` of the observed words.
    weights : ndarray of float32, shape (pairs,)
        Of how many copies each pair stands, >= 1: all have the same links, and each counts.
    """

    hidden: np.ndarray
    hidden_starts: np.ndarray
    observed: np.ndarray
    observed_starts: np.ndarray
    offsets: np.ndarray
    places: np.ndarray
    cells: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        candidates: tuple[Candidates, Candidates],
        side: int,
        weights: np.ndarray | None = None,
    ) -> Block:
        """Return the block of some pairs: target words are observed (0), or source words (1)."""
        texts = corpus.source, corpus.target
        hidden, observed = texts[side], texts[1 - side]
        weights = np.ones(len(corpus), dtype=np.float32) if weights is None else weights
        return cls(hidden.ids, hidden.offsets, observed.ids, observed.offsets, *candidates[side], weights)

    @property
    def candidates(self) -> Candidates:
        """The candidates of the observed words."""
        return Candidates(self.offsets, self.places, self.cells)


class Sums(NamedTuple):
    """What the probabilities of a block add up to in the kept sweeps of a chain.

    Attributes
    ----------
    candidates : ndarray of uint16, shape (C,)
        Of each candidate, times :attr:`ChainSettings.unit`.
    null : ndarray of uint16, shape (T,)
        Of NULL for each observed word, times the same.
    """

    candidates: np.ndarray
    null: np.ndarray

    @classmethod
    def zeros(cls, block: Block) -> Sums:
        """Return room for the sums of a block."""
        return cls(np.zeros(len(block.places), np.uint16), np.zeros(len(block.observed), np.uint16))


class TextSums(Protocol):
    """The sums of each block of a text."""

    def __getitem__(self, number: int, /) -> Sums:
        """Return the sums of a block, to be changed in place."""
        ...


@dataclass(frozen=True)
class ChainSettings:
    """What the chains of one direction have in common.

    Attributes
    ----------
    side : int
        0: target words are observed, 1: source words.
    table : ndarray of float32, shape (cells,)
        Probabilities of Model 1 of the observed words: the first links are drawn by them.
    classes : ndarray of int32, shape (n_hidden,)
        Of the hidden words (:func:`align.statistics.jumps.word_classes`).
    n_hidden, n_observed : int
        Sizes of the vocabularies.
    most, tokens : int
        Occurrences of the most frequent hidden word, and of all observed words.
    longest : int
        Words of the longest hidden sentence, >= 0.
    schedule : Schedule
    seed : int
        >= 0.
    prior : LexicalPrior, optional
        Of this direction.
    """

    side: int
    table: np.ndarray
    classes: np.ndarray
    n_hidden: int
    n_observed: int
    most: int
    tokens: int
    longest: int
    schedule: Schedule
    seed: int = 0
    prior: LexicalPrior | None = None

    @classmethod
    def of(
        cls,
        lexicon: Lexicon,
        side: int,
        longest: int,
        schedule: Schedule,
        *,
        seed: int = 0,
        prior: LexicalPrior | None = None,
    ) -> ChainSettings:
        """Return those of a direction over a lexicon."""
        counts = lexicon.source_counts, lexicon.target_counts
        hidden, observed = counts[side], counts[1 - side]
        size = int(hidden.max(initial=0)), int(observed.sum())
        table = (lexicon.forward, lexicon.reverse)[side]
        classes = word_classes(hidden, longest + 1)
        return cls(side, table, classes, len(hidden), len(observed), *size, longest, schedule, seed, prior)

    def prior_jumps(self) -> Jumps | None:
        """Return the jumps that the prior knows of, if it does, over these classes and sentences."""
        if self.prior is None or self.prior.jumps is None:
            return None
        return self.prior.jumps.moved(self.classes, self.longest + 1)

    @property
    def unit(self) -> int:
        """What a probability of 1 adds to the sums in a kept sweep, so that 16 bits hold them all."""
        return SCALE // (self.schedule.chains * self.schedule.kept)


class _State(NamedTuple):
    """The state of a chain but for its links: counts with their priors, of a type that holds them.

    Of each cell (and of none) with ``links``, of hidden words, of observed words made by NULL (their sum
    comes last), of hidden words and numbers of words made; and the state of the random numbers.
    """

    links: np.ndarray
    totals: np.ndarray
    null: np.ndarray
    fertility: np.ndarray
    generator: np.ndarray


class _StemCounts(NamedTuple):
    """The stems of a chain (:class:`align.statistics.stems.Stems`), all empty without, and their links.

    ``links`` are those of each pair of stems (and of none), ``totals`` of each hidden stem, over priors.
    """

    hidden: np.ndarray
    cells: np.ndarray
    shares: np.ndarray
    links: np.ndarray
    totals: np.ndarray


def run_chain(
    settings: ChainSettings,
    text: Iterable[Block],
    sums: TextSums,
    *,
    chain: int,
    on_sweep: Callable[[], None] | None = None,
) -> np.ndarray:
    """Run one chain of one direction.

    Parameters
    ----------
    settings : ChainSettings
    text : iterable of Block
        The text, which is gone through several times, block by block.
    sums : TextSums
        All zero; the probabilities of the kept sweeps, times ``settings.unit``, are added.
    chain : int
        Its number, from 0: other chains draw otherwise.
    on_sweep : function, optional
        Called after each sweep.

    Returns
    -------
    ndarray of int64, shape (C, GAPS, 2 L + 1)
        Jumps of the kept sweeps (:class:`align.statistics.jumps.Jumps`), L = ``settings.longest + 1``.
    """
    schedule, state = settings.schedule, _first_state(settings, chain)
    seen = Jumps.none(settings.classes, settings.longest + 1)
    kept_jumps = np.zeros_like(seen.counts)
    before = settings.prior_jumps()
    choices = _first_choices(settings, text, state, seen)
    stems = _stem_counts(settings)
    if len(stems.hidden):
        for number, block in enumerate(text):
            _count_stems(sealed(block), choices[number], stems)
    nothing = Sums(np.zeros(0, dtype=np.uint16), np.zeros(0, dtype=np.uint16))
    for model, count in enumerate((schedule.lexical, schedule.jumps, schedule.fertility)):
        if model == _FERTILITY:
            for number, block in enumerate(text):
                _count_fertility(sealed(block), choices[number], state.fertility)
            state.fertility[:] += np.float32(prior.FERTILITY_WEIGHT) * prior.FERTILITY
        for sweep in range(count):
            probabilities = (seen if before is None else seen.plus(before)).smoothed()
            keep = model == _FERTILITY and sweep >= count - schedule.kept
            if keep:
                kept_jumps += seen.counts
            seen.counts[:] = 0
            for number, block in enumerate(text):
                own, unit = (sums[number], settings.unit) if keep else (nothing, 0)
                jumps = probabilities, settings.classes
                _sweep(sealed(block), choices[number], state, stems, jumps, model, np.float32(unit), own)
                if model < _FERTILITY or sweep + 1 < count:  # nobody asks for those of the last
                    _count_jumps(sealed(block), choices[number], settings.classes, seen.counts)
            if on_sweep is not None:
                on_sweep()
    return kept_jumps


def _first_state(settings: ChainSettings, chain: int) -> _State:
    """Return the priors of all counts; where a count may grow beyond what float32 holds, as float64."""
    seeds = np.random.SeedSequence([settings.seed, chain, 1 - settings.side])
    links = np.full(len(settings.table) + 1, prior.LEXICAL, dtype=np.float32)
    totals = np.full(settings.n_hidden, prior.LEXICAL * settings.n_observed, dtype=np.float32)
    null = np.full(settings.n_observed + 1, prior.NULL_LEXICAL, dtype=np.float32)
    if settings.prior is not None:
        links[:-1] += settings.prior.links
        totals += settings.prior.totals
        null[:-1] += settings.prior.null_links
        if settings.prior.stems is not None:
            totals += settings.prior.stems.weight
    before = null[:-1].sum(dtype=np.float64)
    null = null.astype(_count_type(before + settings.tokens), copy=False)
    null[-1] = before
    links, totals = (
        counts.astype(_count_type(float(counts.max(initial=0)) + settings.most), copy=False)
        for counts in (links, totals)
    )
    fertility = np.zeros((settings.n_hidden, len(prior.FERTILITY)), dtype=_count_type(settings.most))
    return _State(links, totals, null, fertility, seeds.generate_state(1, np.uint64))


def _stem_counts(settings: ChainSettings) -> _StemCounts:
    """Return the priors of the counts of stems."""
    stems = None if settings.prior is None else settings.prior.stems
    if stems is None:
        none, no_counts = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
        return _StemCounts(read_only(none), read_only(none), read_only(no_counts), no_counts, no_counts)
    kind = _count_type(settings.tokens)
    links = np.full(int(stems.cells[-1]) + 1, prior.LEXICAL, dtype=kind)
    totals = np.full(int(stems.hidden.max(initial=-1)) + 1, prior.LEXICAL * settings.n_observed, dtype=kind)
    own = read_only(stems.hidden), read_only(stems.cells), read_only(stems.shares)
    return _StemCounts(*own, links, totals)


def _count_type(largest: float) -> type[np.floating[Any]]:
    """Return the type of counts up to ``largest``, a margin for the weights of the priors left."""
    return np.float32 if largest < _EXACT - 1000 else np.float64


def _first_choices(
    settings: ChainSettings, text: Iterable[Block], state: _State, seen: Jumps
) -> list[np.ndarray]:
    """Draw the first links of a chain and count them, and their jumps."""
    table = np.append(settings.table, np.float32(0.0))
    choices = []
    for block in text:
        own = np.empty(len(block.observed), dtype=np.int16)
        _begin(sealed(block), own, state, table, prior.NULL)
        _count_jumps(sealed(block), own, settings.classes, seen.counts)
        choices.append(own)
    return choices


class SampledLinks(NamedTuple):
    """The expected links of what was sampled in one direction.

    Attributes
    ----------
    links, null_links : ndarray of float32, shapes (cells,) and (V_observed,)
        Of each pair of words, and of each word to NULL.
    jumps : Jumps
        Counts of float32.
    """

    links: np.ndarray
    null_links: np.ndarray
    jumps: Jumps


class Average:
    """Adds up the chains of one direction, block by block."""

    def __init__(self, settings: ChainSettings) -> None:
        schedule = settings.schedule
        self._kept = schedule.chains * schedule.kept
        self._share = 1.0 / (float(np.float32(settings.unit)) * schedule.chains * schedule.kept)
        self._expected = np.zeros(len(settings.table) + 1)
        self._null = np.zeros(settings.n_observed)
        self._classes = settings.classes

    def add(self, block: Block, chains: Iterable[Sums]) -> np.ndarray:
        """Take in a block with its sums of all chains; return the posteriors of its candidates, uint16."""
        whole = Sums.zeros(block)
        for sums in chains:
            whole.candidates[:] += sums.candidates
            whole.null[:] += sums.null
        # 16 bits hold multiples of the unit
        _finish(sealed(block), whole.candidates, SCALE * self._share, self._expected)
        copies = np.repeat(block.weights, np.diff(block.observed_starts))
        null = copies * whole.null.astype(np.float64)
        self._null += np.bincount(block.observed, weights=null, minlength=len(self._null))
        return whole.candidates

    def links(self, jumps: Sequence[np.ndarray]) -> SampledLinks:
        """Return what all blocks and chains say, given the jumps of each chain."""
        seen = np.array(jumps).sum(axis=0, dtype=np.float64) / self._kept
        return SampledLinks(
            (self._expected[:-1] * self._share).astype(np.float32),
            (self._null * self._share).astype(np.float32),
            Jumps(seen.astype(np.float32), self._classes),
        )


def expected_links(
    lexicon: Lexicon,
    sampled: tuple[SampledLinks, SampledLinks],
    priors: tuple[LexicalPrior, LexicalPrior] | None = None,
) -> ExpectedLinks:
    """Return the links sampled in both directions over the cells of a lexicon, those of the priors added."""
    forward, reverse = sampled
    sums = np.zeros(lexicon.cells + 1)
    np.cumsum(forward.links, out=sums[1:], dtype=np.float64)
    rows = np.diff(sums[lexicon.offsets]).astype(np.float32)
    size = len(lexicon.target_counts)
    columns = np.bincount(lexicon.targets, weights=reverse.links, minlength=size).astype(np.float32)
    arrays = [forward.links, reverse.links, rows, columns, forward.null_links, reverse.null_links]
    jumps = [forward.jumps, reverse.jumps]
    if priors is not None:
        for side, before in enumerate(priors):
            for place, values in enumerate((before.links, before.totals, before.null_links)):
                arrays[2 * place + side] = arrays[2 * place + side] + values
            if before.jumps is not None:
                own = jumps[side]
                jumps[side] = own.plus(before.jumps.moved(own.classes, own.longest))
            if before.stems is not None:
                makers = lexicon.targets if side else lexicon.sources()
                made = lexicon.sources() if side else lexicon.targets
                arrays[side] = arrays[side] + before.stems.expected(sampled[side].links, makers, made)
                arrays[2 + side] = arrays[2 + side] + before.stems.weight
    counts, classes = [each.counts for each in jumps], [each.classes for each in jumps]
    return ExpectedLinks(*arrays, *counts, *classes)


@kernel
def _uniform(generator: np.ndarray) -> np.float32:
    """Draw from [0, 1): the generator xorshift64* of Vigna 2016."""
    x = generator[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    generator[0] = x
    return np.float32((x * np.uint64(2685821657736338717)) >> np.uint64(40)) * np.float32(1.0 / 16777216.0)


@kernel(error_model="numpy")
def _begin(
    block: Block, choices: np.ndarray, state: _State, table: np.ndarray, null_probability: float
) -> None:
    """Draw the first links of a chain by ``table``, of probabilities of cells, and count them.

    ``choices`` says which of its candidates made each observed word, -1 for NULL. Where the table has none
    but zeros all candidates are as likely.
    """
    none = len(state.links) - 1
    offsets, cells = block.offsets, block.cells
    for pair in range(len(block.hidden_starts) - 1):
        first, weight = block.hidden_starts[pair], block.weights[pair]
        for k in range(block.observed_starts[pair], block.observed_starts[pair + 1]):
            low, high = offsets[k], offsets[k + 1]
            total = np.float32(0.0)
            for c in range(low, high):
                total += table[cells[c]]
            if low == high or _uniform(state.generator) < null_probability:
                choices[k] = -1
                state.null[block.observed[k]] += weight
                state.null[-1] += weight
                continue
            c = low
            if total > 0:
                rest = _uniform(state.generator) * total - table[cells[c]]
                while rest >= 0 and c < high - 1:
                    c += 1
                    rest -= table[cells[c]]
            else:
                c += min(np.int64(_uniform(state.generator) * (high - low)), high - low - 1)
            choices[k] = c - low
            if cells[c] != none:
                state.links[cells[c]] += weight
            state.totals[block.hidden[first + block.places[c]]] += weight


@kernel
def _count_stems(block: Block, choices: np.ndarray, stems: _StemCounts) -> None:
    """Count the links of stems."""
    none = len(stems.cells) - 1
    for pair in range(len(block.hidden_starts) - 1):
        first, weight = block.hidden_starts[pair], block.weights[pair]
        for k in range(block.observed_starts[pair], block.observed_starts[pair + 1]):
            if choices[k] < 0:
                continue
            c = block.offsets[k] + choices[k]
            if block.cells[c] != none:
                stems.links[stems.cells[block.cells[c]]] += weight
            stems.totals[stems.hidden[block.hidden[first + block.places[c]]]] += weight


@kernel
def _count_jumps(block: Block, choices: np.ndarray, classes: np.ndarray, seen: np.ndarray) -> None:
    """Count the jumps between linked words, those to the end of the sentence included."""
    centre = seen.shape[2] // 2
    for pair in range(len(block.hidden_starts) - 1):
        first, start = block.hidden_starts[pair], block.observed_starts[pair]
        place, of_class, last = np.int64(-1), BEGINNING, start - 1
        weight = np.int64(block.weights[pair])
        for k in range(start, block.observed_starts[pair + 1] + 1):
            to = block.hidden_starts[pair + 1] - first
            if k < block.observed_starts[pair + 1]:
                if choices[k] < 0:
                    continue
                to = np.int64(block.places[block.offsets[k] + choices[k]])
            seen[of_class, min(k - last, GAPS) - 1, centre + to - place] += weight
            if k < block.observed_starts[pair + 1]:
                place, last = to, k
                of_class = classes[block.hidden[first + to]]


@kernel
def _count_fertility(block: Block, choices: np.ndarray, fertility: np.ndarray) -> None:
    """Count how many words each hidden word made."""
    most = fertility.shape[1] - 1
    longest = 1
    for pair in range(len(block.hidden_starts) - 1):
        longest = max(longest, block.hidden_starts[pair + 1] - block.hidden_starts[pair])
    made = np.empty(longest, dtype=np.int64)
    for pair in range(len(block.hidden_starts) - 1):
        first, n = block.hidden_starts[pair], block.hidden_starts[pair + 1] - block.hidden_starts[pair]
        made[:n] = 0
        for k in range(block.observed_starts[pair], block.observed_starts[pair + 1]):
            if choices[k] >= 0:
                made[block.places[block.offsets[k] + choices[k]]] += 1
        for j in range(n):
            fertility[block.hidden[first + j], min(made[j], most)] += block.weights[pair]


@kernel
def _change(fertility: np.ndarray, word: int, made: int, step: int, weight: np.float32) -> float:
    """Move a word from one fertility to the next, up or down; return the ratio of one more to as many."""
    most = fertility.shape[1] - 1
    fertility[word, min(made, most)] -= weight
    made += step
    fertility[word, min(made, most)] += weight
    return _ratio(fertility, word, made, weight)


@kernel
def _ratio(fertility: np.ndarray, word: int, made: int, weight: np.float32) -> float:
    """Return fertility(made + 1) / fertility(made), the word itself and its copies left out of the counts."""
    most = fertility.shape[1] - 1
    return fertility[word, min(made + 1, most)] / (fertility[word, min(made, most)] - weight)


@kernel(error_model="numpy")
def _sweep(
    block: Block,
    choices: np.ndarray,
    state: _State,
    stems: _StemCounts,
    jumps: tuple[np.ndarray, np.ndarray],
    model: int,
    unit: np.float32,
    kept: Sums,
) -> None:
    """Draw every link of a block anew, once; where ``unit`` > 0, add up the probabilities.

    ``jumps`` are probabilities by class, gap and distance, and the classes of the hidden words.

    ``made`` are the words that each hidden word of the pair has made, ``more`` the ratio of its fertilities,
    ``rate`` that over its total, ``sums`` the cumulative weights of a word's candidates, ``origin`` the index
    of a jump by 0 from place 0, less the place. Unsigned indices of candidates and cells spare a check of
    each for being negative.
    """
    hidden, hidden_starts, observed, observed_starts, offsets, places, cells, weights = block
    links, totals, null, fertility, generator = state
    stem_of, stem_cells, shares, stem_links, stem_totals = stems
    backed = len(stem_of) > 0
    classes, width = jumps[1], jumps[0].shape[2]
    distances = jumps[0].reshape(-1)
    none, centre = len(links) - 1, width // 2
    longest = centre + 1
    origin = np.empty(longest, dtype=np.int64)
    sums, rate = np.empty(longest, dtype=np.float32), np.empty(longest, dtype=np.float32)
    more, stem = np.ones(longest, dtype=np.float32), np.zeros(longest, dtype=np.int64)
    lexical = np.empty(longest, dtype=np.float32)
    made = np.empty(longest, dtype=np.int64)
    half, null_odds = np.float32(0.5), np.float32(prior.NULL / (1.0 - prior.NULL))
    for pair in range(len(hidden_starts) - 1):
        first, n = hidden_starts[pair], hidden_starts[pair + 1] - hidden_starts[pair]
        start, end, weight = observed_starts[pair], observed_starts[pair + 1], weights[pair]
        made[:n] = 0
        for k in range(start, end):
            if choices[k] >= 0:
                made[places[offsets[k] + choices[k]]] += 1
        for j in range(n):
            if model == _FERTILITY:
                more[j] = _ratio(fertility, hidden[first + j], made[j], weight)
            rate[j] = more[j] / totals[hidden[first + j]]
            if backed:
                stem[j] = stem_of[hidden[first + j]]
            origin[j] = classes[hidden[first + j]] * GAPS * width + centre - j
        # The jump from the beginning: from place -1.
        linked, following, sought = start - 1, n, start
        come_from = BEGINNING * GAPS * width + centre + 1
        for k in range(start, end):
            if sought <= k:
                sought, following = k + 1, n
                while sought < end:
                    if choices[sought] >= 0:
                        following = np.int64(places[offsets[sought] + choices[sought]])
                        break
                    sought += 1
            word, low, count = observed[k], offsets[k], offsets[k + 1] - offsets[k]
            if choices[k] >= 0:
                cell, old = cells[low + choices[k]], places[low + choices[k]]
                maker = hidden[first + old]
                if cell != none:
                    links[cell] -= weight
                totals[maker] -= weight
                if backed:
                    if cell != none:
                        stem_links[stem_cells[cell]] -= weight
                    stem_totals[stem[old]] -= weight
                if model == _FERTILITY:
                    more[old] = _change(fertility, maker, made[old], -1, weight)
                made[old] -= 1
                rate[old] = more[old] / totals[maker]
            else:
                null[word] -= weight
                null[-1] -= weight
            here, cells_here = places[low : low + count], cells[low : low + count]
            total = np.float32(0.0)
            if backed:
                share = shares[word]
                for c in range(np.uint64(count)):
                    cell = cells_here[c]
                    of_stem = stem_links[stem_cells[cell]] / stem_totals[stem[here[c]]]
                    lexical[c] = links[cell] + share * of_stem
            else:
                for c in range(np.uint64(count)):
                    lexical[c] = links[np.uint32(cells_here[c])]
            if model == _LEXICAL:
                for c in range(np.uint64(count)):
                    total += lexical[c] * rate[here[c]]
                    sums[c] = total
            else:
                ahead = distances[come_from + (min(k - linked, GAPS) - 1) * width :]
                onward = distances[following + (min(sought - k, GAPS) - 1) * width :]
                for c in range(np.uint64(count)):
                    j = here[c]
                    total += lexical[c] * rate[j] * ahead[j] * onward[origin[j]]
                    sums[c] = total
            empty = null_odds * null[word] / null[-1]
            if model != _LEXICAL:
                empty *= distances[come_from + (min(sought - linked, GAPS) - 1) * width + following]
            whole = total + empty
            if unit > 0:
                scale, last = unit / whole, np.float32(0.0)
                found = kept.candidates[low : low + count]
                for c in range(np.uint64(count)):
                    found[c] += np.uint16((sums[c] - last) * scale + half)
                    last = sums[c]
                kept.null[k] += np.uint16(empty * scale + half)
            drawn = _uniform(generator) * whole
            if drawn < total:
                new = 0
                for c in range(np.uint64(count)):
                    new += sums[c] <= drawn  # without a branch, which nobody could foretell
                choices[k] = new
                cell, place = cells[low + new], places[low + new]
                maker = hidden[first + place]
                if cell != none:
                    links[cell] += weight
                totals[maker] += weight
                if backed:
                    if cell != none:
                        stem_links[stem_cells[cell]] += weight
                    stem_totals[stem[place]] += weight
                if model == _FERTILITY:
                    more[place] = _change(fertility, maker, made[place], 1, weight)
                made[place] += 1
                rate[place] = more[place] / totals[maker]
                linked, come_from = k, origin[place]
            else:
                choices[k] = -1
                null[word] += weight
                null[-1] += weight


@kernel
def _finish(block: Block, posterior: np.ndarray, stretch: float, expected: np.ndarray) -> None:
    """Add up the probabilities of each cell; stretch those of the candidates to the full scale."""
    for pair in range(len(block.observed_starts) - 1):
        first, last = block.observed_starts[pair], block.observed_starts[pair + 1]
        weight = np.float64(block.weights[pair])
        for c in range(block.offsets[first], block.offsets[last]):
            value = posterior[c]
            expected[block.cells[c]] += value * weight
            posterior[c] = np.uint16(min(value * stretch + 0.5, 65535.0))
