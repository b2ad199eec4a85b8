"""The store of the desk: what is written is read again, counted as a plain recount does."""

import json
import threading

import numpy as np
import pytest

from align.explorer.store import NewLinks, NewPair, Store, hash_of, tokens_of, truth_of

HOUSE = NewPair("corpus", 1, ["The", "house", "the"], ["la", "maison"])
GOLD = NewPair("gold", 2, ["red", "house"], ["maison", "rouge"], [[0, 1, 1], [1, 0, 1], [0, 0, 0]], "test")


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "desk.sqlite")
    yield made
    made.close()


def rows(store, question, *values):
    with store.reading() as connection:
        return connection.execute(question, values).fetchall()


def linked(store, run, pair, links, score=None):
    with store.reading() as connection:
        tokens = tokens_of(connection, pair)
    store.put_links(run, [NewLinks(pair, *tokens, links, score)])


def test_pairs_and_their_words(store):
    assert store.add_pairs([HOUSE, GOLD]) == [1, 2]
    assert store.add_pairs([HOUSE._replace(number=3)]) == [3]
    (row,) = rows(store, "SELECT kind, number, part, source, target, words FROM pair WHERE id = 2")
    assert row == ("gold", 2, "test", '["red","house"]', '["maison","rouge"]', 4)
    found = rows(
        store,
        "SELECT w.text, o.side, o.pair, o.words FROM occurrence o JOIN word w ON w.id = o.word"
        " WHERE o.pair < 3 ORDER BY 1, 2, 3",
    )
    assert ("the", "source", 1, 2) in found
    assert ("house", "source", 2, 1) in found
    assert len(found) == 8
    assert rows(store, "SELECT pair, links FROM gold") == [(2, "[[0,1,1],[1,0,1],[0,0,0]]")]


def test_rare_words_are_told_by_their_counts(store):
    store.add_pairs([HOUSE, GOLD, HOUSE._replace(number=3)])
    store.count_words()
    # Of pair 1: the (4 times) twice, house (3) once; la and maison: 2 and 3 times.
    logs = np.log([4, 4, 3, 2, 3])
    assert rows(store, "SELECT rarity FROM pair WHERE id = 1")[0][0] == pytest.approx(logs.mean())


def test_only_text_without_spaces_is_kept_joined(store):
    store.add_pairs([HOUSE, NewPair("corpus", 2, ["Haus"], ["東京", "都"])])
    assert rows(store, "SELECT * FROM unspaced") == [(2, "haus", "東京都")]


def test_links_with_their_words_and_what_has_none(store):
    store.add_pairs([HOUSE, GOLD])
    assert (store.add_run("en-fr", "model"), store.add_run("links.txt", "links")) == (0, 1)
    linked(store, 0, 1, [[0, 0, 0.5], [1, 1, 0.75]], 0.8)
    assert rows(store, "SELECT links, confidence, score, changed FROM links") == [
        ("[[0,0,0.5],[1,1,0.75]]", 0.625, 0.8, None)
    ]
    assert rows(store, "SELECT * FROM word_link ORDER BY source_word") == [
        (0, "house", "maison", 1, 1, 1),
        (0, "the", "la", 1, 0, 0),
    ]
    assert rows(store, "SELECT * FROM unlinked") == [(0, "source", "the", 1, 1)]
    linked(store, 1, 1, [])
    assert rows(store, "SELECT confidence FROM links WHERE run = 1") == [(None,)]


def test_links_in_place_of_others_leave_nothing_of_them(store):
    store.add_pairs([HOUSE])
    store.add_run("en-fr", "model")
    linked(store, 0, 1, [[0, 0, 0.5], [1, 1, 0.75]])
    linked(store, 0, 1, [[2, 1, 0.5]])
    assert rows(store, "SELECT source_word, target_word, source FROM word_link") == [("the", "maison", 2)]
    assert rows(store, "SELECT side, word, words FROM unlinked") == [
        *(("source", "house", 1), ("source", "the", 1), ("target", "la", 1))
    ]
    assert len(rows(store, "SELECT * FROM links")) == 1


def test_what_learning_has_changed_is_counted(store):
    store.add_pairs([HOUSE, GOLD])
    store.add_run("en-fr", "model")
    store.add_run("en-fr, learnt", "model", parent=0)
    linked(store, 0, 1, [[0, 0, 0.5], [1, 1, 0.75]])
    linked(store, 1, 1, [[0, 0, 0.9], [2, 1, 0.75]])
    linked(store, 1, 2, [])
    assert rows(store, "SELECT pair, changed FROM links WHERE run = 1") == [(1, 2), (2, None)]


def test_a_hash_is_that_of_the_set_of_links():
    assert hash_of([[0, 1, 0.5], [2, 0, None]]) == hash_of([[2, 0, 0.1], [0, 1, 0.2]])
    assert len({hash_of([]), hash_of([[0, 1, 1]]), hash_of([[1, 0, 1]]), hash_of([[0, 11, 1]])}) == 4


def test_pairs_are_judged_against_gold_and_the_annotator_goes_before_it(store):
    store.add_pairs([HOUSE, GOLD])
    store.add_run("en-fr", "model")
    linked(store, 0, 1, [[0, 0, 0.5]])
    linked(store, 0, 2, [[0, 0, 0.5], [1, 1, 0.5]])
    question = "SELECT pair, wrong, missed, links, sure, possible, ROUND(aer, 4) FROM judged"
    # |A| 2, |S| 2, |A & S| 0, |A & P| 1: AER 1 - 1/4.
    assert rows(store, question) == [(2, 1, 2, 2, 2, 3, 0.75)]
    assert rows(store, "SELECT kind, source_word, target_word, pair FROM fault") == [
        ("missed", "house", "maison", 2),
        ("missed", "red", "rouge", 2),
        ("wrong", "house", "rouge", 2),
    ]
    store.set_annotation("annotator", 2, [[0, 0, 1], [1, 1, 1]], done=True)
    assert rows(store, question) == [(2, 0, 0, 2, 2, 2, 0.0)]
    assert rows(store, "SELECT * FROM fault") == []
    store.set_annotation("other", 1, [])
    assert len(rows(store, question)) == 1
    store.set_annotator("other")
    assert rows(store, question) == [(1, 1, 0, 1, 0, 0, 1.0), (2, 1, 2, 2, 2, 3, 0.75)]
    store.set_annotation("other", 1, None)
    assert len(rows(store, question)) == 1
    with store.reading() as connection:
        assert truth_of(connection, 1, "other") is None
        assert truth_of(connection, 2, "annotator") == [[0, 0, 1], [1, 1, 1]]


def test_counts_are_those_of_a_plain_recount(store):
    generator = np.random.default_rng(5)
    store.add_run("en-fr", "model")
    expected = {}
    for number in range(1, 30):
        cells = [(s, t) for s in range(4) for t in range(3)]
        gold = [[*cell, int(generator.random() < 0.6)] for cell in cells if generator.random() < 0.3]
        links = [[*cell, 0.5] for cell in cells if generator.random() < 0.3]
        store.add_pairs([NewPair("gold", number, list("abca"), list("xyz"), gold)])
        linked(store, 0, number, links)
        ours = {(s, t) for s, t, _ in links}
        sure, possible = {(s, t) for s, t, sure in gold if sure}, {(s, t) for s, t, _ in gold}
        expected[number] = (len(ours - possible), len(sure - ours))
    found = rows(store, "SELECT pair, wrong, missed FROM judged")
    assert {pair: (wrong, missed) for pair, wrong, missed in found} == expected


def test_what_fails_half_way_leaves_nothing(store):
    store.add_run("en-fr", "model")

    def write():
        with store.writing():
            store.add_pairs([HOUSE])
            store.put_links(0, [NewLinks(1, ["a"], ["b"], [[5, 0, 0.5]])])

    with pytest.raises(IndexError):
        write()
    assert rows(store, "SELECT * FROM pair") == rows(store, "SELECT * FROM change") == []


def test_readers_see_one_state_and_wait_for_nobody(store):
    store.add_pairs([HOUSE])
    with store.reading() as connection:
        count = "SELECT COUNT(*) FROM pair"
        before = connection.execute(count).fetchone()
        writer = threading.Thread(target=store.add_pairs, args=([GOLD],))
        writer.start()
        writer.join(20)
        assert not writer.is_alive()
        assert connection.execute(count).fetchone() == before == (1,)
    assert rows(store, count) == [(2,)]


def test_a_reader_cannot_write(store):
    with store.reading() as connection, pytest.raises(Exception, match="readonly"):
        connection.execute("DELETE FROM pair")


def test_text_of_any_script_comes_back(store):
    odd = ["\0", "'; DROP TABLE pair; --", "שלום", "𝔞", "a\u2028b", '"']
    store.add_pairs([NewPair("own", 1, odd, odd)])
    (row,) = rows(store, "SELECT source FROM pair")
    assert json.loads(row[0]) == odd


def test_what_a_run_has_linked_is_counted(store):
    store.add_pairs([HOUSE, GOLD])
    for name in ("one", "two"):
        store.add_run(name, "model")
    linked(store, 0, 1, [])
    linked(store, 0, 1, [[0, 0, 0.5]])
    linked(store, 0, 2, [])
    linked(store, 1, 2, [])
    assert rows(store, "SELECT linked FROM run ORDER BY id") == [(2,), (1,)]
