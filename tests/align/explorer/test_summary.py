"""The summary of a run against a plain recount of the same pairs."""

import json
import tracemalloc
from collections import Counter

import numpy as np
import pytest

from align.core.errors import InputError
from align.evaluation import metrics
from align.explorer import comparison
from align.explorer import summary as module
from align.explorer.store import Store
from align.explorer.summary import BARS, BINS, flat_links, gap_curve_of, summary
from align.links import Link
from align.text.normalise import lookup_key
from tests.align.explorer import desk as desks


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    made = desks.made(tmp_path_factory.mktemp("desk") / "desk.sqlite")
    yield made
    made.store.close()


def summed(desk, run, **options):
    with desk.store.reading() as connection:
        return summary(connection, run, **options)


def judged(desk, run):
    return [pair for pair in desk.runs[run] if desk.truth(pair) is not None]


def counts_of(desk, run):
    """Return the statistics that ``score`` makes of the same links."""
    guessed, known = [], []
    for pair in judged(desk, run):
        sure, possible = desk.truth(pair)
        guessed.append([Link(s, t) for s, t in desk.cells(run, pair)])
        known.append([Link(s, t, (s, t) in sure) for s, t in possible])
    return metrics.statistics(guessed, known)


@pytest.mark.parametrize("run", [0, 1])
@pytest.mark.parametrize("block", [3, 2000])
def test_figures_are_those_of_score(desk, run, block, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", block)
    found = summed(desk, run, samples=300, seed=4)
    counts = counts_of(desk, run)
    score, ends = metrics.score(counts), metrics.bootstrap(counts, samples=300, seed=4)
    assert found["judged"] == score.pairs
    assert (found["links"], found["sure"], found["possible"]) == (score.links, score.sure, score.possible)
    assert found["wrong_links"] == score.links - score.possible_matched
    assert found["missed_links"] == score.sure - score.sure_matched
    for name in metrics.FIGURES:
        assert found[name] == [getattr(score, name), *getattr(ends, name)]
    assert found["pairs"] == 60
    assert found["linked"] == len(desk.runs[run])
    assert found["unlinked"] == sum(not links for links in desk.runs[run].values())


@pytest.mark.parametrize("run", [0, 1])
def test_pairs_that_are_not_marked_done_are_counted(desk, run):
    said = desk.annotations[desk.store.annotator]
    begun = sum(not said[pair][1] for pair in judged(desk, run) if pair in said)
    assert begun > 0
    assert summed(desk, run, annotator=desk.store.annotator)["begun"] == begun
    assert summed(desk, run)["begun"] == 0


@pytest.mark.parametrize("block", [3, 2000])
def test_calibration_counts_links_and_right_ones_by_confidence(desk, block, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", block)
    for run in (0, 1):
        rows = [[] for _ in range(BINS)]
        for pair in judged(desk, run):
            for source, target, confidence in desk.runs[run][pair]:
                place = next(k for k in range(BINS, -1, -1) if confidence >= k / BINS)
                right = (source, target) in desk.truth(pair)[1]
                rows[min(place, BINS - 1)].append((confidence, right))
        found = summed(desk, run)["calibration"]
        assert [row["low"] for row in found] == [k / BINS for k in range(BINS) if rows[k]]
        for row, expected in zip(found, filter(None, rows), strict=True):
            assert row["links"] == len(expected)
            assert row["right"] == sum(right for _, right in expected)
            assert row["confidence"] == pytest.approx(np.mean([each for each, _ in expected]))
        assert found[0]["filter"] == {"link_confidence": "0-0.1", "show": "judged"}


def test_a_histogram_of_scores(desk):
    found = summed(desk, 1)["scores"]
    assert len(found) == BARS
    for row in found:
        inside = [
            score
            for score in desk.scores[1].values()
            if row["low"] <= score < row["high"] or score == row["high"] == 1
        ]
        assert row["pairs"] == len(inside)
    assert found[9]["filter"] == {"score": "0.45-0.5"}


def test_the_bars_have_their_bounds(tmp_path):
    """0.15 belongs to the bar that begins with it, whatever 0.15 times 20 is to a machine."""
    for parts in (BINS, BARS):
        assert [int(place / parts * parts) for place in range(parts)] == list(range(parts))


def faults(desk, run):
    for pair in judged(desk, run):
        (sure, possible), cells = desk.truth(pair), desk.cells(run, pair)
        row = desk.pairs[pair - 1]
        for kind, found in (("wrong", cells - possible), ("missed", sure - cells)):
            for source, target in found:
                yield kind, lookup_key(row.source[source]), lookup_key(row.target[target])


@pytest.mark.parametrize("rows", [7, None])
def test_what_goes_wrong_most_often(desk, rows):
    found = summed(desk, 0, rows=rows)
    for kind, name in (("wrong", "confusions"), ("missed", "missed")):
        counts = Counter((source, target) for fault, source, target in faults(desk, 0) if fault == kind)
        expected = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:rows]
        assert [((row["source"], row["target"]), row[kind]) for row in found[name]] == expected
        source, target = expected[0][0]
        assert found[name][0]["filter"] == {f"{kind}_link": f"{source}>{target}"}
    words = Counter()
    for kind, source, target in faults(desk, 0):
        words.update([("source", source, kind), ("target", target, kind)])
    assert len(found["wrong_words"]) == (rows or len({key[:2] for key in words}))
    last = None
    for row in found["wrong_words"]:
        assert row["wrong"] == words[row["side"], row["word"], "wrong"]
        assert row["missed"] == words[row["side"], row["word"], "missed"]
        assert row["filter"] == {"fault_word": f"{row['side']}:{row['word']}"}
        assert last is None or last >= row["wrong"] + row["missed"]
        last = row["wrong"] + row["missed"]


@pytest.mark.parametrize("run", [0, 1])
def test_words_without_a_link(desk, run):
    found = summed(desk, run, rows=None)["unaligned"]
    for place, side in enumerate(("source", "target")):
        alone, all_of = Counter(), Counter()
        for pair, links in desk.runs[run].items():
            linked = {link[place] for link in links}
            for token, word in enumerate(desk.pairs[pair - 1][2 + place]):
                all_of[lookup_key(word)] += 1
                alone[lookup_key(word)] += token not in linked
        expected = sorted(
            ((word, count) for word, count in alone.items() if count), key=lambda e: (-e[1], e[0])
        )
        assert [(row["word"], row["unlinked"]) for row in found[side]] == expected
        assert [row["occurrences"] for row in found[side]] == [all_of[word] for word, _ in expected]
        assert found[side][0]["filter"] == {"unlinked_word": f"{side}:{expected[0][0]}"}


def test_nothing_at_all(tmp_path):
    store = Store(tmp_path / "empty.sqlite")
    store.add_run("one", "model")
    with store.reading() as connection:
        found = summary(connection, 0, gap_curve=[[0, 1.5, None]])
    store.close()
    assert (found["pairs"], found["judged"], found["aer"], found["f1"]) == (0, 0, None, None)
    assert (found["calibration"], found["scores"], found["confusions"]) == ([], [], [])
    assert found["unaligned"] == {"source": [], "target": []}
    assert found["gap_curve"] == [[0, 1.5, None]]
    json.dumps(found, allow_nan=False)


def test_it_is_json_and_the_same_each_time(desk):
    assert json.dumps(summed(desk, 0), allow_nan=False) == json.dumps(summed(desk, 0), allow_nan=False)


def test_links_without_a_confidence():
    pairs, links = flat_links([(3, "[[0,1,null],[2,2,0.5]]"), (4, "[]"), (9, "[[1,0,1]]")])
    assert pairs.tolist() == [3, 3, 9]
    assert links[:, :2].tolist() == [[0, 1], [2, 2], [1, 0]]
    assert np.isnan(links[0, 2])
    assert links[1:, 2].tolist() == [0.5, 1]
    assert flat_links([(1, "[]")])[1].shape == (0, 3)


def test_the_curve_of_training(tmp_path):
    assert gap_curve_of(tmp_path) == []
    path = tmp_path / "history.csv"
    path.write_text("passes,oracle_calls,primal,gap\n0,0,,\n1,20,0.75,0.5\n2,40,inf,nan\n", encoding="utf-8")
    assert gap_curve_of(tmp_path) == [[0, None, None], [1, 0.5, 0.75], [2, None, None]]
    path.write_text(
        "passes,primal,gap,average_primal,average_gap\n0,8,8,,\n1,4,3,5,3.5\n2,5,4,3,1\n3,,,,\n",
        encoding="utf-8",
    )
    assert gap_curve_of(tmp_path) == [[0, 8, 8], [1, 3, 4], [2, 1, 3], [3, None, None]]
    for text in ("passes,primal\n1,2\n", "passes,gap,primal\n1,x,2\n", "passes,gap,primal\n1\n", "a\0b\n1\n"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(
            InputError, match=r"history\.csv: no table of passes, gaps and primals; remove it"
        ):
            gap_curve_of(tmp_path)
    path.write_bytes(b"passes,gap,primal\n\xff,1,2\n")
    with pytest.raises(InputError, match=r"history\.csv: no table"):
        gap_curve_of(tmp_path)


def test_memory_does_not_grow_with_the_pairs(tmp_path, monkeypatch):
    """Of four times the pairs of the same words, summary and comparison take no more at once."""
    monkeypatch.setattr(module, "_BLOCK", 20)
    monkeypatch.setattr(comparison, "_BLOCK", 20)
    peaks = []
    for pairs in (150, 600):
        made = desks.made(tmp_path / f"{pairs}.sqlite", pairs=pairs)
        with made.store.reading() as connection:
            for analysis in (
                lambda connection: summary(connection, 0, samples=1),
                lambda connection: comparison.compare(connection, 0, 1, annotator="annotator", samples=1),
            ):
                analysis(connection)  # what is imported and kept for good
                tracemalloc.start()
                analysis(connection)
                peaks.append(tracemalloc.get_traced_memory()[1])
                tracemalloc.stop()
        made.store.close()
    few, few_compared, many, many_compared = peaks
    assert many < 1.5 * few
    assert many_compared < 1.5 * few_compared
