"""What the budget says is what is taken: by the work itself, as Python and NumPy count it."""

import tracemalloc

import numpy as np
import pytest

from align.data.corpus import Corpus, Sentences
from align.statistics import jumps
from align.statistics.cooccurrence import index
from align.statistics.lexicon import estimate
from align.statistics.mapper import Threads
from pipeline.work import budget

# For whatever does not grow with the text.
SOME = 1 << 20


def zipfian(pairs, sizes):
    generator = np.random.default_rng(0)

    def side(size):
        offsets = np.concatenate([[0], np.cumsum(generator.integers(1, 50, pairs))])
        ids = (size * generator.random(offsets[-1]) ** 3).astype(np.int32)
        return Sentences(ids, offsets, np.zeros(offsets[-1], dtype=np.int32))

    return Corpus(*map(side, sizes))


def taken(work):
    """Return the largest number of bytes that were allocated at a time, and the result."""
    tracemalloc.start()
    try:
        result = work()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("sizes", [(300, 400), (3000, 4000)], ids=["more tokens", "more cells"])
def test_the_index_and_model_1(sizes, jobs):
    corpus = zipfian(20_000, sizes)
    mapper = Threads(jobs)
    first = index([corpus.take(np.arange(9))], *sizes, mapper=mapper)
    estimate(first, *sizes, mapper=mapper)  # kernels are loaded
    making, cooccurrence = taken(lambda: index([corpus], *sizes, mapper=mapper))
    tokens = len(corpus.source.ids) + len(corpus.target.ids)
    assert making <= budget.index_memory(tokens, len(corpus), sum(sizes)) - budget.BASE + SOME
    estimating, _ = taken(lambda: estimate(cooccurrence, *sizes, iterations=2, mapper=mapper))
    there = sum(array.nbytes for array in (*cooccurrence.source, *cooccurrence.target))
    assert estimating + there <= cooccurrence.memory(jobs=jobs) + SOME


def test_jumps_take_no_more_than_they_may():
    """The budget is imported where statistics are not: the numbers stand in both places."""
    assert (budget.JUMPS, budget.JUMP_CLASSES) == (jumps.MOST_NUMBERS, jumps.MOST_CLASSES)
    counts = np.full(5000, 1000)
    classes = jumps.word_classes(counts, 100)

    assert taken(lambda: jumps.Jumps.none(classes, 100).smoothed())[0] < 32 * budget.JUMPS
