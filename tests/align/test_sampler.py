"""The sampler: a sweep against a slow twin, sums, planted dictionaries, odd sentences, any number of jobs."""

from itertools import pairwise

import numpy as np
import pytest

from align import sampler, sampler_kernels
from align.corpus import Corpus, Sentences
from align.features.edges import edge_offsets
from align.sampler import FERTILITY_PRIOR, MOST_FERTILE, SCALE, Priors, Schedule

PRIORS = Priors()


def bitext(seed, pairs, *, words=12, longest=6):
    """Pairs of different words a sentence, in which word i translates word i; some words are lost."""
    generator = np.random.default_rng(seed)
    sides = [], []
    for _ in range(pairs):
        line = generator.permutation(words)[: generator.integers(1, longest)]
        sides[0].append(line.tolist())
        sides[1].append(line[generator.random(len(line)) < 0.9].tolist())
    return Corpus(*(Sentences.from_lists(side) for side in sides))


def all_cells(words):
    """Rows and targets of a table with a cell for every pair of words."""
    return np.arange(words + 1) * words, np.tile(np.arange(words, dtype=np.int32), words)


def sample(corpus, words, schedule, *, cells=None, **options):
    rows, targets = all_cells(words) if cells is None else cells
    of_edges = sampler.cells_of_edges(corpus, rows, targets)
    return sampler.sample(corpus, of_edges, len(targets), words, words, schedule=schedule, **options)


class Generator:
    """xorshift64* with whole numbers of any size."""

    def __init__(self, state):
        self.state = int(state)

    def uniform(self):
        x = self.state
        x ^= x >> 12
        x ^= (x << 25) % 2**64
        x ^= x >> 27
        self.state = x
        return (x * 2685821657736338717 % 2**64 >> 40) / 2**24


def twin_sweep(hidden, observed, links, jumps, model, words, generator):
    """Draw all links anew by the formula, all counts made from nothing each time; return the posteriors."""
    centre = len(jumps) // 2
    found = []
    for pair in range(len(hidden)):
        n = len(hidden[pair])
        for k, word in enumerate(observed[pair]):
            others = [
                (hidden[p][a] if a >= 0 else None, observed[p][q])
                for p in range(len(hidden))
                for q, a in enumerate(links[p])
                if (p, q) != (pair, k)
            ]
            before = next((a for a in links[pair][:k][::-1] if a >= 0), -1)
            after = next((a for a in links[pair][k + 1 :] if a >= 0), n)
            made = [sum(a == j for q, a in enumerate(links[pair]) if q != k) for j in range(n)]
            weights = []
            for j, maker in enumerate(hidden[pair]):
                both = others.count((maker, word)) + PRIORS.lexical
                weight = both / (sum(s == maker for s, _ in others) + PRIORS.lexical * words)
                if model > 0:
                    weight *= jumps[centre + j - before] * jumps[centre + after - j]
                if model == 2:
                    seen = PRIORS.fertility * FERTILITY_PRIOR.astype(float)
                    for p in range(len(hidden)):
                        for q, s in enumerate(hidden[p]):
                            count = sum(a == q for r, a in enumerate(links[p]) if (p, r) != (pair, k))
                            if s == maker and (p, q) != (pair, j):
                                seen[min(count, MOST_FERTILE)] += 1
                    now, more = (min(made[j] + step, MOST_FERTILE) for step in (0, 1))
                    weight *= (seen[more] + (now == more)) / seen[now]
                weights.append(weight)
            null = others.count((None, word)) + PRIORS.null_lexical
            null /= sum(s is None for s, _ in others) + PRIORS.null_lexical * words
            null *= PRIORS.null / (1 - PRIORS.null)
            if model > 0:
                null *= jumps[centre + after - before]
            sums = np.cumsum([*weights, null])
            found.append(np.array(weights) / sums[-1])
            drawn = int(np.searchsorted(sums, generator.uniform() * sums[-1], side="right"))
            links[pair][k] = drawn if drawn < n else -1
    return found


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("model", [0, 1, 2])
def test_a_sweep_is_its_formula(forward, model):
    words, corpus = 8, bitext(5, 12, words=8)
    hidden, observed = (corpus.source, corpus.target) if forward else (corpus.target, corpus.source)
    offsets = edge_offsets(sampler.shapes_of(corpus))
    rows, targets = all_cells(words)
    cells = sampler.cells_of_edges(corpus, rows, targets)
    texts = (hidden.ids, hidden.offsets, observed.ids, observed.offsets, offsets, cells, forward)
    state = np.array([88172645463325252], dtype=np.uint64)
    links = np.empty(len(observed.ids), dtype=np.int32)
    values = np.full(len(targets) + 1, PRIORS.lexical, dtype=np.float32)
    totals = np.full(words, PRIORS.lexical * words, dtype=np.float32)
    null = np.full(words + 1, PRIORS.null_lexical, dtype=np.float32)
    null[-1] = PRIORS.null_lexical * words
    sampler_kernels.begin(*texts, links, values, totals, null, PRIORS.null, state)
    fertility = np.zeros((words, MOST_FERTILE + 1), dtype=np.float32)
    sampler_kernels.count_fertility(hidden.ids, hidden.offsets, observed.offsets, links, fertility)
    fertility += np.float32(PRIORS.fertility) * FERTILITY_PRIOR
    jumps = np.random.default_rng(1).random(2 * 10 + 1).astype(np.float32)

    def nested(values, offsets):
        return [values[a:b].tolist() for a, b in pairwise(offsets)]

    twins = nested(links, observed.offsets)
    expected = twin_sweep(
        nested(hidden.ids, hidden.offsets),
        nested(observed.ids, observed.offsets),
        twins,
        jumps.astype(float),
        model,
        words,
        Generator(state[0]),
    )
    posterior = np.zeros(len(cells), dtype=np.uint16)
    null_posterior = np.zeros(len(links), dtype=np.uint16)
    odds, unit = np.float32(PRIORS.null / (1 - PRIORS.null)), np.float32(SCALE)
    counts = (links, values, totals, null, jumps, fertility)
    sampler_kernels.sweep(*texts, *counts, model, odds, unit, posterior, null_posterior, state)
    assert nested(links, observed.offsets) == twins
    place = 0
    for pair, (n, m) in enumerate(sampler.shapes_of(corpus).tolist()):
        matrix = posterior[offsets[pair] : offsets[pair + 1]].reshape(n, m) / SCALE
        for row in matrix.T if forward else matrix:
            np.testing.assert_allclose(row, expected[place], atol=1e-4)
            place += 1
    # the counts are those of the links, still
    made = np.zeros_like(fertility)
    sampler_kernels.count_fertility(hidden.ids, hidden.offsets, observed.offsets, links, made)
    if model == 2:
        np.testing.assert_allclose(fertility, made + PRIORS.fertility * FERTILITY_PRIOR, atol=1e-4)
    assert np.rint(totals.sum()) == (links >= 0).sum()
    assert np.rint(null[-1]) == (links < 0).sum()


def test_a_planted_dictionary_is_found():
    corpus = bitext(0, 300, words=40, longest=9)
    forward, reverse = sample(corpus, 40, Schedule(2, 4, 8, 8, 4))
    joint = np.sqrt(forward.posterior / SCALE * (reverse.posterior / SCALE))
    offsets = edge_offsets(sampler.shapes_of(corpus))
    right = wrong = 0
    for pair in range(len(corpus)):
        one, other = corpus.source.block(pair, pair + 1).ids, corpus.target.block(pair, pair + 1).ids
        linked = joint[offsets[pair] : offsets[pair + 1]].reshape(len(one), len(other)) > 0.5
        same = one[:, None] == other[None]
        right, wrong = right + (linked & same).sum(), wrong + (linked != same).sum()
    assert right > 30 * wrong
    table = forward.links.reshape(40, 40)
    assert (table.argmax(axis=1) == np.arange(40)).all()


@pytest.mark.parametrize("chains", [1, 16])
def test_probabilities_sum_to_one_at_most_and_do_not_overflow(chains):
    """16 chains of 10 kept sweeps are the most that is ever averaged."""
    corpus = bitext(3, 20)
    both = sample(corpus, 12, Schedule(chains, 1, 1, 10, 10))
    offsets = edge_offsets(sampler.shapes_of(corpus))
    observed = (corpus.target, corpus.source)
    unit = 1 / (SCALE // (10 * chains))
    for direction, side, axis in zip(both, observed, (0, 1), strict=True):
        sums = []
        for pair, shape in enumerate(sampler.shapes_of(corpus).tolist()):
            matrix = direction.posterior[offsets[pair] : offsets[pair + 1]].reshape(shape) / SCALE
            sums += matrix.sum(axis=axis).tolist()
        assert max(sums) <= 1 + 6 * unit
        assert direction.links.sum() + direction.null_links.sum() == pytest.approx(len(side.ids), rel=0.02)
    alone = Corpus(*(Sentences.from_lists([[0]] * 500) for _ in range(2)))
    forward, _ = sample(alone, 1, Schedule(chains, 1, 1, 10, 10))
    assert forward.posterior.min() > 0.98 * SCALE


def test_the_same_for_any_number_of_jobs_and_other_for_another_seed():
    corpus, schedule = bitext(3, 40), Schedule(2, 1, 1, 2, 2)
    first, second, other = (
        sample(corpus, 12, schedule, jobs=jobs, seed=seed) for jobs, seed in ((1, 4), (2, 4), (1, 5))
    )
    for one, two, three in zip(first, second, other, strict=True):
        for name in ("posterior", "links", "null_links", "jumps"):
            assert np.array_equal(getattr(one, name), getattr(two, name))
        assert not np.array_equal(one.posterior, three.posterior)


def test_empty_short_and_very_long_sentences():
    generator = np.random.default_rng(0)
    long = generator.integers(0, 50, 700).tolist()
    sides = [[], [1], [2], [], long, [3]], [[], [], [2], [4], long[:650], [3, 3, 3, 3, 3, 3, 3, 3]]
    corpus = Corpus(*(Sentences.from_lists(side) for side in sides))
    calls = []
    both = sample(corpus, 50, Schedule(1, 1, 1, 2, 2), on_sweep=lambda: calls.append(1))
    assert len(calls) == 2 * 4
    for direction in both:
        assert len(direction.posterior) == 1 + 700 * 650 + 8
        assert np.isfinite(direction.links).all()
    assert [len(direction.jumps) for direction in both] == [2 * 701 + 1, 2 * 651 + 1]
    nothing = Corpus(*(Sentences.from_lists([]) for _ in range(2)))
    assert all(len(each.posterior) == 0 for each in sample(nothing, 0, Schedule(1, 1, 1, 1, 1)))


def test_words_without_cells():
    """They are linked by place alone, and no cell counts them."""
    corpus = bitext(0, 60)
    rows, targets = np.zeros(13, dtype=np.int64), np.zeros(0, dtype=np.int32)
    assert (sampler.cells_of_edges(corpus, rows, targets) == 0).all()
    forward, reverse = sample(corpus, 12, Schedule(1, 2, 2, 4, 4), cells=(rows, targets))
    assert len(forward.links) == len(reverse.links) == 0
    assert np.isfinite(forward.null_links).all()


def test_small_corpora_are_sampled_longer():
    chains = [sampler.schedule_for(pairs).chains for pairs in (0, 100, 20_000, 200_000, 2_000_000)]
    assert chains == sorted(chains, reverse=True)
    assert (chains[0], chains[-1]) == (16, 1)
    most = sampler.schedule_for(0)
    assert SCALE // (most.chains * most.kept) > 0
    assert sampler.schedule_for(20_000, effort=2.0).chains == 2 * sampler.schedule_for(20_000).chains
