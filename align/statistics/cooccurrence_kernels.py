"""Compiled kernels of ``cooccurrence``: bags, inverted indices, and the cells of a table."""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel


@kernel
def fill_bags(
    ids: np.ndarray,
    starts: np.ndarray,
    taken: np.ndarray,
    size: int,
    words: np.ndarray,
    repeats: np.ndarray,
    offsets: np.ndarray,
) -> None:
    """Write the bags of some sentences; ``offsets[0]`` says where they begin, the rest of it is filled."""
    end = offsets[0]
    for i in range(len(starts) - 1):
        if taken[i]:
            first = end
            sentence = ids[starts[i] : starts[i + 1]].copy()
            _sort(sentence)
            for word in sentence:
                if word >= size:
                    break
                if end > first and words[end - 1] == word:
                    repeats[end - 1] += 1
                else:
                    words[end] = word
                    repeats[end] = 1
                    end += 1
        offsets[i + 1] = end


@kernel
def fill_postings(
    words: np.ndarray,
    times: np.ndarray,
    offsets: np.ndarray,
    places: np.ndarray,
    sentences: np.ndarray,
    repeats: np.ndarray,
) -> None:
    """Write the sentences of each word from its place on; ``places`` (V,) is used up."""
    for i in range(len(offsets) - 1):
        for entry in range(offsets[i], offsets[i + 1]):
            word = words[entry]
            sentences[places[word]] = i
            repeats[places[word]] = times[entry]
            places[word] += 1


@kernel
def count_words(words: np.ndarray, counts: np.ndarray) -> None:
    """Count the entries of each word."""
    for word in words:
        counts[word] += 1


@kernel
def add_repeats(words: np.ndarray, repeats: np.ndarray, counts: np.ndarray) -> None:
    """Add up the occurrences of each word."""
    for entry in range(len(words)):
        counts[words[entry]] += np.int64(repeats[entry])


@kernel
def add_work(postings: np.ndarray, sentences: np.ndarray, offsets: np.ndarray, work: np.ndarray) -> None:
    """Add up the words beside each source word: what it costs to find its cells."""
    for s in range(len(work)):
        for posting in range(postings[s], postings[s + 1]):
            i = sentences[posting]
            work[s] += offsets[i + 1] - offsets[i]


@kernel
def count_cells(
    postings: np.ndarray,
    sentences: np.ndarray,
    words: np.ndarray,
    offsets: np.ndarray,
    met: np.ndarray,
    sizes: np.ndarray,
) -> None:
    """Count the distinct target words beside each source word of a run; ``met`` (Vt,) is all -1 before."""
    for s in range(len(sizes)):
        size = 0
        for posting in range(postings[s], postings[s + 1]):
            i = sentences[posting]
            for entry in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
                t = np.uint64(words[entry])
                if met[t] != s:
                    met[t] = s
                    size += 1
        sizes[s] = size


@kernel
def fill_cells(
    postings: np.ndarray,
    sentences: np.ndarray,
    times: np.ndarray,
    words: np.ndarray,
    repeats: np.ndarray,
    offsets: np.ndarray,
    count: np.ndarray,
    rows: np.ndarray,
    targets: np.ndarray,
    joint: np.ndarray,
) -> None:
    """Write the cells of a run of source words; ``count`` (Vt,) is all zero before and after.

    ``rows`` may begin anywhere: the first cell of the run is the first of ``targets`` and ``joint``.
    """
    for s in range(len(rows) - 1):
        first, last = rows[s] - rows[0], rows[s + 1] - rows[0]
        cell = first
        for posting in range(postings[s], postings[s + 1]):
            i, a = sentences[posting], times[posting]
            for entry in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
                t = np.uint64(words[entry])
                if count[t] == 0:
                    targets[cell] = words[entry]
                    cell += 1
                count[t] += min(a, repeats[entry])
        row = targets[first:last]
        # a row that holds much of the vocabulary is put in order by a walk over the vocabulary
        if len(row) * 16 > len(count):
            place = 0
            for word in range(len(count)):
                if count[word] != 0:
                    row[place] = word
                    place += 1
        else:
            _sort(row)
        for cell in range(first, last):
            joint[cell] = count[targets[cell]]
            count[targets[cell]] = 0


@kernel
def _sort(values: np.ndarray) -> None:
    """Put values in ascending order (Shell's method: numpy's sorting takes seconds to compile)."""
    gap = 1
    while gap < len(values) // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, len(values)):
            value, place = values[i], i
            while place >= gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value
        gap //= 3
