"""Posteriors and tables of the sampler: cut, joined, saved; what is damaged is refused by name."""

from dataclasses import fields

import numpy as np
import pytest

from align.core.errors import InputError
from align.statistics.lexicon import Lexicon
from align.statistics.posteriors import Links, Posteriors, load_if_there
from align.statistics.sampler import SCALE, Direction

SHAPES = np.array([[2, 3], [0, 4], [1, 1], [3, 2]])


def made():
    generator = np.random.default_rng(0)
    forward, reverse = (generator.random((2, 13)) ** 8 * SCALE).astype(np.uint16)
    return forward, reverse, Posteriors.of(SHAPES, forward, reverse)


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
        np.save(tmp_path / "offsets.npy", posteriors.offsets[::-1])
        with pytest.raises(InputError, match=r"offsets\.npy: does not fit \d+ entries; make the tables"):
            Posteriors.load(tmp_path)
        np.save(tmp_path / "edges.npy", posteriors.edges.astype(np.int64))
        with pytest.raises(InputError, match=r"edges\.npy: int64 .*, not int32 "):
            Posteriors.load(tmp_path)
        (tmp_path / "edges.npy").write_bytes(b"")
        with pytest.raises(InputError, match=r"edges\.npy: no array can be read"):
            Posteriors.load(tmp_path)
        np.save(tmp_path / "edges.npy", np.zeros((2, 2), dtype=np.int32))
        with pytest.raises(InputError, match=r"edges\.npy: no array of one dimension"):
            Posteriors.load(tmp_path)
        (tmp_path / "edges.npy").unlink()
        with pytest.raises(InputError, match=r"edges\.npy: missing; make the tables again"):
            Posteriors.load(tmp_path)

    def test_those_of_other_pairs_are_refused(self):
        with pytest.raises(ValueError, match="not those of the pairs given"):
            made()[2].dense(SHAPES[:3])


class TestLinks:
    def made(self):
        counts = np.arange(1, 4)
        offsets, targets = np.array([0, 2, 2, 3]), np.array([0, 2, 2], dtype=np.int32)
        values = np.full(3, 0.5, dtype=np.float32)
        lexicon = Lexicon(offsets, targets, values, values, values, values, values, counts, counts)
        posterior = np.zeros(0, dtype=np.uint16)
        links = np.array([1.5, 2.0, 4.0], dtype=np.float32)
        jumps = np.ones(7, dtype=np.float32)
        forward = Direction(posterior, links, links, jumps)
        return lexicon, Links.of(lexicon, forward, Direction(posterior, 2 * links, links, jumps[:5]))

    def test_totals_are_of_rows_and_columns(self):
        _, links = self.made()
        assert links.forward_totals.tolist() == [3.5, 0.0, 4.0]
        assert links.reverse_totals.tolist() == [3.0, 0.0, 12.0]

    def test_saved_and_loaded(self, tmp_path):
        lexicon, links = self.made()
        links.save(tmp_path)
        loaded = Links.load(tmp_path, lexicon)
        for field in fields(Links):
            assert np.array_equal(getattr(loaded, field.name), getattr(links, field.name))

    @pytest.mark.parametrize("name", [field.name for field in fields(Links)])
    def test_what_does_not_fit_is_named(self, tmp_path, name):
        lexicon, links = self.made()
        links.save(tmp_path)
        values = getattr(links, name)
        np.save(tmp_path / f"{name}.npy", values[:-1])
        with pytest.raises(InputError, match=rf"{name}\.npy: float32 \(\d,\), not float32 \(\d,\); make"):
            Links.load(tmp_path, lexicon)
        for wrong in (-1.0, np.nan, np.inf):
            odd = values.copy()
            odd[1] = wrong
            np.save(tmp_path / f"{name}.npy", odd)
            with pytest.raises(InputError, match=rf"{name}\.npy: a value is no number of links; make"):
                Links.load(tmp_path, lexicon)
