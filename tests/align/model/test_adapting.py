"""Weights learnt further from pairs linked by hand."""

from dataclasses import replace

import numpy as np
import pytest

from align import Aligner
from align.core.errors import InputError
from align.evaluation.metrics import paired_bootstrap, score, statistics
from align.learning.cross_validation import folds
from align.links import Link, parse_pharaoh
from align.model.adapting import Worth, gold_links
from align.model.folder import Model
from tests.align import toy

# An annotator who leaves full stops alone.
GOLD = [
    ("The red house.", "Le maison rouge.", "0-0 1-2 2-1"),
    ("I see the dog.", "Je vois le chien.", "0-0 1-1 2-2 3-3"),
    ("The big dog is red.", "Le grand chien est rouge.", "0-0 1-1 2-2 3-3 4-4"),
    ("I see the house.", "Je vois le maison.", "0-0 1-1 2-2 3-3"),
    ("The member is big.", "Le membre est grand.", "0-0 1-1 2-2 3-3"),
    ("The dog is not big.", "Le chien est pas grand.", "0-0 1-1 2-2 3-3 4-4"),
]
NEW = "The house is big.", "Le maison est grand."


@pytest.fixture(params=[1, 2])
def aligner(request, tmp_path):
    toy.toy_model(fertility=request.param).save(tmp_path / "toy")
    return Aligner.load(tmp_path / "toy")


def test_what_is_corrected_is_not_done_again(aligner):
    before = aligner.align(*NEW)
    assert before == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]
    gaps = []
    learnt = aligner.learn(GOLD, on_pass=lambda progress: gaps.append(progress.row.gap))
    assert learnt.align(*NEW) == before[:-1]
    assert aligner.align(*NEW) == before
    told = learnt.model.provenance
    assert told["corpus"] == "toy"
    assert told["adapted_to_pairs"] == len(GOLD)
    assert told["adapted_gap"] == gaps[-1] < gaps[0]
    assert told["held_out_aer_after"] < told["held_out_aer_before"]


def test_the_same_for_the_same_seed_and_saved(aligner, tmp_path):
    first, second = (aligner.learn(GOLD, seed=3).model for _ in range(2))
    assert np.array_equal(first.weights, second.weights)
    first.save(tmp_path / "new")
    assert np.array_equal(Model.load(tmp_path / "new").weights, first.weights)


def test_the_stronger_the_regularisation_the_nearer_to_the_old_weights(aligner):
    moved = [
        np.abs(aligner.learn(GOLD, lam=lam).model.weights - aligner.model.weights).sum() for lam in (0.01, 10)
    ]
    assert moved[1] < moved[0] / 10


def test_one_pair_leaves_nothing_out(aligner):
    told = aligner.learn(GOLD[:1]).model.provenance
    assert told["held_out_pairs"] == 0
    for name in ("aer_before", "aer_after", "aer_difference", "verdict"):
        assert told[f"held_out_{name}"] is None


def test_what_it_is_worth_is_that_of_links_by_the_other_folds(aligner):
    """The twin learns fold by fold, and counts links of texts."""
    told = aligner.learn(GOLD).model.provenance
    gold = [parse_pharaoh(links) for *_, links in GOLD]
    old = [links_of(aligner, pair) for pair in GOLD]
    new = [None] * len(GOLD)
    for fold in folds(range(len(GOLD)), 5, 0):
        others = [pair for number, pair in enumerate(GOLD) if number not in fold]
        learnt = aligner.learn(others, lam=told["adapted_lam"])
        for number in fold:
            new[number] = links_of(learnt, GOLD[number])
    found = paired_bootstrap(statistics(new, gold), statistics(old, gold))
    assert told["held_out_pairs"] == len(GOLD)
    assert told["held_out_aer_difference"] == pytest.approx([found.difference, *found.interval])
    assert told["held_out_aer_after"] == pytest.approx(score(statistics(new, gold)).aer)
    assert told["held_out_aer_before"] == pytest.approx(score(statistics(old, gold)).aer)
    assert (told["held_out_verdict"] == "better") == (found.interval[1] < 0)


def test_pairs_that_the_model_has_learnt_from_before_do_not_measure_it(aligner, tmp_path):
    first = aligner.learn(GOLD[:4])
    again = first.learn(GOLD[:4]).model.provenance
    assert (again["held_out_known"], again["held_out_pairs"]) == (4, 0)
    for name in ("aer_before", "aer_after", "aer_difference", "verdict"):
        assert again[f"held_out_{name}"] is None
    first.model.save(tmp_path / "kept")
    told = Aligner.load(tmp_path / "kept").learn(GOLD).model.provenance
    assert (told["held_out_known"], told["held_out_pairs"]) == (4, 2)
    new = [links_of(first, pair) for pair in GOLD[4:]]
    assert told["held_out_aer_before"] == pytest.approx(
        score(statistics(new, [parse_pharaoh(links) for *_, links in GOLD[4:]])).aer
    )
    # All of them are known from then on; pairs without a sure link taught nothing.
    assert len(told["adapted_keys"]) == len(GOLD)
    assert len(aligner.learn([*GOLD, (*NEW, "0p0")]).model.provenance["adapted_keys"]) == len(GOLD)
    odd = replace(first.model, provenance={"adapted_keys": {"a": [1]}})
    assert first.with_model(odd).learn(GOLD).model.provenance["held_out_known"] == 0


def links_of(aligner, pair):
    return [Link(*link) for link in aligner.align(*pair[:2])]


@pytest.mark.parametrize(
    ("pairs", "interval", "verdict"),
    [
        (6, (-0.2, -0.01), "better"),
        (5, (-0.2, -0.01), "chance"),
        (100, (-0.2, 0.0), "chance"),
        (100, (0.0, 0.2), "chance"),
        (100, (-0.1, 0.2), "chance"),
        (100, (0.01, 0.2), "worse"),
        (2, (0.01, 0.2), "chance"),
    ],
)
def test_better_is_what_chance_would_hardly_do(pairs, interval, verdict):
    assert Worth(pairs, 0.3, 0.2, (-0.1, *interval)).verdict == verdict


def test_links_as_people_give_them():
    expected = [Link(0, 0), Link(1, 2, sure=False)]
    given = ["0-0 1p2", [(1, 2, False), (0, 0)], [(np.int64(0), 0), Link(1, 2, sure=False)], expected]
    for links in given:
        assert gold_links(links, where="pair 0") == expected


@pytest.mark.parametrize(
    ("links", "told"),
    [
        ("0-0 1:2", "pair 0: '1:2' is not a link like 0-0 or 1p2"),
        ([(0.5, 1)], r"pair 0: \[\(0.5, 1\)\] are no links; give a list like"),
        ([3], r"pair 0: \[3\] are no links"),
        ("0-9", "pair 0: .*9"),
        ("", "learn: no pair has a sure link; link some words and mark them sure"),
        ("0p0", "learn: no pair has a sure link"),
    ],
)
def test_wrong_links_are_told_with_their_pair(aligner, links, told):
    with pytest.raises(InputError, match=told):
        aligner.learn([(*NEW, links)])


@pytest.mark.parametrize(
    ("gold", "told"),
    [
        ([GOLD[0], NEW], r"pair 1: \('The house is big.', .*\(tuple\) is no \(source, target, links\)"),
        (["abc"], r"pair 0: 'abc' \(str\) is no \(source, target, links\); give a list of pairs"),
        ([(None, *GOLD[0][1:])], r"pair 0: source: None \(NoneType\) is no text"),
        ("abc", "'abc' .str. is no list of pairs"),
    ],
)
def test_what_is_no_pair_with_links_is_told_with_its_place(aligner, gold, told):
    with pytest.raises(TypeError, match=told):
        aligner.learn(gold)


def test_weights_alone_learn_nothing():
    with pytest.warns(UserWarning, match="no model here but weights"):
        aligner = Aligner.load("default")
    with pytest.raises(InputError, match=r"run the pipeline on your text with these links as \[gold\]"):
        aligner.learn(GOLD)


def test_a_pair_that_must_be_split_is_named(aligner):
    text = " ".join(["the dog ."] * 200)
    with pytest.raises(InputError, match="pair 1: too long to learn from"):
        aligner.learn([GOLD[0], (text, text, "0-0"), GOLD[1]])
