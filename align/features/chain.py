r"""Posteriors of a chain model: neighbouring words tend to be translations of neighbouring words.

Each target word k is made by one source position a_k or by NULL, and a_k depends on a_(k-1) only [1]_:

    p(a, t | s) = \prod_k  jump(a_k - a_(k-1))  e(t_k | s_(a_k))

NULL is a copy of each position, as in [2]_: it keeps the place to jump from. The posteriors
p(a_k = j | s, t) come from the forward-backward recursions; the same is done from target to source. The
emission e is Model 1's table plus what helps where it knows nothing: words alike in their vectors, the
same name or number on both sides, a word never seen. The jumps are fixed, not learnt: exp(-|d - 1|) with a
floor, which prefers one step ahead.

References
----------
.. [1] Vogel, Ney and Tillmann 1996, "HMM-Based Word Alignment in Statistical Translation".
.. [2] Och and Ney 2003, "A Systematic Comparison of Various Statistical Alignment Models", section 2.1.2.
"""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel
from align.features.block import Block, Resources
from align.features.cosine import cosines
from align.features.lexical import associations, null_probabilities
from align.features.maps import EdgePosteriors, fill_posteriors, posterior_names
from align.features.spelling import same_names

JUMP_DECAY = 0.7
JUMP_FLOOR = 0.003
NULL_PROBABILITY = 0.1
EMISSION_FLOOR = 1e-7
UNSEEN_EMISSION = 1e-4
SAME_NAME_EMISSION = 0.1
COSINE_EMISSION = 0.5
COSINE_THRESHOLD = 0.3
_LANES = 8  # states are padded to a multiple of it, with states that emit nothing


def chain_posteriors(block: Block) -> EdgePosteriors:
    """Run the chain in both directions over each pair of a block."""
    _, forward, reverse = block.of_edges(associations)
    emissions = np.empty((2, len(forward)))
    evidence = (forward, reverse, block.shared(cosines), block.shared(same_names))
    _write_emissions(block.shapes, block.offsets, block.source, block.target, evidence, emissions)
    null_source, null_target = block.shared(null_probabilities)
    jumps = jump_weights(longest_sentence(block))
    return EdgePosteriors.of(
        forward=run_chains(
            block, emissions[0], null_target.astype(np.float64) + EMISSION_FLOOR, jumps, ahead=True
        ),
        reverse=run_chains(
            block, emissions[1], null_source.astype(np.float64) + EMISSION_FLOOR, jumps, ahead=False
        ),
    )


def jump_weights(length: int) -> np.ndarray:
    """Return the weight of a jump by d positions at index ``length + d``, float64, shape (2 length + 1,)."""
    jumps = np.arange(-length, length + 1)
    return np.exp(-JUMP_DECAY * np.abs(jumps - 1)) + JUMP_FLOOR


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``chain``."""
    return posterior_names("chain")


def fill(block: Block, out: np.ndarray) -> None:
    """Write the group ``chain``.

    The posteriors both ways, their geometric mean, max(ln p, -10) / 10 + 1 of their product p and the
    competition of their mean.
    """
    fill_posteriors(block, block.shared(chain_posteriors), out)


def longest_sentence(block: Block) -> int:
    """Return the length of the longest sentence, in whole vectors: what :func:`run_chains` has jumps for."""
    return -(-int(block.shapes.max(initial=1)) // _LANES) * _LANES


def run_chains(
    block: Block,
    emissions: np.ndarray,
    null: np.ndarray,
    jumps: np.ndarray,
    *,
    ahead: bool,
    wanted: np.ndarray | None = None,
) -> np.ndarray:
    """Return the posterior of each edge in one direction, float32, shape (E,).

    Parameters
    ----------
    block : Block
        N pairs.
    emissions : ndarray of float64, shape (E,)
        Probability of each edge's made word given the other one.
    null : ndarray of float64, shape (T,)
        Probability of each token of the made side to be made by NULL.
    jumps : ndarray of float64, shape (2 L + 1,)
        Weight of a jump by d at index L + d, L being :func:`longest_sentence`.
    ahead : bool
        Whether target words are made by source words, else the other way.
    wanted : ndarray of bool, shape (N,), optional
        The pairs to run; the edges of the others get 0.
    """
    if wanted is None:
        wanted = np.ones(len(block.shapes), dtype=bool)
    result = np.zeros(len(emissions), dtype=np.float32)
    starts = (block.target if ahead else block.source).starts
    _run_chains(block.shapes, block.offsets, wanted, emissions, starts, null, jumps, ahead, result)
    return result


@kernel(error_model="numpy")
def _run_chains(shapes, offsets, wanted, emissions, starts, null, jumps, ahead, result):  # type: ignore[no-untyped-def]
    longest = len(jumps) // 2
    backward_jumps, memory = jumps[::-1].copy(), np.empty((6, longest * longest))
    padded = np.empty(longest * longest)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        if not wanted[i] or n == 0 or m == 0:
            continue
        states, times = (n, m) if ahead else (m, n)
        a_state, a_time = (m, 1) if ahead else (1, m)  # edges from one state, one time, to the next
        width = (states + _LANES - 1) // _LANES * _LANES
        emission = padded[: times * width].reshape(times, width)
        emission[:, states:] = 0.0
        for s in range(states):
            for t in range(times):
                emission[t, s] = emissions[offsets[i] + s * a_state + t * a_time]
        word = _run_chain(emission, null[starts[i] :], times, states, jumps, backward_jumps, memory)
        for s in range(states):
            for t in range(times):
                result[offsets[i] + s * a_state + t * a_time] = word[t, s]


@kernel(error_model="numpy")
def _run_chain(emission, null, times, states, jumps, backward_jumps, memory):  # type: ignore[no-untyped-def]
    """Forward-backward over one sentence; returns the posteriors of state s at time t, shape (times, W).

    ``emission`` is (times, W), W being the number of states padded to a multiple of 8 with zeros. Each
    state has a NULL copy: both go on in the same way, so that one backward probability serves them. Each
    time is scaled to sum to 1. ``memory`` holds six arrays of as many numbers.
    """
    centre, width = len(jumps) // 2, emission.shape[1]
    size = times * width
    word, empty = memory[0, :size].reshape(times, width), memory[1, :size].reshape(times, width)
    mass, future, onward, shares = memory[2], memory[3], memory[4], memory[5]
    spoken, silent = 1.0 - NULL_PROBABILITY, NULL_PROBABILITY
    for s in range(width):
        mass[s] = 1.0 if s < states else 0.0
    _spread(mass, backward_jumps, centre, width, shares)
    for s in range(width):
        shares[s] = 1.0 / shares[s] if s < states else 0.0
    start = 0.0
    for s in range(states):
        start += jumps[centre + s + 1]
    for s in range(width):
        word[0, s] = jumps[centre + s + 1] / start if s < states else 0.0
        empty[0, s] = silent * null[0] * word[0, s]
    for t in range(times):
        reach, none = word[t], empty[t]
        if t > 0:
            quiet = silent * null[t]
            for s in range(width):
                none[s] = quiet * mass[s]
            for s in range(width):
                mass[s] *= shares[s]
            _spread(mass, jumps, centre, width, reach)
        row = emission[t]
        for s in range(width):
            reach[s] *= spoken * row[s]
        for s in range(width):
            mass[s] = reach[s] + none[s]
        scale = 1.0 / _sum(mass, width)
        for s in range(width):
            mass[s] *= scale
    for s in range(width):
        future[s] = 1.0 if s < states else 0.0
    for t in range(times - 1, -1, -1):
        reach, none, row = word[t], empty[t], emission[t]
        for s in range(width):
            mass[s] = (reach[s] + none[s]) * future[s]
        scale = 1.0 / _sum(mass, width)
        for s in range(width):
            mass[s] = spoken * row[s] * future[s]
        for s in range(width):
            reach[s] *= future[s] * scale
        _spread(mass, backward_jumps, centre, width, onward)
        quiet = silent * null[t]
        for s in range(width):
            future[s] = onward[s] * shares[s] + quiet * future[s]
        scale = 1.0 / _sum(future, width)
        for s in range(width):
            future[s] *= scale
    return word


@kernel(error_model="numpy")
def _spread(mass, jumps, centre, width, reach):  # type: ignore[no-untyped-def]
    """Set ``reach[o]`` to the sum over s of ``mass[s] * jumps[centre - s + o]``, eight s at a time."""
    reach[:width] = 0.0
    for s in range(0, width, 8):
        a, b, c, d = mass[s], mass[s + 1], mass[s + 2], mass[s + 3]
        e, f, g, h = mass[s + 4], mass[s + 5], mass[s + 6], mass[s + 7]
        weights = jumps[centre - s - 7 : centre - s + width]
        for o in range(width):
            first = (d * weights[o + 4] + c * weights[o + 5]) + (b * weights[o + 6] + a * weights[o + 7])
            second = (h * weights[o] + g * weights[o + 1]) + (f * weights[o + 2] + e * weights[o + 3])
            reach[o] = (reach[o] + first) + second


@kernel(error_model="numpy")
def _sum(values, width):  # type: ignore[no-untyped-def]
    """Sum ``width`` values, a multiple of four, in four sums that need not wait for one another."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for s in range(0, width, 4):
        a += values[s]
        b += values[s + 1]
        c += values[s + 2]
        d += values[s + 3]
    return (a + b) + (c + d)


@kernel(error_model="numpy")
def _write_emissions(shapes, offsets, source, target, evidence, emissions):  # type: ignore[no-untyped-def]
    """Write the emission of each edge, of target words by source words and the other way."""
    forward, reverse, cosines, same_names = evidence
    threshold, factor, zero = np.float32(COSINE_THRESHOLD), np.float32(COSINE_EMISSION), np.float32(0.0)
    name = np.float32(SAME_NAME_EMISSION)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        target_counts = target.counts[target.starts[i] :]
        for j in range(n):
            base = EMISSION_FLOOR + (UNSEEN_EMISSION if source.counts[source.starts[i] + j] == 0 else 0.0)
            for k in range(m):
                edge = offsets[i] + j * m + k
                near = max(cosines[edge] - threshold, zero)
                alike = factor * near * near + (name if same_names[edge] else zero)
                emissions[0, edge] = base + forward[edge] + alike
                other = EMISSION_FLOOR + (UNSEEN_EMISSION if target_counts[k] == 0 else 0.0)
                emissions[1, edge] = other + reverse[edge] + alike
