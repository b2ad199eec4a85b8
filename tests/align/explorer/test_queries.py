"""Filters and orders: what is found is what a plain walk through all pairs finds."""

import json

import numpy as np
import pytest

from align.explorer import queries
from align.explorer.requests import RequestError, parameters
from align.explorer.store import NewLinks, NewPair, Store
from align.explorer.summary import summary
from tests.align.explorer import desk as desks


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    found = desks.made(tmp_path_factory.mktemp("desk") / "desk.sqlite", pairs=150, seed=4)
    found.store.count_words()
    yield found
    found.store.close()


def find(desk, **given):
    wanted = queries.selection(
        given, current=0, annotator=desk.store.annotator, runs=frozenset(range(len(desk.runs)))
    )
    with desk.store.reading() as connection:
        return queries.find(connection, wanted).tolist()


def words(desk, pair, side):
    return [word.lower() for word in getattr(desk.pairs[pair - 1], side)]


def plain(desk, test):
    """Return the pairs for which a test holds, by number."""
    return [pair for pair in range(1, len(desk.pairs) + 1) if test(pair)]


def linked_words(desk, run, pair):
    sides = words(desk, pair, "source"), words(desk, pair, "target")
    cells = desk.cells(run, pair) if pair in desk.runs[run] else ()
    return [(sides[0][s], sides[1][t]) for s, t in sorted(cells)]


def faults(desk, run, pair):
    """Return wrong and missed cells, None where nothing is known."""
    truth = desk.truth(pair)
    if truth is None:
        return None
    sure, possible = truth
    return desk.cells(run, pair) - possible, sure - desk.cells(run, pair)


@pytest.mark.parametrize("run", [0, 1])
def test_links_between_words(desk, run):
    given = {"run": str(run)}
    found = find(desk, link="The>la", **given)
    assert found == plain(desk, lambda pair: ("the", "la") in linked_words(desk, run, pair)) != []
    found = find(desk, link="house>", **given)
    assert found == plain(desk, lambda pair: "house" in dict(linked_words(desk, run, pair))) != []
    found = find(desk, link=">maison", **given)
    assert found == plain(
        desk, lambda pair: "maison" in [target for _, target in linked_words(desk, run, pair)]
    )


def test_words_without_a_link(desk):
    def alone(pair):
        linked = {t for _, t in desk.cells(0, pair)}
        return any(
            word == "la" and token not in linked for token, word in enumerate(words(desk, pair, "target"))
        )

    assert find(desk, unlinked_word="target:LA") == plain(desk, alone) != []


@pytest.mark.parametrize(("kind", "place"), [("wrong", 0), ("missed", 1)])
def test_errors(desk, kind, place):
    def count(pair):
        found = faults(desk, 0, pair)
        return 0 if found is None else len(found[place])

    assert find(desk, errors=kind) == plain(desk, count) != []

    def between(pair):
        sides = words(desk, pair, "source"), words(desk, pair, "target")
        return any(
            (sides[0][s], sides[1][t]) == ("the", "la") for s, t in (faults(desk, 0, pair) or ((), ()))[place]
        )

    assert find(desk, **{f"{kind}_link": "the>la"}) == plain(desk, between) != []


def test_a_word_in_an_error(desk):
    def has(pair):
        source = words(desk, pair, "source")
        wrong, missed = faults(desk, 0, pair) or ((), ())
        return any(source[s] == "the" for s, _ in [*wrong, *missed])

    assert find(desk, fault_word="source:the") == plain(desk, has) != []


def test_no_link_at_all(desk):
    assert find(desk, errors="unlinked") == plain(desk, lambda pair: not desk.cells(0, pair)) != []


def test_words_whole_and_in_part(desk):
    both = [lambda pair, side=side: words(desk, pair, side) for side in ("source", "target")]
    for text, test in (
        ("ous", lambda word: "ous" in word),
        ('"house"', lambda word: word == "house"),
        ('"ous"', lambda word: word == "ous"),
    ):
        found = find(desk, words=text)
        assert found == plain(desk, lambda pair, test=test: any(test(w) for of in both for w in of(pair)))
    found = find(desk, words="hou MAI")
    assert found == plain(
        desk, lambda pair: all(any(part in w for of in both for w in of(pair)) for part in ("hou", "mai"))
    )
    assert found


def test_two_runs_that_differ(desk):
    found = find(desk, run="0", other="1", differ="1")

    def differ(pair):
        return pair in desk.runs[1] and desk.cells(0, pair) != desk.cells(1, pair)

    assert found == plain(desk, differ) != []

    def one(pair):
        if not differ(pair):
            return False
        sides = words(desk, pair, "source"), words(desk, pair, "target")
        cells = desk.cells(0, pair) ^ desk.cells(1, pair)
        return any((sides[0][s], sides[1][t]) == ("the", "la") for s, t in cells)

    assert find(desk, run="0", other="1", differ="1", differ_link="the>la") == plain(desk, one) != []
    with pytest.raises(RequestError, match="differ and differ_link need another run: give other"):
        find(desk, differ="1")


@pytest.mark.parametrize("bounds", ["0.2-0.3", "0.95-1", "0-1", "0.21-0.34", "0.5:0.5"])
def test_confidence_of_a_link(desk, bounds):
    low, high = map(float, bounds.replace(":", "-").split("-"))

    def within(pair):
        known = [round(trust, 4) for *_, trust in desk.runs[0][pair] if trust is not None]
        return any(low <= trust < high or (high == 1 == trust) for trust in known)

    assert find(desk, link_confidence=bounds) == plain(desk, within)


def test_confidence_and_score_of_a_pair(desk):
    rows = {}
    with desk.store.reading() as connection:
        for pair, confidence, score in connection.execute(
            "SELECT pair, confidence, score FROM links WHERE run = 0"
        ):
            rows[pair] = confidence, score
    for name, place in (("confidence", 0), ("score", 1)):
        known = [row[place] for row in rows.values() if row[place] is not None]
        low, high = sorted(known)[len(known) // 4], max(known)
        known_from = {pair for pair, row in rows.items() if row[place] is not None and row[place] >= low}
        assert find(desk, **{name: f"{low}-1"}) == sorted(known_from) != []
        # The largest value of all lies in an interval that begins with it, and in no other.
        largest = {pair for pair, row in rows.items() if row[place] == high}
        assert find(desk, **{name: f"{low}-{high}"}) == sorted(
            known_from - largest if high < 1 else known_from
        )
        assert find(desk, **{name: f"{high}-1"}) == sorted(largest)
        found = find(desk, **{name: f"0-{low}"})
        assert found == plain(
            desk, lambda pair, p=place, low=low: (rows[pair][p] or 0) < low and rows[pair][p] is not None
        )


def test_kinds_and_what_is_said(desk):
    mine = desk.annotations[desk.store.annotator]
    assert find(desk, show="gold") == plain(desk, lambda pair: desk.pairs[pair - 1].kind == "gold")
    assert find(desk, show="annotated") == sorted(mine) != []
    assert find(desk, show="todo") == plain(desk, lambda pair: pair not in mine)
    assert find(desk, show="done") == sorted(pair for pair, (_, done) in mine.items() if done)
    assert find(desk, show="begun") == sorted(pair for pair, (_, done) in mine.items() if not done) != []
    assert find(desk, show="judged") == plain(desk, lambda pair: desk.truth(pair) is not None)
    assert find(desk, ids="7,3,3,9999") == [3, 7]


def test_orders(desk):
    with desk.store.reading() as connection:
        rows = connection.execute(
            "SELECT p.id, j.aer, j.wrong + j.missed, l.score, l.confidence, p.words, p.rarity FROM pair p"
            " LEFT JOIN links l ON l.run = 0 AND l.pair = p.id"
            " LEFT JOIN judged j ON j.run = 0 AND j.pair = p.id"
        ).fetchall()

    def ordered(*keys):
        def key(row):
            return [(row[k] is None, sign * (row[k] or 0)) for k, sign in keys] + [(False, row[0])]

        return [row[0] for row in sorted(rows, key=key)]

    assert find(desk) == list(range(1, 151))
    assert find(desk, order="backwards") == list(range(150, 0, -1))
    assert find(desk, order="unsure") == ordered((4, 1))
    assert find(desk, order="confident") == ordered((4, -1))
    assert find(desk, order="longest") == ordered((5, -1))
    assert find(desk, order="shortest") == ordered((5, 1))
    assert find(desk, order="rarest") == ordered((6, 1))
    worst = find(desk, order="worst")
    aer = {row[0]: row[1] for row in rows}
    known = [aer[pair] for pair in worst if aer[pair] is not None]
    assert known == sorted(known, reverse=True)
    assert None not in [aer[pair] for pair in worst[: len(known)]]
    best = [aer[pair] for pair in find(desk, order="best")]
    assert best[: len(known)] == sorted(known)


def test_a_random_order_is_the_same_again_and_favours_nobody(desk):
    once = find(desk, order="random")
    assert once == find(desk, order="random")
    assert sorted(once) == list(range(1, 151))
    # A part of it has the order of all of it: a sample goes on where it was left.
    gold = find(desk, order="random", show="gold")
    assert gold == [pair for pair in once if pair in set(gold)]
    ids = np.arange(1, 20_001)
    first = ids[np.argsort(queries._mixed(ids, 0))][:2000]
    # Of 20 equal runs of numbers none has more or fewer than chance gives: 100 +- 5 standard deviations.
    counts = np.histogram(first, bins=20, range=(1, 20_001))[0]
    assert np.abs(counts - 100).max() < 5 * np.sqrt(100 * 0.95 * 0.9)


def test_text_without_spaces_is_found_over_the_ends_of_tokens(tmp_path):
    store = Store(tmp_path / "desk.sqlite")
    store.add_pairs(
        [
            NewPair("corpus", 1, ["a"], ["東", "京", "都"]),
            NewPair("corpus", 2, ["ab", "c"], ["x"]),
            NewPair("corpus", 3, ["a"], ["東京"]),
        ]
    )
    store.add_run("links", "links")

    def found(text):
        wanted = queries.selection({"words": text}, current=0, annotator="", runs=frozenset({0}))
        with store.reading() as connection:
            return queries.find(connection, wanted).tolist()

    assert found("東京") == [1, 3]
    assert found('"東京"') == [3]
    assert found("bc") == []
    store.close()


def test_rows_of_the_list(tmp_path):
    store = Store(tmp_path / "desk.sqlite")
    store.add_run("model", "model")
    store.add_pairs(
        [
            NewPair("gold", 5, ["a"] * 70, ["b"], [[0, 0, 1]], "test"),
            NewPair("corpus", 6, [], []),
        ]
    )
    store.put_links(0, [NewLinks(1, ["a"] * 70, ["b"], [[1, 0, 0.5]], 0.25)])
    store.set_annotation("annotator", 2, [], done=True)
    with store.reading() as connection:
        found = queries.page_of(connection, np.array([2, 1]), run=0, annotator="annotator")
    assert found == [
        {
            **{"id": 2, "kind": "corpus", "number": 6, "source": [], "target": [], "words": 0},
            **{"confidence": None, "annotated": 2},
        },
        {
            **{"id": 1, "kind": "gold", "number": 5, "part": "test", "source": ["a"] * 60, "target": ["b"]},
            **{"words": 71, "confidence": 0.5, "score": 0.25, "aer": 1.0, "wrong": 1, "missed": 1},
            "annotated": 0,
        },
    ]
    assert json.dumps(found, allow_nan=False)
    store.close()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"show": "x"}, "show must be one of all, test, train"),
        ({"errors": "x"}, "errors must be one of any, errors"),
        ({"order": "p.id; --"}, "order must be one of number, backwards"),
        ({"run": "9"}, "there is no run 9"),
        ({"run": "-1"}, "run must be a whole number from 0 to"),
        ({"other": "x"}, "other must be a whole number"),
        ({"link": "house"}, "link must be two words with > between, as house>maison"),
        ({"link": ">"}, "link must be two words"),
        ({"wrong_link": "a"}, "wrong_link must be two words"),
        ({"unlinked_word": "house"}, "unlinked_word must be source: or target: and a word"),
        ({"fault_word": "both:house"}, "fault_word must be source: or target: and a word"),
        ({"confidence": "0.9-0.1"}, "confidence must be two numbers from 0 to 1, as 0.5-0.6"),
        ({"score": "nan-nan"}, "score must be two numbers"),
        ({"link_confidence": "1"}, "link_confidence must be two numbers"),
        ({"differ": "2"}, "differ must be one of 0, 1"),
        ({"ids": "1,x"}, "ids must be a whole number"),
    ],
)
def test_what_does_not_fit(given, told):
    with pytest.raises(RequestError, match=told):
        queries.selection(given, current=0, annotator="", runs=frozenset({0, 1}))


@pytest.mark.parametrize("word", ["'; DROP TABLE pair; --", '"', "%", "_", "\\", "x' OR '1'='1", "\0"])
def test_words_are_never_part_of_a_question(desk, word):
    for given in ({"words": word}, {"link": f"{word}>{word}"}, {"unlinked_word": f"source:{word}"}):
        assert find(desk, **given) == [] or word == '"'
    assert len(find(desk)) == 150


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("a=1&a=2", "a is given twice"),
        ("a=%ff", "the parameters cannot be read, or are too many"),
        ("&".join(f"a{n}=1" for n in range(50)), "the parameters cannot be read, or are too many"),
        (f"a={'x' * 5000}", "a has 5000 characters; at most 4000 go"),
    ],
)
def test_what_are_no_parameters(query, told):
    with pytest.raises(RequestError, match=told):
        parameters(query)


def test_parameters():
    assert parameters("a=%C3%A9+b&c=&d=1>2") == {"a": "é b", "d": "1>2"}


@pytest.mark.parametrize(("source", "target"), [(">", "maison"), ("->", ">"), ("a>b", "=>"), ("house", ">")])
def test_the_mark_between_words_may_stand_in_them(tmp_path, source, target):
    """What the summary gives as the filter of a word pair finds that pair, whatever its words are."""
    store = Store(tmp_path / "desk.sqlite")
    store.add_run("one", "model")
    words = [">", "->", "a>b", "house"], ["maison", ">", "=>"]
    gold = [[words[0].index(source), words[1].index(target), 1]]
    store.add_pairs([NewPair("gold", 1, *words, gold), NewPair("gold", 2, *words, [])])
    for pair in (1, 2):
        store.put_links(0, [NewLinks(pair, *words, [])])
    with store.reading() as connection:
        (row,) = summary(connection, 0)["missed"]
        wanted = queries.selection(row["filter"], current=0, annotator="annotator", runs=frozenset([0]))
        assert queries.find(connection, wanted).tolist() == [1]
    store.close()
