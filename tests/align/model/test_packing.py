"""Packed models: smaller, of nearly the same links; the same bytes when they are packed again."""

from dataclasses import replace

import numpy as np
import pytest

from align import Aligner
from align.core.codes import COUNTS, PROBABILITIES, smallest_whole
from align.core.errors import InputError
from align.model.folder import Model
from align.model.packing import Limits, pack
from align.model.reading import packed_vectors, unpacked_vectors
from tests.align import toy
from tests.align.model.test_folder import files, with_links


class TestCodes:
    @pytest.mark.parametrize(("scale", "share"), [(PROBABILITIES, 0.034), (COUNTS, 0.051)])
    def test_a_value_is_kept_to_a_share_of_itself(self, scale, share):
        values = np.geomspace(scale.highest / 2**scale.octaves, scale.highest, 10_000)
        assert (np.abs(scale.decode(scale.encode(values)) / values - 1) < share).all()

    @pytest.mark.parametrize("scale", [PROBABILITIES, COUNTS])
    def test_codes_stay(self, scale):
        codes = np.arange(256, dtype=np.uint8)
        assert np.array_equal(scale.encode(scale.decode(codes)), codes)
        assert scale.decode(codes)[0] == 0
        assert scale.decode(codes)[255] == scale.highest

    def test_beyond_the_scale(self):
        values = np.array([0.0, 1e-30, 1e30], dtype=np.float64)
        assert COUNTS.encode(values).tolist() == [0, 0, 255]

    def test_whole_numbers(self):
        for largest, kind in ((0, np.uint16), (65535, np.uint16), (65536, np.uint32), (1 << 32, np.int64)):
            values = np.array([0, largest], dtype=np.int64)
            assert smallest_whole(values).dtype == kind
            assert smallest_whole(values).tolist() == [0, largest]
        assert smallest_whole(np.zeros(0, dtype=np.int32)).dtype == np.uint16

    def test_vectors(self):
        rng = np.random.default_rng(0)
        vectors = rng.normal(size=(50, 20)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors[[3, 48, 49]] = 0
        packed = packed_vectors(vectors)
        assert (packed.dtype, packed.shape) == (np.int8, (48, 20))
        again = unpacked_vectors(packed, 50)
        assert np.abs(again - vectors).max() < 0.006
        assert np.array_equal(packed_vectors(again), packed)
        assert packed_vectors(np.zeros((4, 3), dtype=np.float32)).shape == (0, 3)


class TestPacked:
    @pytest.fixture
    def model(self):
        return with_links(toy.toy_model())

    def test_it_comes_back(self, model, tmp_path):
        pack(model).save(tmp_path / "packed", packed=True)
        loaded, given = Model.load(tmp_path / "packed"), model.resources
        assert loaded.weights.tolist() == model.weights.tolist()
        assert loaded.resources.lexicon.targets.dtype == np.int32
        assert np.array_equal(loaded.resources.lexicon.offsets, given.lexicon.offsets)
        assert np.allclose(loaded.resources.lexicon.forward, given.lexicon.forward, rtol=0.04)
        assert np.allclose(loaded.resources.links.forward, given.links.forward, rtol=0.06)
        assert np.abs(loaded.resources.source_vectors - given.source_vectors).max() < 0.01
        loaded.save(tmp_path / "again", packed=True)
        assert files(tmp_path / "again") == files(tmp_path / "packed")
        model.save(tmp_path / "whole")
        pairs = [("I see the red dog .", "je vois le chien rouge ."), ("the house is big", "la maison")]
        found = [Aligner.load(tmp_path / name).align_many(pairs) for name in ("packed", "whole")]
        assert found[0] == found[1]

    def test_what_goes(self, model):
        lexicon, links = model.resources.lexicon, model.resources.links
        links.forward[:4] = links.reverse[:4] = 0.1
        small = pack(model, Limits(links=0.3, words=8, vectors=5)).resources
        kept = [
            (int(source), int(target))
            for cell, (source, target) in enumerate(zip(lexicon.sources(), lexicon.targets, strict=True))
            if cell >= 4 and source < 8 and target < 8
        ]
        found = zip(small.lexicon.sources().tolist(), small.lexicon.targets.tolist(), strict=True)
        assert list(found) == kept
        assert len(small.source_vocabulary) == len(small.links.forward_totals) == 8
        assert len(small.links.forward_classes) == len(small.source_vectors) == 8
        assert (
            np.any(small.source_vectors[:5] != 0, axis=1).tolist()
            == np.any(model.resources.source_vectors[:5] != 0, axis=1).tolist()
        )
        assert not small.source_vectors[5:].any()

    def test_a_model_without_sampled_links(self):
        with pytest.raises(InputError, match="no tables of sampled links"):
            pack(toy.toy_model())

    def test_without_vectors(self, model, tmp_path):
        bare = replace(model.resources, source_vectors=None, target_vectors=None)
        pack(replace(model, resources=bare)).save(tmp_path, packed=True)
        assert Model.load(tmp_path).resources.source_vectors is None

    @pytest.mark.parametrize("wrong", [{"links": -1.0}, {"links": np.nan}, {"words": 0}, {"words": 65537}])
    def test_limits_out_of_range(self, wrong):
        with pytest.raises(InputError, match=next(iter(wrong))):
            Limits(**wrong)

    def test_damaged(self, model, tmp_path):
        pack(model).save(tmp_path, packed=True)
        (tmp_path / "checksums.tsv").unlink()
        path = tmp_path / "source.vectors.npy"
        np.save(path, np.zeros((99, 3), dtype=np.int8))
        with pytest.raises(InputError, match="source.vectors"):
            Model.load(tmp_path)
