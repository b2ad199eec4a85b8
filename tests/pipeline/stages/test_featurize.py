"""The stage ``featurize``: the features of the labelled pairs, in their order, whoever computes them."""

import shutil
from itertools import pairwise

import numpy as np
import pytest

from align.core.errors import InputError
from align.data.corpus import Corpus, Sentences
from align.features import DEFAULT_GROUPS, DEFAULT_WORD_GROUPS, GROUPS, WORD_GROUPS, PairBlock, compute
from align.features.groups import SCALE
from align.links import Link
from align.problems.labels import Labels
from pipeline.run.graph import STAGES
from pipeline.stages import featurize
from tests.align import toy
from tests.pipeline.stages import made_by_hand as stages


def sentences(seed, count=20):
    generator = np.random.default_rng(seed)
    return Sentences.from_lists(
        [generator.integers(0, len(toy.PAIRS), length) for length in generator.integers(1, 7, count)]
    )


CORPUS, GOLD = Corpus(sentences(0), sentences(1)), Corpus(sentences(2, 5), sentences(3, 5))
LABELS = Labels.from_lists([[Link(0, 0)]] * 10)


def made(folder, kind, pairs):
    model = toy.toy_model()
    inputs = {name: folder / name for name in ("preprocess", "embed", "lexicon", "label")}
    stages.write_preprocess(inputs["preprocess"], model, CORPUS, range(20), [[""] * 20] * 2)
    GOLD.save(inputs["preprocess"] / "gold")
    model.resources.lexicon.save(inputs["lexicon"])
    inputs["embed"].mkdir()
    for side in ("source", "target"):
        np.save(inputs["embed"] / f"{side}.vectors.npy", getattr(model.resources, f"{side}_vectors"))
    inputs["label"].mkdir()
    np.save(inputs["label"] / "kind.npy", np.array(kind, dtype=np.uint8))
    np.save(inputs["label"] / "pairs.npy", np.array(pairs, dtype=np.int64))
    LABELS.take(np.arange(len(kind))).save(inputs["label"])
    return inputs


def run(inputs, folder, *, jobs=1, **options):
    with stages.context_of(STAGES["featurize"], folder, inputs, jobs=jobs) as context:
        featurize.run(context, **options)
    return context


KIND, PAIRS = [0, 0, 1, 1, 0], [3, 17, 4, 0, 5]


@pytest.fixture
def inputs(tmp_path):
    return made(tmp_path, KIND, PAIRS)


def test_features_of_the_labelled_pairs_in_their_order(inputs, tmp_path):
    context = run(inputs, tmp_path / "out")
    edges = featurize.load_edges(tmp_path / "out")
    resources = featurize.load_resources(*(inputs[name] for name in ("preprocess", "embed", "lexicon")))
    for place, (kind, pair) in enumerate(zip(KIND, PAIRS, strict=True)):
        text = (CORPUS, GOLD)[kind].block(pair, pair + 1)
        expected = compute(PairBlock(text), resources, word_groups=DEFAULT_WORD_GROUPS)
        found = edges.block(place, place + 1)
        assert np.array_equal(found.features, expected.features)
        assert np.array_equal(found.likely, expected.likely)
        assert found.names == expected.names
        assert np.array_equal(found.word_features.source, expected.word_features.source)
        assert np.array_equal(found.word_features.target, expected.word_features.target)
        assert found.word_features.names == expected.word_features.names
    assert context.notes == {
        "pairs": 5,
        "hidden": 5,
        "edges": len(edges.features),
        "features": len(edges.names),
        "groups": list(DEFAULT_GROUPS),
        "extra": list(DEFAULT_WORD_GROUPS),
    }


def test_each_pair_once_more_with_words_that_are_not_known(inputs, tmp_path):
    run(inputs, tmp_path / "once", hidden=False)
    run(inputs, tmp_path / "twice")
    once, twice = (featurize.load_edges(tmp_path / name) for name in ("once", "twice"))
    assert len(once) == len(Labels.load(tmp_path / "once")) == 5
    assert len(twice) == len(Labels.load(tmp_path / "twice")) == 10
    assert np.array_equal(twice.shapes[5:], once.shapes)
    assert np.array_equal(twice.block(0, 5).features, once.features)
    again = twice.block(5, 10).features
    for side in ("source", "target"):
        column = once.names.index(f"{side}_unknown")
        assert again[:, column].sum() > once.features[:, column].sum()


def test_what_was_sampled_of_them(inputs, tmp_path, monkeypatch):
    monkeypatch.setattr(featurize, "_PAIRS_A_BLOCK", 2)
    stored = []
    for name, text in (("corpus", CORPUS), ("gold", GOLD)):
        shapes = text.shapes()
        both = np.random.default_rng(len(text)).integers(0, 65536, (2, shapes.prod(axis=1).sum()))
        stored.append(toy.posteriors_of(shapes, *both.astype(np.uint16)))
        stored[-1].save(inputs["lexicon"] / "posteriors" / name)
    run(inputs, tmp_path / "out")
    edges = featurize.load_edges(tmp_path / "out")
    column = edges.names.index("forward_sampled")
    for place, (kind, pair) in enumerate(zip(KIND, PAIRS, strict=True)):
        found = edges.block(place, place + 1)
        forward, _ = stored[kind].block(pair, pair + 1).dense(found.shapes)
        np.testing.assert_allclose(found.features[:, column], forward * SCALE, atol=1e-6)
        assert found.likely.shape == forward.shape


def test_a_worker_that_does_not_see_what_was_sampled_says_so(inputs, tmp_path, monkeypatch):
    """It must not compute other features because a folder that the run knows is not there for it."""
    for name in ("corpus", "gold"):
        (inputs["lexicon"] / "posteriors" / name).mkdir(parents=True)
    filled = []
    monkeypatch.setattr(featurize, "fill", filled.append)
    run(inputs, tmp_path / "out")
    shutil.rmtree(inputs["lexicon"] / "posteriors")
    monkeypatch.undo()
    assert all(task.inputs.sampled for task in filled)
    with pytest.raises(InputError, match="missing"):
        featurize.fill(filled[0])


def test_the_same_bytes_however_the_work_is_shared(inputs, tmp_path, monkeypatch):
    run(inputs, tmp_path / "whole")
    monkeypatch.setattr(featurize, "_PAIRS_A_BLOCK", 2)
    run(inputs, tmp_path / "serial")
    run(inputs, tmp_path / "shared", jobs=2)
    names = [f"edges/{name}" for name in ("features.npy", "likely.npy", "shapes.npy", "names.json")]
    names += [f"labels.{name}.npy" for name in ("source", "target")]
    expected, *others = (
        [(tmp_path / d / name).read_bytes() for name in names] for d in ("whole", "serial", "shared")
    )
    assert others == [expected, expected]


def test_chosen_groups(inputs, tmp_path):
    run(inputs, tmp_path / "out", groups="position,product")
    names = featurize.load_edges(tmp_path / "out").names
    assert names[:2] == ("bias", "product_0")
    assert len(names) == 1 + toy.DIMENSIONS + 7


def test_an_unknown_group(inputs, tmp_path):
    with pytest.raises(InputError, match=f"'cosinus' is no feature group; valid: {', '.join(GROUPS)}"):
        run(inputs, tmp_path / "out", groups="cosinus")


def test_what_is_made_again_in_the_same_folders_is_read_again(inputs, tmp_path):
    """As by a worker of a cluster that serves one run after the other."""
    features = []
    for pairs, finished in ((PAIRS, "12:00"), (PAIRS[::-1], "12:05")):
        np.save(inputs["label"] / "pairs.npy", np.array(pairs, dtype=np.int64))
        np.save(inputs["label"] / "kind.npy", np.zeros(len(pairs), dtype=np.uint8))
        (inputs["label"] / "manifest.json").write_text(finished, encoding="utf-8")
        folder = tmp_path / finished.replace(":", "")
        run(inputs, folder, hidden=False)
        edges = featurize.load_edges(folder)
        features.append([edges.features[start:stop] for start, stop in pairwise(edges.offsets)])
    for one, other in zip(features[0], features[1][::-1], strict=True):
        np.testing.assert_array_equal(one, other)


def test_no_labelled_pairs(tmp_path):
    run(made(tmp_path, [], []), tmp_path / "out")
    edges = featurize.load_edges(tmp_path / "out")
    assert (len(edges), edges.features.shape[0]) == (0, 0)


def test_gold_alone(tmp_path):
    run(made(tmp_path, [1, 1], [2, 1]), tmp_path / "out")
    assert featurize.load_edges(tmp_path / "out").shapes.tolist() == [
        [GOLD.source.lengths()[pair], GOLD.target.lengths()[pair]] for pair in (2, 1, 2, 1)
    ]


def test_the_table_of_groups_is_shown():
    text = STAGES["featurize"].describe()
    for name, group in GROUPS.items():
        assert f"{name} " in text
        assert group.meaning in text
    assert "(off by default) the two word vectors side by side" in text


def test_groups_of_words_are_switched(inputs, tmp_path):
    run(inputs, tmp_path / "out", extra="identity,always")
    names = featurize.load_edges(tmp_path / "out").word_features.names
    assert names[0] == "extra.source.always"
    assert names[1].startswith("extra.source.other.")
    assert len(names) == 2 * (1 + len(toy.PAIRS))
    with pytest.raises(InputError, match=r"featurize\.extra: 'often' is no feature group; valid: always, "):
        run(inputs, tmp_path / "other", extra="often")
    for name in WORD_GROUPS:
        assert name in featurize.describe()
