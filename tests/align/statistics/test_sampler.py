"""The sampler: a sweep against a slow twin, sums, planted dictionaries, odd sentences, any number of jobs."""

from itertools import pairwise

import numpy as np
import pytest

from align.data.corpus import Corpus, Sentences
from align.statistics import candidates, sampler, sampler_kernels
from align.statistics.lexicon import Lexicon, estimate
from align.statistics.posteriors import Posteriors
from align.statistics.sampler import SCALE, Average, Known, Priors, Schedule
from align.statistics.sampler_chain import FERTILITY_PRIOR, MOST_FERTILE, Block, Task, run_chain

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
    """A table with a cell for every pair of words, all as likely."""
    even, counts = np.full(words * words, 1 / max(words, 1), dtype=np.float32), np.ones(words, dtype=np.int64)
    return Lexicon(
        np.arange(words + 1) * words,
        np.tile(np.arange(words, dtype=np.int32), words),
        *(even, even, even),
        *(np.full(words, 0.01, dtype=np.float32), np.full(words, 0.01, dtype=np.float32)),
        *(counts, counts),
    )


def no_cells(words):
    """A table that knows nothing of any pair of words."""
    full = all_cells(words)
    none = np.zeros(0, dtype=np.float32)
    return Lexicon(
        np.zeros(words + 1, dtype=np.int64),
        np.zeros(0, dtype=np.int32),
        *(none, none, none),
        *(full.null_forward, full.null_reverse, full.source_counts, full.target_counts),
    )


def sample(corpus, words, schedule, *, lexicon=None, least=0.0, **options):
    lexicon = all_cells(words) if lexicon is None else lexicon
    both = candidates.find(corpus, lexicon, least=least)
    return both, sampler.sample(corpus, both, lexicon, schedule=schedule, **options)


def dense(corpus, both, found):
    """The posteriors of both directions as one matrix a pair."""
    starts = corpus.source.offsets, corpus.target.offsets
    kept = Posteriors.of_candidates(starts, both, found[0].posterior, found[1].posterior, least=0.0)
    matrices = []
    for pair, shape in enumerate(sampler.shapes_of(corpus)):
        each = kept.block(pair, pair + 1).dense(shape[None])
        matrices.append([values.reshape(shape) for values in each])
    return matrices


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


def twin_sweep(hidden, observed, allowed, links, jumps, model, words, generator):
    """Draw all links anew by the formula, all counts made from nothing each time; return the posteriors.

    ``allowed`` has the places each word may come from, ``links`` the place it does come from.
    """
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
                weights.append(weight if j in allowed[pair][k] else 0.0)
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


@pytest.mark.parametrize("least", [0.0, 0.2])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("model", [0, 1, 2])
def test_a_sweep_is_its_formula(side, model, least):
    words, corpus = 8, bitext(5, 12, words=8)
    lexicon = estimate(corpus, words, words, min_probability=0.0)
    own = candidates.find(corpus, lexicon, least=least)[side]
    hidden, observed = (corpus.source, corpus.target) if side == 0 else (corpus.target, corpus.source)
    made = (hidden.offsets, observed.offsets, own.offsets, own.places)
    texts = (hidden.ids, hidden.offsets, observed.ids, observed.offsets, own.offsets, own.places, own.cells)
    state = np.array([88172645463325252], dtype=np.uint64)
    links = np.empty(len(observed.ids), dtype=np.int16)
    values = np.full(lexicon.cells + 1, PRIORS.lexical, dtype=np.float32)
    totals = np.full(words, PRIORS.lexical * words, dtype=np.float32)
    null = np.full(words + 1, PRIORS.null_lexical, dtype=np.float32)
    null[-1] = PRIORS.null_lexical * words
    table = np.append((lexicon.forward, lexicon.reverse)[side], np.float32(0))
    sampler_kernels.begin(*texts, links, values, totals, null, table, 0.3, state)
    fertility = np.zeros((words, MOST_FERTILE + 1), dtype=np.float32)
    sampler_kernels.count_fertility(hidden.ids, *made, links, fertility)
    fertility += np.float32(PRIORS.fertility) * FERTILITY_PRIOR
    jumps = np.random.default_rng(1).random(2 * 10 + 1).astype(np.float32)

    def nested(values, offsets):
        return [values[a:b].tolist() for a, b in pairwise(offsets)]

    def placed():
        """The links as places in the sentence."""
        at = [own.places[own.offsets[k] + link] if link >= 0 else -1 for k, link in enumerate(links)]
        return nested(np.array(at, dtype=int), observed.offsets)

    by_token = nested(own.places, own.offsets)
    allowed = [by_token[a:b] for a, b in pairwise(observed.offsets)]
    twins = placed()
    assert {-1, 0, 1} <= {place for pair in twins for place in pair}
    expected = twin_sweep(
        nested(hidden.ids, hidden.offsets),
        nested(observed.ids, observed.offsets),
        allowed,
        twins,
        jumps.astype(float),
        model,
        words,
        Generator(state[0]),
    )
    posterior = np.zeros(len(own), dtype=np.uint16)
    null_posterior = np.zeros(len(links), dtype=np.uint16)
    odds, unit = np.float32(PRIORS.null / (1 - PRIORS.null)), np.float32(SCALE)
    counts = (links, values, totals, null, jumps, fertility)
    sampler_kernels.sweep(*texts, *counts, model, odds, unit, posterior, null_posterior, state)
    assert placed() == twins
    for token, row in enumerate(expected):
        here = slice(own.offsets[token], own.offsets[token + 1])
        np.testing.assert_allclose(posterior[here] / SCALE, row[own.places[here]], atol=1e-4)
        assert null_posterior[token] / SCALE == pytest.approx(1 - row.sum(), abs=1e-4)
    # the counts are those of the links, still
    recounted = np.zeros_like(fertility)
    sampler_kernels.count_fertility(hidden.ids, *made, links, recounted)
    if model == 2:
        np.testing.assert_allclose(fertility, recounted + PRIORS.fertility * FERTILITY_PRIOR, atol=1e-4)
    assert np.rint(totals.sum()) == (links >= 0).sum()
    assert np.rint(null[-1]) == (links < 0).sum()


def test_the_first_links_are_drawn_by_the_table():
    corpus = Corpus(*(Sentences.from_lists(side) for side in ([[0, 1, 2]] * 4000, [[0]] * 4000)))
    own = candidates.find(corpus, all_cells(3), least=0.0)[0]
    table = np.array([0.1, 0, 0, 0.6, 0, 0, 0.3, 0, 0, 0], dtype=np.float32)
    links = np.empty(4000, dtype=np.int16)
    counts = np.zeros(10, np.float32), np.zeros(3, np.float32), np.zeros(4, np.float32)
    source, target = corpus.source, corpus.target
    texts = (source.ids, source.offsets, target.ids, target.offsets, own.offsets, own.places, own.cells)
    sampler_kernels.begin(*texts, links, *counts, table, 0.2, np.array([7], dtype=np.uint64))
    shares = np.bincount(links + 1, minlength=4) / 4000
    np.testing.assert_allclose(shares, [0.2, 0.08, 0.48, 0.24], atol=0.03)
    assert counts[0][[0, 3, 6]].tolist() == counts[1].tolist() == (4000 * shares[1:]).round().tolist()
    assert counts[2].tolist() == [4000 * shares[0], 0, 0, 4000 * shares[0]]


def test_a_planted_dictionary_is_found():
    corpus = bitext(0, 300, words=40, longest=9)
    lexicon = estimate(corpus, 40, 40, min_probability=0.0)
    both, found = sample(corpus, 40, Schedule(2, 0, 2, 6, 4), lexicon=lexicon, least=0.01)
    right = wrong = 0
    for pair, (forward, reverse) in enumerate(dense(corpus, both, found)):
        one, other = corpus.source.block(pair, pair + 1).ids, corpus.target.block(pair, pair + 1).ids
        linked = np.sqrt(forward * reverse) > 0.5
        same = one[:, None] == other[None]
        right, wrong = right + (linked & same).sum(), wrong + (linked != same).sum()
    assert right > 30 * wrong
    sources = lexicon.sources()
    for word in range(40):
        row = sources == word
        assert lexicon.targets[row][found[0].links[row].argmax()] == word


@pytest.mark.parametrize("chains", [1, 16])
def test_probabilities_sum_to_one_at_most_and_do_not_overflow(chains):
    """16 chains of 16 kept sweeps are the most that is ever averaged."""
    corpus = bitext(3, 20)
    both, found = sample(corpus, 12, Schedule(chains, 1, 1, 16, 16))
    unit = 1 / (SCALE // (16 * chains))
    for side, axis in ((0, 0), (1, 1)):
        sums = np.concatenate([pair[side].sum(axis=axis) for pair in dense(corpus, both, found)])
        assert sums.max() <= 1 + 6 * unit
        tokens = len((corpus.target, corpus.source)[side].ids)
        assert found[side].links.sum() + found[side].null_links.sum() == pytest.approx(tokens, rel=0.02)
    alone = Corpus(*(Sentences.from_lists([[0]] * 500) for _ in range(2)))
    _, (forward, _) = sample(alone, 1, Schedule(chains, 1, 1, 16, 16))
    assert forward.posterior.min() > 0.98 * SCALE


def test_the_same_for_any_number_of_jobs_and_other_for_another_seed():
    corpus, schedule = bitext(3, 40), Schedule(2, 1, 1, 2, 2)
    first, second, other = (
        sample(corpus, 12, schedule, jobs=jobs, seed=seed)[1] for jobs, seed in ((1, 4), (2, 4), (1, 5))
    )
    for one, two, three in zip(first, second, other, strict=True):
        for name in ("posterior", "links", "null_links", "jumps"):
            assert np.array_equal(getattr(one, name), getattr(two, name))
        assert not np.array_equal(one.posterior, three.posterior)


@pytest.mark.parametrize("side", [0, 1])
def test_a_text_in_blocks_is_sampled_as_the_whole(side):
    corpus, schedule = bitext(3, 60), Schedule(1, 2, 2, 5, 3)
    lexicon = estimate(corpus, 12, 12)
    longest = int((corpus.source, corpus.target)[side].lengths().max())
    task = Task.of(lexicon, side, longest, schedule, seed=9)
    found = []
    for cuts in ([0, 60], [0, 7, 8, 31, 60]):
        parts = [corpus.block(*cut) for cut in pairwise(cuts)]
        blocks = [Block.of(part, candidates.find(part, lexicon), side) for part in parts]
        sums = [block.begin() for block in blocks]
        jumps = run_chain(task, blocks, sums, chain=0)
        average = Average(task)
        posteriors = [average.add(block, [own]) for block, own in zip(blocks, sums, strict=True)]
        found.append(average.direction(np.concatenate(posteriors), [jumps]))
    for name in ("posterior", "links", "null_links", "jumps"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))
    both = candidates.find(corpus, lexicon)
    alone = sampler.sample(corpus, both, lexicon, schedule=schedule, seed=9)[side]
    np.testing.assert_array_equal(alone.posterior, found[0].posterior)


def test_empty_short_and_very_long_sentences():
    generator = np.random.default_rng(0)
    long = generator.integers(0, 50, 700).tolist()
    sides = [[], [1], [2], [], long, [3]], [[], [], [2], [4], long[:650], [3, 3, 3, 3, 3, 3, 3, 3]]
    corpus = Corpus(*(Sentences.from_lists(side) for side in sides))
    calls = []
    schedule = Schedule(1, 1, 1, 2, 2)
    _, both = sample(corpus, 50, schedule, on_sweep=lambda: calls.append(1))
    assert len(calls) == 2 * 4
    for direction in both:
        assert len(direction.posterior) == 1 + 700 * 650 + 8
        assert np.isfinite(direction.links).all()
    assert [len(direction.jumps) for direction in both] == [2 * 701 + 1, 2 * 651 + 1]
    nothing = Corpus(*(Sentences.from_lists([]) for _ in range(2)))
    assert all(len(each.posterior) == 0 for each in sample(nothing, 0, Schedule(1, 1, 1, 1, 1))[1])


def test_words_without_cells():
    """They are linked by place alone, and no cell counts them."""
    _, (forward, reverse) = sample(bitext(0, 60), 12, Schedule(1, 2, 2, 4, 4), lexicon=no_cells(12))
    assert len(forward.links) == len(reverse.links) == 0
    assert np.isfinite(forward.null_links).all()


def test_what_is_known_beforehand_decides_where_the_text_does_not():
    """Two words that always stand together: the known links tell which is which, the jumps do not count."""
    corpus = Corpus(*(Sentences.from_lists([[0, 1]] * 5) for _ in range(2)))
    schedule = Schedule(4, 2, 2, 6, 4)
    crossed = np.array([0, 9, 9, 0], dtype=np.float32)
    totals, none = np.full(2, 9, dtype=np.float32), np.zeros(2, dtype=np.float32)
    known = Known(crossed, totals, none, np.array([50, 0, 50, 0, 50], dtype=np.float32))
    both, found = sample(corpus, 2, schedule, known=(known, known))
    for pair in dense(corpus, both, found):
        for values in pair:
            assert values[0, 1] > 0.6
            assert values[1, 0] > 0.6


def test_known_jumps_are_cut_or_filled_up():
    none = np.zeros(0, dtype=np.float32)
    known = Known(none, none, none, np.arange(1, 6, dtype=np.float32))
    assert known.jumps_to(1).tolist() == [2, 3, 4]
    assert known.jumps_to(3).tolist() == [0, 1, 2, 3, 4, 5, 0]
    assert Known(none, none, none).jumps_to(1).tolist() == [0, 0, 0]


def test_small_corpora_are_sampled_longer():
    schedules = [sampler.schedule_for(pairs) for pairs in (0, 100, 2_000, 20_000, 200_000, 2_000_000)]
    work = [each.chains * (each.lexical + each.jumps + each.fertility) for each in schedules]
    assert work == sorted(work, reverse=True)
    for each in schedules:
        assert 1 <= each.kept <= each.fertility
        assert SCALE // (each.chains * each.kept) > 200
    more = sampler.schedule_for(20_000, effort=2.0)
    assert more.chains == 2 * sampler.schedule_for(20_000).chains
