"""How far links are known to be translations: against the formula, word by word."""

import math
from dataclasses import replace

import numpy as np
import pytest

from align.data.corpus import Corpus, Sentences
from align.features import PairBlock
from align.features.block import Block
from align.features.posterior import sampled_posteriors
from align.model.evidence import evidence
from align.statistics.sampler_priors import LEXICAL
from tests.align import toy
from tests.align.features import test_features, twins

UNKNOWN = (
    ["zorro", "1,000.50", "qwert", "12,345", "1994", "345"],
    ["zorro", "1.000,5", "yuiop", "12", "345", "1994", "1234", "5", "000..."],
)


@pytest.fixture(scope="module")
def resources():
    return toy.toy_model().resources


def block_of(resources, source, target, posteriors=None):
    """One pair, by words; unknown ones are those above."""
    ids = [
        [
            vocabulary.index[word] if word in vocabulary.index else len(vocabulary) + unknown.index(word)
            for word in words
        ]
        for words, vocabulary, unknown in zip(
            (source, target), (resources.source_vocabulary, resources.target_vocabulary), UNKNOWN, strict=True
        )
    ]
    corpus = Corpus(*(Sentences.from_lists([each]) for each in ids))
    return Block.of(PairBlock(corpus, *UNKNOWN, posteriors), resources)


def all_evidence(block):
    return evidence(block).edges.reshape(block.shapes[0])


def expected(resources, source, target, j, k):
    """The formula, from the tables; the two are words of the vocabularies."""
    given, lexicon = resources, resources.lexicon
    s, t = given.source_vocabulary.index[source[j]], given.target_vocabulary.index[target[k]]
    cells = [
        cell
        for cell in range(lexicon.offsets[s], lexicon.offsets[s + 1])
        if lexicon.targets[cell] == t and lexicon.dice[cell] > 0
    ]
    of_tables = 0.0
    for cell in cells:
        chances = (
            len(target) * given.target_vocabulary.counts[t] / given.target_vocabulary.counts.sum(),
            len(source) * given.source_vocabulary.counts[s] / given.source_vocabulary.counts.sum(),
        )
        forward, reverse = float(lexicon.forward[cell]), float(lexicon.reverse[cell])
        of_tables = math.sqrt(forward / (forward + chances[0]) * reverse / (reverse + chances[1]))
    cosine = float(given.source_vectors[s] @ given.target_vectors[t])
    return min(1.0, max(of_tables, max(cosine, 0.0) ** 8))


def test_it_follows_from_tables_and_vectors(resources):
    source, target = ["the", "house", "is", "red"], ["le", "maison", "rouge"]
    found = all_evidence(block_of(resources, source, target))
    for j, word in enumerate(source):
        for k, other in enumerate(target):
            if not twins.spelling_of(word, other)[0]:
                assert found[j, k] == pytest.approx(expected(resources, source, target, j, k), abs=1e-6)
    assert found[1, 1] > 0.5
    assert (found >= 0).all()
    assert (found <= 1).all()


def test_of_unknown_words_their_spelling_alone_says_something(resources):
    found = all_evidence(block_of(resources, ["zorro", "1,000.50", "qwert"], ["1.000,5", "yuiop", "zorro"]))
    assert found.tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize(("together", "known"), [(1, False), (2, True)])
def test_a_pair_does_not_speak_for_itself(resources, together, known):
    """What the tables have seen once may be this very pair, if it was sampled."""
    lexicon = resources.lexicon
    once = replace(lexicon, dice=(together / lexicon.source_counts).astype(np.float32))
    bare = replace(resources, lexicon=once, source_vectors=None, target_vectors=None)
    pair = ["the", "house"], ["le", "maison"]
    stored = toy.posteriors_of(np.array([[2, 2]], dtype=np.int32), *np.zeros((2, 4), dtype=np.uint16))
    assert all_evidence(block_of(bare, *pair))[1, 1] > 0.5
    assert (all_evidence(block_of(bare, *pair, stored))[1, 1] > 0.5) == known


@pytest.mark.parametrize(
    ("target", "same"),
    [
        (["12", "345"], [1, 1]),
        (["5", "12", "345", "5"], [0, 1, 1, 0]),
        (["12", "zorro", "345"], [0, 0, 0]),
        (["12", "345", "000..."], [1, 1, 0]),  # 12345000 is another
        (["1234", "5"], [0, 0]),
        (["1994", "345"], [0, 0]),
    ],
)
def test_thousands_may_stand_apart(resources, target, same):
    found = all_evidence(block_of(resources, ["qwert", "12,345"], target))
    assert found.tolist() == [[0] * len(target), same]


def test_of_several_numbers_each_has_its_own(resources):
    found = all_evidence(block_of(resources, ["1994", "12,345", "345"], ["12", "345", "1994"]))
    assert found.tolist() == [[0, 0, 1], [1, 1, 0], [0, 1, 0]]


def plain(pair, forward, reverse):
    """The formulas where the sampler has run; the links of the pair itself are given where it was sampled."""
    given, result = pair.resources, np.zeros((pair.n, pair.m))
    odds = np.zeros((2, pair.n, pair.m))
    alike = twins.likeness(pair)
    own = (np.zeros((pair.n, pair.m)),) * 2 if forward is None else (forward, reverse)
    sizes = len(given.source_vocabulary), len(given.target_vocabulary)
    # Links of each word in other pairs; unknown ones have none.
    totals = [
        [
            max(0.0, (float(table[word]) if word < size else 0.0) - taken)
            for word, taken in zip(ids, each, strict=True)
        ]
        for table, ids, size, each in (
            (given.links.forward_totals, pair.source_ids, sizes[0], own[0].sum(1)),
            (given.links.reverse_totals, pair.target_ids, sizes[1], own[1].sum(0)),
        )
    ]
    beforehand = LEXICAL * sizes[1], LEXICAL * sizes[0]
    for j in range(pair.n):
        for k in range(pair.m):
            s, t = int(pair.source_ids[j]), int(pair.target_ids[k])
            counts = pair.source_counts[j], pair.target_counts[k]
            cosine = max(float(np.dot(pair.source_vectors[j], pair.target_vectors[k])), 0)
            result[j, k] = max(alike[j, k] ** 2, cosine**8)
            links = totals[0][j] + beforehand[0], totals[1][k] + beforehand[1]
            odds[:, j, k] = beforehand[0] / links[0], beforehand[1] / links[1]
            numbers = (twins.kind_of(pair.source[j]) == "number") + (
                twins.kind_of(pair.target[k]) == "number"
            )
            if numbers == 2:
                result[j, k] = alike[j, k] ** 2
                continue
            if s >= sizes[0] or t >= sizes[1]:
                continue
            met = pair.dice[j, k] * sum(counts) / 2
            if forward is not None:
                met -= min(list(pair.source_ids).count(s), list(pair.target_ids).count(t))
            if met <= 0.5:
                continue
            spelt = 2.0 * alike[j, k]
            seen = [
                max(table[j, k] - each[j, k], 0)
                for table, each in zip((pair.links_forward, pair.links_reverse), own, strict=True)
            ]
            ahead, back = (
                (links_here + LEXICAL + spelt) / (total + spelt)
                for links_here, total in zip(seen, links, strict=True)
            )
            shares = max(counts[1], 1) / pair.totals[1], max(counts[0], 1) / pair.totals[0]
            odds[:, j, k] += seen[0] / shares[0] / links[0], seen[1] / shares[1] / links[1]
            of_tables = ahead / (ahead + pair.m * shares[0]) * back / (back + pair.n * shares[1])
            result[j, k] = max(result[j, k], of_tables ** (2 if numbers else 0.5))
    result = np.maximum(result, of_stems(pair, *own))
    ahead, back = odds[0].mean(0), odds[1].mean(1)
    return np.minimum(result, 1), back / (1 + back), ahead / (1 + ahead)


def of_stems(pair, forward, reverse):
    """The evidence of other forms: links of all of them in other pairs."""
    given, result = pair.resources, np.zeros((pair.n, pair.m))

    def stem(word):
        return word[:4] if twins.kind_of(word) == "word" and len(word) >= 4 else None

    words = given.source_vocabulary.words, given.target_vocabulary.words
    stems = [{word[:4] for word in side if len(word) >= 4} for side in words]
    sums = [
        {
            each: sum(
                np.array([count, links])
                for word, count, links in zip(side, vocabulary.counts, totals, strict=True)
                if stem(word) == each
            )
            for each in {stem(word) for word in side} - {None}
        }
        for side, vocabulary, totals in zip(
            words,
            (given.source_vocabulary, given.target_vocabulary),
            (given.links.forward_totals, given.links.reverse_totals),
            strict=True,
        )
    ]
    links = np.zeros((2, len(words[0]), len(words[1])))
    for way, values in enumerate((given.links.forward, given.links.reverse)):
        links[way, given.lexicon.sources(), given.lexicon.targets] = np.where(
            values < np.float32(0.3), 0, values
        )
    for j, source in enumerate(pair.source):
        for k, target in enumerate(pair.target):
            if stem(source) not in sums[0] or stem(target) not in sums[1]:
                continue
            rows, columns = (
                np.array([stem(word) == stem(own) for word in side])
                for side, own in zip(words, (source, target), strict=True)
            )
            here, there = (
                np.array([stem(word) == stem(own) for word in side])
                for side, own in ((pair.source, source), (pair.target, target))
            )
            found = links[:, rows][:, :, columns].sum(axis=(1, 2))
            if found.min() > 0.5:
                found -= [each[here][:, there].sum() for each in (forward, reverse)]
            if found.min() <= 0.5:
                continue
            (source_count, all_ahead), (target_count, all_back) = sums[0][stem(source)], sums[1][stem(target)]
            ahead = found[0] / (all_ahead + LEXICAL * len(stems[1]))
            back = found[1] / (all_back + LEXICAL * len(stems[0]))
            chances = pair.m * target_count / pair.totals[1], pair.n * source_count / pair.totals[0]
            result[j, k] = math.sqrt(ahead / (ahead + chances[0]) * back / (back + chances[1]))
    return result


FORMS = {
    "SOURCE": [
        "the",
        ",",
        ".",
        "house",
        "of",
        "1,000.50",
        "houses",
        "québec",
        "housing",
        "2001",
        "a",
        "members",
        "member",
    ],
    "TARGET": [
        "le",
        ".",
        ",",
        "de",
        "maison",
        "1.000,50",
        "maisons",
        "québec",
        "maisonnée",
        "2002",
        "a",
        "membres",
        "membre",
        ";",
    ],
    "UNKNOWN_SOURCE": ["housed", "7", "…"],
    "UNKNOWN_TARGET": ["maisonnette", "07", "café"],
}


@pytest.mark.parametrize("forms", [False, True])
def test_what_the_sampler_found_in_a_pair_does_not_speak_for_it(forms, monkeypatch):
    for name, words in FORMS.items() if forms else ():
        monkeypatch.setattr(test_features, name, words)
    given, text = test_features.resources(), test_features.corpus(9)
    stored = test_features.TestStoredPosteriors().stored(text)
    block = Block.of(test_features.pairs_with(text, stored), given)
    found, posteriors = evidence(block), block.shared(sampled_posteriors)
    for i, pair in enumerate(test_features.pairs_of(text, given)):
        here = slice(*block.offsets[i : i + 2])
        own = (each[here].reshape(pair.n, pair.m) for each in (posteriors.forward, posteriors.reverse))
        expected = plain(pair, *(own if i % 3 else (None, None)))
        np.testing.assert_allclose(found.edges[here].reshape(pair.n, pair.m), expected[0], atol=1e-5)
        for side, owed, each in zip((block.source, block.target), found[1:], expected[1:], strict=True):
            np.testing.assert_allclose(owed[slice(*side.starts[i : i + 2])], each, atol=1e-5)
    assert (found.edges > 0.1).sum() > 20
    assert np.ptp(found.source) > 0.3


def test_other_forms_speak_for_a_word_that_is_not_known(monkeypatch):
    for name, words in FORMS.items():
        monkeypatch.setattr(test_features, name, words)
    given = test_features.resources()
    pairs = [["house"], ["maisonnette"]], [["housed"], ["maisonnette"]], [["housed"], ["café"]]
    vocabularies = [*FORMS["SOURCE"], *FORMS["UNKNOWN_SOURCE"]], [*FORMS["TARGET"], *FORMS["UNKNOWN_TARGET"]]
    sides = (
        Sentences.from_lists([[words.index(word) for word in pair[place]] for pair in pairs])
        for place, words in enumerate(vocabularies)
    )
    block = Block.of(test_features.pairs_with(Corpus(*sides)), given)
    found = evidence(block).edges
    assert found[0] == found[1] > 0.3
    assert found[2] == 0
    without = evidence(Block.of(block.pairs, replace(given, links=None))).edges
    assert without.tolist() == [0, 0, 0]


def test_words_are_owed_to_a_side_that_has_their_translations(resources):
    """More than unknown words, and these more than words beside others whose translations are known well."""
    target = ["maison", "yuiop"]
    beside = [
        evidence(block_of(resources, source, target)).target
        for source in (["house", "the"], ["qwert", "qwert"], ["the", "the"])
    ]
    assert beside[0][0] > 0.75
    assert beside[1].tolist() == pytest.approx([0.5, 0.5])
    assert beside[2][1] < 0.1


def test_a_side_without_words(resources):
    found = evidence(block_of(resources, ["the"], []))
    assert [each.tolist() for each in found] == [[], [0.0], []]
