"""Stems: which words have one, and what their links tell of links of words."""

import numpy as np

from align.data.corpus import Corpus, Sentences
from align.statistics.lexicon import estimate
from align.statistics.stems import of_lexicon, stems_of
from align.text.words import WordTable


def test_words_of_the_same_first_letters_are_of_one_stem():
    words = ["gebe", "geben", "gebend", "gébet", "2000", "20001", "20002", "chat", "chats", "châteaux", "..."]
    found = stems_of(WordTable.of(words))
    assert found.dtype == np.int32
    alike = {(i, j) for i in range(len(words)) for j in range(i) if found[i] == found[j]}
    assert alike == {(2, 1), (3, 1), (3, 2), (9, 8)}
    assert stems_of(WordTable.of([])).tolist() == []
    assert stems_of(WordTable.of(["a", "b"])).tolist() == [0, 1]


def test_the_links_of_stems_are_shared_out_by_how_frequent_their_words_are():
    sides = [[0, 1], [0], [2]], [[0], [1], [1, 2]]
    corpus = Corpus(*(Sentences.from_lists(side) for side in sides))
    lexicon = estimate(corpus, 3, 3, min_probability=0.0)
    source, target = WordTable.of(["geben", "gebend", "mais"]), WordTable.of(["donner", "donne", "but"])
    forward, reverse = of_lexicon(lexicon, source, target, weight=2.0)
    np.testing.assert_allclose(forward.shares, 2 * np.array([1 / 3, 2 / 3, 1]), rtol=1e-6)
    np.testing.assert_allclose(reverse.shares, 2 * np.array([2 / 3, 1 / 3, 1]), rtol=1e-6)
    assert forward.cells[-1] == forward.cells[:-1].max() + 1
    makers, made = lexicon.sources(), lexicon.targets
    links = np.where(makers == 2, np.where(made == 2, 3, 1), 2).astype(np.float32)
    for cell, value in enumerate(forward.expected(links, makers, made)):
        of_stem = 1.0 if makers[cell] < 2 else (3 if made[cell] == 2 else 1) / 4
        assert value == np.float32(forward.shares[made[cell]] * of_stem)
