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

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from align.core.kernels import kernel
from align.features import competition, rows
from align.features.resources import Resources

if TYPE_CHECKING:
    from align.features.block import Block

JUMP_DECAY = 0.7
JUMP_FLOOR = 0.003
NULL_PROBABILITY = 0.1
EMISSION_FLOOR = 1e-7
UNSEEN_EMISSION = 1e-4
SAME_NAME_EMISSION = 0.1
COSINE_EMISSION = 0.5
COSINE_THRESHOLD = 0.3
_LANES = 8  # states are padded to a multiple of it, with states that emit nothing

_NAMES = ("forward_chain", "reverse_chain", "chain", "chain_log")


@dataclass(frozen=True)
class Posteriors:
    """The chain's posteriors of each edge, each float32, shape (E,), in [0, 1].

    Attributes
    ----------
    forward : ndarray
        p(target word k comes from source word j); sums to at most 1 over j.
    reverse : ndarray
        p(source word j comes from target word k); sums to at most 1 over k.
    joint : ndarray
        Their geometric mean.
    """

    forward: np.ndarray
    reverse: np.ndarray
    joint: np.ndarray


def posteriors(block: Block) -> Posteriors:
    """Run the chain in both directions over each pair of a block."""
    found = block.association
    edges = len(found.forward)
    forward, reverse, joint = (np.empty(edges, dtype=np.float32) for _ in range(3))
    source, target = block.source, block.target
    write_chains(
        block.shapes,
        block.offsets,
        found.forward,
        found.reverse,
        block.cosines,
        block.same_names,
        source.counts,
        found.null_reverse,
        block.source_starts,
        target.counts,
        found.null_forward,
        block.target_starts,
        jumps_of(block.shapes),
        forward,
        reverse,
        joint,
    )
    return Posteriors(forward, reverse, joint)


@lru_cache(maxsize=32)
def _jumps(length: int) -> np.ndarray:
    return jump_weights(length)


def jumps_of(shapes: np.ndarray) -> np.ndarray:
    """Return the weights of jumps in sentences of these shapes, (N, 2), for :func:`write_chains`."""
    return _jumps(padded(int(shapes.max(initial=1))))


def padded(length: int) -> int:
    """Return the length of the longest sentence as :func:`run_chain` wants it."""
    return -(-length // _LANES) * _LANES


def jump_weights(length: int) -> np.ndarray:
    """Return the weight of a jump by d positions at index ``length + d``, float64, shape (2 length + 1,)."""
    jumps = np.arange(-length, length + 1)
    return np.exp(-JUMP_DECAY * np.abs(jumps - 1)) + JUMP_FLOOR


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``chain``."""
    return (*_NAMES, *competition.names("chain"))


def fill(block: Block, out: np.ndarray) -> None:
    """Write the group ``chain``.

    The posteriors both ways, their geometric mean and max(ln p, -10) / 10 + 1 of their product p.
    """
    found = block.chain
    write_posteriors(found.forward, found.reverse, found.joint, out)
    competition.compete(found.joint, block.shapes, block.offsets, out[len(_NAMES) :])


@kernel(error_model="numpy")
def write_posteriors(forward, reverse, joint, out):  # type: ignore[no-untyped-def]
    """Write the posteriors both ways, their mean and the scaled logarithm of their product."""
    edges = len(joint)
    rows.copy(forward, out[0])
    rows.copy(reverse, out[1])
    rows.copy(joint, out[2])
    product = np.empty(edges, dtype=np.float32)
    for edge in range(edges):
        product[edge] = joint[edge] * joint[edge]
    rows.scaled_log(product, out[3])


@kernel(error_model="numpy")
def run_chain(emission, null, times, states, jumps, backward_jumps, memory):  # type: ignore[no-untyped-def]
    """Forward-backward over one sentence; returns the posteriors of state s at time t, shape (times, W).

    ``emission`` is (times, W), W being the number of states padded to a multiple of 8 with zeros. Each
    state has a NULL copy: both go on in the same way, so that one backward probability serves them. Each
    time is scaled to sum to 1. ``memory`` is that of :func:`chain_memory`.
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


@kernel
def width_of(states):  # type: ignore[no-untyped-def]
    """Return a number of states rounded up to whole vectors."""
    return (states + _LANES - 1) // _LANES * _LANES


@kernel
def chain_memory(longest):  # type: ignore[no-untyped-def]
    """Return working memory for sentences of at most ``longest`` words (padded): of the chain, emissions."""
    return np.empty((6, longest * longest)), np.empty(longest * longest)


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
def write_chains(  # type: ignore[no-untyped-def]
    shapes,
    offsets,
    forward_table,
    reverse_table,
    cosines,
    same_names,
    source_counts,
    null_reverse,
    source_starts,
    target_counts,
    null_forward,
    target_starts,
    jumps,
    forward,
    reverse,
    joint,
):
    """Write the posteriors of the chain both ways and their geometric mean."""
    backward_jumps = jumps[::-1].copy()
    memory, emissions = chain_memory(len(jumps) // 2)
    null = np.empty(len(jumps) // 2)
    extra = np.empty(len(cosines), dtype=np.float32)
    threshold, factor, zero = np.float32(COSINE_THRESHOLD), np.float32(COSINE_EMISSION), np.float32(0.0)
    name = np.float32(SAME_NAME_EMISSION)
    for edge in range(len(extra)):
        near = max(cosines[edge] - threshold, zero)
        extra[edge] = factor * near * near + (name if same_names[edge] else zero)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        if n == 0 or m == 0:
            continue
        first, last = offsets[i], offsets[i + 1]
        # Both directions through one call: the compiler then makes one copy of the recursions, not two.
        for direction in range(2):
            ahead = direction == 0
            states, times = (n, m) if ahead else (m, n)
            state_start = source_starts[i] if ahead else target_starts[i]
            time_start = target_starts[i] if ahead else source_starts[i]
            counts = source_counts if ahead else target_counts
            null_table = null_forward if ahead else null_reverse
            width = width_of(states)
            emission = emissions[: times * width].reshape(times, width)
            emission[:, states:] = 0.0
            for t in range(times):
                null[t] = null_table[time_start + t] + EMISSION_FLOOR
            table = (forward_table if ahead else reverse_table)[first:last]
            _emissions(table, extra[first:last], counts[state_start:], n, m, ahead, emission)
            word = run_chain(emission, null, times, states, jumps, backward_jumps, memory)
            result = (forward if ahead else reverse)[first:last]
            for j in range(n):
                row = result[j * m : (j + 1) * m]
                for k in range(m):
                    row[k] = word[k, j] if ahead else word[j, k]
    for edge in range(len(joint)):
        joint[edge] = np.sqrt(forward[edge] * reverse[edge])


@kernel(error_model="numpy")
def _emissions(table, extra, counts, n, m, ahead, emission):  # type: ignore[no-untyped-def]
    """Write the emission of each edge, target words being the times where ``ahead``, else the states."""
    for j in range(n):
        for k in range(m):
            unseen = counts[j if ahead else k] == 0
            base = EMISSION_FLOOR + (UNSEEN_EMISSION if unseen else 0.0)
            value = base + table[j * m + k] + extra[j * m + k]
            if ahead:
                emission[k, j] = value
            else:
                emission[j, k] = value
