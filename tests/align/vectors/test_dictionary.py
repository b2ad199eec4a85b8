"""Word pairs from files, from identical strings and from the bitext."""

import lzma

import numpy as np
import pytest

from align.core.errors import InputError
from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.vectors.dictionary import bitext_pairs, identical_pairs, read_dictionary

ENGLISH = Vocabulary(["the", "cat", "d'action", "1999", "US"], [5, 4, 3, 2, 1])
FRENCH = Vocabulary(["le", "chat", "d'action", "1999", "glace"], [5, 4, 3, 2, 1])


def write(tmp_path, text):
    path = tmp_path / "words.tsv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(tmp_path, text):
    return read_dictionary(write(tmp_path, text), ENGLISH, FRENCH)


@pytest.mark.parametrize(
    "text",
    [
        "the\tle\ncat\tchat\n",
        "the le\ncat   chat\n",
        "the le\r\ncat\tchat",
        "\ufeffthe\tle\n\n cat \t chat \n",
    ],
)
def test_two_columns_parted_by_a_tab_or_spaces(tmp_path, text):
    pairs, counts = read(tmp_path, text)
    assert pairs.tolist() == [[0, 0], [1, 1]]
    assert pairs.dtype == np.int64
    assert counts["used"] == counts["entries"] == 2


def test_packed_files_are_read(tmp_path):
    assert read(tmp_path, lzma.compress(b"cat\tchat\n"))[0].tolist() == [[1, 1]]


def test_words_are_found_as_they_are_and_by_their_key(tmp_path):
    pairs, counts = read(tmp_path, "Cat\tCHAT\nD’action\td'action\nUS\tle\nus\tle\n")
    assert pairs.tolist() == [[1, 1], [2, 2], [4, 0]]
    assert counts["unknown"] == 1


def test_what_cannot_be_used_is_counted(tmp_path):
    text = (
        "the\tle\nthe\tle\nice cream\tglace\nice cream glace\nfish\tpoisson\nalone\n\tle\nthe\tle\t3\n"
        "cat\tchat\n1999\t1999\nthe\tchat\nthe\tglace\n"
    )
    pairs, counts = read(tmp_path, text.encode() + "caf\xe9\tle\n".encode("latin-1"))
    assert counts == {
        "entries": 13,
        "malformed": 4,
        "multiword": 2,
        "unknown": 1,
        "duplicate": 1,
        "used": 5,
    }
    assert pairs.tolist() == [[0, 0], [1, 1], [3, 3], [0, 1], [0, 4]]


def test_a_file_that_is_no_dictionary_is_refused(tmp_path):
    with pytest.raises(
        InputError, match=r"words\.tsv:2: the first of 2 lines, of 3, that are not two columns"
    ):
        read(tmp_path, "the\tle\nalone\nalone\n")
    with pytest.raises(InputError, match=r"words\.tsv: no entries; give lines of source TAB target"):
        read(tmp_path, "\n")


def test_words_known_to_neither_side_leave_no_pairs(tmp_path):
    assert read(tmp_path, "fish\tpoisson\n")[0].shape == (0, 2)


def test_identical_strings_and_numerals():
    assert identical_pairs(ENGLISH, FRENCH).tolist() == [[2, 2], [3, 3]]
    assert identical_pairs(ENGLISH, Vocabulary([], [])).shape == (0, 2)


def corpus(source, target):
    return Corpus(Sentences.from_lists(source), Sentences.from_lists(target))


def slow_pairs(source, target, least):
    """Mutual best words by Dice, straight from the definition."""

    def count(side, word):
        return sum(word in sentence for sentence in side)

    words = [sorted({word for sentence in side for word in sentence}) for side in (source, target)]
    dice = {}
    for x in words[0]:
        for y in words[1]:
            both = sum(x in one and y in other for one, other in zip(source, target, strict=True))
            if both >= least:
                dice[x, y] = 2 * both / (count(source, x) + count(target, y))
    best_x = {x: max((y for y in words[1] if (x, y) in dice), key=lambda y: (dice[x, y], -y), default=None)
              for x in words[0]}  # fmt: skip
    best_y = {y: max((x for x in words[0] if (x, y) in dice), key=lambda x: (dice[x, y], -x), default=None)
              for y in words[1]}  # fmt: skip
    return [[x, y] for x, y in sorted(dice) if dice[x, y] >= 0.3 and best_x[x] == y and best_y[y] == x]


def test_the_bitexts_pairs_agree_with_the_definition():
    rng = np.random.default_rng(4)
    source = [rng.zipf(1.5, size).clip(max=30).tolist() for size in rng.integers(0, 8, 150)]
    target = [[(word * 7) % 31 for word in sentence if rng.random() < 0.7] for sentence in source]
    pairs = bitext_pairs(corpus(source, target), (31, 31))
    assert pairs.tolist() == slow_pairs(source, target, 2)
    assert len(pairs) > 5


def test_words_are_counted_a_few_at_a_time(monkeypatch):
    rng = np.random.default_rng(3)
    text = [rng.zipf(1.5, 6).clip(max=30).tolist() for _ in range(200)]
    whole = bitext_pairs(corpus(text, text), (31, 31))
    monkeypatch.setattr("align.vectors.dictionary._WORDS_AT_A_TIME", 4)
    np.testing.assert_array_equal(bitext_pairs(corpus(text, text), (31, 31)), whole)
    assert len(whole) > 5


def test_a_word_that_comes_twice_in_a_sentence_counts_once():
    pairs = bitext_pairs(corpus([[0, 0, 1], [0, 0]], [[1, 1, 0], [1]]), (2, 2))
    assert pairs.tolist() == [[0, 1]]


def test_chance_meetings_make_no_pair(monkeypatch):
    assert bitext_pairs(corpus([[0]], [[0]]), (1, 1)).shape == (0, 2)
    monkeypatch.setattr("align.vectors.dictionary.FEW", 1)
    assert bitext_pairs(corpus([[0]] * 2, [[0]] * 2), (1, 1)).shape == (0, 2)
    assert bitext_pairs(corpus([[0]] * 3, [[0]] * 3), (1, 1)).tolist() == [[0, 0]]
    rare = corpus([[0]] * 3 + [[0]] * 20, [[0]] * 3 + [[1]] * 20)
    assert bitext_pairs(rare, (1, 2)).tolist() == [[0, 1]]


def test_only_frequent_words_are_looked_at(monkeypatch):
    monkeypatch.setattr("align.vectors.dictionary.FREQUENT", 1)
    assert bitext_pairs(corpus([[0, 1]] * 3, [[0, 1]] * 3), (2, 2)).tolist() == [[0, 0]]


def test_empty_sentences_and_an_empty_bitext():
    assert bitext_pairs(corpus([[], [0]], [[0], []]), (1, 1)).shape == (0, 2)
    assert bitext_pairs(corpus([], []), (0, 0)).shape == (0, 2)


def test_the_measuring_dictionary(real_data):
    words = [f"w{number}" for number in range(3)]
    path = real_data("dict/yacle.train.freq.5k.en-fr.tsv")
    pairs, counts = read_dictionary(
        path, Vocabulary(["of", "in", *words], [0] * 5), Vocabulary(["de", "dans"], [0, 0])
    )
    assert counts["entries"] == 5000
    assert counts["malformed"] == 0
    assert [0, 0] in pairs.tolist()
