"""Stretches of a bitext whose lines do not stand beside their translations.

From a line that is missing or too many on one side on, each line stands beside its neighbour's translation;
blocks may have changed places, or belong to other texts altogether. What a line tells of its partner is its
length [1]_ and words that are the same in both languages: numbers, names, loans. For source line i and
target line j, with x and y the logarithms of their lengths and w the anchors of i,

    e(i, j) = log (0.9 f(x, y) / sum_z p(z) f(x, z) + 0.1)
              + sum_{w in j} log (q / p(w)) + sum_{w not in j} log (1 - q)

with f the density of a normal distribution, N(y; x + c, v(x)), is the log ratio of the probabilities of j
under "i is translated by j" and "j is any line". The states of a
line are the shifts (i stands for i + s), and "strangers", with e = 0. The most probable sequence of states,
with a cost for each change, is found exactly [2]_: it says where stretches begin and end, to the line. So
there is no window that could be too long or too short for them.

The center c is the median of y - x, p(y) and p(w) are frequencies; v and q are those of the shift that fits
best, block by block, so that they are right although many lines stand wrongly. Shifts up to `NEAR` are always
looked at; others where a stretch of strangers correlates with a far place.

References
----------
.. [1] W. A. Gale and K. W. Church, "A program for aligning sentences in bilingual corpora", Computational
   Linguistics 19(1), 1993.
.. [2] A. J. Viterbi, "Error bounds for convolutional codes and an asymptotically optimum decoding algorithm",
   IEEE Transactions on Information Theory 13(2), 1967.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from align.core.kernels import Arrays, kernel
from align.core.ragged import offsets_of, read_only
from align.data.anchors import BINS, STEPS, LineSigns, joined

# Shifts that are looked at everywhere.
NEAR = 10

# The cost of a change of state, and what a stretch must gain, in nats, against lines in their places.
CHANGE, GAIN = 15.0, 40.0

# Shorter stretches are the way of all corpora.
SHORTEST = 25

# The variance of y - x of a translation of n letters is _VARIANCE[0] + _VARIANCE[1] / n, times a factor that
# is estimated within these bounds: translations agree at least so well, whatever the text.
_VARIANCE, _FACTORS = (0.007, 1.15), (0.3, 4.0)
_BLOCK, _CAP = 64, 9.0

# Pairs that are what they are by chance; bounds of the share q of anchors that come again, and of what all
# the anchors of a line tell.
_CHANCE, _AGAIN, _TOLD = 0.1, (0.3, 0.9), 4.0

# Counts of anchors are by their last bits.
_BUCKETS = 1 << 18

# Lines of a long text that are looked at together.
WINDOW = 1 << 17

# Far shifts: lines of a piece that is looked for, at most so many pieces, and candidates of each.
_PIECE, _PIECES, _CANDIDATES = 400, 24, 2


class Stretch(NamedTuple):
    """Lines ``first`` to ``stop - 1``, from 0, that do not stand beside their translations."""

    first: int
    stop: int
    shift: int | None  # line i is translated by line i + shift; None: by none that was found


def scan(blocks: Iterable[LineSigns], *, window: int = WINDOW) -> list[Stretch]:
    """Find the stretches of a text of any length, in memory that does not grow with it.

    Parameters
    ----------
    blocks : iterable of LineSigns
        Of its lines in their order, some thousands each.
    window : int
        Lines that are looked at together, about; windows overlap by two blocks.

    Returns
    -------
    list of Stretch
        As of :func:`find_stretches`.
    """
    found: list[Stretch] = []
    held: list[LineSigns] = []
    start, seam = 0, 0
    for block in blocks:
        held.append(block)
        sizes = [len(each.lengths[0]) for each in held]
        if sum(sizes) >= window and len(held) > 2:
            stop = start + sum(sizes[:-1])
            _extend(found, find_stretches(joined(held)), start, seam, stop)
            start, seam = start + sum(sizes[:-2]), stop
            held = held[-2:]
    if held:
        text = joined(held)
        _extend(found, find_stretches(text), start, seam, start + len(text.lengths[0]))
    return found


def _extend(found: list[Stretch], stretches: Iterable[Stretch], start: int, seam: int, stop: int) -> None:
    """Add stretches, counted from ``start``, where they lie in ``seam`` to ``stop``; join what touches."""
    for first, end, shift in stretches:
        first, end = max(first + start, seam), min(end + start, stop)
        if first >= end:
            continue
        if found and found[-1].shift == shift and found[-1].stop == first:
            first = found.pop().first
        found.append(Stretch(first, end, shift))


def find_stretches(signs: LineSigns) -> list[Stretch]:
    """Find the stretches of a text whose lines do not stand beside their translations.

    Parameters
    ----------
    signs : LineSigns
        Of all lines.

    Returns
    -------
    list of Stretch
        In their order; neighbours may touch where their shifts differ.
    """
    near = np.arange(-NEAR, NEAR + 1)
    if len(signs.lengths[0]) < SHORTEST:
        return []
    arrays = _arrays(signs, near)
    found = _segments(arrays, near)
    lost = [stretch for stretch in found if stretch.shift is None]
    shifts = np.union1d(near, _far_shifts(signs, lost)) if lost else near
    return found if len(shifts) == len(near) else _segments(arrays, shifts)


def _arrays(signs: LineSigns, near: np.ndarray) -> Arrays:
    """Return what kernels read: bins, the table of lengths, anchors, their offsets, what each tells."""
    bins = tuple(read_only(each) for each in signs.lengths)
    anchors = tuple(read_only(each) for each in signs.anchors)
    offsets = tuple(read_only(offsets_of(each)) for each in signs.counts)
    used = int(np.count_nonzero(bins[0]))
    counts = np.bincount(anchors[1] & (_BUCKETS - 1), minlength=_BUCKETS)
    matched = _matches(anchors[0], anchors[1], offsets[0], offsets[1], near)
    again = float(np.clip(matched.max() / max(1, len(anchors[0])), *_AGAIN))
    ratio = again * max(1, used) / np.maximum(1, counts[anchors[0] & (_BUCKETS - 1)])
    match = np.minimum(np.log(np.maximum(ratio, 1.0)), _TOLD).astype(np.float32)
    table = length_table(bins[0], bins[1], near)
    return (*bins, table, *anchors, *offsets, read_only(match), np.array([np.log(1 - again)], np.float32))


def length_table(source: np.ndarray, target: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Return the part of e that is of lengths, float32, shape (BINS, BINS), by the bins of both sides."""
    used = (source > 0) & (target > 0)
    middles = np.arange(BINS) / STEPS
    variance = _VARIANCE[0] + _VARIANCE[1] / np.maximum(1.0, np.expm1(middles))
    if not used.any():
        return np.zeros((BINS, BINS), dtype=np.float32)
    center = float(np.median(target[used].astype(np.int64) - source[used])) / STEPS
    scatters = _scatters(source, target, center, variance, near)
    factor = float(np.clip(np.median(scatters) if len(scatters) else 1.0, *_FACTORS))
    # A bin is as wide as the deviation is small, for the longest lines.
    spread = np.sqrt(factor * variance + 1 / (12 * STEPS**2))[:, None]
    fits = np.exp(-0.5 * ((middles[None, :] - middles[:, None] - center) / spread) ** 2)
    frequency = np.bincount(target[used], minlength=BINS) + 0.0
    near_by = np.exp(-0.5 * (np.arange(-6, 7) / 2.0) ** 2)
    usual = np.convolve(frequency, near_by, mode="same") + 1e-3
    fits /= (fits @ (usual / usual.sum()))[:, None] + 1e-12
    table = np.log((1 - _CHANCE) * fits + _CHANCE)
    table[0], table[:, 0] = 0.0, 0.0
    return table.astype(np.float32)


def _segments(arrays: Arrays, shifts: np.ndarray) -> list[Stretch]:
    """Return the stretches of the best sequence of states that are long and sure enough."""
    states, told, usual = decode(arrays, shifts, int(np.searchsorted(shifts, 0)), CHANGE)
    bounds = np.concatenate([[0], np.flatnonzero(np.diff(states)) + 1, [len(states)]])
    found: list[Stretch] = []
    for first, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        state, support = int(states[first]), float(told[first:stop].sum())
        shift = int(shifts[state]) if state < len(shifts) else None
        if shift == 0 or stop - first < SHORTEST or support - float(usual[first:stop].sum()) < GAIN:
            continue
        # Among many places one fits strangers a little, by chance.
        _extend(found, [Stretch(first, stop, shift if support >= GAIN else None)], 0, 0, len(states))
    return found


def _far_shifts(signs: LineSigns, lost: Iterable[Stretch]) -> np.ndarray:
    """Return the shifts at which pieces of lost stretches correlate best in length, int64."""
    sides = []
    for bins in signs.lengths:
        values = bins.astype(np.float64)
        used = bins > 0
        values[used] -= values[used].mean() if used.any() else 0.0
        sides.append(values)
    count = len(sides[0])
    size = 1 << (2 * count - 1).bit_length()
    target = np.conj(np.fft.rfft(sides[1], size))
    found = set()
    for first, stop in _pieces(lost):
        alone = np.zeros(count)
        alone[first:stop] = sides[0][first:stop]
        # Place d of the product is the sum over i of source i times target i - d.
        product = np.fft.irfft(np.fft.rfft(alone, size) * target, size)
        product = np.concatenate([product[-count + 1 :], product[:count]])
        for _ in range(_CANDIDATES):
            place = int(np.argmax(product))
            found.add(count - 1 - place)
            product[place] = -np.inf
    return np.array(sorted(found), dtype=np.int64)


def _pieces(lost: Iterable[Stretch]) -> Iterator[tuple[int, int]]:
    """Yield pieces of stretches, evenly chosen where there are many."""
    pieces = [
        (start, min(start + _PIECE, stretch.stop))
        for stretch in lost
        for start in range(stretch.first, stretch.stop, _PIECE)
    ]
    chosen = np.unique(np.linspace(0, len(pieces) - 1, min(len(pieces), _PIECES)).astype(int))
    for place in chosen.tolist():
        yield pieces[place]


@kernel
def _scatters(source, target, center, variance, near):  # type: ignore[no-untyped-def]
    """Return the mean of (y - x - c)^2 / v, each at most _CAP, of each block of lines at its best shift."""
    count = len(source)
    scatters = np.empty(-(-count // _BLOCK))
    for block in range(len(scatters)):
        best = _CAP
        for shift in near:
            total, pairs = 0.0, 0
            for i in range(block * _BLOCK, min(count, (block + 1) * _BLOCK)):
                j = i + shift
                if 0 <= j < count and source[i] > 0 and target[j] > 0:
                    away = (np.int64(target[j]) - np.int64(source[i])) / STEPS - center
                    total += min(_CAP, away * away / variance[source[i]])
                    pairs += 1
            if 2 * pairs >= _BLOCK:
                best = min(best, total / pairs)
        scatters[block] = best
    return scatters


@kernel
def _matches(source, target, source_offsets, target_offsets, near):  # type: ignore[no-untyped-def]
    """Return how many anchors of source lines are in the target line at each shift, int64."""
    count = len(source_offsets) - 1
    found = np.zeros(len(near), dtype=np.int64)
    for i in range(count):
        for place in range(len(near)):
            j = i + near[place]
            if 0 <= j < count:
                for a in range(source_offsets[i], source_offsets[i + 1]):
                    for b in range(target_offsets[j], target_offsets[j + 1]):
                        if source[a] == target[b]:
                            found[place] += 1
                            break
    return found


@kernel
def decode(arrays, shifts, here, change):  # type: ignore[no-untyped-def]
    """Return the state of each line, uint8, and e of it and of shift 0 (state ``here``), float32.

    State k is shifts[k], the last one is strangers.
    """
    source, target, table, anchors, others, offsets, other_offsets, match, missing = arrays
    count, states = len(source), len(shifts) + 1
    came = np.empty((count, states), dtype=np.uint8)
    told = np.empty((count, states), dtype=np.float32)
    totals = np.full(states, -change)
    totals[here] = 0.0
    for i in range(count):
        top = 0
        for k in range(1, states):
            if totals[k] > totals[top]:
                top = k
        most = totals[top] - change
        for k in range(states):
            evidence = np.float32(0.0)
            j = i + shifts[k] if k < states - 1 else -1
            if 0 <= j < count and source[i] > 0 and target[j] > 0:
                evidence = table[source[i], target[j]]
                words = np.float32(0.0)
                for a in range(offsets[i], offsets[i + 1]):
                    word = missing[0]
                    for b in range(other_offsets[j], other_offsets[j + 1]):
                        if anchors[a] == others[b]:
                            word = match[a]
                            break
                    words += word
                evidence += min(max(words, np.float32(-_TOLD)), np.float32(_TOLD))
            told[i, k] = evidence
            if totals[k] >= most:
                came[i, k] = k
            else:
                came[i, k] = top
                totals[k] = most
            totals[k] += evidence
    path = np.empty(count, dtype=np.uint8)
    chosen = np.empty(count, dtype=np.float32)
    state = np.argmax(totals)
    for i in range(count - 1, -1, -1):
        path[i] = state
        chosen[i] = told[i, state]
        state = came[i, state]
    return path, chosen, told[:, here].copy()
