"""A pair's result depends on the pair and the model alone: not on its place, nor on what stands beside it."""

import random
from dataclasses import replace

import numpy as np
import pytest

from align.model.aligner import Aligner
from tests.align import toy


@pytest.fixture(scope="module")
def aligner(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    model = toy.toy_model(fertility=2)
    # Every feature has a weight: of those without one it would not be seen.
    replace(model, weights=model.weights + 0.1).save(folder)
    return Aligner.load(folder, tokenizer="spaces")


@pytest.fixture(scope="module")
def pairs():
    """Pairs of different lengths with words that the model knows, and each with some that it does not."""
    draw = random.Random(5)
    known = [(source, target) for source, target in toy.PAIRS]
    made = []
    for number in range(300):
        words = draw.choices(known, k=draw.randrange(1, 9))
        strange = [f"strange{draw.randrange(60)}" for _ in range(draw.randrange(3))]
        source = [*(word for word, _ in words), *strange, f"own{number}"]
        target = [*(word for _, word in words), *strange, f"eigen{number}"]
        draw.shuffle(target)
        made.append((" ".join(source), " ".join(target)))
    return made


def results(aligner, pairs):
    """Everything that is said of each pair, to the last bit."""
    found = aligner.align_tokens([aligner.tokens(*pair) for pair in pairs])
    said = (found.source, found.target, found.score, found.confidence)
    links = zip(*(np.split(each, found.offsets[1:-1]) for each in said), strict=True)
    scores = found.sentence_scores().tolist()
    return [(*(each.tolist() for each in one), score) for one, score in zip(links, scores, strict=True)]


def test_g13_the_order_of_pairs_changes_nothing(aligner, pairs):
    want = results(aligner, pairs)
    assert any(one[0] for one in want)
    for seed in range(3):
        order = list(range(len(pairs)))
        random.Random(seed).shuffle(order)
        found = results(aligner, [pairs[place] for place in order])
        assert found == [want[place] for place in order]


def test_g13_nor_do_the_pairs_beside_it(aligner, pairs):
    want = results(aligner, pairs)
    assert [results(aligner, [pair])[0] for pair in pairs[:60]] == want[:60]
    assert results(aligner, pairs[100:200]) == want[100:200]
    assert aligner.align_many(pairs) == [aligner.align(*pair) for pair in pairs]


def test_g13_scores_and_reasons_of_one_pair_are_those_of_many(aligner, pairs):
    for pair, (*_, confidence, _) in zip(pairs[:20], results(aligner, pairs), strict=False):
        assert aligner.scores(*pair) == confidence
        reasons = aligner.explain(*pair)["links"]
        assert [link["confidence"] for link in reasons] == pytest.approx(confidence, abs=1e-12)
