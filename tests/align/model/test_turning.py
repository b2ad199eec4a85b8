"""Models turned round: tables the other way, weights of the mirrored features."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from align import Aligner
from align.core.errors import InputError
from align.features import GROUPS, WORD_GROUPS
from align.model import shipped
from align.model.turning import turned
from align.model.weights import names_of
from tests.align import toy
from tests.align.model.test_folder import with_links

PAIRS = [("the big red dog .", "le grand chien rouge ."), ("I see it", "je le vois 12"), ("12 not", "pas 12")]


@pytest.fixture
def model():
    """Return a model in which both languages differ: a word has no partner, and others two."""
    model = with_links(toy.toy_model())
    lexicon, links = model.resources.lexicon, model.resources.links
    more = replace(lexicon, targets=lexicon.targets[::-1].copy(), forward=lexicon.forward / 2)
    return replace(
        model,
        resources=replace(model.resources, lexicon=more, links=replace(links, forward=links.forward / 2)),
    )


def _cells(lexicon):
    columns = lexicon.sources(), lexicon.targets, lexicon.forward, lexicon.reverse
    return zip(*(column.tolist() for column in columns), strict=True)


class TestTurned:
    def test_tables(self, model):
        there, back = model.resources, turned(model).resources
        cells = {(s, t): (forward, reverse) for s, t, forward, reverse in _cells(there.lexicon)}
        found = {(s, t): (forward, reverse) for t, s, reverse, forward in _cells(back.lexicon)}
        assert found == cells
        assert back.source_vocabulary is there.target_vocabulary
        assert turned(model).languages == ("fr", "en")

    def test_turned_twice(self, model):
        again = turned(turned(model))
        assert again.names == model.names
        assert again.weights.tolist() == model.weights.tolist()
        for name in ("offsets", "targets", "dice", "forward", "reverse", "null_forward"):
            have, given = (getattr(each.resources.lexicon, name) for each in (again, model))
            assert np.array_equal(have, given), name
        for name in ("forward", "reverse", "forward_totals", "null_reverse", "forward_jumps"):
            have, given = (getattr(each.resources.links, name) for each in (again, model))
            assert np.array_equal(have, given), name

    def test_the_same_links(self, tmp_path):
        toy.toy_model().save(tmp_path)
        there = Aligner.load(tmp_path).align_many(PAIRS)
        back = Aligner.load(tmp_path, languages=("fr", "en"))
        assert [
            sorted((s, t) for t, s in links) for links in back.align_many([p[::-1] for p in PAIRS])
        ] == there

    def test_every_group_has_a_counterpart(self):
        model = with_links(toy.toy_model(groups=tuple(GROUPS), fertility=2))
        several = replace(
            model,
            word_groups=tuple(WORD_GROUPS),
            names=(names := names_of(model.groups, tuple(WORD_GROUPS), model.resources)),
            weights=np.arange(len(names), dtype=np.float64),
        )
        found = turned(several)
        assert sorted(found.weights.tolist()) == several.weights.tolist()
        assert turned(found).weights.tolist() == several.weights.tolist()


class TestNamed:
    @pytest.fixture(autouse=True)
    def shipped_model(self, tmp_path, monkeypatch):
        toy.toy_model().save(tmp_path / "en-xx")
        monkeypatch.setattr(shipped, "FOLDERS", (tmp_path,))

    def test_by_the_name_the_other_way(self):
        found = Aligner.load("xx-en")
        assert found.model.languages == ("fr", "en")
        assert found.align("le chien", "the dog") == [(0, 0), (1, 1)]
        assert pickle.loads(pickle.dumps(found)).model.languages == ("fr", "en")
        assert shipped.is_turned("models/xx-en")
        assert not shipped.is_turned("en-xx")

    def test_chosen_by_the_languages(self):
        assert shipped.model_of_languages(("EN", "xx")) == "en-xx"
        assert shipped.model_of_languages(("xx", "en")) == "en-xx"
        assert shipped.model_of_languages(("en", "de")) == "default"
        assert shipped.model_of_languages(None) == "default"

    def test_no_such_name(self):
        for name in ("xx-de", "xx", "-en", "some/xx-en"):
            with pytest.raises(InputError, match="no such model"):
                shipped.find_model(name)
