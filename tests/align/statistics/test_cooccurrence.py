"""The index of co-occurrences agrees with counting by hand, for any number of threads."""

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest

from align.data.corpus import Corpus, Sentences
from align.statistics.cooccurrence import bags, count_cells, index, invert, joint_counts, shrunk
from align.statistics.mapper import Threads
from tests.align import toy


def bitext(seed, *, pairs=40, n_source=12, n_target=15):
    return toy.random_corpus(seed, pairs, (n_source, n_target), longest=9)


def lists(sentences):
    return [
        sentences.ids[a:b].tolist()
        for a, b in zip(sentences.offsets[:-1], sentences.offsets[1:], strict=True)
    ]


def plain_joint(corpus, n_source, n_target):
    """sum_i min(b_i(s), b_i(t)), by dictionaries."""
    joint = defaultdict(int)
    for source, target in zip(lists(corpus.source), lists(corpus.target), strict=True):
        left, right = Counter(source), Counter(target)
        for s in left:
            for t in right:
                if s < n_source and t < n_target:
                    joint[s, t] += min(left[s], right[t])
    return joint


def whole(cooccurrence):
    """The cells of all source words at once."""
    n_source, n_target = len(cooccurrence.source_counts), len(cooccurrence.target_counts)
    return joint_counts(
        *(cooccurrence.source, cooccurrence.target, n_target, (0, n_source), cooccurrence.sizes)
    )


def cells_of(cooccurrence):
    rows, targets, joint = whole(cooccurrence)
    sources = np.repeat(np.arange(len(rows) - 1), np.diff(rows))
    return dict(zip(zip(sources.tolist(), targets.tolist(), strict=True), joint.tolist(), strict=True))


@pytest.mark.parametrize("edges", [[0, 12], [0, 1, 5, 5, 11, 12]])
def test_the_cells_of_shards_are_those_of_the_whole(edges):
    cooccurrence = index([bitext(2)], 12, 15)
    everything = cooccurrence.source, cooccurrence.target, 15
    rows, targets, joint = whole(cooccurrence)
    for shard in pairwise(edges):
        sizes = count_cells(*everything, shard).sizes
        assert sizes.tolist() == cooccurrence.sizes[slice(*shard)].tolist()
        own = joint_counts(*everything, shard, sizes)
        cells = slice(rows[shard[0]], rows[shard[1]])
        assert (own.rows + rows[shard[0]]).tolist() == rows[shard[0] : shard[1] + 1].tolist()
        assert own.targets.tobytes() == targets[cells].tobytes()
        assert own.joint.tobytes() == joint[cells].tobytes()


def test_bags_hold_distinct_words_in_order_with_their_numbers():
    bag = bags([Sentences.from_lists([[3, 1, 3], [], [7, 2, 9]])], 8)
    assert bag.words.tolist() == [1, 3, 2, 7]
    assert bag.repeats.tolist() == [1, 2, 1, 1]
    assert bag.offsets.tolist() == [0, 2, 2, 4]
    assert bag.counts(8).tolist() == [0, 1, 1, 2, 0, 0, 0, 1]


def test_the_inverted_index_leads_back_to_the_sentences():
    bag = bags([Sentences.from_lists([[0, 2, 2], [2], [], [0]])], 4)
    postings = invert(bag, 4)
    assert postings.offsets.tolist() == [0, 2, 2, 4, 4]
    assert postings.sentences.tolist() == [0, 3, 0, 1]
    assert postings.repeats.tolist() == [1, 1, 2, 1]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("jobs", [1, 3])
def test_cells_and_joint_counts_are_those_of_counting(seed, jobs):
    corpus = bitext(seed)
    cooccurrence = index([corpus], 12, 15, mapper=Threads(jobs))
    assert cells_of(cooccurrence) == plain_joint(corpus, 12, 15)
    assert cooccurrence.cells == len(plain_joint(corpus, 12, 15))
    assert cooccurrence.source_counts.tolist() == np.bincount(corpus.source.ids, minlength=12).tolist()
    assert cooccurrence.target_counts.tolist() == np.bincount(corpus.target.ids, minlength=15).tolist()


@pytest.mark.parametrize(("pairs", "n_target"), [(20, 500), (300, 20_000)])
def test_rows_of_a_large_vocabulary_are_in_order_too(pairs, n_target):
    # less than a sixteenth of the words in a row: the rows are sorted, not walked out
    corpus = bitext(5, pairs=pairs, n_target=n_target)
    cooccurrence = index([corpus], 12, n_target)
    assert cooccurrence.sizes.max() * 16 < n_target
    rows, targets, _ = whole(cooccurrence)
    for first, last in pairwise(rows):
        assert np.all(np.diff(targets[first:last]) > 0)
    assert cells_of(cooccurrence) == plain_joint(corpus, 12, n_target)


def test_words_beyond_the_vocabulary_are_left_out():
    corpus = bitext(1)
    assert cells_of(index([corpus], 5, 6)) == plain_joint(corpus, 5, 6)


def test_several_corpora_count_as_one_and_pairs_can_be_left_out():
    first, second = bitext(1), bitext(2)
    both = cells_of(index([first, second], 12, 15))
    assert both == cells_of(index([Corpus.join([first, second])], 12, 15))
    used = np.arange(80) % 3 > 0
    some = Corpus.join([first, second]).take(np.flatnonzero(used))
    assert cells_of(index([first, second], 12, 15, used=used)) == plain_joint(some, 12, 15)


def test_an_empty_bitext_and_empty_vocabularies_have_no_cells():
    nothing = Corpus(Sentences.from_lists([]), Sentences.from_lists([]))
    for jobs in (1, 2):
        assert index([nothing], 0, 0, mapper=Threads(jobs)).cells == 0
        assert index([nothing], 3, 4, mapper=Threads(jobs)).cells == 0
        assert index([bitext(1)], 0, 15, mapper=Threads(jobs)).cells == 0
        assert index([bitext(1)], 12, 0, mapper=Threads(jobs)).cells == 0
        assert len(whole(index([bitext(1)], 12, 0, mapper=Threads(jobs))).targets) == 0


def test_the_memory_told_is_that_of_the_arrays():
    cooccurrence = index([bitext(1)], 12, 15)
    arrays = [*cooccurrence.source, *cooccurrence.target]
    assert cooccurrence.memory(jobs=1) >= 16 * cooccurrence.cells + sum(array.nbytes for array in arrays)
    assert index([bitext(1, pairs=400)], 12, 15).memory(jobs=1) > cooccurrence.memory(jobs=1)
    assert cooccurrence.memory(10, jobs=1) > cooccurrence.memory(jobs=1) + 160
    assert cooccurrence.memory(jobs=3) == cooccurrence.memory(jobs=1) + 2 * 24 * 15


def test_what_is_shrunk_keeps_its_beginning():
    values = np.arange(1000)
    assert shrunk(values, 3).tolist() == [0, 1, 2]
    assert len(values) == 3
    whole = np.arange(10)
    assert shrunk(whole[2:], 3).tolist() == [2, 3, 4]
    assert len(whole) == 10
