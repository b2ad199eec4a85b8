"""Compiled kernels of the lexical tables: IBM Model 1 (``model1``) and the look-ups of a table.

The sentences come as bags and as an inverted index (:mod:`align.statistics.cooccurrence`); the cells of
source word s are ``rows[s]`` to ``rows[s + 1]``. Loops over tokens and cells run over unsigned numbers: a
signed index would be checked for being negative at every step.
"""

from __future__ import annotations

import math

import numpy as np

from align.core.kernels import kernel


@kernel
def take(values: np.ndarray, indices: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with the values at the indices, which must be in range; NumPy would copy 8 bytes each."""
    for entry in range(len(indices)):
        out[entry] = values[np.uint64(indices[entry])]


@kernel(error_model="numpy")
def add_denominators(
    first: int,
    source: tuple[np.ndarray, ...],
    target: tuple[np.ndarray, ...],
    row: np.ndarray,
    table: tuple[np.ndarray, ...],
    den: np.ndarray,
) -> None:
    """Add a_i(s) p(t | s) to den of a run of sentences, of which ``first`` is the number of the first.

    The source words may be a run as well: ``rows`` and ``offsets`` begin anywhere, with the first cell and
    the first entry; ``row`` (Vt,) is room for one source word.
    """
    postings, sentences, times = source
    words, offsets = target
    rows, targets, forward = table
    last = first + len(offsets) - 1
    for s in range(len(rows) - 1):
        begin = first_at_least(sentences, postings[s], postings[s + 1], first)
        end = first_at_least(sentences, begin, postings[s + 1], last)
        if begin == end:
            continue
        for cell in range(np.uint64(rows[s] - rows[0]), np.uint64(rows[s + 1] - rows[0])):
            row[np.uint64(targets[cell])] = forward[cell]
        for posting in range(begin, end):
            i, a = sentences[posting] - first, times[posting]
            for entry in range(np.uint64(offsets[i] - offsets[0]), np.uint64(offsets[i + 1] - offsets[0])):
                den[entry] += a * row[np.uint64(words[entry])]


@kernel(error_model="numpy")
def count_null(
    words: np.ndarray,
    repeats: np.ndarray,
    den: np.ndarray,
    null: np.ndarray,
    counts: np.ndarray,
    total: float,
) -> float:
    """Turn den into repeats / den, add what NULL gets to ``counts``, and return the log-likelihood.

    ``total`` is that of the entries before; the choices of the model are left out of it.
    """
    for entry in range(len(words)):
        if den[entry] > 0:
            total += repeats[entry] * math.log(den[entry])
            den[entry] = repeats[entry] / den[entry]
            counts[words[entry]] += null[words[entry]] * den[entry]
    return total


@kernel(error_model="numpy")
def expect_rows(
    source: tuple[np.ndarray, ...],
    target: tuple[np.ndarray, ...],
    table: tuple[np.ndarray, ...],
    model: tuple[np.ndarray, ...],
    out: tuple[np.ndarray, ...],
    smoothing: tuple[float, float],
) -> None:
    """Run the second walk of a round for a run of source words: counts of both directions.

    ``rows`` may begin anywhere, with the first cell.
    """
    postings, sentences, times = source
    words, repeats, offsets = target
    rows, targets, forward, reverse, known_forward, known_reverse = table
    scale, ratio, null = model
    null_counts, likelihood = out
    row = np.zeros(len(scale), dtype=np.float32)
    sums = np.zeros((len(scale), 2))
    for s in range(len(rows) - 1):
        begin, end = np.uint64(rows[s] - rows[0]), np.uint64(rows[s + 1] - rows[0])
        for cell in range(begin, end):
            t = np.uint64(targets[cell])
            row[t] = _smoothed(np.float64(reverse[cell]), smoothing[0]) * scale[t]
            sums[t, 0] = 0.0
            sums[t, 1] = 0.0
        null_count, total = 0.0, 0.0
        for posting in range(postings[s], postings[s + 1]):
            i, a = sentences[posting], np.float64(times[posting])
            entries = range(np.uint64(offsets[i]), np.uint64(offsets[i + 1]))
            den = np.float32(null[s])
            for entry in entries:
                den += repeats[entry] * row[np.uint64(words[entry])]
            if den <= 0:
                continue
            share_of = a / den
            null_count += share_of
            total += a * math.log(den)
            for entry in entries:
                t = np.uint64(words[entry])
                ahead, back = sums[t, 0], sums[t, 1]
                sums[t, 0] = ahead + a * ratio[entry]
                sums[t, 1] = back + share_of * repeats[entry]
        null_counts[s] = null_count * null[s]
        likelihood[s] = total
        _write_row(
            begin, end, targets, forward, reverse, row, sums, known_forward, known_reverse, smoothing[1]
        )


@kernel(error_model="numpy")
def _write_row(
    begin: np.uint64,
    end: np.uint64,
    targets: np.ndarray,
    forward: np.ndarray,
    reverse: np.ndarray,
    row: np.ndarray,
    sums: np.ndarray,
    known_forward: np.ndarray,
    known_reverse: np.ndarray,
    smoothing: float,
) -> None:
    """Write one source word's reverse counts and its new forward probabilities."""
    total = 0.0
    for cell in range(begin, end):
        t = np.uint64(targets[cell])
        ahead, back = forward[cell] * sums[t, 0], row[t] * sums[t, 1]
        if len(known_forward):
            ahead += known_forward[cell]
            back += known_reverse[cell]
        total += ahead
        forward[cell] = ahead
        reverse[cell] = back
    if total <= 0:
        return
    factor = 1 / _smoothed(total + smoothing * (end - begin - 1), smoothing)
    for cell in range(begin, end):
        forward[cell] = _smoothed(np.float64(forward[cell]), smoothing) * factor


@kernel(error_model="numpy")
def _smoothed(count: float, smoothing: float) -> float:
    """Return exp(psi(count + smoothing)), the count itself without smoothing."""
    if smoothing == 0:
        return count
    x = count + smoothing
    # psi(x) = psi(x + 6) - sum_i 1 / (x + i), i < 6: the sum is P'(x) / P(x) for P(x) = prod_i (x + i). Then
    # the asymptotic series is good to 1e-9 (Abramowitz and Stegun, 6.3.18).
    down = 0.0
    if x < 6:
        product, slope = 1.0, 0.0
        for _ in range(6):
            slope = slope * x + product
            product *= x
            x += 1
        down = slope / product
    inverse = 1 / x
    square = inverse * inverse
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240))))
    return x * math.exp(-down - 0.5 * inverse - series)


@kernel
def sum_runs(values: np.ndarray, offsets: np.ndarray, totals: np.ndarray) -> None:
    """Fill ``totals`` (N,) with the sum of each run of values."""
    for i in range(len(totals)):
        total = 0.0
        for entry in range(offsets[i], offsets[i + 1]):
            total += values[entry]
        totals[i] = total


@kernel
def count_columns(targets: np.ndarray, sizes: np.ndarray) -> None:
    """Add up the cells of each target word."""
    for t in targets:
        sizes[t] += 1


@kernel
def sum_columns(targets: np.ndarray, values: np.ndarray, totals: np.ndarray) -> None:
    """Add the values of each target word's cells to ``totals`` (Vt,)."""
    for cell in range(len(targets)):
        totals[targets[cell]] += values[cell]


@kernel
def invert_totals(totals: np.ndarray, sizes: np.ndarray, smoothing: float) -> None:
    """Turn the sums of columns into the factors that make counts probabilities."""
    for t in range(len(totals)):
        if totals[t] > 0:
            totals[t] = 1 / _smoothed(totals[t] + smoothing * (sizes[t] - 1), smoothing)


@kernel
def scale_columns(targets: np.ndarray, values: np.ndarray, scale: np.ndarray) -> None:
    """Multiply every value by the factor of its target word."""
    for cell in range(len(targets)):
        values[cell] *= scale[targets[cell]]


@kernel
def divide_rows(rows: np.ndarray, values: np.ndarray, counts: np.ndarray) -> None:
    """Divide each row by the sum of its counts + 1."""
    for s in range(len(rows) - 1):
        total = 1.0
        for cell in range(rows[s], rows[s + 1]):
            total += counts[cell]
        for cell in range(rows[s], rows[s + 1]):
            values[cell] /= total


@kernel
def count_united(
    rows: np.ndarray,
    targets: np.ndarray,
    known_rows: np.ndarray,
    known_targets: np.ndarray,
    all_rows: np.ndarray,
) -> None:
    """Fill ``all_rows`` (Vs + 1,) for a table with the cells of two; rows are ascending in both."""
    for s in range(len(rows) - 1):
        one, other, size = rows[s], known_rows[s], 0
        while one < rows[s + 1] or other < known_rows[s + 1]:
            first = one < rows[s + 1] and (other >= known_rows[s + 1] or targets[one] <= known_targets[other])
            second = other < known_rows[s + 1] and (
                one >= rows[s + 1] or known_targets[other] <= targets[one]
            )
            one += first
            other += second
            size += 1
        all_rows[s + 1] = all_rows[s] + size


@kernel
def unite(
    table: tuple[np.ndarray, ...],
    known: tuple[np.ndarray, ...],
    weight: float,
    all_rows: np.ndarray,
    united: tuple[np.ndarray, ...],
) -> None:
    """Write the cells of a table and of known ones with their joint counts, and the known expected counts.

    ``united`` is (targets, joint, forward counts, reverse counts), the last three all zero before.
    """
    rows, targets, joint = table
    known_rows, known_targets, dice, forward, reverse, source_counts, target_counts = known
    all_targets, all_joint, forward_counts, reverse_counts = united
    for s in range(len(rows) - 1):
        one, other = rows[s], known_rows[s]
        for cell in range(all_rows[s], all_rows[s + 1]):
            first = one < rows[s + 1] and (other >= known_rows[s + 1] or targets[one] <= known_targets[other])
            second = other < known_rows[s + 1] and (
                one >= rows[s + 1] or known_targets[other] <= targets[one]
            )
            if first:
                all_targets[cell] = targets[one]
                all_joint[cell] += joint[one]
                one += 1
            if second:
                t = known_targets[other]
                all_targets[cell] = t
                all_joint[cell] += weight * dice[other] * (source_counts[s] + target_counts[t]) / 2
                forward_counts[cell] = weight * forward[other] * source_counts[s]
                reverse_counts[cell] = weight * reverse[other] * target_counts[t]
                other += 1


@kernel
def joint_to_dice(
    rows: np.ndarray,
    targets: np.ndarray,
    joint: np.ndarray,
    source_counts: np.ndarray,
    target_counts: np.ndarray,
) -> None:
    """Turn joint counts into Dice coefficients."""
    for s in range(len(rows) - 1):
        for cell in range(rows[s], rows[s + 1]):
            joint[cell] *= 2 / (source_counts[s] + target_counts[targets[cell]])


@kernel
def move_together(
    rows: np.ndarray,
    targets: np.ndarray,
    dice: np.ndarray,
    forward: np.ndarray,
    reverse: np.ndarray,
    least: float,
    offsets: np.ndarray,
) -> int:
    """Move the cells that stay to the front, fill their ``offsets``, return their number."""
    kept = 0
    offsets[0] = 0
    for s in range(len(rows) - 1):
        for cell in range(rows[s], rows[s + 1]):
            if forward[cell] >= least or reverse[cell] >= least:
                targets[kept] = targets[cell]
                dice[kept] = dice[cell]
                forward[kept] = forward[cell]
                reverse[kept] = reverse[cell]
                kept += 1
        offsets[s + 1] = kept
    return kept


@kernel
def find_cells(
    source_ids: np.ndarray,
    source_offsets: np.ndarray,
    target_ids: np.ndarray,
    target_offsets: np.ndarray,
    rows: np.ndarray,
    targets: np.ndarray,
    offsets: np.ndarray,
    found: np.ndarray,
) -> None:
    """Write the cell of every edge, -1 where the words have none."""
    for i in range(len(offsets) - 1):
        edge = offsets[i]
        for j in range(source_offsets[i], source_offsets[i + 1]):
            s = source_ids[j]
            begin, end = (rows[s], rows[s + 1]) if s < len(rows) - 1 else (0, 0)
            for k in range(target_offsets[i], target_offsets[i + 1]):
                t = target_ids[k]
                cell = first_at_least(targets, begin, end, t)
                found[edge] = cell if cell < end and targets[cell] == t else -1
                edge += 1


@kernel
def first_at_least(values: np.ndarray, low: int, high: int, least: int) -> int:
    """Return the first place from ``low`` to ``high`` with a value of at least ``least``, else ``high``.

    The values between are ascending. (numpy's search takes ten times as long to compile.)
    """
    while low < high:
        middle = (low + high) // 2
        if values[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low
