"""Links and their reasons are chosen among the same edges: those that something speaks for.

The bound is set so high that many links of the model fall to it: whoever counted all edges would find others.
"""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from align.features import compute, likely_edges
from align.features.block import Block
from align.matching.decoding import decode, places, score
from align.model.aligner import Aligner
from align.model.own_text import NoModelWarning
from align.model.pairs import look_up
from align.report.why import whys
from tests.align import toy

MODELS = Path(__file__).resolve().parents[3] / "models"
SAMPLE = MODELS.parent / "data" / "sample"
HIGH = np.float32(0.98)

ODD = [
    ("zorgblatt the zorgblatt", "le zorgblatt et zorgblatt"),
    ("qwxz 17 vbnm", "vbnm 17 qwxz fghj"),
    ("", "rien du tout"),
    ("nothing at all", ""),
    ("", ""),
    ("of the committee of the house", "du comité de la Chambre"),
    (" ".join(["the house"] * 110) + " .", " ".join(["la Chambre"] * 110) + " ."),
]


def sample(count):
    sides = ((SAMPLE / f"sample.{code}").read_text(encoding="utf-8").split("\n") for code in ("en", "fr"))
    return list(zip(*(side[:count] for side in sides), strict=True))


@pytest.fixture(scope="module")
def aligner():
    return Aligner.load(MODELS / "en-fr")


@pytest.fixture
def high(monkeypatch):
    monkeypatch.setattr("align.features.groups.LIKELY", HIGH)


def cells(explained):
    return [(link["source"], link["target"]) for link in explained["links"]]


@pytest.mark.parametrize("bias", [0.0, -0.7, 0.7])
def test_the_links_explained_are_those_made(aligner, high, monkeypatch, bias):
    pairs = ODD + sample(150)
    links = aligner.align_many(pairs, bias=bias)
    for pair, found in zip(pairs, links, strict=True):
        explained = aligner.explain(*pair, bias=bias)
        assert cells(explained) == found
        for link in explained["links"]:
            assert sum(link["contributions"].values()) == pytest.approx(link["score"], abs=1e-9)
    monkeypatch.setattr("align.features.groups.LIKELY", np.float32(-1.0))  # all edges are likely
    free = aligner.align_many(pairs, bias=bias)
    # With a positive bias all edges are, whatever the bound.
    assert (sum(a != b for a, b in zip(links, free, strict=True)) > 30) == (bias <= 0)


def test_so_are_those_that_rivals_are_held_against(aligner, high):
    pairs = [pair for pair in ODD + sample(40) if max(len(side.split()) for side in pair) < 25]
    assert len(pairs) > 20
    hopeless = 0
    for pair, links in zip(pairs, aligner.align_many(pairs), strict=True):
        tokens = [side.surface for side in aligner.tokens(*pair)]
        every = list(product(*(range(len(side)) for side in tokens)))
        asked = sorted({*links, *every[:: max(len(every) // 8, 1)]})
        for cell, found in zip(asked, whys(aligner, *pair, asked), strict=True):
            assert found["linked"] == (cell in links)
            if "score" not in found:
                assert "is left out when the model cuts text to words" in found["sentences"][0]
                continue
            told = not found["linked"] and found["needed"].startswith("In this pair the link has a ")
            hopeless += told
            if "rival" in found:
                assert found["rival"]["difference"] >= 0
                assert set(map(tuple, found["rival"]["links"]["best"])) <= set(links)
            else:
                assert told
    assert hopeless > 20


def test_only_the_bound_keeps_a_link_away(aligner, monkeypatch):
    """Then no rival is held against it."""
    pair = "the house", "la Chambre"
    free = aligner.explain(*pair)
    assert cells(free) == aligner.align(*pair) == [(0, 0), (1, 1)]
    monkeypatch.setattr("align.features.groups.LIKELY", np.float32(1.0))
    assert aligner.align(*pair) == cells(aligner.explain(*pair)) == []
    (found,) = whys(aligner, *pair, [(1, 1)])
    assert (found["linked"], "rival" in found) == (False, False)
    assert found["score"] == pytest.approx(free["links"][1]["score"], abs=1e-6)
    assert found["sentences"][0].startswith("'house' and 'Chambre' are not linked: by itself ")
    assert found["needed"] == (
        "In this pair the link has a probability of 0.1 % at most, by what was learnt of words and their "
        "order, and the two are not spelt alike: such words are not linked, whatever the score."
    )
    # The bias of whoever wants more links than the model finds lets all edges in.
    assert aligner.align(*pair, bias=0.1) == cells(aligner.explain(*pair, bias=0.1)) == [(0, 0), (1, 1)]


def test_a_text_of_its_own(high):
    """What was sampled of a pair says what is likely in it."""
    with pytest.warns(NoModelWarning):
        bare = Aligner.load(MODELS / "default", languages=("en", "fr"))
    pairs = sample(60)
    of_text = bare.of_text([bare.tokens(*pair) for pair in pairs])
    tokens = [of_text.tokens(*pair) for pair in pairs]
    links = of_text.align_tokens(tokens, place=0).lists()
    for place, (pair, found) in enumerate(zip(pairs, links, strict=True)):
        assert cells(of_text.explain(*pair, place=place)) == found
        asked = found[:2]
        assert all(each["linked"] for each in whys(of_text, *pair, asked, place=place))


def test_pairs_that_were_sampled_and_others_in_one_block(aligner, high):
    given = aligner.model.resources
    vocabularies = given.source_vocabulary, given.target_vocabulary
    block, _ = look_up([aligner.tokens(*pair) for pair in sample(60)], vocabularies)
    shapes = block.corpus.shapes()
    chosen = np.flatnonzero(np.arange(60) % 3)
    both = np.random.default_rng(3).integers(0, 65536, (2, shapes[chosen].prod(axis=1).sum()))
    stored = toy.posteriors_of(shapes[chosen], *both.astype(np.uint16)).placed(chosen, 60)
    block = block._replace(posteriors=stored)
    model, found = aligner.model, aligner.align_block(block)
    edges = compute(block, model.resources, groups=model.groups, word_groups=model.word_groups)
    assert likely_edges(Block.of(block, model.resources), model.groups).tolist() == edges.likely.tolist()
    linked = set()
    for pair in range(60):
        scored = score(edges.block(pair, pair + 1), model.weights)
        here = decode(scored, max_fertility=model.fertility)
        _, source, target = places(scored, here.linked)
        parents = (side.block(pair, pair + 1).parents for side in (block.corpus.source, block.corpus.target))
        source, target = (of[words] for of, words in zip(parents, (source, target), strict=True))
        assert found.pairs(pair) == sorted(set(zip(source.tolist(), target.tolist(), strict=True)))
        linked |= {(pair, *link) for link in found.pairs(pair)}
    assert len(linked) > 100
    free = decode(score(replace(edges, likely=None), model.weights), max_fertility=model.fertility).linked
    assert len(free) > len(linked) + 30
