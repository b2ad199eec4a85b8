"""The lexical tables: what they hold, how they are kept, looked up, thinned out, and grown from others."""

from dataclasses import fields

import numpy as np
import pytest

from align.data.corpus import Corpus, Sentences
from align.statistics.cooccurrence import index
from align.statistics.lexicon import Lexicon, edge_values, estimate
from align.statistics.mapper import Threads
from tests.align import toy
from tests.align.checks import refuses_damage

N_SOURCE, N_TARGET = 9, 11


def bitext(seed, pairs=30):
    return toy.random_corpus(seed, pairs, (N_SOURCE, N_TARGET))


def lexicon_of(corpus, **options):
    return estimate(corpus, N_SOURCE, N_TARGET, **({"min_probability": 0} | options))


def table(lexicon, name):
    """One array of the lexicon as a dictionary."""
    cells = zip(lexicon.sources().tolist(), lexicon.targets.tolist(), strict=True)
    return dict(zip(cells, getattr(lexicon, name).tolist(), strict=True))


def assert_equal(left, right):
    for field in fields(Lexicon):
        one, other = getattr(left, field.name), getattr(right, field.name)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.fixture(scope="module")
def lexicon():
    return lexicon_of(bitext(1))


def test_dice_is_twice_the_shared_over_all(lexicon):
    corpus = Corpus(
        Sentences.from_lists([[0, 0, 1], [0], [1]]), Sentences.from_lists([[2, 2, 2, 0], [2], [0]])
    )
    found = estimate(corpus, 2, 3, min_probability=0)
    # 0 and 2: twice and once together, of 3 and 4 occurrences
    assert table(found, "dice") == pytest.approx({(0, 2): 6 / 7, (0, 0): 2 / 5, (1, 2): 2 / 6, (1, 0): 1})
    assert 0 < lexicon.dice.min() <= lexicon.dice.max() <= 1


def test_counts_and_types(lexicon):
    corpus = bitext(1)
    assert lexicon.source_counts.tolist() == np.bincount(corpus.source.ids, minlength=N_SOURCE).tolist()
    assert lexicon.target_counts.tolist() == np.bincount(corpus.target.ids, minlength=N_TARGET).tolist()
    for name in ("dice", "forward", "reverse", "null_forward", "null_reverse"):
        assert getattr(lexicon, name).dtype == np.float32
    assert lexicon.targets.dtype == np.int32
    assert lexicon.cells == len(lexicon.targets) == lexicon.offsets[-1]


def test_threads_and_an_index_made_before_change_nothing(lexicon):
    assert_equal(lexicon, lexicon_of(bitext(1), mapper=Threads(3)))
    assert_equal(lexicon, lexicon_of(index([bitext(1)], N_SOURCE, N_TARGET, mapper=Threads(2))))


def test_what_is_saved_is_what_is_loaded(lexicon, tmp_path):
    lexicon.save(tmp_path)
    assert_equal(lexicon, Lexicon.load(tmp_path))
    assert_equal(lexicon, Lexicon.load(tmp_path, mapped=True))


def test_large_tables_can_stay_on_disk(tmp_path):
    generator = np.random.default_rng(0)
    many = [generator.integers(0, 200, 20).tolist() for _ in range(200)]
    corpus = Corpus(Sentences.from_lists(many), Sentences.from_lists(many))
    big = estimate(corpus, 200, 200, min_probability=0)
    big.save(tmp_path)
    mapped = Lexicon.load(tmp_path, mapped=True)
    assert not mapped.forward.flags.owndata
    assert not mapped.forward.flags.writeable
    for one, other in zip(edge_values(big, corpus), edge_values(mapped, corpus), strict=True):
        np.testing.assert_array_equal(one, other)


def test_folders_that_are_no_tables_are_refused(lexicon, tmp_path):
    lexicon.save(tmp_path)
    dice, offsets = tmp_path / "dice.npy", tmp_path / "offsets.npy"
    refuses_damage(Lexicon.load, dice, lexicon.dice[:-1], r"float32 \(\d+,\), not float32 \(\d+,\); make")
    np.save(dice, lexicon.dice)
    again = "; make the tables again"
    refuses_damage(Lexicon.load, offsets, lexicon.offsets[::-1], rf"does not fit \d+ cells{again}")
    refuses_damage(Lexicon.load, offsets, b"<html>", f"no array can be read .*{again}")
    refuses_damage(Lexicon.load, offsets, None, f"missing{again}")


@pytest.mark.parametrize("cells", [0, 12])
def test_edges_are_looked_up_one_by_one(lexicon, cells, monkeypatch):
    monkeypatch.setattr("align.statistics.lexicon.CELLS_A_SEARCH", cells)  # 0: each by a search
    block = bitext(9)
    values = edge_values(lexicon, block)
    edge = 0
    for i in range(len(block)):
        one = block.block(i, i + 1)
        for s in one.source.ids.tolist():
            for t in one.target.ids.tolist():
                for name, found in zip(("dice", "forward", "reverse"), values, strict=True):
                    assert found[edge] == np.float32(table(lexicon, name).get((s, t), 0))
                edge += 1
    assert all(len(found) == edge and found.dtype == np.float32 for found in values)


def test_words_the_tables_do_not_have_are_zero(lexicon):
    block = Corpus(Sentences.from_lists([[0, 50], []]), Sentences.from_lists([[90, 0], [1]]))
    dice, forward, reverse = edge_values(lexicon, block)
    assert dice.tolist() == [0, lexicon.dice[0], 0, 0]
    assert forward[[0, 2, 3]].tolist() == reverse[[0, 2, 3]].tolist() == [0, 0, 0]


def test_pruning_keeps_what_is_likely_either_way(lexicon):
    least = 0.05
    thin = lexicon_of(bitext(1), min_probability=least)
    kept = (lexicon.forward >= least) | (lexicon.reverse >= least)
    assert 0 < thin.cells < lexicon.cells
    for name in ("dice", "forward", "reverse"):
        likely = table(lexicon, name)
        cells = [cell for cell, stays in zip(likely, kept, strict=True) if stays]
        assert table(thin, name) == {cell: likely[cell] for cell in cells}
    assert_equal(thin, lexicon_of(bitext(1), min_probability=least, mapper=Threads(3)))
    assert lexicon_of(bitext(1), min_probability=1.0).cells <= N_SOURCE + N_TARGET


def test_words_can_be_renumbered(lexicon):
    generator = np.random.default_rng(0)
    source_ids, target_ids = generator.permutation(N_SOURCE + 3)[:N_SOURCE], generator.permutation(N_TARGET)
    source_ids[2] = target_ids[4] = -1
    moved = lexicon.renumbered(source_ids, target_ids, N_SOURCE + 3, N_TARGET)
    for name in ("dice", "forward", "reverse"):
        expected = {
            (int(source_ids[s]), int(target_ids[t])): value
            for (s, t), value in table(lexicon, name).items()
            if s != 2 and t != 4
        }
        assert table(moved, name) == expected
        assert list(table(moved, name)) == sorted(expected)
    assert moved.source_counts[source_ids[0]] == lexicon.source_counts[0]
    assert moved.null_forward[target_ids[1]] == lexicon.null_forward[1]
    assert moved.source_counts.sum() == lexicon.source_counts.sum() - lexicon.source_counts[2]
    assert len(moved.null_reverse) == N_SOURCE + 3


def test_a_prior_counts_as_its_text_beside_this_one():
    first, second = bitext(1), bitext(2)
    both = lexicon_of(Corpus.join([first, second]))
    grown = lexicon_of(second, prior=lexicon_of(first))
    assert_equal(grown, lexicon_of(second, prior=lexicon_of(first), mapper=Threads(3)))
    assert table(grown, "dice") == pytest.approx(table(both, "dice"), rel=1e-5)
    assert grown.source_counts.tolist() == both.source_counts.tolist()
    assert grown.target_counts.tolist() == both.target_counts.tolist()
    sums = np.bincount(grown.sources(), grown.forward)
    assert sums == pytest.approx(1, abs=1e-5)


def test_a_light_prior_leaves_the_say_to_the_text_and_a_heavy_one_takes_it():
    first, second = lexicon_of(bitext(1, pairs=400)), bitext(2, pairs=400)
    alone = table(lexicon_of(second), "forward")
    light = table(lexicon_of(second, prior=first, prior_weight=1e-6, iterations=30, smoothing=0), "forward")
    heavy = table(lexicon_of(second, prior=first, prior_weight=1e3), "forward")
    settled = table(lexicon_of(second, iterations=30, smoothing=0), "forward")
    assert max(abs(light[cell] - settled[cell]) for cell in settled) < 0.05
    known = table(first, "forward")
    assert max(abs(heavy[cell] - known[cell]) for cell in known) < 0.01
    assert max(abs(alone[cell] - known[cell]) for cell in known if cell in alone) > 0.05


def test_a_prior_brings_word_pairs_of_its_own():
    known = estimate(
        Corpus(Sentences.from_lists([[0], [1]]), Sentences.from_lists([[0], [1]])), 3, 3, min_probability=0
    )
    text = Corpus(Sentences.from_lists([[2]]), Sentences.from_lists([[2]]))
    grown = estimate(text, 3, 3, prior=known, prior_weight=0.5)
    assert set(table(grown, "forward")) == {(0, 0), (1, 1), (2, 2)}
    assert grown.source_counts.tolist() == [1, 1, 1]


def test_an_empty_bitext_gives_empty_tables(tmp_path):
    nothing = Corpus(Sentences.from_lists([]), Sentences.from_lists([]))
    empty = estimate(nothing, 0, 0)
    empty.save(tmp_path)
    assert_equal(empty, Lexicon.load(tmp_path, mapped=True))
    assert [len(values) for values in edge_values(empty, bitext(1))] == [
        int((bitext(1).source.lengths() * bitext(1).target.lengths()).sum())
    ] * 3
