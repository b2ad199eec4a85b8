"""Each number of the analyses has a filter, and that finds the pairs that the number is counted in."""

import pytest

from align.explorer import queries
from align.explorer.comparison import compare
from align.explorer.lexicon import lexicon
from align.explorer.summary import summary
from align.text.normalise import lookup_key
from tests.align.explorer import desk as desks


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    made = desks.made(tmp_path_factory.mktemp("desk") / "desk.sqlite", seed=6)
    yield made
    made.store.close()


@pytest.fixture
def found(desk):
    """Return a function that gives the pairs of a filter, for a run that the page has made current."""

    def find(given, run=0):
        wanted = queries.selection(
            given, current=run, annotator=desk.store.annotator, runs=frozenset(range(2))
        )
        with desk.store.reading() as connection:
            return set(queries.find(connection, wanted).tolist())

    return find


def words_of(desk, pair, cell):
    row = desk.pairs[pair - 1]
    return lookup_key(row.source[cell[0]]), lookup_key(row.target[cell[1]])


def faults(desk, run, kind):
    """Yield pair and words of the links that are wrong or missed."""
    for pair in desk.runs[run]:
        if desk.truth(pair) is not None:
            (sure, possible), cells = desk.truth(pair), desk.cells(run, pair)
            for cell in cells - possible if kind == "wrong" else sure - cells:
                yield pair, words_of(desk, pair, cell)


@pytest.mark.parametrize("run", [0, 1])
def test_of_the_summary(desk, found, run):
    with desk.store.reading() as connection:
        told = summary(connection, run, rows=None)
    for kind, name in (("wrong", "confusions"), ("missed", "missed")):
        of_kind = list(faults(desk, run, kind))
        assert found(told["filters"][f"{kind}_links"], run) == {pair for pair, _ in of_kind}
        for row in told[name]:
            expected = {pair for pair, words in of_kind if words == (row["source"], row["target"])}
            assert found(row["filter"], run) == expected
    both = [*faults(desk, run, "wrong"), *faults(desk, run, "missed")]
    assert found(told["filters"]["aer"], run) == {pair for pair, _ in both}
    for row in told["wrong_words"]:
        place = row["side"] == "target"
        assert found(row["filter"], run) == {pair for pair, words in both if words[place] == row["word"]}
    for side, rows in told["unaligned"].items():
        place = side == "target"
        for row in rows:
            assert found(row["filter"], run) == {
                pair
                for pair, links in desk.runs[run].items()
                for token, word in enumerate(desk.pairs[pair - 1][2 + place])
                if lookup_key(word) == row["word"] and token not in {link[place] for link in links}
            }
    judged = {pair for pair in desk.runs[run] if desk.truth(pair) is not None}
    assert found(told["filters"]["judged"], run) == judged
    empty = {pair for pair, links in desk.runs[run].items() if not links}
    assert found(told["filters"]["unlinked"], run) == empty
    for row in told["scores"]:
        assert len(found(row["filter"], run)) == row["pairs"]
    for row in told["calibration"]:
        assert found(row["filter"], run) == {
            pair
            for pair in judged
            if any(
                row["low"] <= link[2] < row["high"] or link[2] == row["high"] == 1
                for link in desk.runs[run][pair]
            )
        }


def test_of_the_comparison(desk, found):
    with desk.store.reading() as connection:
        told = compare(connection, 0, 1, languages=("en", "fr"), annotator="annotator", rows=None)
    both = set(desk.runs[0]) & set(desk.runs[1])
    alone = [
        (pair, words_of(desk, pair, cell))
        for pair in both
        for cell in desk.cells(0, pair) ^ desk.cells(1, pair)
    ]
    assert found(told["filters"]["differ"]) == {pair for pair, _ in alone}
    for row in told["words"]:
        expected = {pair for pair, words in alone if words == (row["source"], row["target"])}
        assert found(row["filter"]) == expected
    everywhere = set()
    for row in told["kinds"]:
        pairs = found(row["filter"])
        assert len(pairs) <= row["only_a"] + row["only_b"]
        everywhere |= pairs
    assert everywhere == {pair for pair, _ in alone}


def test_of_the_lexicon(desk, found):
    with desk.store.reading() as connection:
        told = lexicon(connection, "source", "the", 0, rows=None, examples=100)
    for row in told["translations"]:
        assert found(row["filter"]) == set(row["examples"])
    assert sum(row["count"] for row in told["translations"]) == told["links"]
    alone = found(told["filters"]["unlinked"])
    assert 0 < len(alone) <= told["unlinked"]
    assert alone <= found(told["filter"])
