"""Prior counts of links: those of another corpus over new words, and those of words spelt alike."""

import numpy as np

from align.data.corpus import Corpus, Sentences
from align.statistics import sampler_priors as prior
from align.statistics.expected_links import ExpectedLinks
from align.statistics.jumps import GAPS, OTHERS, Jumps
from align.statistics.lexicon import estimate
from align.statistics.sampler import SampledLinks, expected_links
from align.statistics.sampler_priors import LexicalPrior
from align.text.words import WordTable


def lexicon_of(pairs, n_source, n_target):
    corpus = Corpus(*(Sentences.from_lists(side) for side in zip(*pairs, strict=True)))
    return estimate(corpus, n_source, n_target, min_probability=0.0)


def row(*values):
    return np.array(values, dtype=np.float32)


def jumps(*values, words=3, count=OTHERS + 1):
    """The same counts from each class over each gap."""
    return Jumps(np.tile(row(*values), (count, GAPS, 1)), np.full(words, OTHERS, dtype=np.int32))


def classes(*values):
    return np.array(values, dtype=np.int32)


class TestFromLinks:
    def test_cells_words_and_totals_move(self):
        # old words 0, 1, 2; the new corpus has 2 as 0 and 0 as 1, and pairs them otherwise
        old = lexicon_of([([0, 1], [0, 1]), ([2], [2])], 3, 3)
        new = lexicon_of([([0], [0]), ([1], [1]), ([0], [1])], 2, 2)
        ids = np.array([1, -1, 0])
        assert old.targets.tolist() == [0, 1, 0, 1, 2]
        assert prior._cells_in(old, new, ids, ids).tolist() == [2, -1, -1, -1, 0]
        links = ExpectedLinks(
            *(row(1, 2, 3, 4, 5), row(6, 7, 8, 9, 10)),
            *(row(3, 7, 5), row(14, 16, 10), row(0.5, 1, 2), row(3, 4, 5)),
            *(
                jumps(1, 2, 3, count=4).counts,
                jumps(4, 5, 6, count=4).counts,
                classes(1, 2, 3),
                classes(1, 1, 2),
            ),
        )
        forward, reverse = prior.from_links(links, old, new, ids, ids, weight=0.5)
        assert forward.links.tolist() == [2.5, 0, 0.5]
        assert reverse.links.tolist() == [5, 0, 3]
        assert forward.totals.tolist() == [2.5, 1.5]
        assert reverse.totals.tolist() == [5, 7]
        assert forward.null_links.tolist() == [1, 0.25]
        assert reverse.null_links.tolist() == [2.5, 1.5]
        # whatever a link is worth, jumps are those of the language
        assert forward.jumps.counts[:, 0].tolist() == [[1, 2, 3]] * 4
        assert forward.jumps.classes.tolist() == [3, 1]
        assert reverse.jumps.classes.tolist() == [2, 1]


def subsequence(a, b):
    """Length of the longest common subsequence, by the table."""
    best = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            best[i + 1, j + 1] = best[i, j] + 1 if x == y else max(best[i, j + 1], best[i + 1, j])
    return best[-1, -1]


class TestSpelling:
    SOURCE = ("minister", "the", "a", "10,000", "7", ",", "resolution", "house", "élan", "x" * 80)
    TARGET = ("ministre", "the", "à", "10 000", "17", ",", "résolution", "maison", "elan", "x" * 80, "-")

    def found(self):
        sides = range(len(self.SOURCE)), range(len(self.TARGET))
        lexicon = lexicon_of([(list(sides[0]), list(sides[1]))], len(sides[0]), len(sides[1]))
        tables = WordTable.of(self.SOURCE), WordTable.of(self.TARGET)
        return lexicon, tables, prior.likeness(lexicon, *tables).reshape(len(sides[0]), len(sides[1]))

    def test_likeness(self):
        found = self.found()[2]
        expected = np.zeros_like(found)
        for place, value in enumerate((7 / 8, 0.5, 0.5, 1, 0, 1, 1, 0, 1, 1)):
            expected[place, place] = value
        np.testing.assert_allclose(found, expected)

    def test_the_subsequence_is_that_of_the_table(self):
        generator = np.random.default_rng(0)
        words = ["".join(generator.choice(list("abc"), generator.integers(4, 9))) for _ in range(60)]
        source, target = sorted(set(words[:30])), sorted(set(words[30:]))
        lexicon = lexicon_of([(list(range(len(source))), list(range(len(target))))], len(source), len(target))
        found = prior.likeness(lexicon, WordTable.of(source), WordTable.of(target))
        expected = [subsequence(a, b) / max(len(a), len(b)) for a in source for b in target]
        expected = [ratio if ratio > 0.7 else 0 for ratio in expected]
        assert 0 < np.count_nonzero(expected) < len(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-6)

    def test_counts(self):
        lexicon, tables, found = self.found()
        forward, reverse = prior.from_spelling(lexicon, *tables, weight=3.0)
        for each, axis in ((forward, 1), (reverse, 0)):
            np.testing.assert_allclose(each.links.reshape(found.shape), 3 * found)
            np.testing.assert_allclose(each.totals, 3 * found.sum(axis=axis))
            assert len(each.null_links) == found.shape[axis]
            assert not each.null_links.any()
            assert each.jumps is None


def test_priors_are_added():
    one = LexicalPrior(row(1), row(2), row(3))
    other = LexicalPrior(row(10), row(20), row(30), jumps(1, 2, 3))
    for found in (one.plus(other), other.plus(one)):
        assert [values.tolist() for values in (found.links, found.totals, found.null_links)] == [
            [11],
            [22],
            [33],
        ]
        assert found.jumps is other.jumps


def test_expected_links_keep_the_prior():
    lexicon = lexicon_of([([0, 1], [0, 1])], 2, 2)
    found = SampledLinks(row(1, 2, 3, 4), row(1, 1), jumps(0, 0, 5, 0, 0, words=2))
    before = LexicalPrior(row(1, 1, 1, 1), row(9, 9), row(2, 2), jumps(1, 1, 1, words=2))
    links = expected_links(lexicon, (found, found), (before, before))
    assert links.forward.tolist() == links.reverse.tolist() == [2, 3, 4, 5]
    assert links.forward_totals.tolist() == [12, 16]
    assert links.reverse_totals.tolist() == [13, 15]
    assert links.null_forward.tolist() == links.null_reverse.tolist() == [3, 3]
    assert links.forward_jumps[:, 0].tolist() == [[0, 1, 6, 1, 0]] * 2
