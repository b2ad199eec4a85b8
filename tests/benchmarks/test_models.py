"""What is learnt from gold pairs, and what is found without learning."""

from pathlib import Path

import numpy as np
import pytest

from align.core.errors import InputError
from align.core.ragged import edge_offsets
from align.data.corpus import Corpus, Sentences
from align.features import Edges
from align.links import Link
from align.problems.labels import Labels
from align.statistics.posteriors import SCALE
from benchmarks import ablation, accuracy, hansards, prior, transfer
from benchmarks.gold import links_file, sampled_links, text_file
from benchmarks.models import Training
from benchmarks.process import Usage
from tests.align import toy

OPTIONS = {"solver": "bcfw", "cost_fn": 3.0, "cost_fp": 1.0, "lam": 0.01, "passes": 50, "seed": 0, "pairs": 9}


def training(value):
    """Return two pairs of 2 x 2 words whose links on the diagonal have the feature, and one without links."""
    shapes = np.full((3, 2), 2, dtype=np.int32)
    features = np.tile(np.array([[value], [0], [0], [value]], dtype=np.float32), (3, 1))
    edges = Edges(shapes, edge_offsets(shapes), features, ("x",))
    links = [Link(0, 0), Link(1, 1)]
    return Training(
        edges,
        Labels.from_lists([links, links, []]),
        np.array([4, 5, 6]),
        OPTIONS,
        ("spelling",),
        (),
        (("a", "b"),) * 3,
        (np.zeros(6, dtype=np.int64),) * 2,
    )


def test_weights_are_learnt_with_the_options_of_the_stage():
    assert training(1.0).weights()[0] > 0
    assert training(-1.0).weights()[0] < 0
    joined = Training.join([training(1.0), training(1.0)])
    assert len(joined.edges) == 6
    assert joined.weights()[0] > 0


def test_only_the_chosen_pairs_are_learnt_from():
    mixed = Training.join([training(1.0), training(-1.0)])
    assert mixed.weights(np.array([0, 1, 2]))[0] > 0
    assert mixed.weights(np.array([3, 4, 5]))[0] < 0


def test_the_sampler_alone_links_what_both_directions_find_likely():
    corpus = Corpus(
        Sentences.from_lists([[0], [0, 1]]), Sentences.from_lists([[0], [0, 1, 2]], [[0], [0, 0, 1]])
    )
    shapes = np.array([[1, 1], [2, 3]])
    forward = np.array([0.9, 0.9, 0.1, 0.2, 0.1, 0.2, 0.9]) * SCALE
    reverse = np.array([0.2, 0.4, 0.9, 0.2, 0.9, 0.1, 0.8]) * SCALE
    found = toy.posteriors_of(shapes, forward.astype(np.uint16), reverse.astype(np.uint16))
    # 0.18, and 0.36, 0.09, 0.04 / 0.09, 0.02, 0.72: over a quarter are two.
    assert sampled_links(found, corpus) == [[], [Link(0, 0), Link(1, 1)]]


def test_files_are_found_by_their_prefix(tmp_path):
    for name in ("a.b.en.xz", "a.b.fr", "a.b.align"):
        (tmp_path / name).write_text("x")
    assert text_file(tmp_path / "a.b", "en").name == "a.b.en.xz"
    assert text_file(tmp_path / "a.b", "fr").name == "a.b.fr"
    assert links_file(tmp_path / "a.b").name == "a.b.align"
    with pytest.raises(InputError, match=r"a\.b\.de: no such file"):
        text_file(tmp_path / "a.b", "de")
    with pytest.raises(InputError, match=r"a\.align: no such file"):
        links_file(tmp_path / "a")


def test_sizes_are_whole_numbers():
    assert accuracy.sizes_of("2000, 5") == [2000, 5]
    for wrong in ("", "0", "2k", "1,,2", "-3"):
        with pytest.raises(InputError, match="--sizes"):
            accuracy.sizes_of(wrong)


def test_known_weights_take_the_place_of_the_shipped_ones(tmp_path):
    names = [each.name for each in accuracy.CONFIGURATIONS]
    assert [each.name for each in accuracy.configurations(None)] == names
    found = {each.name: each.options["train"] for each in accuracy.configurations(tmp_path)}
    assert list(found) == [*names, "shipped-weights"]
    assert found["gold-100"] == {"labels": "gold", "weights": str(tmp_path)}
    assert found["no-gold"] == {"labels": "none", "weights": str(tmp_path)}
    assert found["self-trained"]["weights"] == "none"  # nothing else is learnt from
    assert found["shipped-weights"] == {"labels": "none"}


def test_the_cost_is_that_of_the_stages_that_align():
    seconds = {"embed": 90.0, "lexicon": 3.0, "train": 1.0, "align": 2.0}
    stages = {name: Usage(value) for name, value in seconds.items()}
    peer = accuracy.Row("eflomal", Path("links.txt"), usage=Usage(12.0))
    own = accuracy.Row("Liaison", Path("links.txt"), stages=stages)
    (line,) = accuracy.cost_lines([own, peer], peer)
    assert list(line.values()) == ["Liaison", "6.0", "12.0", "0.50"]


def test_options_are_added_to_sections():
    merged = hansards.merged({"gold": {"base": 0}}, {"gold": {"train": 5}, "train": {"labels": "gold"}})
    assert merged == {"gold": {"base": 0, "train": 5}, "train": {"labels": "gold"}}


def test_every_group_is_left_out_once_and_alone_once():
    rows = ablation.rows()
    groups = set(ablation.DEFAULT_GROUPS)
    for group in groups:
        (left,) = rows[f"without {group}"]
        assert set(left.removeprefix("featurize.groups=").split(",")) == groups - {group}
        assert rows[f"only {group}"] == [f"featurize.groups={group}"]
    assert rows[ablation.ALL] == []


def test_a_language_is_not_taught_by_itself(tmp_path):
    swedish, other, french = (transfer.parse(text, tmp_path) for text in ("a:en-sv", "b:sv-en", "c:en-fr"))
    assert not transfer.foreign(swedish, other)
    assert transfer.foreign(french, swedish)
    assert french.prefix == tmp_path / "c"
    assert french.size == 0
    for wrong in ("a", "a:en", ":en-sv", "a:en-"):
        with pytest.raises(InputError, match="not PREFIX:SOURCE-TARGET"):
            transfer.parse(wrong, tmp_path)
    with pytest.raises(InputError, match="held out with a bitext"):
        transfer.parse("a:en-sv:b:100", tmp_path)


def test_a_prior_is_drawn_beside_the_text_alone(tmp_path):
    curves = {"without": [7.0, 7.1, 6.9, 6.8], "prior": [3.7, 3.8, 3.7, 3.6]}
    assert all(len(row) == len(prior.GOLD) for row in curves.values())
    prior.plot(curves, "en-fr", tmp_path / "prior.png")
    assert (tmp_path / "prior.png").read_bytes().startswith(b"\x89PNG")
