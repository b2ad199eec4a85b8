"""Compiled parts of :mod:`align.sampler`: one chain in one direction, over a whole corpus.

``hidden`` and ``observed`` are the word ids of both sides, ``edges[i]`` is the first edge of pair i, and
``cells`` has the cell of each edge, the last one where its words have none. The state of a chain is
``links`` (which hidden word of the sentence made each observed one, -1 for NULL) and its counts with their
priors: ``values`` a cell, ``totals`` a hidden word, ``null`` an observed word (its sum comes last) and
``fertility`` a hidden word and number of words made. ``state`` is that of the random numbers.
"""

from __future__ import annotations

import numpy as np

from align.kernels import kernel


@kernel
def _uniform(state):  # type: ignore[no-untyped-def]
    """Draw from [0, 1): the generator xorshift64* of Vigna 2016."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.float32((x * np.uint64(2685821657736338717)) >> np.uint64(40)) * np.float32(1.0 / 16777216.0)


@kernel
def begin(  # type: ignore[no-untyped-def]
    hidden, hidden_starts, observed, observed_starts, edges, cells, forward,
    links, values, totals, null, null_probability, state,
):  # fmt: skip
    """Draw the first links of a chain at random, and count them."""
    none = len(values) - 1
    for pair in range(len(edges) - 1):
        first, n = hidden_starts[pair], hidden_starts[pair + 1] - hidden_starts[pair]
        start, m = observed_starts[pair], observed_starts[pair + 1] - observed_starts[pair]
        for k in range(m):
            if n == 0 or _uniform(state) < null_probability:
                links[start + k] = -1
                null[observed[start + k]] += np.float32(1.0)
                null[-1] += np.float32(1.0)
                continue
            j = min(np.int64(_uniform(state) * n), n - 1)
            links[start + k] = j
            cell = cells[edges[pair] + (j * m + k if forward else k * n + j)]
            if cell != none:
                values[cell] += np.float32(1.0)
            totals[hidden[first + j]] += np.float32(1.0)


@kernel
def count_jumps(hidden_starts, observed_starts, links, seen):  # type: ignore[no-untyped-def]
    """Count the jumps between linked words, the end of the sentence included."""
    centre = len(seen) // 2
    for pair in range(len(hidden_starts) - 1):
        previous = -1
        for k in range(observed_starts[pair], observed_starts[pair + 1]):
            if links[k] >= 0:
                seen[centre + links[k] - previous] += 1
                previous = links[k]
        seen[centre + hidden_starts[pair + 1] - hidden_starts[pair] - previous] += 1


@kernel
def count_fertility(hidden, hidden_starts, observed_starts, links, fertility):  # type: ignore[no-untyped-def]
    """Count how many words each hidden word made."""
    most = fertility.shape[1] - 1
    longest = 1
    for pair in range(len(hidden_starts) - 1):
        longest = max(longest, hidden_starts[pair + 1] - hidden_starts[pair])
    made = np.empty(longest, dtype=np.int64)
    for pair in range(len(hidden_starts) - 1):
        first, n = hidden_starts[pair], hidden_starts[pair + 1] - hidden_starts[pair]
        made[:n] = 0
        for k in range(observed_starts[pair], observed_starts[pair + 1]):
            if links[k] >= 0:
                made[links[k]] += 1
        for j in range(n):
            fertility[hidden[first + j], min(made[j], most)] += np.float32(1.0)


@kernel
def _change(fertility, word, made, step):  # type: ignore[no-untyped-def]
    """Move a word from one fertility to the next, up or down; return the ratio of one more to as many."""
    most = fertility.shape[1] - 1
    fertility[word, min(made, most)] -= np.float32(1.0)
    made += step
    fertility[word, min(made, most)] += np.float32(1.0)
    return _ratio(fertility, word, made)


@kernel
def _ratio(fertility, word, made):  # type: ignore[no-untyped-def]
    """Return fertility(made + 1) / fertility(made), the word itself left out of the counts."""
    most = fertility.shape[1] - 1
    return fertility[word, min(made + 1, most)] / (fertility[word, min(made, most)] - np.float32(1.0))


@kernel(error_model="numpy")
def sweep(  # type: ignore[no-untyped-def]
    hidden, hidden_starts, observed, observed_starts, edges, cells, forward,
    links, values, totals, null, jumps, fertility, model, null_odds, unit, posterior, null_posterior, state,
):  # fmt: skip
    """Draw every link of the corpus anew, once; where ``unit`` > 0, add up the probabilities."""
    none = len(values) - 1
    centre = len(jumps) // 2
    longest = centre + 1
    sums, inverse = np.empty(longest, dtype=np.float32), np.empty(longest, dtype=np.float32)
    more = np.empty(longest, dtype=np.float32)
    made = np.empty(longest, dtype=np.int64)
    one, half = np.float32(1.0), np.float32(0.5)
    for pair in range(len(edges) - 1):
        first, n = hidden_starts[pair], hidden_starts[pair + 1] - hidden_starts[pair]
        start, m = observed_starts[pair], observed_starts[pair + 1] - observed_starts[pair]
        if n == 0:
            continue
        for j in range(n):
            made[j] = 0
            inverse[j] = one / totals[hidden[first + j]]
            more[j] = one
        for k in range(m):
            if links[start + k] >= 0:
                made[links[start + k]] += 1
        if model == 2:
            for j in range(n):
                more[j] = _ratio(fertility, hidden[first + j], made[j])
        across, along = (m, 1) if forward else (1, n)
        previous, following, sought = -1, -1, 0
        for k in range(m):
            word, old = observed[start + k], links[start + k]
            if sought <= k:
                sought, following = k + 1, n
                while sought < m:
                    if links[start + sought] >= 0:
                        following = links[start + sought]
                        break
                    sought += 1
            edge = edges[pair] + k * along
            if old >= 0:
                cell, maker = cells[edge + old * across], hidden[first + old]
                if cell != none:
                    values[cell] -= one
                totals[maker] -= one
                inverse[old] = one / totals[maker]
                if model == 2:
                    more[old] = _change(fertility, maker, made[old], -1)
                made[old] -= 1
            else:
                null[word] -= one
                null[-1] -= one
            total = np.float32(0.0)
            before, after = centre - previous, centre + following
            if model == 0:
                for j in range(n):
                    total += values[cells[edge + j * across]] * inverse[j]
                    sums[j] = total
            else:
                for j in range(n):
                    weight = values[cells[edge + j * across]] * inverse[j] * more[j]
                    total += weight * jumps[before + j] * jumps[after - j]
                    sums[j] = total
            empty = null_odds * null[word] / null[-1]
            if model > 0:
                empty *= jumps[after - previous]
            whole = total + empty
            if unit > 0:
                scale, last = unit / whole, np.float32(0.0)
                for j in range(n):
                    posterior[edge + j * across] += np.uint16((sums[j] - last) * scale + half)
                    last = sums[j]
                null_posterior[start + k] += np.uint16(empty * scale + half)
            drawn = _uniform(state) * whole
            new = -1
            if drawn < total:
                low, high = 0, n - 1
                while low < high:
                    middle = (low + high) >> 1
                    if drawn < sums[middle]:
                        high = middle
                    else:
                        low = middle + 1
                new = low
            links[start + k] = new
            if new >= 0:
                cell, maker = cells[edge + new * across], hidden[first + new]
                if cell != none:
                    values[cell] += one
                totals[maker] += one
                inverse[new] = one / totals[maker]
                if model == 2:
                    more[new] = _change(fertility, maker, made[new], 1)
                made[new] += 1
                previous = new
            else:
                null[word] += one
                null[-1] += one


@kernel
def finish(cells, posterior, stretch, expected):  # type: ignore[no-untyped-def]
    """Add up the probabilities of each cell; stretch those of the edges to the full scale."""
    for edge in range(len(cells)):
        value = posterior[edge]
        expected[cells[edge]] += value
        posterior[edge] = np.uint16(min(value * stretch + 0.5, 65535.0))
