"""The command serve: its options, texts with their links, what is wrong with them, what it leaves."""

import os
import threading
from contextlib import contextmanager, nullcontext

import pytest

from align.cli import serve
from align.core import heap
from align.core.files import held, remove_left
from tests.align import toy

TEXT = "the dog\tle chien\nthe red house\tla maison rouge\n"


@pytest.fixture
def served(run, monkeypatch, tmp_path):
    """Return a function that serves until all is read and linked: to status, stderr, what came of it."""
    toy.toy_model().save(tmp_path / "toy")

    def call(words, look=lambda routes: None, **files):
        class Server(nullcontext):
            server_address = "", 1

            def __init__(self, page, routes):
                super().__init__()
                self.routes, self.ended, self.page = routes, threading.Event(), page

            def serve_forever(self):
                if self.routes.desk._reader is not None:
                    self.routes.desk._reader.join()
                if not self.ended.wait(0 if self.routes.desk.failure is None else 20):
                    self.routes.desk.linker.wait()
                    found.append(look(self.routes))
                    raise KeyboardInterrupt

            def shutdown(self):
                self.ended.set()

        found = []
        monkeypatch.setattr(
            serve, "make_desk_server", lambda port, page, routes, **options: Server(page, routes)
        )
        status, _, err = run(f"serve --model toy {words}", **files)
        return status, err, found

    return call


def links(routes):
    """Return kind, gold and links of each pair, in each run."""
    desk, told = routes.desk, []
    for run in desk.runs():
        for row in routes.get("/pairs", f"run={run['id']}")["rows"]:
            pair = desk.pair(row["id"], run["id"], None)["pair"]
            told.append((run["name"], pair["kind"], pair.get("gold"), [link[:2] for link in pair["links"]]))
    return told


def test_what_stays_is_left_alone_by_the_garbage_collector(served, monkeypatch):
    states = []

    @contextmanager
    def left_alone():
        states.append("begun")
        yield
        states.append("ended")

    monkeypatch.setattr(heap, "left_alone", left_alone)
    status, _, (meanwhile,) = served("-i text.tsv", lambda routes: list(states), **{"text.tsv": TEXT})
    assert (status, meanwhile, states) == (0, ["begun"], ["begun", "ended"])


def test_a_text_with_gold_and_another_file_of_links(served):
    words = "-i text.tsv --gold gold --compare other.jsonl"
    words_too = '"source": ["the", "red", "house"], "target": ["la", "maison", "rouge"], '
    other = f'{{"links": [[0, 0]]}}\n{{{words_too}"links": [[2, 1]]}}\n'
    status, err, (found,) = served(
        words, links, **{"text.tsv": TEXT, "gold": "0-0 1-1\n1p2\n", "other.jsonl": other}
    )
    assert (status, err.count("\n"), err[:19]) == (0, 1, "gold counts from 0 ")
    assert found[:2] == [
        ("toy", "gold", [[0, 0, 1], [1, 1, 1]], [[0, 0], [1, 1]]),
        ("toy", "gold", [[1, 2, 0]], [[1, 2], [2, 1]]),
    ]
    assert found[2:] == [
        ("other.jsonl", "gold", [[0, 0, 1], [1, 1, 1]], [[0, 0]]),
        ("other.jsonl", "gold", [[1, 2, 0]], [[2, 1]]),
    ]


def test_another_model_and_text_in_two_files(served, tmp_path):
    toy.toy_model().save(tmp_path / "more")
    words = "--source s --target t --tokenized --compare more --save kept --annotator ann"
    status, err, (found,) = served(words, links, s="the dog.\n", t="le chien.\n")
    assert (status, err) == (0, "")
    assert [row[:2] for row in found] == [("toy", "corpus"), ("more", "corpus")]
    assert list((tmp_path / "kept").iterdir()) == []  # who has said nothing leaves nothing


def test_lines_that_cannot_be_used_are_told_and_keep_their_numbers(served):
    def rows(routes):
        return [(row["number"], len(row["source"])) for row in routes.get("/pairs", "")["rows"]]

    text = "the dog\tle chien\nno tab\nthe dog\tle chien\n"
    status, err, (found,) = served("-i text.tsv", rows, **{"text.tsv": text})
    assert (status, found) == (0, [(1, 2), (2, 0), (3, 2)])
    assert err == "text.tsv:2: 1 field(s) instead of 2 with a TAB between; the pair is shown without words\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--source s", "--source and --target go together; give both or neither"),
        ("--source s --target s -i t", "--source and --target are the pairs; leave out --input and --format"),
        ("--gold g", "--gold: links without their pairs; give these with --input"),
        ("--compare s", "--compare s: links without their pairs; give these with --input"),
        ("--compare nothing", "nothing: no such model"),
        ("-i nothing", "nothing: no such file; check the path"),
        ("-i t --gold g", "g: 1 pairs, but the text has more; give the links of this text"),
        ("-i t --gold g3", "g3: more pairs than the text, which has 2; give the links of this text"),
        ("-i t --gold far", "far:2: link 9-0 (counted from 0) lies outside the pair of 3 source tokens"),
        ("-i t --gold far", "give the tokenized text that the links were made for, with --tokenized"),
        ("-i t --gold back", "give the links with source and target swapped"),
        (
            "-i t --gold tokens.jsonl",
            "tokens.jsonl:1: its tokens (a dog ...) are not those of pair 1 (the dog",
        ),
        ("-i t --gold g --gold-format jsonl", "g:1: not JSON"),
        ("-i t --annotator ../x", "annotator '../x': no name; give at most 40 letters, digits, - and _"),
        ("-i t --save t", "t: a file, not a folder; give another with --save"),
        ("--source s --target long", "s: 1 lines, but long has 400"),
        ("--source long --target long2", "long: 400 lines, but long2 has 399"),
        ("-i - --gold -", "the standard input"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(served, words, told, tmp_path):
    files = {
        **{"s": "a\n", "t": TEXT, "g": "0-0\n", "g3": "0-0\n0-0\n0-0\n", "far": "0-0\n9-0\n"},
        **{"back": "0-0\n2-1 0-2\n", "long": "a\n" * 400, "long2": "a\n" * 399},
        "tokens.jsonl": '{"source": ["a", "dog"], "target": ["le", "chien"], "links": [[0, 0]]}\n' * 2,
    }
    if "back" in words:
        files["t"] = "the dog\tle chien\nthe dog\tla maison rouge\n"
        files["back"] = "0-0\n2-1\n"
    status, err, _ = served(words, **files)
    assert status == 2
    assert told in err.rstrip("\n").split("\n")[-1]
    assert "Traceback" not in err


def test_scratch_files_of_killed_servers_go_and_no_others(tmp_path):
    for name in ("desk-dead", "desk-alive", "desk-without", "other"):
        (tmp_path / name).mkdir()
    for name in ("desk-dead", "desk-alive", "other"):
        (tmp_path / name / "lock").touch()
    (tmp_path / "desk-link").symlink_to(tmp_path / "other")
    (tmp_path / "desk-file").touch()
    with held(tmp_path / "desk-alive" / "lock"):
        remove_left(tmp_path, "desk-")
        assert {path.name for path in tmp_path.iterdir()} == {
            *("desk-alive", "desk-without", "other", "desk-link", "desk-file")
        }
    remove_left(tmp_path, "desk-")
    assert not (tmp_path / "desk-alive").exists()


def test_nothing_is_left_of_a_server(served, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    assert served("-i text.tsv", **{"text.tsv": TEXT})[0] == 0
    assert os.listdir(tmp_path / "scratch") == []
