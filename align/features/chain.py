r"""Posteriors of a chain model: neighbouring words tend to be translations of neighbouring words.

Each target word k is made by one source position a_k or by NULL, and a_k depends on the last linked word's
place only [1]_:

    p(a, t | s) = \prod_k  jump(a_k - a_(k-1))  e(t_k | s_(a_k))

NULL keeps the place to jump from, as in [2]_, and how many words it has made since. The posteriors
p(a_k = j | s, t) come from the forward-backward recursions; the same is done from target to source. The
emissions e are those that the sampler has learnt, where it has not run Model 1's, plus what helps where they
know nothing: words alike in their vectors, the same name or number on both sides, a word never seen, or one
that is spelt like another. The jumps are the sampler's too, by the word jumped from and the gap
(:mod:`align.statistics.jumps`); else fixed ones that prefer a step ahead.

References
----------
.. [1] Vogel, Ney and Tillmann 1996, "HMM-Based Word Alignment in Statistical Translation".
.. [2] Och and Ney 2003, "A Systematic Comparison of Various Statistical Alignment Models", section 2.1.2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from align.core.kernels import kernel
from align.features.block import Block, Resources, Side
from align.features.cosine import cosines
from align.features.lexical import associations, expected_links, null_probabilities
from align.features.maps import EdgePosteriors, fill_posteriors, posterior_names
from align.features.spelling import likenesses, same_names
from align.statistics.jumps import BEGINNING, GAPS, OTHERS
from align.statistics.sampler_priors import LEXICAL, NULL, NULL_LEXICAL

JUMP_DECAY = 0.7
JUMP_FLOOR = 0.003
EMISSION_FLOOR = 1e-7
UNSEEN_EMISSION = 1e-4
SAME_NAME_EMISSION = 0.1
COSINE_EMISSION = 0.5
COSINE_THRESHOLD = 0.3

# Links that words spelt alike have besides those expected.
SPELLING = 2.0

# From a state that is less probable than this, by what comes before it, nothing goes on; where it is less by
# three more powers of ten, its own posterior is 0.
UNLIKELY = 1e-3

# The longest of the fixed jumps.
_FIXED_REACH = 100


class JumpTable(NamedTuple):
    """Probabilities of jumps for a block.

    Attributes
    ----------
    probabilities : ndarray of float32, shape (C, GAPS, 2 L + 1)
        As :attr:`align.statistics.jumps.Jumps.probabilities`; longer jumps are as probable as the longest.
    classes : ndarray of int32, shape (T,)
        The class of each token of the side that makes words.
    """

    probabilities: np.ndarray
    classes: np.ndarray


def chain_posteriors(block: Block) -> EdgePosteriors:
    """Run the chain in both directions over each pair of a block."""
    forward, reverse = block.of_edges(probabilities)
    emissions = np.empty((2, len(forward)), dtype=np.float32)
    alike = block.of_edges(likenesses)
    evidence = (forward, reverse, block.of_edges(cosines), block.shared(same_names), alike)
    _write_emissions(block.shapes, block.offsets, block.source, block.target, evidence, emissions)
    both = block.shared(null_odds)
    return EdgePosteriors.of(
        forward=run_chains(
            block, emissions[0], both[0] + EMISSION_FLOOR, jump_table(block, ahead=True), ahead=True
        ),
        reverse=run_chains(
            block, emissions[1], both[1] + EMISSION_FLOOR, jump_table(block, ahead=False), ahead=False
        ),
    )


def probabilities(block: Block) -> np.ndarray:
    """Return p(target|source) and p(source|target) of each edge, float32, shape (2, E).

    With c expected links, V words, b the sampler's prior and l its prior of spelling, here of words that the
    tables do not know as well, it is (c(s, t) + b + l) / (c(s) + b V + l); where nothing was sampled it is
    Model 1's.
    """
    links = block.resources.links
    if links is None:
        return associations(block)[1:]
    source, target, counted = block.source, block.target, block.of_edges(expected_links)
    of_source = source.of_words(links.forward_totals) + np.float32(LEXICAL * target.size)
    of_target = target.of_words(links.reverse_totals) + np.float32(LEXICAL * source.size)
    found = np.empty_like(counted)
    _divide(
        *(block.shapes, block.offsets, counted, block.of_edges(likenesses)),
        *(of_source[source.tokens], of_target[target.tokens], found),
    )
    return found


def null_odds(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Return p(word|NULL) times the odds of NULL, of each target and of each source token, float64."""
    links, odds = block.resources.links, NULL / (1.0 - NULL)
    if links is None:
        of_source, of_target = null_probabilities(block)
        return of_target.astype(np.float64) * odds, of_source.astype(np.float64) * odds
    return (
        odds * _null(block.target, links.null_forward, links.null_totals[0]),
        odds * _null(block.source, links.null_reverse, links.null_totals[1]),
    )


def _null(side: Side, table: np.ndarray, total: float) -> np.ndarray:
    """Return the probability of tokens to be made by NULL, float64, given links to it and their sum."""
    found = side.of_words(table) + np.float32(NULL_LEXICAL)
    return (found / np.float64(total + NULL_LEXICAL * len(table)))[side.tokens]


def jump_table(block: Block, *, ahead: bool) -> JumpTable:
    """Return the jumps that the sampler has learnt; where it has not run, those of :func:`fixed_jumps`."""
    links, hidden = block.resources.links, block.source if ahead else block.target
    if links is None:
        return JumpTable(fixed_jumps(_FIXED_REACH), np.zeros(len(hidden.tokens), dtype=np.int32))
    jumps = links.jumps[0 if ahead else 1]
    classes = np.maximum(hidden.of_words(jumps.classes), OTHERS).astype(np.int32)
    return JumpTable(jumps.probabilities, classes[hidden.tokens])


def fixed_jumps(length: int) -> np.ndarray:
    """Return the probability of a jump by d places at index ``length + d``, float32, the same for all.

    exp(-|d - 1|) with a floor, of one class.
    """
    distances = np.arange(-length, length + 1)
    weights = np.exp(-JUMP_DECAY * np.abs(distances - 1)) + JUMP_FLOOR
    return np.tile((weights / weights.sum()).astype(np.float32), (1, GAPS, 1))


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``chain``."""
    return posterior_names("chain")


def fill(block: Block, out: np.ndarray) -> None:
    """Write the group ``chain``.

    The posteriors both ways, their geometric mean, max(ln p, -10) / 10 + 1 of their product p and the
    competition of their mean.
    """
    fill_posteriors(block, block.shared(chain_posteriors), out)


def run_chains(
    block: Block,
    emissions: np.ndarray,
    null: np.ndarray,
    jumps: JumpTable,
    *,
    ahead: bool,
    wanted: np.ndarray | None = None,
) -> np.ndarray:
    """Return the posterior of each edge in one direction, float32, shape (E,).

    Parameters
    ----------
    block : Block
        N pairs.
    emissions : ndarray of float32, shape (E,)
        Probability of each edge's made word given the other one, > 0.
    null : ndarray of float64, shape (T,)
        Probability of each token of the made side to be made by NULL, against that of a word to make it.
    jumps : JumpTable
        From the words of the other side.
    ahead : bool
        Whether target words are made by source words, else the other way.
    wanted : ndarray of bool, shape (N,), optional
        The pairs to run; the edges of the others get 0.
    """
    if wanted is None:
        wanted = np.ones(len(block.shapes), dtype=bool)
    result = np.zeros(len(emissions), dtype=np.float32)
    made, hidden = (block.target, block.source) if ahead else (block.source, block.target)
    _run_chains(
        *(block.shapes, block.offsets, wanted, emissions),
        *(
            made.starts,
            null.astype(np.float32),
            hidden.starts,
            jumps.classes,
            jumps.probabilities,
            ahead,
            np.float32(UNLIKELY),
            result,
        ),
    )
    return result


@kernel(error_model="numpy")
def _run_chains(  # type: ignore[no-untyped-def]
    shapes, offsets, wanted, emissions, starts, null, hidden_starts, classes, jumps, ahead, unlikely, result
):
    most_states, most_times = 1, 1
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        most_states, most_times = max(most_states, n if ahead else m), max(most_times, m if ahead else n)
    emission_memory = np.empty(most_times * most_states, dtype=np.float32)
    memory = np.empty((2, GAPS * most_times * most_states), dtype=np.float32)
    following = np.empty(most_states, dtype=np.int64)
    weights = np.empty(most_states, dtype=np.float32)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        if not wanted[i] or n == 0 or m == 0:
            continue
        states, times = (n, m) if ahead else (m, n)
        a_state, a_time = (m, 1) if ahead else (1, m)  # edges from one state, one time, to the next
        emission = emission_memory[: times * states].reshape(times, states)
        for s in range(states):
            for t in range(times):
                emission[t, s] = emissions[offsets[i] + s * a_state + t * a_time]
        size = GAPS * times * states
        alpha = memory[0, :size].reshape(times, GAPS, states)
        beta = memory[1, :size].reshape(times, GAPS, states)
        words = classes[hidden_starts[i] : hidden_starts[i + 1]]
        quiet = null[starts[i] : starts[i + 1]]
        _run_chain(emission, quiet, words, jumps, unlikely, alpha, beta, following, weights)
        for s in range(states):
            for t in range(times):
                result[offsets[i] + s * a_state + t * a_time] = alpha[t, 0, s] * beta[t, 0, s]


@kernel(error_model="numpy")
def _run_chain(  # type: ignore[no-untyped-def]
    emission, null, words, jumps, unlikely, alpha, beta, following, weights
):
    """Forward-backward over one sentence: the posterior of word s at time t is alpha[t, 0, s] beta[t, 0, s].

    A state (g, s) at time t says that the last linked word was made by word s, g words before: g is 0, 1, or
    2 and more. That nothing is linked yet is a state too. ``emission`` is (times, states), ``words`` the
    classes of the states; ``alpha`` and ``beta`` are (times, GAPS, states), the last two are room. What
    comes before time t is scaled to sum to 1; a state that has no more of it than ``unlikely`` goes no
    further.
    """
    times, states = emission.shape
    scales = np.empty(times, dtype=np.float32)
    nothing, most, faint = np.float32(1.0), GAPS - 1, unlikely * np.float32(1e-3)
    live, counts = np.empty((times, GAPS, states), dtype=np.int32), np.zeros((times, GAPS), dtype=np.int64)
    for t in range(times):
        reach = alpha[t, 0]
        alpha[t] = np.float32(0.0)
        # Not the literal -1: that is a type of its own, for which all would be compiled once more.
        _spread(nothing, jumps[BEGINNING, min(t, most)], np.int64(-1), reach)
        if t > 0:
            for g in range(GAPS):
                before, later = alpha[t - 1, g], alpha[t, min(g + 1, most)]
                for at in range(counts[t - 1, g]):
                    place = np.int64(live[t - 1, g, at])
                    _spread(before[place], jumps[words[place], g], place, reach)
                    later[place] += before[place] * null[t]
        nothing *= null[t]
        for s in range(states):
            reach[s] *= emission[t, s]
        total = nothing
        for g in range(GAPS):
            for s in range(states):
                total += alpha[t, g, s]
        scales[t] = np.float32(1.0) / total
        nothing *= scales[t]
        for g in range(GAPS):
            for s in range(states):
                alpha[t, g, s] *= scales[t]
            counts[t, g] = _above(unlikely, alpha[t, g], live[t, g])
    end = nothing * _jump(jumps[BEGINNING, min(times, most)], states + 1)
    beta[:] = np.float32(0.0)
    for g in range(GAPS):
        for s in range(states):
            if alpha[times - 1, g, s] > faint:
                beta[times - 1, g, s] = _jump(jumps[words[s], g], states - s)
                end += alpha[times - 1, g, s] * beta[times - 1, g, s]
    for g in range(GAPS):
        for s in range(states):
            beta[times - 1, g, s] /= end
    wanted = np.empty(states, dtype=np.int32)
    for t in range(times - 2, -1, -1):
        onward, next_count = beta[t + 1, 0], counts[t + 1, 0]
        for at in range(next_count):
            following[at] = place = np.int64(live[t + 1, 0, at])
            weights[at] = emission[t + 1, place] * onward[place] * scales[t + 1]
        quiet = null[t + 1] * scales[t + 1]
        for g in range(GAPS):
            later, own, count = beta[t + 1, min(g + 1, most)], live[t, g], counts[t, g]
            if g == 0:
                # What is made by a word has a posterior, though nothing may go on from it.
                own, count = wanted, _above(faint, alpha[t, 0], wanted)
            for at in range(count):
                place = np.int64(own[at])
                row, total = jumps[words[place], g], quiet * later[place]
                for other in range(next_count):
                    total += _jump(row, following[other] - place) * weights[other]
                beta[t, g, place] = total


@kernel(error_model="numpy")
def _above(least, values, found):  # type: ignore[no-untyped-def]
    """Write where values are above ``least``; return how many are."""
    count = 0
    for at in range(len(values)):
        found[count] = at
        count += values[at] > least  # without a branch, which nobody could foretell
    return count


@kernel(error_model="numpy")
def _divide(shapes, offsets, counted, alike, of_source, of_target, found):  # type: ignore[no-untyped-def]
    """Write the probability of each edge both ways, given its links and those of each token in all."""
    prior, weight = np.float32(LEXICAL), np.float32(SPELLING)
    token, start = 0, 0
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        others = of_target[start : start + m]
        for j in range(n):
            all_of_source = of_source[token + j]
            edges = slice(offsets[i] + j * m, offsets[i] + (j + 1) * m)
            own, ahead, back = alike[edges], counted[0, edges], counted[1, edges]
            into, into_back = found[0, edges], found[1, edges]
            for k in range(m):
                spelling = weight * own[k]
                into[k] = (ahead[k] + (prior + spelling)) / (all_of_source + spelling)
                into_back[k] = (back[k] + (prior + spelling)) / (others[k] + spelling)
        token += n
        start += m


@kernel(error_model="numpy")
def _spread(mass, row, place, reach):  # type: ignore[no-untyped-def]
    """Add to ``reach[o]`` what jumps from a place to o."""
    centre, states = len(row) // 2, len(reach)
    # Beyond the table all jumps are as probable as the longest there: three loops without a choice in them.
    first, last = max(place - centre, 0), min(place + centre + 1, states)
    back, ahead = mass * row[0], mass * row[2 * centre]
    for o in range(first):
        reach[o] += back
    near, middle = row[centre - place + first :], reach[first:last]
    for o in range(len(middle)):
        middle[o] += mass * near[o]
    for o in range(last, states):
        reach[o] += ahead


@kernel(error_model="numpy")
def _jump(row, distance):  # type: ignore[no-untyped-def]
    """Return the probability of a jump; one beyond the table is as probable as the longest there."""
    centre = len(row) // 2
    return row[centre + min(max(distance, -centre), centre)]


@kernel(error_model="numpy")
def _write_emissions(shapes, offsets, source, target, evidence, emissions):  # type: ignore[no-untyped-def]
    """Write the emission of each edge, of target words by source words and the other way."""
    # Loops with one result each: the compiler makes vector instructions of them.
    forward, reverse, cosines, same_names, alike_of = evidence
    threshold, factor, zero = np.float32(COSINE_THRESHOLD), np.float32(COSINE_EMISSION), np.float32(0.0)
    name, one = np.float32(SAME_NAME_EMISSION), np.float32(1.0)
    widest = 1
    for i in range(len(shapes)):
        widest = max(widest, shapes[i, 1])
    alike, unseen, floors = np.empty(widest, np.float32), np.empty(widest, np.float32), np.empty(widest)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for k in range(m):
            unseen[k] = one if target.counts[target.starts[i] + k] == 0 else zero
            floors[k] = EMISSION_FLOOR + (UNSEEN_EMISSION if unseen[k] > zero else 0.0)
        for j in range(n):
            here = one if source.counts[source.starts[i] + j] == 0 else zero
            base = EMISSION_FLOOR + (UNSEEN_EMISSION if here > zero else 0.0)
            start, stop = offsets[i] + j * m, offsets[i] + (j + 1) * m
            near, same, spelt = cosines[start:stop], same_names[start:stop], alike_of[start:stop]
            for k in range(m):
                close = max(near[k] - threshold, zero)
                # How words are spelt counts where one of them was never seen.
                likeness = max(one if same[k] else zero, spelt[k] * max(here, unseen[k]))
                alike[k] = factor * close * close + name * likeness
            ahead, of_ahead = emissions[0, start:stop], forward[start:stop]
            for k in range(m):
                ahead[k] = base + of_ahead[k] + alike[k]
            back, of_back = emissions[1, start:stop], reverse[start:stop]
            for k in range(m):
                back[k] = floors[k] + of_back[k] + alike[k]
