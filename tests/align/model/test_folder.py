"""Model folders: what is saved comes back, what is damaged is refused by name, nothing is executed."""

import json
import os
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from align.core.errors import InputError
from align.data.vocabulary import Vocabulary
from align.features import Resources, feature_names
from align.learning.calibration import Calibration
from align.model import shipped
from align.model.folder import Model
from align.model.reading import read_description
from align.model.weights import missing_note
from align.statistics.expected_links import ExpectedLinks
from align.statistics.jumps import GAPS, OTHERS
from tests.align import toy


@pytest.fixture
def folder(tmp_path):
    toy.toy_model().save(tmp_path / "model")
    return tmp_path / "model"


def edit(folder, **values):
    (folder / "checksums.tsv").unlink(missing_ok=True)
    path = folder / "model.json"
    described = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**described, **values}), encoding="utf-8")


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def with_links(model, name="links"):
    twelve, jumps = np.full(12, 2.0, dtype=np.float32), np.ones((2, GAPS, 7), dtype=np.float32)
    classes = np.full(12, OTHERS, dtype=np.int32)
    links = ExpectedLinks(*[twelve] * 6, jumps, jumps, classes, classes)
    return replace(model, resources=replace(model.resources, **{name: links}))


class TestSaved:
    def test_it_comes_back(self, folder):
        model, loaded = toy.toy_model(), Model.load(folder)
        assert np.array_equal(loaded.weights, model.weights)
        assert loaded.weights.dtype == np.float64
        for name in ("names", "groups", "text", "calibration", "options", "provenance", "languages"):
            assert getattr(loaded, name) == getattr(model, name), name
        for name in ("source_vectors", "target_vectors"):
            assert np.array_equal(getattr(loaded.resources, name), getattr(model.resources, name))
        assert loaded.resources.source_vocabulary.words == model.resources.source_vocabulary.words
        assert np.array_equal(loaded.resources.lexicon.forward, model.resources.lexicon.forward)

    def test_the_same_model_gives_the_same_bytes(self, folder, tmp_path):
        Model.load(folder).save(tmp_path / "again")
        assert files(tmp_path / "again") == files(folder)

    def test_a_path_may_be_a_text(self, folder, tmp_path):
        Model.load(str(folder)).save(str(tmp_path / "again"))
        assert files(tmp_path / "again") == files(folder)

    def test_weights_come_back_to_the_last_bit(self, tmp_path):
        model = toy.toy_model()
        odd = replace(model, weights=model.weights * np.pi + 1e-17)
        odd.save(tmp_path)
        assert np.array_equal(Model.load(tmp_path).weights, odd.weights)

    def test_without_statistics_and_vectors(self, tmp_path):
        none = Vocabulary([], [])
        model = replace(toy.toy_model(), resources=Resources(None, None, None, none, none))
        model.save(tmp_path)
        assert not (tmp_path / "lexicon").exists()
        loaded = Model.load(tmp_path)
        assert loaded.resources.lexicon is None
        assert loaded.resources.source_vectors is None
        assert loaded.names == model.names

    def test_vectors_of_no_dimensions(self, tmp_path):
        model = toy.toy_model()
        given = model.resources
        none = np.zeros((len(given.source_vocabulary), 0), dtype=np.float32)
        bare = Resources(given.lexicon, none, none, given.source_vocabulary, given.target_vocabulary)
        replace(model, resources=bare).save(tmp_path)
        assert Model.load(tmp_path).resources.dimensions == 0

    def test_expected_links(self, folder, tmp_path):
        model, linked = Model.load(folder), tmp_path / "with"
        assert model.resources.links is None
        with_links(model).save(linked)
        loaded = Model.load(linked).resources.links
        assert loaded.null_forward.tolist() == [2.0] * 12
        assert loaded.jumps[0].longest == 3
        Model.load(linked).save(tmp_path / "again", lexicon_from=linked / "lexicon")
        assert files(tmp_path / "again") == files(linked)
        name = "lexicon/links/forward.npy"
        assert not os.path.samefile(tmp_path / "again" / name, linked / name)
        with pytest.raises(ValueError, match="links of 12 cells, a lexicon of None"):
            replace(with_links(model).resources, lexicon=None)

    def test_a_model_of_before_the_sampler(self, folder):
        """Its model.json says nothing of jumps."""
        sizes = json.loads((folder / "model.json").read_text(encoding="utf-8"))["sizes"]
        del sizes["jumps"]
        edit(folder, sizes=sizes)
        assert Model.load(folder).resources.links is None

    def test_files_that_are_there_already_are_copied(self, folder, tmp_path):
        sources = {"vocabularies_from": folder, "lexicon_from": folder / "lexicon", "vectors_from": folder}
        Model.load(folder).save(tmp_path / "copied", **sources)
        assert files(tmp_path / "copied") == files(folder)
        for name in ("source.vectors.npy", "lexicon/dice.npy", "target.vocabulary.tsv"):
            assert not os.path.samefile(tmp_path / "copied" / name, folder / name)


class TestSeveralLinks:
    @pytest.fixture
    def fertile(self, tmp_path):
        toy.toy_model(fertility=3).save(tmp_path / "fertile")
        return tmp_path / "fertile"

    def test_it_comes_back(self, fertile):
        model, loaded = toy.toy_model(fertility=3), Model.load(fertile)
        assert (loaded.fertility, loaded.word_groups) == (3, model.word_groups)
        assert loaded.names == model.names
        assert loaded.names[-1] == "extra.target.content"
        assert np.array_equal(loaded.weights, model.weights)

    def test_a_model_of_one_link_a_word_says_nothing_of_it(self, folder):
        described = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        assert not {"fertility", "extra_groups"} & set(described)
        assert (Model.load(folder).fertility, Model.load(folder).word_groups) == (1, ())

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("fertility", 0), ("fertility", 2.0), ("fertility", "2"), ("fertility", 2**40),
            ("fertility", True), ("extra_groups", "always"), ("extra_groups", [1]),
        ],
    )  # fmt: skip
    def test_a_wrong_value_is_named(self, fertile, key, value):
        edit(fertile, **{key: value})
        with pytest.raises(InputError, match=f"model.json: {key} is "):
            Model.load(fertile)

    def test_values_that_do_not_agree(self, fertile):
        edit(fertile, fertility=1)
        with pytest.raises(InputError, match="fertile: 1 links a word with the groups"):
            Model.load(fertile)
        edit(fertile, fertility=2, extra_groups=[])
        with pytest.raises(InputError, match="fertile: a weight of extra.source.always, .*, but no such"):
            Model.load(fertile)
        edit(fertile, extra_groups=["telepathy"])
        with pytest.raises(InputError, match="no feature group 'telepathy'; update liaison"):
            Model.load(fertile)
        edit(fertile, extra_groups=["always"])
        with pytest.raises(InputError, match="fertile: a weight of extra.source.content, .*, but no such"):
            Model.load(fertile)

    def test_a_cost_below_0_is_named(self, fertile):
        (fertile / "checksums.tsv").unlink()
        path = fertile / "weights.tsv"
        lines = path.read_text(encoding="utf-8").split("\n")
        path.write_text("\n".join([*lines[:-2], "extra.target.content\t-0.5", ""]), encoding="utf-8")
        with pytest.raises(InputError, match="the weight of extra.target.content is -0.5, below 0"):
            Model.load(fertile)


class TestDamaged:
    """Where no checksum tells it: in a folder of an earlier version, or one that was changed by hand."""

    @pytest.fixture
    def folder(self, folder):
        (folder / "checksums.tsv").unlink()
        return folder

    def test_other_jumps_than_told(self, folder, tmp_path):
        with_links(Model.load(folder)).save(tmp_path / "with")
        (tmp_path / "with" / "checksums.tsv").unlink()
        np.save(tmp_path / "with/lexicon/links/forward_jumps.npy", np.ones((2, GAPS, 5), dtype=np.float32))
        with pytest.raises(
            InputError, match=r"links: numbers of jumps \[5, 7\], not \[7, 7\]; get the model"
        ):
            Model.load(tmp_path / "with")

    def test_no_model(self, tmp_path):
        with pytest.raises(InputError, match="nowhere: no such model; give a folder with a model.json"):
            Model.load(tmp_path / "nowhere")
        with pytest.raises(InputError, match=r"model.json: missing, so .* is no model"):
            Model.load(tmp_path)

    @pytest.mark.parametrize(
        "name",
        [
            "weights.tsv",
            "source.vocabulary.tsv",
            "target.vectors.npy",
            "lexicon/targets.npy",
            "lexicon/null_reverse.npy",
        ],
    )
    def test_a_missing_file_is_named(self, folder, name):
        (folder / name).unlink()
        with pytest.raises(InputError, match=f"{name}: (missing|no such file)"):
            Model.load(folder)

    @pytest.mark.parametrize(
        "name", ["source.vectors.npy", "lexicon/forward.npy", "weights.tsv", "model.json"]
    )
    @pytest.mark.parametrize("content", [b"", b"\x93NUMPY\x01\x00", b"<html>", b"\xff\xfe\x00"])
    def test_a_damaged_file_is_named(self, folder, name, content):
        (folder / name).write_bytes(content)
        with pytest.raises(InputError, match="get the model again|make the tables again|features"):
            Model.load(folder)

    @pytest.mark.parametrize("name", ["source.vectors.npy", "lexicon/forward.npy"])
    def test_a_pickle_is_not_opened(self, folder, name):
        marker = folder / "executed"

        class Trap:
            def __reduce__(self):
                return (open, (str(marker), "w"))

        np.save(folder / name, np.array([Trap()], dtype=object), allow_pickle=True)
        with pytest.raises(InputError, match=f"{name}: no array can be read"):
            Model.load(folder)
        (folder / name).write_bytes(pickle.dumps(Trap()))
        with pytest.raises(InputError, match=f"{name}: no array can be read"):
            Model.load(folder)
        assert not marker.exists()

    def test_a_format_of_another_version(self, folder):
        edit(folder, format=1)
        with pytest.raises(InputError, match="model.json: format 1, but version .* of liaison reads 2"):
            Model.load(folder)
        edit(folder, format="x")
        with pytest.raises(InputError, match="model.json: says no format version"):
            Model.load(folder)

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("text", {"source": {}}),
            ("groups", "cosine"),
            ("sizes", {"source_words": 1}),
            ("calibration", [1.0]),
            ("calibration", [1.0, None]),
            ("calibration", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
            ("calibration", [1.0, 10**400]),
            ("options", []),
            ("provenance", None),
        ],
    )
    def test_a_wrong_value_is_named(self, folder, key, value):
        edit(folder, **{key: value})
        with pytest.raises(InputError, match=f"model.json: {key} is "):
            Model.load(folder)

    def test_a_calibration_may_say_nothing_of_rare_words(self, folder):
        edit(folder, calibration=[2.0, 1.0])
        assert Model.load(folder).calibration == Calibration(2.0, 1.0, 0.0)

    def test_a_description_nested_without_end(self, folder):
        (folder / "model.json").write_text("[" * 100_000, encoding="utf-8")
        with pytest.raises(InputError, match="model.json: no JSON can be read"):
            Model.load(folder)

    @pytest.mark.parametrize("name", ["weights.tsv", "source.vocabulary.tsv"])
    def test_a_line_without_an_end_is_cut_off(self, folder, name):
        path = folder / name
        path.write_bytes(path.read_bytes()[:-1])
        lines = path.read_bytes().count(b"\n") + 1
        with pytest.raises(InputError, match=f"{name}:{lines}: cut off, the line has no end; "):
            Model.load(folder)

    def test_a_count_too_long_to_be_one(self, folder):
        path = folder / "source.vocabulary.tsv"
        path.write_text("word\t" + "9" * 5000 + "\n", encoding="utf-8")
        with pytest.raises(InputError, match="source.vocabulary.tsv:1: not 'word TAB count'"):
            Model.load(folder)

    def test_an_unknown_group(self, folder):
        edit(folder, groups=["cosine", "telepathy"])
        with pytest.raises(InputError, match="this version has no feature group 'telepathy'; update liaison"):
            read_description(folder)

    @pytest.mark.parametrize("line", ["bias\tx", "bias", "\t1.0", "bias\tnan", "bias\tinf", "bias\t1e300"])
    def test_a_wrong_weight_is_named(self, folder, line):
        lines = (folder / "weights.tsv").read_text(encoding="utf-8").split("\n")
        (folder / "weights.tsv").write_text("\n".join([lines[0], line, *lines[2:]]), encoding="utf-8")
        with pytest.raises(InputError, match="weights.tsv:2: .* is not 'feature TAB weight'"):
            Model.load(folder)

    def test_a_feature_without_a_weight_counts_0_and_is_told(self, folder):
        path, whole = folder / "weights.tsv", Model.load(folder)
        lines = path.read_text(encoding="utf-8").split("\n")
        others = [line for line in lines if not line.startswith(("dice\t", "joint_log\t"))]
        path.write_text("\n".join(others), encoding="utf-8")
        model = Model.load(folder)
        assert (whole.missing, model.missing) == ((), ("dice", "joint_log"))
        assert model.names == whole.names
        for name, weight, before in zip(model.names, model.weights, whole.weights, strict=True):
            assert weight == (0.0 if name in model.missing else before)
        assert "2 features have no weight and count 0 (dice, joint_log); train" in missing_note(model.missing)

    def test_features_that_are_not_those_of_the_groups(self, folder):
        path = folder / "weights.tsv"
        path.write_text(path.read_text(encoding="utf-8").replace("dice\t", "mice\t"), encoding="utf-8")
        with pytest.raises(InputError, match="a weight of mice, but no such feature in this version"):
            Model.load(folder)

    def test_arrays_of_another_type_size_or_value(self, folder):
        vectors = np.load(folder / "source.vectors.npy")
        for odd, message in (
            (vectors[:-1], "not float32"),
            (vectors.astype(np.float64), "float64"),
            (np.where(vectors == vectors[2, 1], np.nan, vectors), "not that of a unit vector"),
            (vectors * 9, "not that of a unit vector"),
        ):
            np.save(folder / "source.vectors.npy", odd)
            with pytest.raises(InputError, match=f"source.vectors.npy: .*{message}"):
                Model.load(folder)

    @pytest.mark.parametrize(
        ("name", "change", "message"),
        [
            ("forward", lambda values: values + 1, r"forward.npy: a value is not in \[0, 1\]"),
            ("dice", lambda values: values * np.nan, r"dice.npy: a value is not in \[0, 1\]"),
            ("targets", lambda values: values + 5, "targets.npy: a word id is not below 12"),
            (
                "targets",
                lambda values: values.astype(np.int64),
                r"targets.npy: int64 .*, not int32",
            ),
            ("offsets", lambda values: values[::-1].copy(), "offsets.npy"),
            ("source_counts", lambda values: values[:-1], "make the tables again"),
            ("source_counts", lambda values: values[0], "source_counts.npy: no array of one dimension"),
            ("target_counts", lambda values: values - 10**6, "target_counts.npy: a count is below 0"),
        ],
    )
    def test_statistics_are_checked(self, folder, name, change, message):
        path = folder / "lexicon" / f"{name}.npy"
        np.save(path, change(np.load(path)))
        with pytest.raises(InputError, match=message):
            Model.load(folder)

    def test_sizes_that_do_not_agree(self, folder):
        sizes = read_description(folder)["sizes"]
        edit(folder, sizes={**sizes, "cells": 3})
        with pytest.raises(
            InputError, match=r"\(cells, source words, target words\) = \(12, 12, 12\), not \(3,"
        ):
            Model.load(folder)
        edit(folder, sizes={**sizes, "source_words": 11})
        with pytest.raises(InputError, match="source.vocabulary.tsv: 12 words, not 11"):
            Model.load(folder)

    def test_a_record_checks_itself(self):
        model = toy.toy_model()
        with pytest.raises(ValueError, match="weights"):
            replace(model, weights=model.weights[:-1])
        with pytest.raises(ValueError, match="a weight is not finite"):
            replace(model, weights=model.weights * np.nan)
        with pytest.raises(ValueError, match="calibration"):
            replace(model, calibration=Calibration(-1.0, 0.0))
        with pytest.raises(ValueError, match="calibration"):
            replace(model, calibration=Calibration(1.0, 0.0, 0.5))
        for wrong in ((-0.5, -0.1), (0.0, 0.0, -1.0)):
            with pytest.raises(ValueError, match="calibration"):
                replace(model, calibration=Calibration(1.0, 0.0, *wrong))
        with pytest.raises(ValueError, match="1 features where the groups give 100"):
            replace(model, names=feature_names((), model.resources))


class TestShipped:
    def test_found_by_name_or_folder(self, folder, tmp_path, monkeypatch):
        monkeypatch.setattr(shipped, "FOLDERS", (tmp_path / "none", tmp_path))
        monkeypatch.chdir(tmp_path / "model")
        assert [path.name for path in shipped.known_models()] == ["model"]
        assert shipped.find_model("model") == folder
        assert shipped.find_model("models/model") == folder
        assert shipped.find_model(folder) == folder
        assert shipped.find_model(str(folder)) == folder
        assert shipped.find_model(".") == Path(".")

    def test_not_found(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shipped, "FOLDERS", (tmp_path / "none",))
        with pytest.raises(InputError, match=r"en-xx: no such model; .* a known model \(none\), or default"):
            shipped.find_model("en-xx")
        (tmp_path / "odd").mkdir()
        with pytest.raises(InputError, match="model.json: missing, so .* is no model"):
            shipped.find_model(tmp_path / "odd")
        with pytest.raises(InputError, match="elsewhere/en-xx: no such model"):
            shipped.find_model("elsewhere/en-xx")
