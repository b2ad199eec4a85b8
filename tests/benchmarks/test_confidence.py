"""Bins and errors by hand, the AUC against its definition, which lines are moved, whose links are judged."""

import numpy as np
import pytest

from align.core.errors import InputError
from align.links import Link
from align.model.aligner import Aligner
from benchmarks import confidence
from benchmarks.gold import Source
from benchmarks.reliability import Judged, area, expected_error, judge_unseen, plot
from tests.align import toy


def judged(confidences, right, rare=None):
    none = [False] * len(right)
    return Judged(np.array(confidences), np.array(right, dtype=bool), np.array(rare or none, dtype=bool))


class TestBins:
    def test_they_hold_equal_numbers_by_confidence(self):
        found = judged([0.9, 0.2, 0.5, 0.6, 0.8], [1, 0, 1, 0, 1]).bins(2)
        assert [each.links for each in found] == [3, 2]
        assert found[0].confidence == pytest.approx(1.3 / 3)
        assert found[0].right == pytest.approx(1 / 3)
        assert tuple(found[1]) == pytest.approx((2, 0.85, 1.0))
        assert expected_error(found) == pytest.approx((3 * (1.3 / 3 - 1 / 3) + 2 * 0.15) / 5)

    def test_there_are_never_more_than_links(self):
        assert [each.links for each in judged([0.1, 0.2], [0, 1]).bins(15)] == [1, 1]
        assert judged([], []).bins() == []
        assert expected_error([]) is None

    def test_honest_confidences_have_little_error(self):
        generator = np.random.default_rng(0)
        x = generator.random(20_000)
        assert expected_error(judged(x, generator.random(20_000) < x).bins()) < 0.015
        assert expected_error(judged(x, generator.random(20_000) < x**2).bins()) > 0.1


class TestArea:
    def test_it_is_the_share_of_pairs_in_order(self):
        generator = np.random.default_rng(1)
        scores = generator.integers(0, 6, 40) / 5
        wrong = generator.random(40) < 0.3
        pairs = [(low, high) for low in scores[wrong] for high in scores[~wrong]]
        expected = np.mean([1.0 if low < high else 0.5 if low == high else 0.0 for low, high in pairs])
        assert area(scores, wrong) == pytest.approx(expected)
        assert area(-scores, wrong) == pytest.approx(1 - expected)

    def test_it_needs_both_kinds(self):
        assert area(np.ones(3), np.zeros(3, dtype=bool)) is None
        assert area(np.ones(3), np.ones(3, dtype=bool)) is None


class TestShuffled:
    def test_a_share_of_the_lines_has_anothers_target(self):
        targets = [f"line {number}" for number in range(200)]
        moved, wrong = confidence.shuffled(targets, 0.1, 3)
        assert wrong.sum() == 20
        assert sorted(moved) == sorted(targets)
        assert [one != other for one, other in zip(moved, targets, strict=True)] == wrong.tolist()
        again, _ = confidence.shuffled(targets, 0.1, 3)
        assert again == moved
        assert confidence.shuffled(targets, 0.1, 4)[0] != moved

    def test_equal_lines_are_not_taken_for_moved(self):
        targets = ["same"] * 30 + [f"line {number}" for number in range(70)]
        for seed in range(5):
            moved, wrong = confidence.shuffled(targets, 0.1, seed)
            assert all(moved[place] != targets[place] for place in np.flatnonzero(wrong))
        with pytest.raises(InputError, match="too many lines are equal"):
            confidence.shuffled(["same"] * 20, 0.1, 0)


def test_short_pairs_are_those_of_a_length_each_side_once():
    rows = [
        ("a b", "c"), ("a b", "d"), ("e", "c"), ("known", "x"), ("a b c d e", "f g h i j"), ("a, b.", "c d!"),
        ("a b c d", "f g h i j"), ("one two three four five six seven eight nine", "a b c d e"),
    ]  # fmt: skip
    found = confidence.short_pairs(rows, [["known"], ["y"]])
    assert found == [[("a b", "c"), ("a, b.", "c d!")], [("a b c d e", "f g h i j")]]


def test_nonsense_has_up_to_so_many_words():
    made = confidence.nonsense(100, 4, 0)
    assert {len(side.split(" ")) for pair in made for side in pair} == {1, 2, 3, 4}
    assert made == confidence.nonsense(100, 4, 0)
    assert len(set(made)) == 100


def test_pairs_without_a_score_are_left_out(tmp_path):
    (tmp_path / "scores.txt").write_text("0.9\n0.1\n\n0.5\n0.2\n")
    found = confidence.detection(tmp_path / "scores.txt", np.array([False, True, True, False, True]))
    assert (found["pairs"], found["moved"], found["AUC"]) == (4, 2, 1.0)
    assert found["moved among as many with the lowest scores"] == 1.0
    assert found["mean score"] == pytest.approx(0.7)
    assert found["mean score of moved"] == pytest.approx(0.15)


def test_links_of_unseen_pairs_are_looked_up_and_told_by_their_words(tmp_path):
    toy.toy_model().save(tmp_path)
    aligner = Aligner.load(tmp_path)
    texts = [("the house .", "la maison ."), ("the zyxw .", "le zyxw .")]
    gold = [[Link(0, 0), Link(1, 1, False)], [Link(1, 1), Link(2, 2)]]
    found = judge_unseen(aligner, texts, gold)
    links = [link for pair in texts for link in aligner.align(*(side.split(" ") for side in pair))]
    assert links == [(1, 1), (2, 2), (0, 0), (1, 1), (2, 2)]
    assert found.right.tolist() == [True, False, False, True, True]
    assert found.rare.tolist() == [False, False, False, True, False]
    assert found.only(found.rare).confidence.tolist() == [found.confidence[3]]


def test_the_table_tells_known_and_rare_words_apart():
    figures = confidence.row("x", judged([0.75, 0.5, 0.25], [1, 1, 0], [0, 1, 0]))
    assert [figures[part]["links"] for part in ("all", "known", "rare")] == [3, 2, 1]
    assert figures["rare"] == {"links": 1, "confidence": 0.5, "right": 1.0, "ece": 0.5}
    cells = confidence.line(figures)
    assert cells["rare: ECE"] == "0.5000"
    assert cells["known: ECE"] == "0.2500"
    assert confidence.line(confidence.row("x", judged([0.5], [1])))["rare: ECE"] == "n/a"


def test_the_plot_is_a_picture_and_the_same_each_time(tmp_path):
    bins = judged([0.5, 0.9, 1.0], [0, 1, 1]).bins()
    for name in ("one", "two"):
        plot({"links": bins, "none": []}, tmp_path / f"{name}.png")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_parts_of_gold_are_written_in_the_order_asked_for(tmp_path):
    for ending in ("en", "sv", "align"):
        (tmp_path / f"a.{ending}").write_text("".join(f"{ending} {number}\n" for number in range(4)))
    half = Source(tmp_path / "a", "en", "sv").part([2, 0], tmp_path / "parts" / "half")
    assert half == Source(tmp_path / "parts" / "half", "en", "sv")
    for ending in ("en", "sv", "align"):
        assert half.prefix.with_name(f"half.{ending}").read_text() == f"{ending} 2\n{ending} 0\n"


def test_gold_whose_text_is_all_there_is(tmp_path):
    for name in ("a.en", "a.sv", "a.align"):
        (tmp_path / name).write_text("")
    settings = confidence.own_text(Source(tmp_path / "a", "en", "sv"), "half", 5)
    assert settings["corpus"]["files"] == settings["gold"]["files"]
    assert (settings["corpus"]["tokenized"], settings["gold"]["train"]) == (True, 5)
    assert settings["train"] == {"labels": "gold", "weights": "none"}
