"""Two runs compared: against a plain recount, the metrics of ``score``, and cases made by hand."""

import json
from collections import Counter

import numpy as np
import pytest

from align.evaluation import kinds as kinds_module
from align.evaluation import metrics
from align.evaluation.kinds import KINDS, NEGATIONS, Words, kind, negations
from align.explorer import comparison as module
from align.explorer.comparison import compare
from align.explorer.store import NewLinks, NewPair, Store
from align.links import Link
from align.text.normalise import lookup_key
from tests.align.explorer import desk as desks


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    made = desks.made(tmp_path_factory.mktemp("desk") / "desk.sqlite", seed=2)
    yield made
    made.store.close()


def compared(desk, a=0, b=1, **options):
    with desk.store.reading() as connection:
        return compare(connection, a, b, languages=("en", "fr"), annotator="annotator", **options)


def common(desk):
    return sorted(set(desk.runs[0]) & set(desk.runs[1]))


def only(desk):
    """Yield run, pair, cell and value of each link that one run has alone."""
    for pair in common(desk):
        cells = [desk.cells(run, pair) for run in (0, 1)]
        truth = desk.truth(pair)
        for run in (0, 1):
            for cell in sorted(cells[run] - cells[1 - run]):
                if truth is None:
                    value = "unknown"
                else:
                    value = "sure" if cell in truth[0] else "possible" if cell in truth[1] else "wrong"
                yield run, pair, cell, value


@pytest.mark.parametrize("block", [3, 500])
def test_counts_are_those_of_a_plain_recount(desk, block, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", block)
    found = compared(desk)
    same = [pair for pair in common(desk) if desk.cells(0, pair) == desk.cells(1, pair)]
    assert (found["pairs"], found["same"]) == (len(common(desk)), len(same))
    linked = [len(desk.runs[run]) for run in (0, 1)]
    assert [found["linked_a"], found["linked_b"]] == linked
    assert found["of"] == len(desk.pairs) > linked[1]
    assert found["differ"] == found["pairs"] - found["same"] > 0
    assert found["both"] == sum(len(desk.cells(0, pair) & desk.cells(1, pair)) for pair in common(desk))
    for run, name in enumerate("ab"):
        counts = Counter(value for own, _, _, value in only(desk) if own == run)
        assert found[f"only_{name}"] == {
            "links": counts.total(),
            **{value: counts[value] for value in ("sure", "possible", "wrong", "unknown")},
        }


def test_error_rates_and_their_difference(desk):
    found = compared(desk, samples=200, seed=3)
    counts = []
    for run in (0, 1):
        guessed, known = [], []
        for pair in common(desk):
            if desk.truth(pair) is None:
                continue
            sure, possible = desk.truth(pair)
            guessed.append([Link(*cell) for cell in desk.cells(run, pair)])
            known.append([Link(*cell, cell in sure) for cell in possible])
        counts.append(metrics.statistics(guessed, known))
    assert found["judged"] == len(counts[0])
    for name, of_run in zip("ab", counts, strict=True):
        ends = metrics.bootstrap(of_run, samples=200, seed=3).aer
        assert found["aer"][name] == [metrics.score(of_run).aer, *ends]
    paired = metrics.paired_bootstrap(*counts, samples=200, seed=3)
    assert found["aer"]["difference"] == [paired.difference, *paired.interval]
    assert found["aer"]["p_value"] == paired.p_value


def test_the_other_way_round_is_the_mirror_image(desk):
    one, other = compared(desk), compared(desk, 1, 0)
    assert (one["only_a"], one["only_b"]) == (other["only_b"], other["only_a"])
    assert one["aer"]["a"] == other["aer"]["b"]
    for row, mirrored in zip(one["kinds"], other["kinds"], strict=True):
        assert (row["errors_a"], row["only_b"]) == (mirrored["errors_b"], mirrored["only_a"])
        assert row["difference"][0] == -mirrored["difference"][0]


@pytest.mark.parametrize("most", [2, 1 << 18])
def test_word_pairs_that_differ(desk, most, monkeypatch):
    monkeypatch.setattr(module, "_MOST_NEW", most)
    counts = {}
    for run, pair, (source, target), value in only(desk):
        row = desk.pairs[pair - 1]
        words = lookup_key(row.source[source]), lookup_key(row.target[target])
        of_words = counts.setdefault(words, Counter())
        of_words["ab"[run]] += 1
        if value != "unknown":
            of_words[("wrong_" if value == "wrong" else "right_") + "ab"[run]] += 1
    found = compared(desk, rows=None)["words"]
    assert len(found) == len(counts)
    for row in found:
        expected = counts[row["source"], row["target"]]
        for name in ("a", "b", "right_a", "right_b", "wrong_a", "wrong_b"):
            assert row[name] == expected[name], (row, name)
        assert row["filter"]["differ_link"] == f"{row['source']}>{row['target']}"
    totals = [row["a"] + row["b"] for row in found]
    assert totals == sorted(totals, reverse=True)
    assert compared(desk, rows=5)["words"] == found[:5]


def test_kinds_add_up_to_all(desk):
    found = compared(desk)
    rows = found["kinds"]
    assert [row["kind"] for row in rows] == [kind for kind in KINDS if kind in {r["kind"] for r in rows}]
    for name, other in ("ab", "ba"):
        of_run, of_other = found[f"only_{name}"], found[f"only_{other}"]
        assert sum(row[f"only_{name}"] for row in rows) == of_run["links"]
        assert sum(row[f"wrong_{name}"] for row in rows) == of_run["wrong"]
        assert sum(row[f"missed_{name}"] for row in rows) == of_other["sure"]
        assert sum(row[f"right_{name}"] for row in rows) == of_run["sure"] + of_run["possible"]
        for row in rows:
            assert row[f"errors_{name}"] == row[f"wrong_{name}"] + row[f"missed_{name}"]
    for row in rows:
        assert row["difference"][0] == row["errors_a"] - row["errors_b"]
        assert row["difference"][1] <= row["difference"][0] <= row["difference"][2]


def test_pairs_behind_a_kind(desk):
    sources, targets = Words("en", ()), Words("fr", ())
    wanted = {}
    for _, pair, cell, _ in only(desk):
        row = desk.pairs[pair - 1]
        name = kind(sources[row.source[cell[0]]], targets[row.target[cell[1]]], cell)
        wanted.setdefault(name, set()).add(pair)
    for row in compared(desk)["kinds"]:
        if row["kind"] in ("negation", "numbers", "punctuation", "names"):
            assert set(map(int, row["filter"]["ids"].split(","))) == wanted[row["kind"]]


def test_nothing_is_judged_and_nothing_linked(tmp_path):
    store = Store(tmp_path / "desk.sqlite")
    store.add_run("one", "model")
    store.add_run("two", "links")
    with store.reading() as connection:
        empty = compare(connection, 0, 1)
    assert (empty["pairs"], empty["differ"], empty["aer"], empty["kinds"], empty["words"]) == (
        0,
        0,
        None,
        [],
        [],
    )
    store.add_pairs([NewPair("corpus", 1, ["not", "red"], ["pas", "rouge"])])
    store.put_links(0, [NewLinks(1, ["not", "red"], ["pas", "rouge"], [[0, 0, 0.5], [1, 1, None]])])
    store.put_links(1, [NewLinks(1, ["not", "red"], ["pas", "rouge"], [[1, 1, None]])])
    with store.reading() as connection:
        found = compare(connection, 0, 1, languages=("en", "fr"))
    store.close()
    assert (found["judged"], found["aer"], found["both"]) == (0, None, 1)
    (row,) = found["kinds"]
    assert (row["kind"], row["only_a"], row["only_b"], row["difference"]) == ("negation", 1, 0, None)
    assert found["only_a"] == {"links": 1, "sure": 0, "possible": 0, "wrong": 0, "unknown": 1}
    json.dumps(found, allow_nan=False)


def test_the_clearly_better_one_is_told(tmp_path):
    """In 40 pairs run 0 links the negation right, run 1 leaves it; the interval says that it is no chance."""
    store = Store(tmp_path / "desk.sqlite")
    store.add_run("one", "model")
    store.add_run("two", "model")
    source, target = ["do", "not", "go"], ["ne", "va", "pas"]
    store.add_pairs([NewPair("gold", n, source, target, [[1, 2, 1], [2, 1, 1]]) for n in range(1, 41)])
    for pair in range(1, 41):
        store.put_links(0, [NewLinks(pair, source, target, [[1, 2, 0.9], [2, 1, 0.9]])])
        store.put_links(1, [NewLinks(pair, source, target, [[2, 1, 0.9]])])
    with store.reading() as connection:
        (row,) = compare(connection, 0, 1, languages=("en", "fr"))["kinds"]
    store.close()
    assert (row["errors_a"], row["errors_b"], row["missed_b"], row["right_a"]) == (0, 40, 40, 40)
    assert row["difference"] == [-40, -40, -40]


def test_function_words_are_the_frequent_ones_of_the_text(tmp_path, monkeypatch):
    monkeypatch.setattr(kinds_module, "FUNCTION_WORDS", 100)
    store = Store(tmp_path / "desk.sqlite")
    store.add_pairs(
        [NewPair("corpus", n, ["the", f"x{n}", "7", "."], ["l'", "में", "l'", "."]) for n in range(1, 7)]
        + [NewPair("corpus", 7, ["rare"], ["rares"])]
    )
    with store.reading() as connection:
        assert module._frequent(connection) == (["the"], ["l'", "में"])
    store.close()


@pytest.mark.parametrize(
    ("words", "places", "expected"),
    [
        (("NOT", "pas"), (3, 4), "negation"),
        (("couldn't", "pouvait"), (3, 4), "negation"),
        (("house", "ne"), (3, 4), "negation"),
        ((",", "et"), (3, 4), "punctuation"),
        (("7", "sept"), (3, 4), "numbers"),
        (("7", "."), (3, 4), "punctuation"),
        (("Anna", "Anne"), (3, 4), "names"),
        (("Anna", "Anna"), (0, 0), "names"),
        (("He", "Il"), (0, 0), "content words"),
        (("house", "Haus"), (3, 4), "content words"),
        (("The", "la"), (0, 4), "function words"),
        (("the", "maison"), (3, 4), "content words"),
    ],
)
def test_kinds_of_links(words, places, expected):
    sources, targets = Words("en-GB", {"the", "of"}), Words("fr", {"la", "de"})
    assert kind(sources[words[0]], targets[words[1]], places) == expected
    assert expected in KINDS


def test_words_that_negate_stand_under_their_keys():
    for language, words in NEGATIONS.items():
        assert words == set(map(lookup_key, words)), language
    assert negations("FR") == negations("fr_CA") == NEGATIONS["fr"]
    assert negations("xx") == frozenset()
    assert np.all([len(words) > 4 for words in NEGATIONS.values()])
