"""Runs of words and sentences by themselves make what the whole makes, to the byte."""

import math
import tracemalloc
from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest

from align.data.corpus import Corpus, Sentences
from align.statistics import cooccurrence, lexicon
from align.statistics.lexicon import Lexicon, estimate
from align.statistics.model1 import learn, log_choices, train
from align.statistics.model1_runs import Cells, Round, add_denominators, begin_denominators, expect_run

N_SOURCE, N_TARGET, PAIRS = 40, 55, 120
WORD_EDGES = ([0, 40], [0, 1, 17, 17, 39, 40])
PAIR_EDGES = ([0, 120], [0, 1, 60, 60, 120])


def bitext(seed, pairs=PAIRS):
    generator = np.random.default_rng(seed)

    def side(size):
        # frequent words and rare ones, some of them twice in a sentence
        return [
            (size * generator.random(generator.integers(0, 9)) ** 2).astype(int).tolist()
            for _ in range(pairs)
        ]

    return Corpus(Sentences.from_lists(side(N_SOURCE)), Sentences.from_lists(side(N_TARGET)))


class Runs:
    """The walks run after run, the last one first, each with arrays of its own."""

    def __init__(self, together, cells, word_edges, pair_edges):
        self.source, self.target = together.source, together.target
        self.words, self.pairs = list(pairwise(word_edges)), list(pairwise(pair_edges))
        self.cells = [copied(cells.part(*run)) for run in self.words]

    def divide(self, null, count):
        found = {}
        for first, last in reversed(self.pairs):
            own = self.target.part(first, last)
            den = np.empty(len(own.words), dtype=np.float32)
            begin_denominators(own, null, den)
            row = np.full(N_TARGET, np.nan, dtype=np.float32)
            for run, cells in zip(self.words, self.cells, strict=True):
                add_denominators(self.source.part(*run), own, first, cells, den, row)
            found[first, last] = own, den
        for run in self.pairs:
            own, den = found[run]
            count(own.words, own.repeats, den)
        self.ratio = np.concatenate([found[run][1] for run in self.pairs])

    def expect(self, scale, null_reverse, smoothing):
        now = Round(self.ratio, scale, null_reverse, smoothing)
        found = [
            expect_run(self.source.part(*run), self.target, cells, now, run[0])
            for run, cells in zip(self.words[::-1], self.cells[::-1], strict=True)
        ]
        return tuple(np.concatenate(values) for values in zip(*found[::-1], strict=True))

    def columns(self):
        for cells in self.cells:
            yield cells.targets, cells.reverse

    def known_columns(self):
        if self.cells[0].known is None:
            return None
        return ((cells.targets, cells.known.reverse) for cells in self.cells)


def copied(cells):
    return Cells(
        cells.rows.copy(), cells.targets.copy(), cells.forward.copy(), cells.reverse.copy(), cells.known
    )


def begun(together, prior, weight=0.3):
    counts = lexicon.counts_with(together, prior, weight)
    table = together.rows, *cooccurrence.joint_counts(together)
    return lexicon.begin(*table, *counts, prior, weight), counts


@pytest.fixture(params=[False, True], ids=["alone", "prior"])
def prior(request):
    return estimate(bitext(9), N_SOURCE, N_TARGET, min_probability=0.01) if request.param else None


@pytest.mark.parametrize("word_edges", WORD_EDGES)
@pytest.mark.parametrize("pair_edges", PAIR_EDGES)
def test_the_walks_of_runs_are_those_of_the_whole(word_edges, pair_edges, prior):
    together = cooccurrence.index([bitext(1)], N_SOURCE, N_TARGET)
    (rows, targets, _, known), _ = begun(together, prior)
    seen, whole_seen = [], []
    options = {"iterations": 3, "smoothing": 0.1}
    whole = train(
        together, rows, targets, known=known, on_iteration=lambda *row: whole_seen.append(row), **options
    )
    cells = Cells.begin(rows, targets, N_SOURCE, N_TARGET, known)
    runs = Runs(together, cells, word_edges, pair_edges)
    words = learn(
        *(runs, N_SOURCE, N_TARGET),
        choices=log_choices(together),
        on_iteration=lambda *row: seen.append(row),
        **options,
    )
    forward = np.concatenate([each.forward for each in runs.cells])
    reverse = np.concatenate([each.reverse for each in runs.cells]) * words.scale[targets]
    assert forward.tobytes() == whole.forward.tobytes()
    assert reverse.astype(np.float32).tobytes() == whole.reverse.tobytes()
    assert words.null_forward.tobytes() == whole.null_forward.tobytes()
    assert words.null_reverse.tobytes() == whole.null_reverse.tobytes()
    assert seen == whole_seen
    assert len(seen) == 3


@pytest.mark.parametrize("edges", WORD_EDGES)
def test_the_cells_of_runs_are_those_of_the_whole(edges, prior):
    together = cooccurrence.index([bitext(2)], N_SOURCE, N_TARGET)
    (rows, targets, dice, known), counts = begun(together, prior)
    source, target = together.source, together.target
    for first, last in pairwise(edges):
        sizes = cooccurrence.count_run(source.part(first, last), target, N_TARGET)
        assert sizes.tolist() == np.diff(together.rows[first : last + 1]).tolist()
        own = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        table = np.empty(own[-1], dtype=np.int32), np.empty(own[-1], dtype=np.float32)
        cooccurrence.fill_run(source.part(first, last), target, N_TARGET, own, table)
        own_prior = prior and prior.words(first, last)
        run = lexicon.begin(own, *table, counts[0][first:last], counts[1], own_prior, 0.3)
        cells = slice(rows[first], rows[last])
        assert (run[0] + rows[first]).tolist() == rows[first : last + 1].tolist()
        assert run[1].tobytes() == targets[cells].tobytes()
        assert run[2].tobytes() == dice[cells].tobytes()
        if known is not None:
            assert run[3].forward.tobytes() == known.forward[cells].tobytes()
            assert run[3].reverse.tobytes() == known.reverse[cells].tobytes()


def test_a_lexicon_taken_apart_and_put_together_is_the_same():
    whole = estimate(bitext(3), N_SOURCE, N_TARGET)
    runs = [whole.words(first, last) for first, last in pairwise([0, 5, 5, 39, 40])]
    assert [len(run.source_counts) for run in runs] == [5, 0, 34, 1]
    again = Lexicon.join(runs)
    for field in fields(Lexicon):
        one, other = getattr(again, field.name), getattr(whole, field.name)
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes(), field.name


def test_choices_are_those_of_every_word_and_take_memory_of_the_pairs_alone():
    corpus = bitext(4, pairs=2000)
    together = cooccurrence.index([corpus], N_SOURCE, N_TARGET)
    lengths = np.stack([np.diff(corpus.source.offsets), np.diff(corpus.target.offsets)], axis=1).tolist()
    expected = (
        math.fsum(m * math.log(n + 1) for n, m in lengths),
        math.fsum(n * math.log(m + 1) for n, m in lengths),
    )
    assert log_choices(together) == pytest.approx(expected, rel=1e-12)
    tracemalloc.start()
    log_choices(together)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # n, m and a logarithm of one of them in float64
    assert peak < 3 * 8 * len(corpus) + 8192
