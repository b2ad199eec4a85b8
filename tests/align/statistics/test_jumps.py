"""Classes of words, and counts of jumps between other words, classes and sentences."""

import numpy as np
import pytest

from align.statistics import jumps
from align.statistics.jumps import BEGINNING, GAPS, OF_ALL, OF_GAP, OTHERS, Jumps, word_classes


def counted(count, longest, classes):
    counts = np.random.default_rng(0).integers(0, 50, (count, GAPS, 2 * longest + 1))
    return Jumps(counts, np.array(classes, dtype=np.int32))


class TestClasses:
    def test_frequent_words_have_one_each(self):
        counts = np.array([99, 500, 100, 0, 500, 101])
        assert word_classes(counts, 10).tolist() == [1, 2, 5, 1, 3, 4]

    def test_no_more_than_there_is_room_for(self, monkeypatch):
        monkeypatch.setattr(jumps, "MOST_CLASSES", 2)
        assert word_classes(np.array([300, 500, 400]), 10).tolist() == [1, 2, 3]
        monkeypatch.setattr(jumps, "MOST_NUMBERS", GAPS * 21)
        assert word_classes(np.array([300, 500, 400]), 10).tolist() == [1, 2, 1]
        assert word_classes(np.array([300, 500, 400]), 11).tolist() == [1, 1, 1]

    def test_none(self):
        assert word_classes(np.zeros(0, dtype=np.int64), 0).tolist() == []


class TestProbabilities:
    def test_each_distribution_sums_to_one_and_is_smoothed(self):
        found = counted(5, 4, [2, 3, 4, 1])
        found.counts[3, 1] = 0  # never seen: as the gap's, which is as that of all
        assert found.probabilities.dtype == np.float32
        np.testing.assert_allclose(found.probabilities.sum(axis=2), 1, rtol=1e-5)
        overall = found.counts.sum(axis=(0, 1)) + jumps.JUMP
        overall = overall / overall.sum()
        by_gap = found.counts[:, 1].sum(axis=0) + OF_ALL * overall
        by_gap = by_gap / by_gap.sum()
        np.testing.assert_allclose(found.probabilities[3, 1], by_gap, rtol=1e-5)
        own = found.counts[2, 1]
        expected = (own + OF_GAP * by_gap) / (own.sum() + OF_GAP)
        np.testing.assert_allclose(found.probabilities[2, 1], expected, rtol=1e-5)

    def test_nothing_seen_is_level(self):
        none = Jumps.none(np.full(3, OTHERS, dtype=np.int32), 2)
        np.testing.assert_allclose(none.probabilities, 1 / 5, rtol=1e-6)


class TestMoved:
    def test_words_keep_theirs_and_the_others_pool(self):
        found = counted(5, 3, [2, 3, 4, 1])
        moved = found.moved(np.array([1, 2, 3, 1], dtype=np.int32), 3)
        assert moved.counts[BEGINNING].tolist() == found.counts[BEGINNING].tolist()
        assert moved.counts[2].tolist() == found.counts[3].tolist()
        assert moved.counts[3].tolist() == found.counts[4].tolist()
        assert moved.counts[OTHERS].tolist() == (found.counts[OTHERS] + found.counts[2]).tolist()

    @pytest.mark.parametrize("longest", [1, 3, 6])
    def test_jumps_are_cut_or_filled_up(self, longest):
        found = counted(2, 3, [1])
        moved = found.moved(found.classes, longest)
        assert moved.longest == longest
        reach = min(longest, 3)
        here, there = (
            each.counts[:, :, each.longest - reach : each.longest + reach + 1] for each in (moved, found)
        )
        assert here.tolist() == there.tolist()
        assert moved.counts.sum() == here.sum()

    def test_other_vocabularies(self):
        found = counted(4, 1, [2, 1, 3])
        assert found.renumbered(np.array([3, 0, -1]), 4).classes.tolist() == [1, 1, 1, 2]

    def test_sums(self):
        found = counted(3, 1, [2])
        assert found.plus(found).counts.tolist() == (2 * found.counts).tolist()
