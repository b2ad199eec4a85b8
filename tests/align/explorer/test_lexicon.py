"""The lexicon of a run against a plain recount of its links."""

import json
from collections import Counter

import pytest

from align.explorer.lexicon import lexicon
from align.explorer.store import NewLinks, NewPair, Store
from align.statistics.translations import Entry
from align.text.normalise import lookup_key
from tests.align.explorer import desk as desks


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    made = desks.made(tmp_path_factory.mktemp("desk") / "desk.sqlite", seed=3)
    yield made
    made.store.close()


def looked_up(store, side, word, run=0, **options):
    with store.reading() as connection:
        return lexicon(connection, side, word, run, **options)


def linked_words(desk, run):
    """Yield pair, place and key of both words of each link."""
    for pair, links in desk.runs[run].items():
        row = desk.pairs[pair - 1]
        for source, target, _ in links:
            yield pair, (source, lookup_key(row.source[source])), (target, lookup_key(row.target[target]))


@pytest.mark.parametrize("run", [0, 1])
@pytest.mark.parametrize(("side", "word"), [("source", "the"), ("source", "HOUSE"), ("target", "La")])
def test_counts_and_probabilities(desk, run, side, word):
    found = looked_up(desk.store, side, word, run, rows=None, examples=100)
    key, own = lookup_key(word), ("source", "target").index(side)
    links = [(pair, ends[own], ends[1 - own]) for pair, *ends in linked_words(desk, run)]
    counts = Counter(other for _, (_, mine), (_, other) in links if mine == key)
    of_other = Counter(other for _, _, (_, other) in links)
    assert (found["word"], found["links"]) == (key, counts.total())
    assert {row["word"]: row["count"] for row in found["translations"]} == counts
    assert [row["count"] for row in found["translations"]] == sorted(counts.values(), reverse=True)
    for row in found["translations"]:
        forward, reverse = row["p_forward"], row["p_reverse"]
        if side == "target":
            forward, reverse = reverse, forward
        assert forward == pytest.approx(row["count"] / counts.total())
        assert reverse == pytest.approx(row["count"] / of_other[row["word"]])
        assert set(row["examples"]) == {
            pair for pair, (_, mine), (_, other) in links if (mine, other) == (key, row["word"])
        }
        words = [key, row["word"]] if side == "source" else [row["word"], key]
        assert row["filter"] == {"link": ">".join(words)}
    tokens = [
        (pair, place)
        for pair in desk.runs[run]
        for place, token in enumerate(desk.pairs[pair - 1][2 + own])
        if lookup_key(token) == key
    ]
    linked = {(pair, place) for pair, (place, mine), _ in links if mine == key}
    assert (found["count"], found["unlinked"]) == (len(tokens), len(tokens) - len(linked))
    expressions = Counter(
        " ".join(
            other
            for _, other in sorted(
                theirs for here, (at, mine), theirs in links if (here, at, mine) == (pair, place, key)
            )
        )
        for pair, place in linked
    )
    assert {row["words"]: row["count"] for row in found["expressions"]} == expressions
    for row in found["expressions"]:
        assert row["share"] == pytest.approx(row["count"] / len(tokens))
    for pair, quote in found["quotes"].items():
        expected = [
            [ends[own][0], ends[1 - own][0]][:: 1 if own == 0 else -1]
            for here, *ends in linked_words(desk, run)
            if here == int(pair) and ends[own][1] == key
        ]
        assert quote["linked"] == expected
        assert quote["source"] == desk.pairs[int(pair) - 1].source


def test_few_rows_and_few_examples(desk):
    everything = looked_up(desk.store, "source", "the", rows=None)
    found = looked_up(desk.store, "source", "the", rows=2, examples=1)
    assert [row["word"] for row in found["translations"]] == [
        row["word"] for row in everything["translations"][:2]
    ]
    assert all(len(row["examples"]) == 1 for row in found["translations"] + found["expressions"])
    assert looked_up(desk.store, "source", "the", examples=0)["quotes"] == {}


def test_examples_are_pairs_of_a_length_to_be_read(tmp_path):
    store = Store(tmp_path / "desk.sqlite")
    store.add_run("one", "model")
    for number, length in enumerate((1, 300, 12, 60), start=1):
        source, target = ["the"] * length, ["la"] * length
        store.add_pairs([NewPair("corpus", number, source, target)])
        store.put_links(0, [NewLinks(number, source, target, [[0, 0, 0.5]])])
    (row,) = looked_up(store, "source", "the", examples=2)["translations"]
    store.close()
    assert row["examples"] == [3, 1]


def test_a_model_table_stands_beside(desk):
    asked = []

    def table(side, word):
        asked.append((side, word))
        return [Entry("the", "zzz", 9, 0.6, 0.5), Entry("the", "maison", 5, 0.3, 0.25)]

    found = looked_up(desk.store, "source", "The", table=table, rows=None)
    assert asked == [("source", "the")]
    (row,) = [row for row in found["translations"] if row["word"] == "maison"]
    assert row["model"] == {"p_forward": 0.3, "p_reverse": 0.25}
    assert found["model"] == [{"word": "zzz", "p_forward": 0.6, "p_reverse": 0.5}]
    assert all(row["model"] is None for row in found["translations"] if row["word"] != "maison")
    found = looked_up(desk.store, "target", "la", table=lambda side, word: [Entry("x", "la", 1, 0.1, 0.2)])
    assert found["model"] == [{"word": "x", "p_forward": 0.1, "p_reverse": 0.2}]
    assert looked_up(desk.store, "source", "the", table=lambda side, word: [])["model"] == []


def test_a_word_that_is_not_there(desk):
    found = looked_up(desk.store, "target", "nowhere")
    assert (found["count"], found["unlinked"], found["links"]) == (0, 0, 0)
    assert (found["translations"], found["expressions"], found["quotes"]) == ([], [], {})
    json.dumps(found, allow_nan=False)
    with pytest.raises(ValueError, match="side 'left' is none of source, target"):
        looked_up(desk.store, "left", "word")
