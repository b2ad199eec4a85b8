"""Links of stems: against sums over all forms, word by word."""

from collections import Counter, defaultdict

import numpy as np

from align.data.vocabulary import Vocabulary, code_points
from align.statistics.stem_links import StemLinks, keys_of
from tests.align.features import test_features


def stem(word):
    return word[:4] if len(word) >= 4 else None


def test_words_of_the_same_four_letters_have_one_key():
    words = [
        "votes",
        "vote",
        "voted",
        "vot",
        "veto",
        "été",
        "étés",
        "étés-là",
        "a",
        "дело",
        "делом",
        "2000",
        "20001",
    ]
    keys = keys_of(*code_points(words)).tolist()
    assert [key == 0 for key in keys] == [stem(word) is None for word in words]
    for key, word in zip(keys, words, strict=True):
        for other_key, other in zip(keys, words, strict=True):
            if stem(word) and stem(other):
                assert (key == other_key) == (stem(word) == stem(other))
    assert keys_of(*code_points([])).tolist() == []


def test_links_are_those_of_all_forms_but_for_chance():
    """Cells of next to no links are left out; words of fewer letters have no stem."""
    given = test_features.resources()
    lexicon, links = given.lexicon, given.links
    generator = np.random.default_rng(2)
    letters = [
        ["".join(each) for each in generator.choice(list("ab"), (size, 5))]
        for size in map(len, (lexicon.source_counts, lexicon.target_counts))
    ]
    vocabularies = tuple(
        Vocabulary(
            [f"{word[: 2 + number % 4]}{number}" for number, word in enumerate(side)],
            np.arange(len(side), 0, -1),
        )
        for side in letters
    )
    found = StemLinks.of(lexicon, links, vocabularies)
    sources, targets = (each.words for each in vocabularies)
    expected = defaultdict(lambda: np.zeros(2))
    for row, column, *both in zip(
        lexicon.sources(), lexicon.targets, links.forward, links.reverse, strict=True
    ):
        pair = stem(sources[row]), stem(targets[column])
        if None not in pair:
            expected[pair] += [value if value >= np.float32(0.3) else 0 for value in both]
    for side, (keys, counts, totals, words, own) in enumerate(
        (
            (
                found.source_keys,
                found.source_counts,
                found.forward_totals,
                vocabularies[0],
                links.forward_totals,
            ),
            (
                found.target_keys,
                found.target_counts,
                found.reverse_totals,
                vocabularies[1],
                links.reverse_totals,
            ),
        )
    ):
        stems = sorted(
            {stem(word) for word in words.words} - {None},
            key=lambda each: keys_of(*code_points([each])).item(),
        )
        assert keys.tolist() == keys_of(*code_points(stems)).tolist(), side
        sums = Counter()
        for word, count, links_of_word in zip(words.words, words.counts, own, strict=True):
            sums[stem(word)] += np.array([count, links_of_word])
        assert counts.tolist() == [sums[each][0] for each in stems]
        np.testing.assert_allclose(totals, [sums[each][1] for each in stems], rtol=1e-6)
        if side == 0:
            source_stems = stems
    cells = {}
    for row, source in enumerate(source_stems):
        for cell in range(found.offsets[row], found.offsets[row + 1]):
            cells[source, stems[found.targets[cell]]] = found.forward[cell], found.reverse[cell]
    assert len(cells) == len(found.targets) > 10
    assert cells.keys() == {pair for pair, sums in expected.items() if sums.any()}
    for pair, sums in cells.items():
        np.testing.assert_allclose(sums, expected[pair], rtol=1e-5)
