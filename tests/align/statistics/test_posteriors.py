"""Posteriors: cut, joined, saved at once or in blocks; what is damaged is refused by name."""

from dataclasses import fields

import numpy as np
import pytest

from align.core.errors import InputError
from align.statistics.posteriors import SCALE, PosteriorAppender, Posteriors, load_if_there
from tests.align import toy
from tests.align.checks import refuses_damage

SHAPES = np.array([[2, 3], [0, 4], [1, 1], [3, 2]])


def made():
    generator = np.random.default_rng(0)
    forward, reverse = (generator.random((2, 13)) ** 8 * SCALE).astype(np.uint16)
    return forward, reverse, toy.posteriors_of(SHAPES, forward, reverse)


def equal(one, other):
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name)) for field in fields(Posteriors)
    )


class TestPosteriors:
    def test_the_likely_ones_come_back(self):
        forward, reverse, posteriors = made()
        kept = np.maximum(forward, reverse) >= round(0.01 * SCALE)
        assert 0 < kept.sum() < 13
        for found, given in zip(posteriors.dense(SHAPES), (forward, reverse), strict=True):
            assert found.dtype == np.float32
            np.testing.assert_allclose(found, np.where(kept, given / SCALE, 0), atol=1e-7)

    def test_blocks_chosen_pairs_and_joined_ones(self):
        posteriors = made()[2]
        assert equal(Posteriors.join([posteriors.block(0, 1), posteriors.block(1, 4)]), posteriors)
        chosen = posteriors.take(np.array([3, 0]))
        assert equal(chosen.block(0, 1), posteriors.block(3, 4))
        assert equal(chosen.block(1, 2), posteriors.block(0, 1))

    def test_placed_among_others(self):
        posteriors = made()[2]
        placed = posteriors.placed(np.array([1, 2, 4, 5]), 7)
        assert placed.sampled.tolist() == [False, True, True, False, True, True, False]
        assert equal(placed.take(np.flatnonzero(placed.sampled)), posteriors)

    def test_saved_and_loaded(self, tmp_path):
        posteriors = made()[2]
        posteriors.save(tmp_path / "x")
        assert equal(Posteriors.load(tmp_path / "x"), posteriors)
        assert equal(load_if_there(tmp_path / "x"), posteriors)
        assert load_if_there(tmp_path / "y") is None

    def test_blocks_are_read_alone(self, tmp_path):
        posteriors = made()[2].placed(np.array([0, 1, 3, 4]), 6)
        posteriors.save(tmp_path)
        for start, stop in ((0, 6), (0, 0), (2, 2), (1, 4), (4, 6), (5, 6)):
            assert equal(Posteriors.load_block(tmp_path, start, stop), posteriors.block(start, stop))
        with pytest.raises(InputError, match=r"offsets\.npy: .*no rows 5 to 8"):
            Posteriors.load_block(tmp_path, 5, 7)

    @pytest.mark.parametrize("chosen", [[], [2], [0, 1, 5], [4, 4], [3, 0, 2]], ids=str)
    def test_chosen_pairs_are_read_alone(self, tmp_path, chosen):
        posteriors = made()[2].placed(np.array([0, 1, 3, 4]), 6)
        posteriors.save(tmp_path)
        chosen = np.array(chosen, dtype=np.int64)
        assert equal(Posteriors.load_chosen(tmp_path, chosen), posteriors.take(chosen))

    @pytest.mark.parametrize(
        ("name", "change", "message"),
        [
            ("offsets", lambda values: values[::-1], "not ascending; make the tables again"),
            ("offsets", lambda values: values + 1, "no rows"),
            ("edges", lambda values: values.astype(np.int64), "int64 .*, not int32"),
            ("forward", lambda values: values[:-1], "no rows"),
            ("sampled", lambda values: values.astype(np.uint8), "uint8 .*, not bool"),
        ],
    )
    def test_damaged_blocks_are_named(self, tmp_path, name, change, message):
        posteriors = made()[2]
        posteriors.save(tmp_path)
        np.save(tmp_path / f"{name}.npy", change(getattr(posteriors, name)))
        with pytest.raises(InputError, match=message):
            Posteriors.load_block(tmp_path, 0, 4)

    def test_damaged_ones_are_named(self, tmp_path):
        posteriors = made()[2]
        posteriors.save(tmp_path)
        offsets = posteriors.offsets[::-1]
        told = r"does not fit \d+ entries; make the tables"
        refuses_damage(Posteriors.load, tmp_path / "offsets.npy", offsets, told)
        for content, told in (
            (posteriors.edges.astype(np.int64), "int64 .*, not int32 "),
            (b"", "no array can be read"),
            (np.zeros((2, 2), dtype=np.int32), "no array of one dimension"),
            (None, "missing; make the tables again"),
        ):
            refuses_damage(Posteriors.load, tmp_path / "edges.npy", content, told)

    def test_those_of_other_pairs_are_refused(self):
        with pytest.raises(ValueError, match="not those of the pairs given"):
            made()[2].dense(SHAPES[:3])


def some(pairs, seed):
    generator = np.random.default_rng(seed)
    shapes = generator.integers(0, 5, (pairs, 2))
    edges = int(shapes.prod(axis=1).sum())
    return toy.posteriors_of(shapes, *generator.integers(0, 2000, (2, edges)).astype(np.uint16))


def test_blocks_make_the_files_of_the_whole(tmp_path):
    rows = [np.array([1, 2, 5]), np.array([6]), np.zeros(0, dtype=np.int64), np.array([7, 9])]
    blocks = [some(len(own), seed) for seed, own in enumerate(rows)]
    with PosteriorAppender(tmp_path / "blocks", 11) as out:
        for own, block in zip(rows, blocks, strict=True):
            out.append(own, block)
    Posteriors.join(blocks).placed(np.concatenate(rows), 11).save(tmp_path / "whole")
    names = sorted(path.name for path in (tmp_path / "whole").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "blocks").iterdir())
    for name in names:
        assert (tmp_path / "blocks" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert Posteriors.load(tmp_path / "blocks").sampled.sum() == 6
