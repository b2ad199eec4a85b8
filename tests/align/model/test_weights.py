"""Weights without tables: what is written is read again, and bad files are told by name."""

import json
from dataclasses import replace

import numpy as np
import pytest

from align.core.errors import InputError
from align.learning.calibration import Calibration
from align.model import shipped
from align.model.weights import Weights


@pytest.fixture
def weights():
    calibration = Calibration(2.5, -0.5, -0.25)
    values = np.array([0.25, -1e-3])
    return Weights(("bias", "same_word"), values, ("spelling",), calibration, {"lam": 0.01}, {"by": "é"})


def test_what_is_written_is_read(weights, tmp_path):
    weights.save(tmp_path / "mine")
    again = Weights.load(tmp_path / "mine")
    assert again.weights.tolist() == weights.weights.tolist()
    for name in ("names", "groups", "calibration", "options", "provenance"):
        assert getattr(again, name) == getattr(weights, name)


def changeable(weights, folder):
    """Save weights without checksums: files that are changed by hand."""
    weights.save(folder)
    (folder / "checksums.tsv").unlink()


def test_those_of_words_with_several_links(weights, tmp_path):
    names = (*weights.names, "extra.source.always", "extra.target.always")
    fertile = replace(weights, names=names, weights=np.arange(4.0), fertility=2, word_groups=("always",))
    changeable(fertile, tmp_path)
    again = Weights.load(tmp_path)
    assert (again.names, again.fertility, again.word_groups) == (names, 2, ("always",))
    path = tmp_path / "weights.json"
    described = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(described | {"fertility": 0}), encoding="utf-8")
    with pytest.raises(InputError, match=r"weights\.json: fertility is 0"):
        Weights.load(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [("groups", "spelling"), ("calibration", [1.0]), ("options", None), ("provenance", []), ("format", 99)],
)
def test_a_bad_description_is_told(weights, tmp_path, key, value):
    changeable(weights, tmp_path)
    path = tmp_path / "weights.json"
    described = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(described | {key: value}), encoding="utf-8")
    with pytest.raises(InputError, match=rf"weights\.json: .*{key}"):
        Weights.load(tmp_path)


def test_a_group_this_version_does_not_have_is_told(weights, tmp_path):
    changeable(weights, tmp_path)
    path = tmp_path / "weights.json"
    path.write_text(path.read_text(encoding="utf-8").replace("spelling", "telepathy"), encoding="utf-8")
    with pytest.raises(InputError, match="no feature group 'telepathy'"):
        Weights.load(tmp_path)


def test_a_bad_table_is_told(weights, tmp_path):
    changeable(weights, tmp_path)
    (tmp_path / "weights.tsv").write_text("bias\tmuch\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"weights\.tsv:1: "):
        Weights.load(tmp_path)


class TestShipped:
    @pytest.fixture(autouse=True)
    def folders(self, weights, tmp_path, monkeypatch):
        weights.save(tmp_path / "shipped" / "plain")
        monkeypatch.setattr(shipped, "FOLDERS", (tmp_path / "none", tmp_path / "shipped"))

    def test_they_are_found_by_name(self, tmp_path):
        for name in ("plain", "models/plain", tmp_path / "shipped" / "plain"):
            assert shipped.find_weights(name) == tmp_path / "shipped" / "plain"
        assert shipped.known_models() == []

    def test_they_are_no_model(self):
        with pytest.raises(InputError, match=r"plain: weights without statistics.*train\.weights=plain"):
            shipped.find_model("plain")

    def test_what_is_not_there_is_told_with_what_is(self):
        with pytest.raises(InputError, match=r"other: no such weights; .*known ones \(plain\)"):
            shipped.find_weights("other")


def test_the_default_weights_come_along():
    folder = shipped.find_weights("default")
    given = Weights.load(folder)
    assert len(given.names) == len(given.weights) > 50
    assert given.provenance["trained_on"]
