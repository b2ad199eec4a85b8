"""Model 1 in compiled code does what dictionaries do, and what EM must."""

import math
import tracemalloc
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import digamma

from align.core.ragged import read_only
from align.data.corpus import Corpus, Sentences
from align.statistics.cooccurrence import index, joint_counts
from align.statistics.mapper import Threads
from align.statistics.model1 import Cells, log_choices, train
from tests.align import toy

N_SOURCE, N_TARGET = 9, 11


def bitext(seed, pairs=30):
    return toy.random_corpus(seed, pairs, (N_SOURCE, N_TARGET))


def swapped(corpus):
    return Corpus(corpus.target, corpus.source)


def pairs_of(corpus):
    sides = [
        [side.ids[a:b].tolist() for a, b in zip(side.offsets[:-1], side.offsets[1:], strict=True)]
        for side in (corpus.source, corpus.target)
    ]
    return list(zip(*sides, strict=True))


def plain_model1(pairs, n_target, iterations, smoothing):
    """p(t | s) and p(t | NULL) of tokens one by one, by dictionaries; None is NULL; and the likelihoods."""
    table = defaultdict(lambda: 1 / n_target)
    likelihoods = []
    for iteration in range(iterations):
        counts, totals, likelihood = defaultdict(float), Counter(), 0.0
        for source, target in pairs:
            for t in target:
                den = table[None, t] + sum(table[s, t] for s in source)
                likelihood += math.log(den / (len(source) + 1))
                for s in [None, *source]:
                    counts[s, t] += table[s, t] / den
                    totals[s] += table[s, t] / den
        likelihoods.append(likelihood)
        rows = Counter(s for s, _ in counts)
        alpha = smoothing if iteration < iterations - 1 else 0

        def probability(s, t, counts=counts, totals=totals, rows=rows, alpha=alpha):
            if alpha == 0 or s is None:
                return counts[s, t] / totals[s]
            return math.exp(digamma(counts[s, t] + alpha) - digamma(totals[s] + alpha * rows[s]))

        table = {cell: probability(*cell) for cell in counts}
    return table, likelihoods


@dataclass
class Fitted:
    """What Model 1 has learnt, its counts made probabilities."""

    sources: np.ndarray
    targets: np.ndarray
    forward: np.ndarray
    reverse: np.ndarray
    null_forward: np.ndarray
    null_reverse: np.ndarray
    seen: list


def fitted(corpus, n_source=N_SOURCE, n_target=N_TARGET, *, mapper=None, table=None, prior=None, **options):
    """Train over the cells of the corpus, or those of a table (rows, targets), with prior counts."""
    mapper = Threads() if mapper is None else mapper
    together = index([corpus], n_source, n_target, mapper=mapper)
    everything = together.source, together.target, n_target
    if table is None:
        sizes = together.sizes
        parts = [joint_counts(*everything, shard, sizes[slice(*shard)])[:2] for shard in together.shards]
    else:
        parts = [table]
    none = np.zeros(0, dtype=np.float32)
    own = (none, none) if prior is None else prior
    cells = [Cells(rows, targets, none, *own) for rows, targets in parts]
    seen = []
    model = train(
        together, [mapper.put(each) for each in cells], mapper, on_iteration=lambda *row: seen.append(row),
        **({"iterations": 4, "smoothing": 0.0} | options),
    )  # fmt: skip
    tables = [mapper.get(each) for each in model.tables]
    targets = np.concatenate([each.targets for each in cells])
    return Fitted(
        np.repeat(np.arange(n_source), np.concatenate([np.diff(each.rows) for each in cells])),
        targets,
        np.concatenate([each.forward for each in tables]),
        (np.concatenate([each.reverse for each in tables]) * model.words.scale[targets]).astype(np.float32),
        model.words.null_forward,
        model.words.null_reverse.astype(np.float32),
        seen,
    )


class Shards(Threads):
    """One thread that does the last shard first, of given numbers of shards, and gives read-only arrays."""

    def __init__(self, words, sentences):
        super().__init__()
        self._words, self._sentences = words, sentences

    def word_shards(self, steps):
        return self._words

    def sentence_shards(self, words):
        return self._sentences

    def get(self, stored):
        return type(stored)(*map(read_only, stored))

    def map(self, function, arguments):
        def given(each):
            if isinstance(each, list):
                return (self.get(one) for one in each)
            return self.get(each) if hasattr(each, "_fields") else each

        return [function(*map(given, each)) for each in arguments[::-1]][::-1]


@pytest.mark.parametrize("with_prior", [False, True])
@pytest.mark.parametrize("words", [1, 4, 9])
@pytest.mark.parametrize("sentences", [1, 7])
def test_shards_make_the_bytes_of_the_whole(words, sentences, with_prior):
    corpus = bitext(1, pairs=120)
    whole = fitted(corpus, smoothing=0.1)
    table = prior = None
    if with_prior:
        prior = np.random.default_rng(0).random((2, len(whole.targets))).astype(np.float32)
        table = np.searchsorted(whole.sources, np.arange(N_SOURCE + 1)), whole.targets
        words = 1
        whole = fitted(corpus, smoothing=0.1, table=table, prior=prior)
    shards = fitted(corpus, smoothing=0.1, table=table, prior=prior, mapper=Shards(words, sentences))
    for name, values in vars(whole).items():
        other = getattr(shards, name)
        assert values == other if name == "seen" else values.tobytes() == other.tobytes(), name
    assert len(whole.seen) == 4


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_both_directions_are_those_of_the_plain_model(seed, smoothing):
    corpus = bitext(seed)
    tables = fitted(corpus, smoothing=smoothing)
    sources, targets, seen = tables.sources, tables.targets, tables.seen
    forward, ahead = plain_model1(pairs_of(corpus), N_TARGET, 4, smoothing)
    reverse, back = plain_model1(pairs_of(swapped(corpus)), N_SOURCE, 4, smoothing)
    for cell, (s, t) in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
        assert tables.forward[cell] == pytest.approx(forward[s, t], rel=1e-4, abs=1e-7)
        assert tables.reverse[cell] == pytest.approx(reverse[t, s], rel=1e-4, abs=1e-7)
    for null, table in ((tables.null_forward, forward), (tables.null_reverse, reverse)):
        assert null.tolist() == pytest.approx(
            [table.get((None, word), 0.0) for word in range(len(null))], rel=1e-4, abs=1e-7
        )
    assert [row[0] for row in seen] == [1, 2, 3, 4]
    assert [row[1] for row in seen] == pytest.approx(ahead, rel=1e-5)
    assert [row[2] for row in seen] == pytest.approx(back, rel=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.01, 0.5])
def test_probabilities_sum_to_one(smoothing):
    tables = fitted(bitext(7), smoothing=smoothing)
    sources, targets = tables.sources, tables.targets
    assert np.bincount(sources, tables.forward)[np.unique(sources)] == pytest.approx(1, abs=1e-5)
    assert np.bincount(targets, tables.reverse)[np.unique(targets)] == pytest.approx(1, abs=1e-5)
    assert tables.null_forward.sum() == pytest.approx(1, abs=1e-5)
    assert tables.null_reverse.sum() == pytest.approx(1, abs=1e-5)
    assert tables.forward.dtype == tables.reverse.dtype == tables.null_forward.dtype == np.float32


@pytest.mark.parametrize("seed", range(5))
def test_without_smoothing_the_likelihood_never_falls(seed):
    seen = fitted(bitext(seed, pairs=60), iterations=12).seen
    for column in (1, 2):
        rows = [row[column] for row in seen]
        assert all(after >= before - 1e-6 * abs(before) for before, after in pairwise(rows))
        assert rows[-1] > rows[0]


def test_swapping_the_sides_swaps_the_tables():
    corpus = bitext(3)
    there = fitted(corpus, smoothing=0.1)
    back = fitted(swapped(corpus), N_TARGET, N_SOURCE, smoothing=0.1)
    order = np.lexsort((there.sources, there.targets))
    assert np.array_equal(there.sources[order], back.targets)
    assert np.array_equal(there.targets[order], back.sources)
    np.testing.assert_allclose(there.forward[order], back.reverse, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(there.reverse[order], back.forward, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(there.null_forward, back.null_reverse, rtol=1e-4, atol=1e-7)
    assert [row[1] for row in there.seen] == pytest.approx([row[2] for row in back.seen], rel=1e-5)


def test_any_number_of_threads_makes_the_same_bytes():
    corpus = bitext(4, pairs=300)
    tables = [fitted(corpus, mapper=Threads(jobs), smoothing=0.1) for jobs in (1, 2, 5)]
    for name in ("forward", "reverse", "null_forward", "null_reverse"):
        assert len({getattr(each, name).tobytes() for each in tables}) == 1


def test_a_word_repeated_in_its_sentence_counts_as_often():
    one = Corpus(Sentences.from_lists([[0, 0, 1]] * 3), Sentences.from_lists([[0, 1, 1]] * 3))
    tables = fitted(one, 2, 2, iterations=3)
    forward, _ = plain_model1(pairs_of(one), 2, 3, 0)
    assert tables.forward.tolist() == pytest.approx([forward[s, t] for s in (0, 1) for t in (0, 1)], rel=1e-5)


def test_what_competes_for_a_word_is_told_apart():
    # "0 1" is "0 1" and "0" alone is "0": then 1 is 1
    corpus = Corpus(Sentences.from_lists([[0, 1], [0], [0]]), Sentences.from_lists([[0, 1], [0], [0]]))
    tables = fitted(corpus, 2, 2, iterations=20)
    assert tables.forward[3] > 0.9  # of the cells (0, 0) (0, 1) (1, 0) (1, 1)
    assert tables.reverse[3] > 0.9


def test_prior_counts_decide_what_the_text_leaves_open():
    # both words are always together: nothing tells them apart but the prior
    corpus = Corpus(Sentences.from_lists([[0, 1]] * 2), Sentences.from_lists([[0, 1]] * 2))
    nothing = fitted(corpus, 2, 2)
    assert nothing.forward.tolist() == pytest.approx([0.5] * 4)
    counts = np.array([5, 0, 0, 5], dtype=np.float32)
    tables = fitted(corpus, 2, 2, prior=(counts, counts))
    assert tables.forward[[0, 3]].min() > 0.95
    assert tables.reverse[[0, 3]].min() > 0.95
    assert tables.forward.reshape(2, 2).sum(axis=1) == pytest.approx(1)


def test_prior_counts_of_words_that_do_not_occur_stay_as_they_are():
    corpus = Corpus(Sentences.from_lists([[0]]), Sentences.from_lists([[0]]))
    table = np.array([0, 1, 3]), np.array([0, 0, 1], dtype=np.int32)
    counts = np.array([0, 1, 3], dtype=np.float32)
    tables = fitted(corpus, 2, 2, table=table, iterations=3, prior=(counts, counts))
    assert tables.forward[1:].tolist() == pytest.approx([0.25, 0.75])
    assert tables.reverse[2] == pytest.approx(1)


def test_pairs_with_an_empty_side_do_no_harm():
    corpus = Corpus(Sentences.from_lists([[], [0], [0, 1]]), Sentences.from_lists([[1], [], [0, 1]]))
    tables = fitted(corpus, 3, 3, smoothing=0.1)
    forward, ahead = plain_model1(pairs_of(corpus), 3, 4, 0.1)
    assert tables.forward.tolist() == pytest.approx([forward[s, t] for s in (0, 1) for t in (0, 1)], rel=1e-4)
    assert [row[1] for row in tables.seen] == pytest.approx(ahead, rel=1e-5)
    nothing = Corpus(Sentences.from_lists([[]]), Sentences.from_lists([[]]))
    assert len(fitted(nothing, 0, 0).forward) == 0
    assert fitted(nothing, 2, 2).null_forward.tolist() == [0, 0]


def test_choices_are_those_of_every_word_and_take_memory_of_the_pairs_alone():
    corpus = bitext(4, pairs=2000)
    together = index([corpus], N_SOURCE, N_TARGET)
    lengths = np.stack([np.diff(corpus.source.offsets), np.diff(corpus.target.offsets)], axis=1).tolist()
    expected = (
        math.fsum(m * math.log(n + 1) for n, m in lengths),
        math.fsum(n * math.log(m + 1) for n, m in lengths),
    )
    assert log_choices(together.source, together.target) == pytest.approx(expected, rel=1e-12)
    tracemalloc.start()
    log_choices(together.source, together.target)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # n, m and a logarithm of one of them in float64
    assert peak < 3 * 8 * len(corpus) + 8192
