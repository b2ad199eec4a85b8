"""Copies of a part: found through all shards, counted up to a number."""

import numpy as np
import pytest

from pipeline.stages.preprocess.copies import COPIES, find_copies, load_copies, surplus, write_copies


def plain(values):
    """Each value that came before, with the first place of it."""
    return [[place, values.index(value)] for place, value in enumerate(values) if value in values[:place]]


def test_copies_are_those_after_the_first_in_all_shards():
    generator = np.random.default_rng(1)
    shards = [generator.integers(0, 50, size, dtype=np.uint64) for size in (0, 1, 30, 20)]
    before = [shard.copy() for shard in shards]
    together = np.concatenate(shards).tolist()
    assert find_copies(shards).tolist() == plain(together)
    assert find_copies([shards[1]]).shape == find_copies([shards[0]]).shape == (0, 2)
    # The shards' own order is wanted later.
    for shard, old in zip(shards, before, strict=True):
        np.testing.assert_array_equal(shard, old)


def test_they_are_written_as_parts_of_the_corpus(tmp_path):
    assert load_copies(tmp_path).shape == (0, 2)
    np.save(tmp_path / "in_statistics.npy", np.array([True, False, True, True]))
    write_copies(tmp_path, np.zeros((0, 2), dtype=np.int64))
    assert not (tmp_path / COPIES).exists()
    write_copies(tmp_path, np.array([[2, 0]]))
    assert load_copies(tmp_path).tolist() == [[3, 0]]


@pytest.mark.parametrize("most", [1, 2, 3, 9])
def test_what_is_over_a_number_comes_last(most):
    values = np.random.default_rng(2).integers(0, 6, 40).tolist()
    copies = np.array(plain(values))
    expected = [place for place, value in enumerate(values) if values[:place].count(value) >= most]
    assert sorted(surplus(copies, most).tolist()) == expected
    assert surplus(copies[:0], most).tolist() == []
