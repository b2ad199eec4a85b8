"""Compiled parts of ``markov``: expected links and jumps of a block of pairs in one direction.

``hidden`` and ``observed`` are the word ids of both sides of the block, ``edges[i]`` is the first edge of
pair i, and ``cells`` has the cell of each edge, -1 where its words have none.
"""

from __future__ import annotations

import math

import numpy as np

from align.core.kernels import kernel

# A link less probable than this is left out of the expected jumps.
_LEAST = 1e-7


@kernel(error_model="numpy")
def expect(  # type: ignore[no-untyped-def]
    hidden, hidden_starts, observed, observed_starts, edges, cells, forward,
    table, missing, null, jumps, null_probability, posterior, null_posterior, seen, chances,
):  # fmt: skip
    """Run forward-backward over the pairs of a block; return the log-likelihood.

    Writes the posteriors of the edges and of NULL for each observed word. Adds the expected jumps by d places
    to ``seen``, and to ``chances`` how often there was a chance of one: the sum over all jumps, whose start
    allows d, of 1 / the sum of the weights of all jumps from there.
    """
    centre = len(jumps) // 2
    backward_jumps = jumps[::-1].copy()
    total, longest, most = 0.0, 1, 1
    for pair in range(len(edges) - 1):
        n, m = (
            hidden_starts[pair + 1] - hidden_starts[pair],
            observed_starts[pair + 1] - observed_starts[pair],
        )
        longest, most = max(longest, n), max(most, n * m)
    emissions, reached, masses = np.empty(most), np.empty(most), np.empty(most)
    shares, spread, future = np.empty(longest), np.empty(longest), np.empty(longest)
    ahead, onward = np.empty(longest), np.empty(longest)
    products = np.zeros(len(jumps))
    steps = np.zeros(len(jumps) + 1)
    for pair in range(len(edges) - 1):
        first, n = hidden_starts[pair], hidden_starts[pair + 1] - hidden_starts[pair]
        start, m = observed_starts[pair], observed_starts[pair + 1] - observed_starts[pair]
        if n == 0:
            null_posterior[start : start + m] = 1.0
        if n == 0 or m == 0:
            continue
        across, along = (m, 1) if forward else (1, n)
        emission = emissions[: n * m].reshape(m, n)
        reach, mass = reached[: n * m].reshape(m, n), masses[: n * m].reshape(m, n)
        for j in range(n):
            unseen = missing[hidden[first + j]]
            for k in range(m):
                cell = cells[edges[pair] + j * across + k * along]
                value = table[cell] if cell >= 0 else unseen
                emission[k, j] = (1.0 - null_probability) * value
        for i in range(n):
            whole = 0.0
            for d in range(centre - i, centre - i + n):
                whole += jumps[d]
            shares[i] = 1.0 / whole
        begin = 0.0
        for j in range(n):
            begin += jumps[centre + j + 1]
        begin = 1.0 / begin
        # forward: the mass of each time is scaled to 1, a word and the NULL after it being one place
        for k in range(m):
            row, here = reach[k], mass[k]
            quiet = null_probability * null[observed[start + k]]
            if k == 0:
                for j in range(n):
                    row[j] = jumps[centre + j + 1] * begin
                    here[j] = row[j] * (emission[k, j] + quiet)
            else:
                before = mass[k - 1]
                for i in range(n):
                    spread[i] = before[i] * shares[i]
                _spread(spread, jumps, centre, n, row)
                for j in range(n):
                    here[j] = row[j] * emission[k, j] + quiet * mass[k - 1, j]
            whole = 0.0
            for j in range(n):
                whole += here[j]
            total += math.log(whole)
            scale = 1.0 / whole
            for j in range(n):
                here[j] *= scale
            # what the backward pass divides by
            for j in range(n):
                emission[k, j] *= scale
            null_posterior[start + k] = scale * quiet
        # backward
        for j in range(n):
            future[j] = 1.0
        for k in range(m - 1, -1, -1):
            quiet, silent = null_posterior[start + k], 0.0
            edge = edges[pair] + k * along
            for j in range(n):
                ahead[j] = emission[k, j] * future[j]
                posterior[edge + j * across] = reach[k, j] * ahead[j]
            if k == 0:
                for j in range(n):
                    value = reach[0, j] * quiet * future[j]
                    silent += value
                    seen[centre + j + 1] += value + reach[0, j] * ahead[j]
                null_posterior[start] = silent
                continue
            _spread(ahead, backward_jumps, centre, n, onward)
            for i in range(n):
                spread[i] = mass[k - 1, i] * shares[i]
                silent += mass[k - 1, i] * quiet * future[i]
            null_posterior[start + k] = silent
            for j in range(n):
                value = ahead[j]
                if value * reach[k, j] > _LEAST:
                    sums = products[centre - j : centre - j + n]
                    for i in range(n):
                        sums[i] += value * spread[i]
            for i in range(n):
                weight = spread[i] * onward[i] * shares[i]
                steps[centre - i] += weight
                steps[centre - i + n] -= weight
                future[i] = shares[i] * onward[i] + quiet * future[i]
        steps[centre + 1] += begin
        steps[centre + 1 + n] -= begin
    running = 0.0
    for d in range(len(jumps)):
        seen[d] += products[len(jumps) - 1 - d] * jumps[d]
        running += steps[d]
        chances[d] += running
    return total


@kernel(error_model="numpy")
def _spread(mass, jumps, centre, states, reach):  # type: ignore[no-untyped-def]
    """Set ``reach[o]`` to the sum over s of ``mass[s] * jumps[centre - s + o]``, two s at a time."""
    reach[:states] = 0.0
    even = states - states % 2
    for s in range(0, even, 2):
        one, other = mass[s], mass[s + 1]
        weights = jumps[centre - s - 1 : centre - s + states]
        for o in range(states):
            reach[o] += one * weights[o + 1] + other * weights[o]
    if even < states:
        last = mass[even]
        weights = jumps[centre - even : centre - even + states]
        for o in range(states):
            reach[o] += last * weights[o]


@kernel(error_model="numpy")
def agree(  # type: ignore[no-untyped-def]
    shapes, edges, source_starts, target_starts, forward, reverse, null_forward, null_reverse
):  # fmt: skip
    """Put the product of both directions in place of each; what a word has, NULL included, sums to one."""
    for pair in range(len(edges) - 1):
        n, m = shapes[pair, 0], shapes[pair, 1]
        first, start, edge = source_starts[pair], target_starts[pair], edges[pair]
        for k in range(m):
            null_forward[start + k] *= _left(reverse, edge + k, m, n)
        for j in range(n):
            null_reverse[first + j] *= _left(forward, edge + j * m, 1, m)
        for at in range(edge, edge + n * m):
            both = forward[at] * reverse[at]
            forward[at] = both
            reverse[at] = both
        for k in range(m):
            null_forward[start + k] = _normalise(forward, edge + k, m, n, null_forward[start + k])
        for j in range(n):
            null_reverse[first + j] = _normalise(reverse, edge + j * m, 1, m, null_reverse[first + j])


@kernel(error_model="numpy")
def _left(values, begin, step, count):  # type: ignore[no-untyped-def]
    """Return what a few probabilities leave of one."""
    left = 1.0
    for at in range(count):
        left -= values[begin + at * step]
    return max(left, 0.0)


@kernel(error_model="numpy")
def _normalise(values, begin, step, count, rest):  # type: ignore[no-untyped-def]
    """Divide a few values and the rest by their sum; return the rest, all of it where the sum is 0."""
    whole = rest
    for at in range(count):
        whole += values[begin + at * step]
    if not whole > 0.0:
        return 1.0
    for at in range(count):
        values[begin + at * step] /= whole
    return rest / whole


@kernel
def add(places, values, counts):  # type: ignore[no-untyped-def]
    """Add each value to the count of its place, those with a place below 0 left out."""
    for at in range(len(places)):
        if places[at] >= 0:
            counts[places[at]] += values[at]
