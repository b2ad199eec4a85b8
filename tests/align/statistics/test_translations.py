"""The rows of a lexicon, all and of one word, against its tables read cell by cell."""

import pytest

from align.data.vocabulary import Vocabulary
from align.statistics.lexicon import estimate
from align.statistics.translations import Translations
from tests.align import toy

SOURCE, TARGET = [f"s{i}" for i in range(9)], [f"t{i}" for i in range(11)]


@pytest.fixture(scope="module")
def lexicon():
    return estimate(toy.random_corpus(5, 30, (9, 11)), 9, 11, min_probability=0)


@pytest.fixture(scope="module")
def translations(lexicon):
    return Translations(
        lexicon, Vocabulary(SOURCE, lexicon.source_counts), Vocabulary(TARGET, lexicon.target_counts)
    )


def cells(lexicon):
    """Yield the cells with how often the words stand together, out of Dice."""
    sources = lexicon.sources().tolist()
    for cell, (source, target) in enumerate(zip(sources, lexicon.targets.tolist(), strict=True)):
        both = lexicon.source_counts[source] + lexicon.target_counts[target]
        together = round(float(lexicon.dice[cell]) * float(both) / 2)
        forward, reverse = float(lexicon.forward[cell]), float(lexicon.reverse[cell])
        yield SOURCE[source], TARGET[target], together, forward, reverse


def test_all_rows_in_the_order_of_the_vocabulary(lexicon, translations):
    expected = sorted(cells(lexicon), key=lambda row: (SOURCE.index(row[0]), -row[3], TARGET.index(row[1])))
    assert [tuple(row) for row in translations] == expected


@pytest.mark.parametrize("word", [0, 3, 8])
def test_rows_of_one_word(lexicon, translations, word):
    of_source = [row for row in cells(lexicon) if row[0] == SOURCE[word]]
    expected = sorted(of_source, key=lambda row: (-row[3], TARGET.index(row[1])))
    assert [tuple(row) for row in translations.of("source", SOURCE[word])] == expected
    of_target = [row for row in cells(lexicon) if row[1] == TARGET[word]]
    expected = sorted(of_target, key=lambda row: (-row[4], SOURCE.index(row[0])))
    assert [tuple(row) for row in translations.of("target", TARGET[word])] == expected


def test_a_word_that_is_not_known(translations):
    assert translations.of("source", "t1") == translations.of("target", "s1") == []
