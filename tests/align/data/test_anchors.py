"""Lengths and anchors of lines."""

import numpy as np

from align.data.anchors import BINS, hash_words, joined, line_signs, text_tokens
from tests.align.data.line_signs import signs

SOURCE = ["the 1998 report of Prodi Prodi", "a 7 b", "of of of of", "", "Kyoto"]
TARGET = ["le rapport 1998 de Prodi", "7 7", "de de de de", "x", "Kyoto"]


def anchors(found, side):
    ends = np.cumsum(found.counts[side].astype(int))
    return [set(each.tolist()) for each in np.split(found.anchors[side], ends[:-1])]


def low_bits(*words):
    return {int(each) & 0xFFFFFFFF for each in hash_words(words)}


def test_anchors_are_the_rare_words_of_both_sides_each_once_a_line():
    found = signs(SOURCE, TARGET)
    assert anchors(found, 0) == [low_bits("1998", "prodi"), low_bits("7"), set(), set(), low_bits("kyoto")]
    assert anchors(found, 1) == anchors(found, 0)
    assert found.counts[1].tolist() == [2, 1, 0, 0, 1]


def test_words_that_come_often_are_no_anchors():
    found = signs(["on", "on", "on", "on", "x y"], ["on", "un", "on", "y", "x"])
    assert anchors(found, 0) == [set()] * 4 + [low_bits("x", "y")]


def test_a_line_keeps_the_same_anchors_on_both_sides_where_it_has_many():
    many = [f"w{number}" for number in range(40)]
    found = signs([" ".join(many)], [" ".join(reversed(many))])
    assert found.counts[0].tolist() == found.counts[1].tolist() == [16]
    assert anchors(found, 0) == anchors(found, 1)


def test_lengths_are_steps_of_logarithms_and_0_is_out_of_use():
    source = text_tokens(["x" * size for size in (1, 10, 10**6, 5)])
    found = line_signs(source, source, np.array([True, True, True, False]))
    assert found.lengths[0].tolist() == [11, 38, 221, 0]
    assert max(found.lengths[0]) < BINS
    assert found.counts[0].tolist() == [1, 1, 1, 0]


def test_no_lines_and_lines_without_a_word():
    assert [len(each) for each in (*signs([], []).lengths, *signs([], []).anchors)] == [0] * 4
    assert signs([""], [""]).counts[0].tolist() == [0]


def test_signs_of_lines_one_after_the_other():
    one, other = signs(SOURCE, TARGET), signs(TARGET, SOURCE)
    together = joined([one, other])
    for place in (0, 1):
        assert together.lengths[place].tolist() == [*one.lengths[place], *other.lengths[place]]
        assert anchors(together, place) == anchors(one, place) + anchors(other, place)
