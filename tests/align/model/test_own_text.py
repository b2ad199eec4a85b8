"""Weights without a model: statistics of the text that is aligned."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from align.core.errors import InputError
from align.evaluation import metrics
from align.links import Link, read
from align.model import own_text
from align.model.aligner import Aligner
from align.model.own_text import NoModelWarning
from align.statistics.mapper import Threads
from tests.runs import ROOT

LATE = ("The train is late.", "Le train est en retard.")


@pytest.fixture(scope="module")
def aligner():
    with pytest.warns(NoModelWarning, match="default: there is no model here but weights"):
        return Aligner.load("default", tokenizer="spaces", languages=("en", "fr"))


@pytest.fixture(scope="module")
def sample():
    """The sample's gold pairs, 200, with their links."""
    folder = ROOT / "data" / "sample"
    texts = ((folder / f"gold.{side}").read_text(encoding="utf-8").split("\n")[:-1] for side in ("en", "fr"))
    with open(folder / "gold.align", "rb") as file:
        gold = [pair.links for pair in read(file, format="pharaoh", base=0)]
    return list(zip(*texts, strict=True)), gold


def error_rate(found, gold):
    return metrics.score(metrics.statistics([[Link(*link) for link in pair] for pair in found], gold)).aer


def test_one_pair(aligner):
    links = aligner.align(*LATE)
    assert {(0, 0), (1, 1)} <= set(links)
    assert [(link["source"], link["target"]) for link in aligner.explain(*LATE)["links"]] == links
    for link in aligner.explain(*LATE)["links"]:
        assert sum(link["contributions"].values()) == pytest.approx(link["score"], abs=1e-6)
    assert len(aligner.scores(*LATE)) == len(links)
    assert aligner.align("", "") == []
    assert aligner.align_many([]) == []


def test_a_table_of_pandas(aligner):
    frame = pd.DataFrame({"en": [LATE[0], None, "a b"], "fr": [LATE[1], "x", "a b"]}, index=[7, 5, 3])
    found = aligner.align_frame(frame, source="en", target="fr")
    assert list(found.columns) == ["en", "fr", "links", "confidences", "score"]
    assert list(found.index) == [7, 5, 3]
    assert found["links"].tolist() == aligner.align_many([LATE, ("", "x"), ("a b", "a b")])
    assert [len(each) for each in found["confidences"]] == [len(each) for each in found["links"]]
    assert found["score"].between(0, 1).all()
    assert list(frame.columns) == ["en", "fr"]
    with pytest.raises(InputError, match=r"no column 'source' \(there are: en, fr\); name it with source="):
        aligner.align_frame(frame)
    with pytest.raises(TypeError, match="pair 0: source: 1"):
        aligner.align_frame(pd.DataFrame({"source": [1], "target": ["x"]}))
    assert aligner.align_frame(frame[:0], source="en", target="fr")["links"].tolist() == []


def test_many_pairs_are_better_together(aligner, sample):
    pairs, gold = sample
    together = error_rate(aligner.align_many(pairs), gold)
    alone = error_rate([aligner.align(*pair) for pair in pairs[:40]], gold[:40])
    assert together < 0.1 < alone
    # Statistics are worth having from the first pair on: without them the links are spelling and place.
    bare = [aligner._looked_up([aligner.tokens(*pair)], None)[0] for pair in pairs[:40]]
    assert alone < error_rate([aligner.align_block(block).pairs(0) for block in bare], gold[:40]) - 0.1


def test_the_same_for_any_number_of_threads(aligner, sample, monkeypatch):
    pairs = [aligner.tokens(*pair) for pair in sample[0][:30]]
    found = []
    for jobs in (1, 3):
        monkeypatch.setattr(own_text, "Threads", lambda _, jobs=jobs: Threads(jobs))
        text = own_text.learn(pairs)
        found.append([*vars(text.posteriors).values(), *vars(text.resources.lexicon).values()])
    assert all(np.array_equal(*both) for both in zip(*found, strict=True))


def test_a_text_in_runs_is_the_text_at_once(aligner, sample):
    pairs = [aligner.tokens(*pair) for pair in sample[0][:30]]
    # One that is cut into parts, an empty one, and words that no file of words could hold.
    pairs[3] = aligner.tokens(["word", "."] * 300, ["mot", "."] * 300)
    pairs[5] = aligner.tokens([], [])
    pairs[7] = aligner.tokens(["a\nb", "", "\ud800"], ["a\nb", "", "x"])
    whole = aligner.align_tokens(pairs)
    own = aligner.of_text(iter(pairs))
    runs = [
        own.align_tokens(pairs[start:stop], place=start).pairs(number)
        for start, stop in pairwise([0, 4, 11, 30])
        for number in range(stop - start)
    ]
    assert [whole.pairs(number) for number in range(30)] == runs
    assert runs[5] == []
    assert runs[3][-1][0] > 500


def test_languages(aligner):
    assert aligner.model.languages == ("en", "fr")
    assert repr(aligner) == "<Aligner en-fr, without a model>"
    with pytest.warns(NoModelWarning):
        assert Aligner.load("default").model.languages == ("und", "und")
    with pytest.raises(TypeError, match=r"languages: 'en-fr' is one text; give two codes, such as \("):
        Aligner.load("default", languages="en-fr")


def test_a_model_of_other_languages(tmp_path):
    from tests.align import toy

    toy.toy_model().save(tmp_path / "toy")
    loaded = Aligner.load(tmp_path / "toy", languages=("EN", "fr"))
    assert (loaded.model.languages, repr(loaded)) == (("en", "fr"), "<Aligner en-fr>")
    with pytest.raises(InputError, match="a model of en-fr, not de-en; give another model"):
        Aligner.load(tmp_path / "toy", languages=("de", "en"))


def test_pickled(aligner):
    again = pickle.loads(pickle.dumps(aligner))
    assert again.untrained
    assert again.model.languages == ("en", "fr")
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(aligner.of_text([aligner.tokens(*LATE)]))


@pytest.mark.real_data
def test_447_pairs_of_hansards_alone(aligner, real_data):
    """The error rate is 9.2 %."""
    sides = (
        real_data(f"gold/hansards-test.{side}").read_text(encoding="utf-8").split("\n")[:-1]
        for side in ("en", "fr")
    )
    with open(real_data("gold/hansards-test.align"), "rb") as file:
        gold = [pair.links for pair in read(file, format="pharaoh", base=0)]
    pairs = list(zip(*sides, strict=True))
    assert error_rate(aligner.align_many(pairs), gold) < 0.10
