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
from typing import TYPE_CHECKING

import numpy as np

from align.features import competition
from align.features.resources import Resources
from align.kernels import kernel

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
_LOWEST = -10.0

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
    near = np.maximum(block.cosines - np.float32(COSINE_THRESHOLD), np.float32(0.0))
    extra = np.float32(COSINE_EMISSION) * near * near
    extra[block.same_names] += np.float32(SAME_NAME_EMISSION)
    lengths = block.shapes.max(initial=1)
    forward, reverse, joint = (np.empty(len(extra), dtype=np.float32) for _ in range(3))
    source, target = block.source, block.target
    _chains(
        block.shapes,
        block.offsets,
        found.forward,
        found.reverse,
        extra,
        source.counts,
        found.null_reverse,
        block.source_starts,
        target.counts,
        found.null_forward,
        block.target_starts,
        jump_weights(int(lengths)),
        forward,
        reverse,
        joint,
    )
    return Posteriors(forward, reverse, joint)


def jump_weights(length: int) -> np.ndarray:
    """Return the weight of a jump by d positions at index ``length + d``, float64, shape (2 length + 1,)."""
    jumps = np.arange(-length, length + 1)
    return np.exp(-JUMP_DECAY * np.abs(jumps - 1)) + JUMP_FLOOR


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``chain``."""
    return (*_NAMES, *competition.names("chain"))


def fill(block: Block, features: np.ndarray, column: int) -> None:
    """Write the group ``chain``.

    The posteriors both ways, their geometric mean and max(ln p, -10) / 10 + 1 of their product p.
    """
    found = block.chain
    write_posteriors(
        block.offsets[0], block.offsets[-1], found.forward, found.reverse, found.joint, features, column
    )
    competition.compete(found.joint, block.shapes, block.offsets, features, column + len(_NAMES))


@kernel(error_model="numpy")
def write_posteriors(start, stop, forward, reverse, joint, features, column):  # type: ignore[no-untyped-def]
    """Write the posteriors both ways, their mean and the scaled logarithm of their product."""
    lowest, tenth, one = np.float32(np.exp(_LOWEST)), np.float32(-1.0 / _LOWEST), np.float32(1.0)
    for edge in range(start, stop):
        out = features[edge - start]
        out[column] = forward[edge]
        out[column + 1] = reverse[edge]
        out[column + 2] = joint[edge]
        product = joint[edge] * joint[edge]
        out[column + 3] = np.log(product) * tenth + one if product > lowest else np.float32(0.0)


@kernel(error_model="numpy")
def run_chain(  # type: ignore[no-untyped-def]
    emission, null, observations, states, jumps, backward_jumps, word, empty, backward, norms
):
    """Forward-backward over one sentence; ``word[t, s]`` becomes the posterior of state s at time t.

    ``word`` and ``empty`` hold the forward probabilities of a state and of its NULL copy. Both go on in the
    same way, so that one backward probability serves them. Each time is scaled to sum to 1.
    """
    centre = len(jumps) // 2
    spoken, silent = 1.0 - NULL_PROBABILITY, NULL_PROBABILITY
    for s in range(states):
        norms[s] = 0.0
        for other in range(states):
            norms[s] += jumps[centre + other - s]
    start = 0.0
    for s in range(states):
        start += jumps[centre + s + 1]
    for t in range(observations):
        reach = word[t]
        if t == 0:
            for s in range(states):
                reach[s] = jumps[centre + s + 1] / start
                empty[0, s] = silent * null[0] * reach[s]
        else:
            for s in range(states):
                reach[s] = 0.0
            for s in range(states):
                mass = word[t - 1, s] + empty[t - 1, s]
                empty[t, s] = silent * null[t] * mass
                mass /= norms[s]
                weights = jumps[centre - s : centre - s + states]
                for other in range(states):
                    reach[other] += mass * weights[other]
        total = 0.0
        for s in range(states):
            reach[s] *= spoken * emission[t, s]
            total += reach[s] + empty[t, s]
        for s in range(states):
            reach[s] /= total
            empty[t, s] /= total
    future, onward = backward[0], backward[1]
    for s in range(states):
        future[s] = 1.0
    for t in range(observations - 1, -1, -1):
        total = 0.0
        for s in range(states):
            total += (word[t, s] + empty[t, s]) * future[s]
            onward[s] = 0.0
        for other in range(states):
            word[t, other] *= future[other] / total
            mass = spoken * emission[t, other] * future[other]
            weights = backward_jumps[centre - other : centre - other + states]
            for s in range(states):
                onward[s] += mass * weights[s]
        largest = 0.0
        for s in range(states):
            future[s] = onward[s] / norms[s] + silent * null[t] * future[s]
            largest = max(largest, future[s])
        for s in range(states):
            future[s] /= largest


@kernel(error_model="numpy")
def _chains(  # type: ignore[no-untyped-def]
    shapes,
    offsets,
    forward_table,
    reverse_table,
    extra,
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
    longest = len(jumps) // 2
    backward_jumps = jumps[::-1].copy()
    emission = np.empty((longest, longest))
    word = np.empty((longest, longest))
    empty = np.empty((longest, longest))
    backward = np.empty((2, longest))
    norms = np.empty(longest)
    null = np.empty(longest)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        if n == 0 or m == 0:
            continue
        first = offsets[i]
        # Both directions through one call: the compiler then makes one copy of the recursions, not two.
        for direction in range(2):
            ahead = direction == 0
            states, times = (n, m) if ahead else (m, n)
            state_step, time_step = (m, 1) if ahead else (1, m)
            state_start = source_starts[i] if ahead else target_starts[i]
            time_start = target_starts[i] if ahead else source_starts[i]
            table = forward_table if ahead else reverse_table
            counts = source_counts if ahead else target_counts
            null_table = null_forward if ahead else null_reverse
            result = forward if ahead else reverse
            for t in range(times):
                null[t] = null_table[time_start + t] + EMISSION_FLOOR
                for s in range(states):
                    edge = first + s * state_step + t * time_step
                    base = EMISSION_FLOOR + (UNSEEN_EMISSION if counts[state_start + s] == 0 else 0.0)
                    emission[t, s] = base + table[edge] + extra[edge]
            run_chain(emission, null, times, states, jumps, backward_jumps, word, empty, backward, norms)
            for s in range(states):
                for t in range(times):
                    result[first + s * state_step + t * time_step] = word[t, s]
        for edge in range(first, offsets[i + 1]):
            joint[edge] = np.sqrt(forward[edge] * reverse[edge])
