"""AER and its company on worked examples, degenerate corpora, resampling."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from align import __version__
from align.evaluation import metrics
from align.links import Link, parse_pharaoh, read_file, swapped


def corpus(*lines):
    return [parse_pharaoh(line) for line in lines]


def scored(hypothesis, gold, **options):
    return metrics.score(metrics.statistics(corpus(*hypothesis), corpus(*gold)), **options)


def test_counts_of_each_pair():
    gold = corpus("0-0 1-1 2p2", "", "0p0")
    found = metrics.statistics(corpus("0-0 2-2 3-3", "0-0", ""), gold)
    # |A|, |S|, |A & S|, |A & P|, |P|
    assert found.tolist() == [[3, 2, 1, 2, 3], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]
    assert found.dtype == np.int64


def test_numbers_of_pairs_must_agree():
    with pytest.raises(ValueError, match="1 pairs in the hypothesis but 2 in the gold"):
        metrics.statistics([[]], [[], []])


def test_a_worked_example():
    """|A| = 4, |S| = 3, |A & S| = 2, |A & P| = 3."""
    score = scored(["0-0 1-1", "1-1 2-2"], ["0-0 1-1", "0-0 1p1"])
    assert score.precision == pytest.approx(3 / 4, abs=1e-12)
    assert score.recall == pytest.approx(2 / 3, abs=1e-12)
    assert score.aer == pytest.approx(1 - 5 / 7, abs=1e-12)
    assert score.f1 == pytest.approx(2 * (3 / 4) * (2 / 3) / (3 / 4 + 2 / 3), abs=1e-12)
    assert score.line() == "AER 0.2857 P 0.7500 R 0.6667 F1 0.7059 pairs 2 links 4 sure 3 possible 4"


def test_the_line_has_its_promised_form():
    counts = np.array([[2905, 3089, 2819, 2819, 14089]])
    line = metrics.score(np.concatenate([counts, np.zeros((346, 5), np.int64)])).line()
    assert line == "AER 0.0594 P 0.9704 R 0.9126 F1 0.9406 pairs 347 links 2905 sure 3089 possible 14089"


def test_no_pairs_at_all():
    counts = metrics.statistics([], [])
    assert counts.shape == (0, 5)
    assert metrics.score(counts).line() == "AER n/a P n/a R n/a F1 n/a pairs 0 links 0 sure 0 possible 0"
    assert metrics.bootstrap(counts).aer is None
    assert metrics.macro(counts).precision is None


def test_a_degenerate_pair_does_not_spoil_the_corpus():
    with_it, without = scored(["", "0-0"], ["3p4", "0-0 1-1"]), scored(["0-0"], ["0-0 1-1"])
    assert (with_it.aer, with_it.precision, with_it.recall) == (
        without.aer,
        without.precision,
        without.recall,
    )


links = st.lists(st.builds(Link, st.integers(0, 4), st.integers(0, 4), st.booleans()), max_size=8)
pairs = st.lists(st.tuples(links, links), max_size=6)


@given(pairs)
def test_figures_are_in_range_and_follow_their_definitions(both):
    counts = metrics.statistics([guess for guess, _ in both], [gold for _, gold in both])
    score = metrics.score(counts)
    possible = {(i, *link[:2]) for i, (_, gold) in enumerate(both) for link in gold}
    sure = {(i, *link[:2]) for i, (_, gold) in enumerate(both) for link in gold if link.sure}
    guess = {(i, *link[:2]) for i, (guessed, _) in enumerate(both) for link in guessed}
    if guess or sure:
        hits = len(guess & sure) + len(guess & possible)
        assert score.aer == pytest.approx(1 - hits / (len(guess) + len(sure)), abs=1e-12)
    else:
        assert score.aer is None
    assert (score.precision is None) == (not guess)
    assert (score.recall is None) == (not sure)
    for value in (score.aer, score.precision, score.recall, score.f1):
        assert value is None or 0 <= value <= 1
    assert (score.links, score.sure, score.possible) == (len(guess), len(sure), len(possible))


def random_counts(seed, pairs=80):
    generator = np.random.default_rng(seed)
    sure = generator.integers(1, 20, pairs)
    possible = sure + generator.integers(0, 10, pairs)
    matched = generator.binomial(sure, 0.8)
    return np.stack([matched + generator.integers(1, 4, pairs), sure, matched, matched + 1, possible], axis=1)


def test_intervals_hold_the_figure_and_come_again_with_the_seed():
    counts = random_counts(1)
    intervals, score = metrics.bootstrap(counts, samples=400, seed=3), metrics.score(counts)
    for name in metrics.FIGURES:
        low, high = getattr(intervals, name)
        assert 0 <= low < getattr(score, name) < high <= 1
    assert metrics.bootstrap(counts, samples=400, seed=3) == intervals
    assert metrics.bootstrap(counts, samples=400, seed=4) != intervals
    assert metrics.bootstrap(counts, samples=200, seed=3) != intervals


def test_intervals_do_not_depend_on_the_size_of_blocks(monkeypatch):
    counts = random_counts(2)
    before = metrics.bootstrap(counts, samples=50)
    monkeypatch.setattr(metrics, "_BLOCK", 200)
    assert metrics.bootstrap(counts, samples=50) == before


def test_intervals_have_the_width_of_a_normal_mean():
    """With one possible outcome or the other a pair, the interval is that of a proportion."""
    hit, miss = [1, 1, 1, 1, 1], [1, 1, 0, 0, 1]
    counts = np.array([hit] * 300 + [miss] * 100)
    low, high = metrics.bootstrap(counts, samples=4000).aer
    half = 1.96 * math.sqrt(0.25 * 0.75 / 400)
    assert low == pytest.approx(0.25 - half, abs=0.006)
    assert high == pytest.approx(0.25 + half, abs=0.006)


def test_two_hypotheses_are_compared_pair_by_pair():
    first = random_counts(5)
    worse = first.copy()
    worse[:, 0] += 1
    result = metrics.paired_bootstrap(worse, first, samples=300)
    expected = metrics.score(worse).aer - metrics.score(first).aer
    assert result.difference == pytest.approx(expected, abs=1e-12)
    assert 0 < result.interval[0] < expected < result.interval[1]
    assert result.p_value == pytest.approx(2 / 301)
    same = metrics.paired_bootstrap(first, first, samples=300)
    assert (same.difference, same.interval, same.p_value) == (0.0, (0.0, 0.0), 1.0)
    recall = metrics.paired_bootstrap(worse, first, figure="recall", samples=300)
    assert (recall.difference, recall.p_value) == (0.0, 1.0)
    empty = metrics.paired_bootstrap(np.zeros((3, 5), int), np.zeros((3, 5), int))
    assert (empty.difference, empty.interval, empty.p_value) == (None, None, None)
    with pytest.raises(ValueError, match="80 pairs against 79: not the same corpus"):
        metrics.paired_bootstrap(first, first[:-1])


def test_the_checksum_is_of_the_links_not_of_the_file():
    gold = corpus("0-0 1p1", "")
    assert metrics.checksum(gold) == metrics.checksum(corpus("1p1  0-0:0.5 0-0", ""))
    assert metrics.checksum(gold) != metrics.checksum(corpus("0-0 1-1", ""))
    assert metrics.checksum(gold) != metrics.checksum(corpus("0-0 1p1"))
    assert len(metrics.checksum([])) == 12


def test_the_signature_tells_what_a_figure_rests_on():
    gold = corpus("0-0 1p1")
    score = metrics.score(metrics.statistics(corpus("0-0"), gold))
    signature = metrics.signature(score, gold, gold_base=1)
    assert metrics.signature_text(signature) == (
        f"gold:{metrics.checksum(gold)}|pairs:1|links:1|sure:1|possible:2|gold_base:1|version:{__version__}"
    )
    assert json.loads(json.dumps(score.as_dict()))["aer"] == 0.0


@pytest.mark.parametrize(
    ("name", "aer"),
    [
        ("giza.grow-diagonal.talp", "5.94"),
        ("giza.intersection.talp", "7.56"),
        ("giza.forward.talp", "7.99"),
        ("giza.reverse.talp", "9.75"),
        ("awesome-align.out", "4.07"),
        ("fastalign.intersection.talp", "11.17"),
    ],
)
def test_published_figures(real_data, name, aer):
    gold = [pair.links for pair in read_file(real_data("gold/native/enfr.gold.one-based"), base=1)]
    guess = [pair.links for pair in read_file(real_data(f"gold/native/enfr.{name}"))]
    if "reverse" in name:
        guess = [swapped(pair) for pair in guess]
    assert f"{100 * metrics.score(metrics.statistics(guess, gold)).aer:.2f}" == aer
