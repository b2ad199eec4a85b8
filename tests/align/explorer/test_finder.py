"""What is kept of selections: after changes it is what a fresh look finds, whoever overtakes whom."""

import numpy as np
import pytest

from align.explorer import queries
from align.explorer.store import NewLinks, NewPair, _note, changed_since, links_of, pair_count, state_of
from tests.align.explorer import desk as desks

ASKED = [
    *({"order": order} for order in queries.ORDERS),
    {"show": "todo", "order": "unsure"},
    {"show": "done", "order": "worst"},
    {"show": "annotated"},
    {"show": "begun", "order": "backwards"},
    {"score": "0.5-1", "order": "shortest"},
    {"errors": "errors", "order": "best"},
    {"errors": "unlinked", "order": "rarest"},
    {"link": "the>la", "order": "confident"},
    {"unlinked_word": "source:the", "order": "random"},
    {"wrong_link": "the>la", "run": "1"},
    {"other": "1", "differ": "1", "order": "longest"},
    {"other": "1", "differ_link": "the>la"},
    {"confidence": "0.1-0.9", "order": "worst"},
    {"link_confidence": "0.2-0.35", "order": "changed", "run": "1"},
    {"words": "ous", "show": "judged", "order": "worst"},
]


@pytest.fixture
def desk(tmp_path):
    found = desks.made(tmp_path / "desk.sqlite", pairs=80, seed=3)
    found.store.count_words()
    yield found
    found.store.close()


def selection(desk, given):
    return queries.selection(given, current=0, annotator=desk.store.annotator, runs=frozenset({0, 1}))


def change(desk, generator):
    """Change something, as the desk does it while somebody looks."""
    store, count = desk.store, len(desk.pairs)
    pair = int(generator.integers(1, count + 1))
    row = desk.pairs[pair - 1]
    cells = [[s, t] for s in range(len(row.source)) for t in range(len(row.target))]
    some = [cell for cell in cells if generator.random() < 0.3]
    match generator.integers(6):
        case 0 | 1:
            store.set_annotation("annotator", pair, [[*cell, 1] for cell in some], done=bool(pair % 2))
        case 2:
            store.set_annotation("annotator", pair, None)
        case 3 | 4:
            links = [[*cell, round(float(generator.random()), 4)] for cell in some]
            score = round(float(generator.random()), 4)
            store.put_links(
                int(generator.integers(2)), [NewLinks(pair, row.source, row.target, links, score)]
            )
        case 5:
            desk.pairs.append(row._replace(number=count + 1))
            store.add_pairs(desk.pairs[-1:])


def test_what_is_kept_is_what_a_fresh_look_finds(desk, monkeypatch):
    anew = []
    whole = queries.find
    monkeypatch.setattr(queries, "_MOST_SELECTIONS", len(ASKED))
    monkeypatch.setattr(queries, "find", lambda *given: anew.append(given[1].order) or whole(*given))
    finder, generator = queries.Finder(), np.random.default_rng(8)
    wanted = [selection(desk, given) for given in ASKED]
    for _ in range(60):
        for _ in range(int(generator.integers(1, 4))):
            change(desk, generator)
        with desk.store.reading() as connection:
            for place in generator.integers(len(wanted), size=8):
                found = finder.find(connection, wanted[place])
                assert found.tolist() == whole(connection, wanted[place]).tolist(), ASKED[place]
    # Only what was not asked for before was looked for anew.
    assert len(anew) == len(wanted)


@pytest.mark.parametrize("given", [{"order": "worst"}, {"order": "unsure"}, {"show": "todo"}])
def test_a_change_has_only_the_pair_looked_at_that_changed(desk, given):
    finder, wanted = queries.Finder(), selection(desk, given)
    with desk.store.reading() as connection:
        finder.find(connection, wanted)
    desk.store.set_annotation("annotator", 7, [], done=True)
    desk.store.put_links(0, [NewLinks(9, desk.pairs[8].source, desk.pairs[8].target, [])])
    asked = []
    with desk.store.reading() as connection:
        connection.set_trace_callback(asked.append)
        finder.find(connection, wanted)
        connection.set_trace_callback(None)
    whole = [text for text in asked if "FROM pair p" in text or "FROM judged" in text or "FROM links" in text]
    assert whole
    assert all("json_each('[7" in text or "json_each('[9" in text for text in whole)


def test_a_reader_that_began_before_a_change_keeps_nothing_of_before(desk):
    finder = queries.Finder()
    wanted = [selection(desk, given) for given in ({"order": "worst"}, {"order": "unsure"}, {"show": "todo"})]

    def fresh(connection):
        return [queries.find(connection, each).tolist() for each in wanted]

    def kept(connection):
        return [finder.find(connection, each).tolist() for each in wanted]

    with desk.store.reading() as early:
        before = fresh(early)
        row = desk.pairs[4]
        desk.store.put_links(0, [NewLinks(5, row.source, row.target, [], 0.001)])
        desk.store.set_annotation("annotator", 6, [], done=True)
        with desk.store.reading() as late:
            after = fresh(late)
            assert kept(late) == after
        assert kept(early) == before  # what it sees, although more is known
    assert all(one != other for one, other in zip(before[::2], after[::2], strict=True))
    with desk.store.reading() as last:
        assert kept(last) == after


def test_what_is_kept_is_bounded(desk, monkeypatch):
    finder = queries.Finder()
    with desk.store.reading() as connection:
        for pair in range(1, 40):
            finder.find(connection, selection(desk, {"ids": str(pair)}))
        assert len(finder._kept) == queries._MOST_SELECTIONS
        monkeypatch.setattr(queries, "_MOST_KEPT", 170)
        for order in queries.ORDERS:
            finder.find(connection, selection(desk, {"order": order}))
        assert [wanted.order for wanted in finder._kept] == list(queries.ORDERS[-2:])
        monkeypatch.setattr(queries, "_MOST_RUNS", 1)
        finder.find(connection, selection(desk, {"run": "1", "order": "worst"}))
        assert list(finder._facts) == [1]


def test_changes_are_told_by_pair_and_kind(desk):
    store = desk.store

    def since(state, *what, most=10):
        with store.reading() as connection:
            return changed_since(connection, state, what, most=most)

    with store.reading() as connection:
        state, count = state_of(connection), pair_count(connection)
    assert since(state, "pairs", "annotations", links_of(0)) == []
    store.set_annotation("annotator", 7, [])
    rows = [NewLinks(pair, desk.pairs[pair - 1].source, desk.pairs[pair - 1].target, []) for pair in (9, 8)]
    store.put_links(0, rows)
    store.add_pairs([NewPair("corpus", 99, ["a"], ["b"])])
    assert since(state, "annotations") == [7]
    assert since(state, links_of(0)) == [8, 9]
    assert since(state, links_of(1)) == []
    assert since(state, "pairs") == [count + 1]
    assert since(state, "pairs", "annotations", links_of(0), most=4) == [7, 8, 9, count + 1]
    assert since(state, "pairs", "annotations", links_of(0), most=3) is None
    store.count_words()  # any pair
    assert (since(state, "pairs"), since(state, links_of(0))) == (None, [8, 9])
    # A state that the reader does not see yet, and one that is too long ago.
    assert since(10**6, "pairs") is None
    with store.writing() as connection:
        for _ in range(3):
            _note(connection, links_of(1), range(1, 2001))
    assert since(state, "annotations") is None
    with store.reading() as connection:
        state = state_of(connection)
    with store.writing() as connection:
        _note(connection, links_of(1), range(1, 5001))
    assert since(state, links_of(1), most=10_000) is None
