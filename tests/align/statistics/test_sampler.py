"""The sampler: a sweep against a slow twin, sums, planted dictionaries, odd sentences, texts in blocks."""

from itertools import pairwise

import numpy as np
import pytest

from align.data.corpus import Corpus, Sentences
from align.statistics import candidates, sampler
from align.statistics import sampler_priors as prior
from align.statistics.cooccurrence import sealed
from align.statistics.jumps import BEGINNING, GAPS, OTHERS, Jumps
from align.statistics.lexicon import Lexicon, estimate
from align.statistics.posteriors import SCALE, Posteriors
from align.statistics.sampler import Average, Block, ChainSettings, Schedule, Sums, run_chain
from align.statistics.sampler_priors import LexicalPrior
from align.statistics.stems import of_lexicon
from align.text.words import WordTable

MAX_FERTILITY = len(prior.FERTILITY) - 1


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
    """Sample both directions; return candidates, and posteriors and links of either direction."""
    lexicon = all_cells(words) if lexicon is None else lexicon
    both = candidates.find(corpus, lexicon, least=least)
    parts = [(corpus, both)]
    return both, [sampled(parts, lexicon, side, schedule, **options) for side in range(2)]


def sampled(parts, lexicon, side, schedule, *, seed=0, priors=None, on_sweep=None):
    """Run and average the chains of a direction over a text in parts."""
    longest = max(int((part.source, part.target)[side].lengths().max(initial=0)) for part, _ in parts)
    prior_of = None if priors is None else priors[side]
    settings = ChainSettings.of(lexicon, side, longest, schedule, seed=seed, prior=prior_of)
    blocks = [Block.of(*part, side) for part in parts]
    sums = [[Sums.zeros(block) for block in blocks] for _ in range(schedule.chains)]
    jumps = [
        run_chain(settings, blocks, own, chain=chain, on_sweep=on_sweep) for chain, own in enumerate(sums)
    ]
    average = Average(settings)
    posteriors = [average.add(block, own) for block, own in zip(blocks, zip(*sums, strict=True), strict=True)]
    return np.concatenate(posteriors), average.links(jumps)


def dense(corpus, both, found):
    """The posteriors of both directions as one matrix a pair."""
    starts = corpus.source.offsets, corpus.target.offsets
    kept = Posteriors.of_candidates(starts, both, forward=found[0][0], reverse=found[1][0], least=0.0)
    matrices = []
    for pair, shape in enumerate(corpus.shapes()):
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


# Eight words, two of each stem.
SPELT = [f"{stem}{end}" for stem in ("geb", "maison", "Straße", "работ") for end in ("en", "end")]
HALVES = [word // 2 for word in range(8)]
NO_STEMS = sampler._stem_counts(ChainSettings.of(all_cells(8), 0, 1, Schedule(1, 1, 1, 1, 1)))


def with_stems(lexicon, side):
    """The stems of a direction over these words, and no counts yet of their links."""
    table = WordTable.of(SPELT)
    stems = of_lexicon(lexicon, table, table, weight=3.0)[side]
    none = [np.zeros(size, dtype=np.float32) for size in (lexicon.cells, 8, 8)]
    known = LexicalPrior(*none, stems=stems)
    settings = ChainSettings.of(lexicon, side, 1, Schedule(1, 1, 1, 1, 1), prior=known)
    return stems, sampler._stem_counts(settings)


def twin_sweep(hidden, observed, allowed, links, jumps, model, words, generator, weights, stems=None):
    """Draw all links anew by the formula, all counts made from nothing each time; return the posteriors.

    ``allowed`` has the places each word may come from, ``links`` the place it does come from; a pair stands
    for ``weights`` copies, which have the same links. ``stems`` are those of hidden and observed words, the
    shares of the observed words and the weight of the prior.
    """
    distances, classes = jumps
    centre = distances.shape[2] // 2
    found = []

    def jump(line, place, to, gap):
        of_class = BEGINNING if place < 0 else classes[line[place]]
        return float(distances[of_class, min(gap, GAPS) - 1, centre + to - place])

    for pair in range(len(hidden)):
        n = len(hidden[pair])
        for k, word in enumerate(observed[pair]):
            others = [
                (hidden[p][a] if a >= 0 else None, observed[p][q])
                for p in range(len(hidden))
                for q, a in enumerate(links[p])
                if (p, q) != (pair, k)
                for _ in range(weights[p])
            ]
            line, m = hidden[pair], len(observed[pair])
            last = next((q for q in range(k - 1, -1, -1) if links[pair][q] >= 0), -1)
            following = next((q for q in range(k + 1, m) if links[pair][q] >= 0), m)
            before = links[pair][last] if last >= 0 else -1
            after = links[pair][following] if following < m else n
            made = [sum(a == j for q, a in enumerate(links[pair]) if q != k) for j in range(n)]
            found_here = []
            for j, maker in enumerate(hidden[pair]):
                both = others.count((maker, word)) + prior.LEXICAL
                total = sum(s == maker for s, _ in others) + prior.LEXICAL * words
                if stems is not None:
                    one, other, shares, mass = stems
                    alike = [t for s, t in others if s is not None and one[s] == one[maker]]
                    of_pair = sum(other[t] == other[word] for t in alike) + prior.LEXICAL
                    both += shares[word] * of_pair / (len(alike) + prior.LEXICAL * words)
                    total += mass
                weight = both / total
                if model > 0:
                    weight *= jump(line, before, j, k - last) * jump(line, j, after, following - k)
                if model == 2:
                    seen = prior.FERTILITY_WEIGHT * prior.FERTILITY.astype(float)
                    for p in range(len(hidden)):
                        for q, s in enumerate(hidden[p]):
                            count = sum(a == q for r, a in enumerate(links[p]) if (p, r) != (pair, k))
                            if s == maker and (p, q) != (pair, j):
                                seen[min(count, MAX_FERTILITY)] += weights[p]
                    now, more = (min(made[j] + step, MAX_FERTILITY) for step in (0, 1))
                    weight *= (seen[more] + weights[pair] * (now == more)) / seen[now]
                found_here.append(weight if j in allowed[pair][k] else 0.0)
            null = others.count((None, word)) + prior.NULL_LEXICAL
            null /= sum(s is None for s, _ in others) + prior.NULL_LEXICAL * words
            null *= prior.NULL / (1 - prior.NULL)
            if model > 0:
                null *= jump(line, before, after, following - last)
            sums = np.cumsum([*found_here, null])
            found.append(np.array(found_here) / sums[-1])
            drawn = int(np.searchsorted(sums, generator.uniform() * sums[-1], side="right"))
            links[pair][k] = drawn if drawn < n else -1
    return found


@pytest.mark.parametrize(
    ("least", "copies", "stemmed"), [(0.0, 1, False), (0.2, 1, False), (0.0, 4, False), (0.0, 4, True)]
)
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("model", [0, 1, 2])
def test_a_sweep_is_its_formula(side, model, least, copies, stemmed):
    words, corpus = 8, bitext(5, 12, words=8)
    lexicon = estimate(corpus, words, words, min_probability=0.0)
    own = candidates.find(corpus, lexicon, least=least)[side]
    hidden, observed = (corpus.source, corpus.target) if side == 0 else (corpus.target, corpus.source)
    weights = np.random.default_rng(4).integers(1, copies + 1, len(corpus))
    both = candidates.find(corpus, lexicon, least=least)
    block = sealed(Block.of(corpus, both, side, weights.astype(np.float32)))
    choices = np.empty(len(observed.ids), dtype=np.int16)
    null = np.full(words + 1, prior.NULL_LEXICAL, dtype=np.float32)
    null[-1] = prior.NULL_LEXICAL * words
    state = sampler._State(
        np.full(lexicon.cells + 1, prior.LEXICAL, dtype=np.float32),
        np.full(words, prior.LEXICAL * words, dtype=np.float32),
        null,
        np.zeros((words, MAX_FERTILITY + 1), dtype=np.float32),
        np.array([88172645463325252], dtype=np.uint64),
    )
    table = np.append((lexicon.forward, lexicon.reverse)[side], np.float32(0))
    sampler._begin(block, choices, state, table, 0.3)
    stems, counts = with_stems(lexicon, side) if stemmed else (None, NO_STEMS)
    if stems is not None:
        state.totals[:] += stems.weight
        sampler._count_stems(block, choices, counts)
    sampler._count_fertility(block, choices, state.fertility)
    state.fertility[:] += np.float32(prior.FERTILITY_WEIGHT) * prior.FERTILITY
    generator = np.random.default_rng(1)
    classes = generator.integers(OTHERS, OTHERS + 3, words).astype(np.int32)
    jumps = generator.random((OTHERS + 3, GAPS, 2 * 10 + 1)).astype(np.float32), classes

    def nested(values, offsets):
        return [values[a:b].tolist() for a, b in pairwise(offsets)]

    def placed():
        """The links as places in the sentence."""
        at = [own.places[own.offsets[k] + link] if link >= 0 else -1 for k, link in enumerate(choices)]
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
        jumps,
        model,
        words,
        Generator(state.generator[0]),
        weights.tolist(),
        None if stems is None else (HALVES, HALVES, stems.shares.tolist(), float(stems.weight[0])),
    )
    sums = Sums.zeros(block)
    sampler._sweep(block, choices, state, counts, jumps, model, np.float32(SCALE), sums)
    assert placed() == twins
    for token, row in enumerate(expected):
        here = slice(own.offsets[token], own.offsets[token + 1])
        np.testing.assert_allclose(sums.candidates[here] / SCALE, row[own.places[here]], atol=1e-4)
        assert sums.null[token] / SCALE == pytest.approx(1 - row.sum(), abs=1e-4)
    # the counts are those of the links, still
    recounted = np.zeros_like(state.fertility)
    sampler._count_fertility(block, choices, recounted)
    if model == 2:
        expected_fertility = recounted + prior.FERTILITY_WEIGHT * prior.FERTILITY
        np.testing.assert_allclose(state.fertility, expected_fertility, atol=1e-4)
    counted = np.repeat(weights, observed.lengths())
    before = 0 if stems is None else words * stems.weight[0]
    assert np.rint(state.totals.sum() - before) == counted[choices >= 0].sum()
    if stems is not None:
        assert np.rint(counts.totals.sum()) == np.rint(counts.links.sum()) == counted[choices >= 0].sum()
    assert np.rint(state.null[-1]) == counted[choices < 0].sum()


@pytest.mark.parametrize("side", [0, 1])
def test_a_weight_counts_as_copies_with_the_same_links(side):
    """Jumps, fertilities and expected links of pairs with weights, and of the pairs one by one."""
    once, weights = bitext(7, 9), np.array([1, 4, 1, 2, 1, 1, 3, 1, 10])
    lexicon = all_cells(12)
    settings = ChainSettings.of(lexicon, side, 12, Schedule(1, 0, 0, 1, 1))
    generator, found = np.random.default_rng(8), []
    rows = np.repeat(np.arange(9), weights)
    drawn = [generator.random(100) for _ in range(9)]
    for chosen, copies in ((np.arange(9), weights), (rows, np.ones(len(rows)))):
        corpus = once.take(chosen)
        both = candidates.find(corpus, lexicon, least=0.0)
        block = sealed(Block.of(corpus, both, side, copies.astype(np.float32)))
        shares = np.concatenate(
            [drawn[row][:size] for row, size in zip(chosen, np.diff(block.observed_starts), strict=True)]
        )
        counts = np.diff(block.offsets)
        choices = (shares * (counts + 1)).astype(np.int16) - np.int16(1)
        jumps = Jumps.none(settings.classes, 13)
        fertility = np.zeros((12, MAX_FERTILITY + 1), dtype=np.float32)
        sampler._count_jumps(block, choices, settings.classes, jumps.counts)
        sampler._count_fertility(block, choices, fertility)
        sums = Sums.zeros(block)
        sums.candidates[:] = np.repeat(shares * 1000, counts).astype(np.uint16)
        sums.null[:] = (shares * 3000).astype(np.uint16)
        average = Average(settings)
        average.add(block, [sums])
        links = average.links([jumps.counts])
        found.append([fertility, links.links, links.null_links, links.jumps.counts])
    assert found[0][1].sum() > 0
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_first_links_are_drawn_by_the_table():
    corpus = Corpus(*(Sentences.from_lists(side) for side in ([[0, 1, 2]] * 4000, [[0]] * 4000)))
    block = sealed(Block.of(corpus, candidates.find(corpus, all_cells(3), least=0.0), 0))
    table = np.array([0.1, 0, 0, 0.6, 0, 0, 0.3, 0, 0, 0], dtype=np.float32)
    choices = np.empty(4000, dtype=np.int16)
    counts = [np.zeros(shape, dtype=np.float32) for shape in (10, 3, 4, (3, MAX_FERTILITY + 1))]
    state = sampler._State(*counts, np.array([7], dtype=np.uint64))
    sampler._begin(block, choices, state, table, 0.2)
    shares = np.bincount(choices + 1, minlength=4) / 4000
    np.testing.assert_allclose(shares, [0.2, 0.08, 0.48, 0.24], atol=0.03)
    assert state.links[[0, 3, 6]].tolist() == state.totals.tolist() == (4000 * shares[1:]).round().tolist()
    assert state.null.tolist() == [4000 * shares[0], 0, 0, 4000 * shares[0]]


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
        assert lexicon.targets[row][found[0][1].links[row].argmax()] == word


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
        assert found[side][1].links.sum() + found[side][1].null_links.sum() == pytest.approx(tokens, rel=0.02)
    alone = Corpus(*(Sentences.from_lists([[0]] * 500) for _ in range(2)))
    _, ((forward, _), _) = sample(alone, 1, Schedule(chains, 1, 1, 16, 16))
    assert forward.min() > 0.98 * SCALE


def test_other_for_another_seed():
    corpus, schedule = bitext(3, 40), Schedule(2, 1, 1, 2, 2)
    first, second, other = (sample(corpus, 12, schedule, seed=seed)[1] for seed in (4, 4, 5))
    for one, two, three in zip(first, second, other, strict=True):
        assert np.array_equal(one[0], two[0])
        assert not np.array_equal(one[0], three[0])


@pytest.mark.parametrize("side", [0, 1])
def test_a_text_in_blocks_is_sampled_as_the_whole(side):
    corpus, schedule = bitext(3, 60), Schedule(1, 2, 2, 5, 3)
    lexicon = estimate(corpus, 12, 12)
    found = []
    for cuts in ([0, 60], [0, 7, 8, 31, 60]):
        blocks = [corpus.block(*cut) for cut in pairwise(cuts)]
        parts = [(block, candidates.find(block, lexicon)) for block in blocks]
        found.append(sampled(parts, lexicon, side, schedule, seed=9))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    whole, cut = found[0][1], found[1][1]
    np.testing.assert_array_equal(whole.jumps.counts, cut.jumps.counts)
    np.testing.assert_array_equal(whole.links, cut.links)
    np.testing.assert_array_equal(whole.null_links, cut.null_links)


def test_empty_short_and_very_long_sentences():
    generator = np.random.default_rng(0)
    long = generator.integers(0, 50, 700).tolist()
    sides = [[], [1], [2], [], long, [3]], [[], [], [2], [4], long[:650], [3, 3, 3, 3, 3, 3, 3, 3]]
    corpus = Corpus(*(Sentences.from_lists(side) for side in sides))
    calls = []
    schedule = Schedule(1, 1, 1, 2, 2)
    _, both = sample(corpus, 50, schedule, on_sweep=lambda: calls.append(1))
    assert len(calls) == 2 * 4
    for posterior, found in both:
        assert len(posterior) == 1 + 700 * 650 + 8
        assert np.isfinite(found.links).all()
    assert [found.jumps.longest for _, found in both] == [701, 651]
    nothing = Corpus(*(Sentences.from_lists([]) for _ in range(2)))
    assert all(len(each[0]) == 0 for each in sample(nothing, 0, Schedule(1, 1, 1, 1, 1))[1])


def test_words_without_cells():
    """They are linked by place alone, and no cell counts them."""
    _, ((_, forward), (_, reverse)) = sample(bitext(0, 60), 12, Schedule(1, 2, 2, 4, 4), lexicon=no_cells(12))
    assert len(forward.links) == len(reverse.links) == 0
    assert np.isfinite(forward.null_links).all()


def test_a_prior_decides_where_the_text_does_not():
    """Two words that always stand together: the prior links tell which is which, the jumps do not count."""
    corpus = Corpus(*(Sentences.from_lists([[0, 1]] * 5) for _ in range(2)))
    schedule = Schedule(4, 2, 2, 6, 4)
    crossed = np.array([0, 9, 9, 0], dtype=np.float32)
    totals, none = np.full(2, 9, dtype=np.float32), np.zeros(2, dtype=np.float32)
    level = np.tile(np.array([50, 0, 50, 0, 50], dtype=np.float32), (OTHERS + 1, GAPS, 1))
    crossing = LexicalPrior(crossed, totals, none, Jumps(level, np.full(2, OTHERS, dtype=np.int32)))
    both, found = sample(corpus, 2, schedule, priors=(crossing, crossing))
    for pair in dense(corpus, both, found):
        for values in pair:
            assert values[0, 1] > 0.6
            assert values[1, 0] > 0.6


def test_small_corpora_are_sampled_longer():
    schedules = [sampler.schedule_for(pairs) for pairs in (0, 100, 2_000, 20_000, 200_000, 2_000_000)]
    work = [each.chains * (each.lexical + each.jumps + each.fertility) for each in schedules]
    assert work == sorted(work, reverse=True)
    for each in schedules:
        assert 1 <= each.kept <= each.fertility
        assert SCALE // (each.chains * each.kept) > 200
