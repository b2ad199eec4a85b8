"""Compiled parts of :mod:`align.statistics.sampler`: one chain in one direction, over a whole corpus.

``hidden`` and ``observed`` are the word ids of both sides. ``offsets``, ``places`` and ``cells`` are the
candidates of the observed words (:class:`align.statistics.candidates.Candidates`). The state of a chain is
``links`` (which of its candidates made each observed word, counted from 0, -1 for NULL) and its counts with
their priors: ``values`` a cell, ``totals`` a hidden word, ``null`` an observed word (its sum comes last) and
``fertility`` a hidden word and number of words made. ``state`` is that of the random numbers.

Places are unsigned, as signed indices would be checked for being negative at every step.
"""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel


@kernel
def _uniform(state):  # type: ignore[no-untyped-def]
    """Draw from [0, 1): the generator xorshift64* of Vigna 2016."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.float32((x * np.uint64(2685821657736338717)) >> np.uint64(40)) * np.float32(1.0 / 16777216.0)


@kernel(error_model="numpy")
def begin(  # type: ignore[no-untyped-def]
    hidden, hidden_starts, observed, observed_starts, offsets, places, cells,
    links, values, totals, null, table, null_probability, state,
):  # fmt: skip
    """Draw the first links of a chain by ``table``, of probabilities of cells, and count them.

    Where it has none but zeros all candidates are as likely.
    """
    none = len(values) - 1
    one = np.float32(1.0)
    for pair in range(len(hidden_starts) - 1):
        first = hidden_starts[pair]
        for k in range(observed_starts[pair], observed_starts[pair + 1]):
            low, high = offsets[k], offsets[k + 1]
            total = np.float32(0.0)
            for c in range(low, high):
                total += table[cells[c]]
            if low == high or _uniform(state) < null_probability:
                links[k] = -1
                null[observed[k]] += one
                null[-1] += one
                continue
            c = low
            if total > 0:
                rest = _uniform(state) * total - table[cells[c]]
                while rest >= 0 and c < high - 1:
                    c += 1
                    rest -= table[cells[c]]
            else:
                c += min(np.int64(_uniform(state) * (high - low)), high - low - 1)
            links[k] = c - low
            if cells[c] != none:
                values[cells[c]] += one
            totals[hidden[first + places[c]]] += one


@kernel
def count_jumps(  # type: ignore[no-untyped-def]
    hidden_starts, observed_starts, offsets, places, links, seen
):
    """Count the jumps between linked words, the end of the sentence included."""
    centre = len(seen) // 2
    for pair in range(len(hidden_starts) - 1):
        previous = np.int64(-1)
        for k in range(observed_starts[pair], observed_starts[pair + 1]):
            if links[k] >= 0:
                place = np.int64(places[offsets[k] + links[k]])
                seen[centre + place - previous] += 1
                previous = place
        seen[centre + hidden_starts[pair + 1] - hidden_starts[pair] - previous] += 1


@kernel
def count_fertility(  # type: ignore[no-untyped-def]
    hidden, hidden_starts, observed_starts, offsets, places, links, fertility
):
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
                made[places[offsets[k] + links[k]]] += 1
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
    hidden, hidden_starts, observed, observed_starts, offsets, places, cells,
    links, values, totals, null, jumps, fertility, model, null_odds, unit, posterior, null_posterior, state,
):  # fmt: skip
    """Draw every link of the corpus anew, once; where ``unit`` > 0, add up the probabilities."""
    none, centre = len(values) - 1, len(jumps) // 2
    longest = centre + 1
    backward = jumps[::-1].copy()
    sums, rate = np.empty(longest, dtype=np.float32), np.empty(longest, dtype=np.float32)
    more = np.ones(longest, dtype=np.float32)
    made = np.empty(longest, dtype=np.int64)
    one, half = np.float32(1.0), np.float32(0.5)
    for pair in range(len(hidden_starts) - 1):
        first, n = hidden_starts[pair], hidden_starts[pair + 1] - hidden_starts[pair]
        start, end = observed_starts[pair], observed_starts[pair + 1]
        made[:n] = 0
        for k in range(start, end):
            if links[k] >= 0:
                made[places[offsets[k] + links[k]]] += 1
        for j in range(n):
            if model == 2:
                more[j] = _ratio(fertility, hidden[first + j], made[j])
            rate[j] = more[j] / totals[hidden[first + j]]
        previous, following, sought = np.int64(-1), np.int64(-1), start
        for k in range(start, end):
            if sought <= k:
                sought, following = k + 1, n
                while sought < end:
                    if links[sought] >= 0:
                        following = np.int64(places[offsets[sought] + links[sought]])
                        break
                    sought += 1
            word, low, count = observed[k], offsets[k], offsets[k + 1] - offsets[k]
            if links[k] >= 0:
                cell, old = cells[low + links[k]], places[low + links[k]]
                maker = hidden[first + old]
                if cell != none:
                    values[cell] -= one
                totals[maker] -= one
                if model == 2:
                    more[old] = _change(fertility, maker, made[old], -1)
                made[old] -= 1
                rate[old] = more[old] / totals[maker]
            else:
                null[word] -= one
                null[-1] -= one
            here, cells_here = places[low : low + count], cells[low : low + count]
            total = np.float32(0.0)
            if model == 0:
                for c in range(np.uint64(count)):
                    total += values[np.uint32(cells_here[c])] * rate[here[c]]
                    sums[c] = total
            else:
                ahead, back = jumps[centre - previous :], backward[centre - following :]
                for c in range(np.uint64(count)):
                    j = here[c]
                    total += values[np.uint32(cells_here[c])] * rate[j] * ahead[j] * back[j]
                    sums[c] = total
            empty = null_odds * null[word] / null[-1]
            if model > 0:
                empty *= jumps[centre + following - previous]
            whole = total + empty
            if unit > 0:
                scale, last = unit / whole, np.float32(0.0)
                found = posterior[low : low + count]
                for c in range(np.uint64(count)):
                    found[c] += np.uint16((sums[c] - last) * scale + half)
                    last = sums[c]
                null_posterior[k] += np.uint16(empty * scale + half)
            drawn = _uniform(state) * whole
            if drawn < total:
                new = 0
                while sums[new] <= drawn:
                    new += 1
                links[k] = new
                cell, place = cells[low + new], places[low + new]
                maker = hidden[first + place]
                if cell != none:
                    values[cell] += one
                totals[maker] += one
                if model == 2:
                    more[place] = _change(fertility, maker, made[place], 1)
                made[place] += 1
                rate[place] = more[place] / totals[maker]
                previous = np.int64(place)
            else:
                links[k] = -1
                null[word] += one
                null[-1] += one


@kernel
def finish(cells, posterior, stretch, expected):  # type: ignore[no-untyped-def]
    """Add up the probabilities of each cell; stretch those of the candidates to the full scale."""
    for c in range(len(cells)):
        value = posterior[c]
        expected[cells[c]] += value
        posterior[c] = np.uint16(min(value * stretch + 0.5, 65535.0))
