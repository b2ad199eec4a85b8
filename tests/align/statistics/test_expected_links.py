"""Expected links: their totals, saved and loaded; what does not fit is refused by name."""

from dataclasses import fields

import numpy as np
import pytest

from align.core.errors import InputError
from align.statistics.expected_links import ExpectedLinks
from align.statistics.jumps import GAPS, Jumps
from align.statistics.lexicon import Lexicon
from align.statistics.sampler import SampledLinks, expected_links


class TestExpectedLinks:
    def made(self):
        counts = np.arange(1, 4)
        offsets, targets = np.array([0, 2, 2, 3]), np.array([0, 2, 2], dtype=np.int32)
        values = np.full(3, 0.5, dtype=np.float32)
        lexicon = Lexicon(offsets, targets, values, values, values, values, values, counts, counts)
        links = np.array([1.5, 2.0, 4.0], dtype=np.float32)
        jumps = [
            Jumps(np.ones((3, GAPS, size), dtype=np.float32), np.array([1, 2, 1], dtype=np.int32))
            for size in (7, 5)
        ]
        forward, reverse = SampledLinks(links, links, jumps[0]), SampledLinks(2 * links, links, jumps[1])
        return lexicon, expected_links(lexicon, (forward, reverse))

    def test_totals_are_of_rows_and_columns(self):
        _, links = self.made()
        assert links.forward_totals.tolist() == [3.5, 0.0, 4.0]
        assert links.reverse_totals.tolist() == [3.0, 0.0, 12.0]

    def test_saved_and_loaded(self, tmp_path):
        lexicon, links = self.made()
        links.save(tmp_path)
        loaded = ExpectedLinks.load(tmp_path, lexicon)
        for field in fields(ExpectedLinks):
            assert np.array_equal(getattr(loaded, field.name), getattr(links, field.name))

    @pytest.mark.parametrize("name", [field.name for field in fields(ExpectedLinks)])
    def test_what_does_not_fit_is_named(self, tmp_path, name):
        lexicon, links = self.made()
        links.save(tmp_path)
        values = getattr(links, name)
        np.save(tmp_path / f"{name}.npy", values[..., :-1])
        kind, sizes = values.dtype, r"\(\d,( \d, \d)?\)"
        with pytest.raises(InputError, match=rf"{name}\.npy: {kind} {sizes}, not {kind} {sizes}; make"):
            ExpectedLinks.load(tmp_path, lexicon)
        for wrong in (-1.0, np.nan, np.inf) if kind == np.float32 else (-1,):
            odd = values.copy()
            odd[1] = wrong
            np.save(tmp_path / f"{name}.npy", odd)
            with pytest.raises(InputError, match=rf"{name}\.npy: a value is no number of links; make"):
                ExpectedLinks.load(tmp_path, lexicon)

    @pytest.mark.parametrize("wrong", [0, 3])
    def test_a_class_without_jumps(self, tmp_path, wrong):
        lexicon, links = self.made()
        links.save(tmp_path)
        np.save(tmp_path / "reverse_classes.npy", np.array([1, wrong, 1], dtype=np.int32))
        with pytest.raises(InputError, match=r"reverse_classes\.npy: a class that has no jumps; make"):
            ExpectedLinks.load(tmp_path, lexicon)

    def test_jumps_of_one_dimension(self, tmp_path):
        """As those of a version before this one were."""
        lexicon, links = self.made()
        links.save(tmp_path)
        np.save(tmp_path / "forward_jumps.npy", np.ones(7, dtype=np.float32))
        with pytest.raises(InputError, match=r"forward_jumps\.npy: no array of 3 dimensions; make"):
            ExpectedLinks.load(tmp_path, lexicon)
