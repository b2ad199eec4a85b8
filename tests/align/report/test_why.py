"""Reasons in sentences: scores that sum, rivals against all matchings of small pairs, true numbers."""

import json
from itertools import product

import numpy as np
import pytest

from align.core.errors import InputError
from align.features import GROUPS, compute
from align.matching.decoding import score
from align.matching.fertility import total
from align.model.aligner import Aligner
from align.model.own_text import NoModelWarning
from align.model.pairs import SideText
from align.report import evidence_words, why
from align.report.evidence_words import ASPECT_OF, ASPECTS, Facts
from tests.align import toy
from tests.align.matching.test_rivals import all_matchings

PAIRS = [
    ("the red house", "le maison rouge"),
    ("the dog dog", "le chien"),
    ("dog see", "vois grand chien"),
    ("is not", "pas"),
    ("house", "zzz"),
]


def aligner_of(fertility):
    model = toy.toy_model(fertility=fertility)
    return Aligner(model, SideText(model.text["source"]), SideText(model.text["target"]))


def weights_of(aligner, source, target):
    """Return the weights and the costs of a pair without split words."""
    model = aligner.model
    block = aligner.looked_up(source, target)[2]
    scored = score(
        compute(block, model.resources, groups=model.groups, word_groups=model.word_groups), model.weights
    )
    shape = tuple(scored.shapes[0])
    costs = scored.costs or tuple(map(np.zeros, shape))
    return scored.scores.reshape(shape), costs


@pytest.mark.parametrize("fertility", [1, 2])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0])
def test_the_rival_is_the_best_of_all_matchings(pair, fertility):
    aligner = aligner_of(fertility)
    theta, costs = weights_of(aligner, *pair)
    tried = list(all_matchings(theta, costs, fertility))
    best = max(value for _, value in tried)
    links = set(aligner.align(*pair))
    for cell in product(*map(range, theta.shape)):
        found = why.why(aligner, *pair, *cell)
        assert found["linked"] == (cell in links)
        other = max(value for y, value in tried if y[cell] != found["linked"])
        rival = found["rival"]
        assert rival["difference"] == pytest.approx(best - other, abs=1e-6)
        assert sum(rival["groups"].values()) == pytest.approx(best - other, abs=1e-4)
        if not found["linked"]:
            assert f"needed {best - other:.2f} more" in found["needed"]
        # What is said to change is the difference of two matchings of these values.
        y = np.zeros(theta.shape, dtype=bool)
        for link in links:
            y[link] = True
        for name, value in (("best", True), ("other", False)):
            for link in rival["links"][name]:
                assert y[tuple(link)] == value
                y[tuple(link)] = not value
        assert total(theta, *costs, y) == pytest.approx(other, abs=1e-9)


@pytest.mark.parametrize("fertility", [1, 2])
def test_what_speaks_for_a_cell_sums_to_its_score(fertility):
    aligner = aligner_of(fertility)
    for pair in PAIRS:
        theta, _ = weights_of(aligner, *pair)
        explained = {(x["source"], x["target"]): x for x in aligner.explain(*pair)["links"]}
        for cell in product(*map(range, theta.shape)):
            found = why.why(aligner, *pair, *cell)
            wanted = explained[cell]["score"] if cell in explained else theta[cell]
            assert found["score"] == pytest.approx(wanted, abs=1e-6)
            assert sum(x["score"] for x in found["reasons"]) == pytest.approx(wanted, abs=1e-4)
            for reason in found["reasons"]:
                assert sum(reason["groups"].values()) == pytest.approx(reason["score"], abs=1e-4)
            assert json.loads(json.dumps(found)) == found


def test_the_sentences_of_a_link_and_its_rival():
    aligner = aligner_of(1)
    found = why.why(aligner, "the dog dog", "le chien", 1, 1)
    assert found["linked"]
    assert found["sentences"][0] == (
        f"'dog' and 'chien' are linked: the link has a score of {found['score']:.2f}."
    )
    # The toy's Dice is 0.8, and both words occur 40 times.
    counted = "these two words occur in the same pairs most of the time: 32 times in the bitext"
    assert any(f"{counted} ('dog' occurs 40 times, 'chien' 40 times)" in each for each in found["sentences"])
    assert (found["rival"]["source"], found["rival"]["target"]) == (2, 1)
    assert found["rival"]["sentences"][0].startswith(
        "The best choice without this link has 'dog' and 'chien' instead, and is worth "
    )
    missed = why.why(aligner, "the dog dog", "le chien", 2, 1)
    assert (missed["rival"]["source"], missed["rival"]["target"]) == (1, 1)
    assert missed["rival"]["sentences"][0].startswith("'dog' and 'chien' are linked instead: ")
    assert missed["needed"].startswith("It would have needed ")


def test_a_word_with_a_link_can_have_another_at_a_cost():
    aligner = aligner_of(2)
    found = why.why(aligner, "the dog", "le chien", 1, 0)
    assert not found["linked"]
    assert "are linked already" in found["rival"]["sentences"][0]
    assert found["rival"]["links"] == {"best": [], "other": [[1, 0]]}
    assert found["rival"]["groups"]["words"] > 0
    assert "the cost of a further link" not in found["sentences"]


def test_surface_tokens_of_several_words():
    """``du`` is counted as ``de`` and ``le``: the better of the two speaks."""
    aligner = aligner_of(1)
    pair = "house of the dog", "maison du chien"
    links = set(aligner.align(*pair))
    assert {(1, 1), (2, 1)} <= links
    for cell in product(range(4), range(3)):
        assert why.why(aligner, *pair, *cell)["linked"] == (cell in links)


def test_of_weights_alone_and_of_a_text():
    with pytest.warns(NoModelWarning):
        aligner = Aligner.load("default", languages=("en", "fr"))
    pairs = [("the house", "la maison"), ("the dog", "le chien"), ("a house", "une maison")] * 4
    of_text = aligner.of_text([aligner.tokens(*pair) for pair in pairs])
    found = why.why(of_text, *pairs[2], 1, 1, place=2)
    assert any("when this text was aligned again and again" in each for each in found["sentences"])
    assert any("'house' occurs 8 times, 'maison' 8 times" in each for each in found["sentences"])
    alone = why.why(aligner, *pairs[2], 1, 1)
    assert any("'house' occurs once, 'maison' once" in each for each in alone["sentences"])


def test_parts_of_a_very_long_pair_and_tokens_that_are_not_there():
    aligner = aligner_of(1)
    long = ["the", "house", "is", "red", "."] * 100, ["le", "maison", "est", "rouge", "."] * 100
    found = why.why(aligner, *long, 0, 499)
    assert not found["linked"]
    assert found["sentences"][0].startswith("'the' and '.' are in different parts: a pair as long as this")
    assert why.why(aligner, *long, 496, 496)["linked"]
    with pytest.raises(InputError, match="no source token 7, there are 2; give one counted from 0"):
        why.why(aligner, "the house", "le maison", 7, 0)
    with pytest.raises(InputError, match="no target token -1, there are 2"):
        why.why(aligner, "the house", "le maison", 0, -1)


def test_a_token_that_the_model_has_no_word_for():
    found = why.why(aligner_of(1), "the dog", "le chien a - t - il", 1, 4)
    assert found == {
        "linked": False,
        "sentences": ["'t' is left out when the model cuts text to words, so it has no links."],
    }


def test_every_group_belongs_to_an_aspect():
    assert set(ASPECT_OF) == {"bias", "words", *GROUPS}
    assert len(ASPECT_OF) == sum(len(aspect.groups) for aspect in ASPECTS.values())


def facts(**changed):
    given = dict(
        source="house", target="maison", place=(0, 0), shape=(2, 2), values={}, counts=(10, 4), together=3.0,
        expected=True, sampled=False, before=None, after=None,
    )  # fmt: skip
    return Facts(**{**given, **changed})


@pytest.mark.parametrize(
    ("aspect", "changed", "words"),
    [
        ("translation", {}, "these two words translate each other most of the time: 3 times in the bitext "
         "('house' occurs 10 times, 'maison' 4 times)"),
        ("translation", {"together": 0.6}, "translate each other often: once in"),
        ("translation", {"together": 0.1}, "these two words never translate each other in the bitext"),
        ("translation", {"counts": (900, 800)}, "translate each other seldom: 3 times"),
        ("translation", {"counts": (0, 4)}, "the bitext never has 'house'"),
        ("translation", {"together": None}, "there is no bitext to count in"),
        ("translation", {"values": {"chain": 0.004}}, "has a probability of under 1 %"),
        ("neighbours", {"before": True, "after": True}, "next to linked neighbours, before and after"),
        ("neighbours", {"before": True}, "the words before them"),
        ("neighbours", {"before": False, "after": True}, "the words after them"),
        ("neighbours", {"before": False}, "not linked with each other"),
        ("neighbours", {}, "no neighbours"),
        ("spelling", {"values": {"same_number": 1.0}}, "the two are the same number"),
        ("spelling", {"values": {"cognate": 1.0, "common_letters": 0.8}}, "spelt alike: 80 % of the letters"),
        ("spelling", {"values": {"partner_elsewhere": 0.5}}, "no letter in common; another word"),
        ("meaning", {"values": {"cosine": 0.61}}, "used alike: cosine 0.61"),
        ("meaning", {"values": {"cosine": 0.1}}, "used unlike each other: cosine 0.10"),
        ("meaning", {"values": {"vector_missing": 1.0}}, "one of the words has no vector"),
        ("meaning", {}, "dimension by dimension"),
        ("place", {}, "both stand at the same place of their sentences: word 1 of 2 and word 1 of 2"),
        ("place", {"place": (0, 5), "shape": (6, 6)}, "they stand 5 words off the same place"),
        ("readiness", {}, "as frequent as these starts from (10 times and 4 times)"),
        ("readiness", {"counts": (1, 4000)}, "far more often than the other (once and 4,000 times)"),
        ("further links", {}, "each further one costs"),
    ],
)  # fmt: skip
def test_what_is_said(aspect, changed, words):
    assert words in evidence_words.ASPECTS[aspect].said(facts(**changed))
