"""Training on a bitext: the merged text, and the vectors that come of it."""

import sys

import numpy as np
import pytest

from align.core.errors import InputError
from align.data.corpus import Corpus, Sentences
from align.vectors.training import MARKS, merge, train, write_merged

WORDS = [["the", "cat", "l'eau"], ["le", "chat", "the"]]
OPTIONS = {"dim": 8, "epochs": 2, "window": 3, "rate": 0.1, "sampling": 1.0, "min_count": 1, "buckets": 100}


def corpus(source, target):
    return Corpus(Sentences.from_lists(source), Sentences.from_lists(target))


def merged_slowly(source, target, n_source):
    placed = [((j + 0.5) / len(source), 0, j, word) for j, word in enumerate(source)]
    placed += [((k + 0.5) / len(target), 1, k, word + n_source) for k, word in enumerate(target)]
    return [word for *_, word in sorted(placed)]


def test_words_stand_in_the_order_of_their_relative_places():
    ids, offsets = merge(corpus([[0, 1]], [[0, 1, 2, 3]]), 10)
    assert ids.tolist() == [10, 0, 11, 12, 1, 13]
    assert offsets.tolist() == [0, 6]


def test_merging_agrees_with_the_definition():
    rng = np.random.default_rng(0)
    source = [rng.integers(0, 50, size).tolist() for size in rng.integers(0, 9, 40)]
    target = [rng.integers(0, 50, size).tolist() for size in rng.integers(0, 9, 40)]
    ids, offsets = merge(corpus(source, target), 50)
    for pair, (one, other) in enumerate(zip(source, target, strict=True)):
        assert ids[offsets[pair] : offsets[pair + 1]].tolist() == merged_slowly(one, other, 50)


def test_the_text_has_a_line_a_pair_and_marks_the_languages(tmp_path):
    path = tmp_path / "merged.txt"
    assert write_merged(path, corpus([[0, 1], [2]], [[0, 1], [2, 2]]), WORDS, seed=0) == 7
    english, french = MARKS
    assert sorted(path.read_text(encoding="utf-8").split("\n")) == [
        "",
        f"{english}the {french}le {english}cat {french}chat",
        f"{french}the {english}l'eau {french}the",
    ]


def test_the_seed_orders_the_pairs(tmp_path):
    pairs = corpus([[number % 3] * number for number in range(1, 20)], [[0]] * 19)
    texts = []
    for seed in (0, 0, 1):
        write_merged(tmp_path / "merged.txt", pairs, WORDS, seed=seed)
        texts.append((tmp_path / "merged.txt").read_text(encoding="utf-8"))
    assert texts[0] == texts[1] != texts[2]
    assert sorted(texts[0]) == sorted(texts[2])


def test_blocks_of_pairs_make_one_text(tmp_path, monkeypatch):
    pairs = corpus([[number % 3] for number in range(20)], [[0, 1]] * 20)
    write_merged(tmp_path / "one.txt", pairs, WORDS, seed=3)
    monkeypatch.setattr("align.vectors.training.BLOCK", 7)
    write_merged(tmp_path / "three.txt", pairs, WORDS, seed=3)
    assert (tmp_path / "one.txt").read_bytes() == (tmp_path / "three.txt").read_bytes()


def trained(path, **changes):
    return train(path, WORDS, **{**OPTIONS, **changes})


def test_the_same_text_gives_the_same_bytes(tmp_path):
    path = tmp_path / "merged.txt"
    write_merged(path, corpus([[0, 1], [2]] * 20, [[0, 1], [2]] * 20), WORDS, seed=0)
    first, second = trained(path), trained(path)
    for one, other, side in zip(first, second, WORDS, strict=True):
        assert one.dtype == np.float32
        assert one.shape == (len(side), 8)
        assert one.tobytes() == other.tobytes()
        assert np.isfinite(one).all()
        assert one.any(axis=1).all()
    # The same letters in the other language are another word.
    assert not np.array_equal(first[0][0], first[1][2])


def test_rare_words_get_the_vector_of_their_n_grams(tmp_path):
    path = tmp_path / "merged.txt"
    write_merged(path, corpus([[0, 1]] * 9 + [[2]], [[0, 1]] * 9 + [[2]]), WORDS, seed=0)
    assert trained(path, min_count=3)[0].any(axis=1).all()


def test_one_word_is_enough(tmp_path):
    path = tmp_path / "merged.txt"
    write_merged(path, corpus([[0]], [[]]), WORDS, seed=0)
    assert np.isfinite(trained(path)[0]).all()


def test_translations_come_to_lie_together(tmp_path):
    """Thirty words with a translation each, four neighbours of a ring in a sentence, half of them turned."""
    rng = np.random.default_rng(1)
    source = [((rng.integers(30) + np.arange(4)) % 30).tolist() for _ in range(300)]
    target = [sentence[::-1] if rng.random() < 0.5 else sentence for sentence in source]
    # Spelling cannot help: the two languages share no letter.
    words = [["".join(rng.choice(list(letters), 4)) for _ in range(30)] for letters in ("bcdfg", "vwxyz")]
    path = tmp_path / "merged.txt"
    write_merged(path, corpus(source, target), words, seed=0)
    options = {**OPTIONS, "dim": 16, "epochs": 30, "window": 4, "buckets": 2000}
    sides = [side - side.mean(axis=0) for side in train(path, words, **options)]
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides]
    # One in thirty would be right by chance; measured: 0.6.
    assert ((unit[0] @ unit[1].T).argmax(axis=1) == np.arange(30)).mean() >= 0.4


def test_an_empty_text_is_told(tmp_path):
    (tmp_path / "merged.txt").write_bytes(b"")
    with pytest.raises(InputError, match="embed: no words to train vectors on"):
        trained(tmp_path / "merged.txt")


def test_missing_fasttext_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fasttext", None)
    with pytest.raises(InputError, match="needs fastText, which is not installed; pip install fasttext-comm"):
        trained(tmp_path / "merged.txt")
