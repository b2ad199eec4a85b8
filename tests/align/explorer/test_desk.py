"""The desk over HTTP: what its paths answer, that learning takes effect, that nothing is lost."""

import contextlib
import errno
import http.client
import json
import signal
import socket
import sqlite3
import threading
import time
from urllib.parse import urlencode

import pytest

from align.explorer import exports, server
from align.explorer.annotations import Annotations, State, Subject
from align.explorer.desk import Desk
from align.explorer.reading import LinksFile, Text
from align.explorer.routes import UPLOAD_BYTES, Routes
from align.explorer.server import MOST_BYTES, make_desk_server
from align.explorer.summary import gap_curve_of
from align.links import read_file
from align.model.aligner import Aligner
from align.model.folder import Model
from tests import prepared
from tests.align import toy
from tests.align.model.test_adapting import GOLD, NEW
from tests.align.server import running
from tests.conftest import ROOT

TOKEN = "t0ken"
DOG = "the dog is big\tle chien est grand"
LEARNT = "".join(f"{source}\t{target}\n" for source, target, *_ in [*GOLD, NEW])
TSV = f"{DOG}\n\tle\nthe red house\tla maison rouge\n{DOG}\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "toy"
    toy.toy_model().save(folder)
    return folder


class Client:
    """Asks a server."""

    def __init__(self, port, desk=None, token=TOKEN):
        self.port, self.desk, self.token = port, desk, token

    def send(self, method, path, body=None, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def get(self, path, **parameters):
        query = f"?{urlencode(parameters)}" if parameters else ""
        status, _, body = self.send("GET", path + query)
        return status, json.loads(body)

    def text(self, path, **parameters):
        status, headers, body = self.send("GET", f"{path}?{urlencode(parameters)}")
        assert (status, headers["Content-Type"].partition(";")[0] != "application/json") == (200, True)
        return headers["Content-Disposition"], body.decode()

    def post(self, path, body, **headers):
        sent = {"Content-Type": "application/json", "X_Liaison_Token": self.token, **headers}
        status, _, answer = self.send("POST", path, json.dumps(body).encode(), **sent)
        return status, json.loads(answer)

    def upload(self, format, data, **headers):
        sent = {"Content_Type": "application/octet-stream", "X_Liaison_Token": self.token, **headers}
        status, _, answer = self.send("POST", f"/upload?format={format}", data, **sent)
        return status, json.loads(answer)


@pytest.fixture
def serve(model, tmp_path):
    """Return a function that serves a desk: to its client."""
    with contextlib.ExitStack() as stack:
        count = iter(range(100))

        def start(text=None, *, files=(), gold=None, others=(), **options):
            scratch = tmp_path / f"scratch{next(count)}"
            scratch.mkdir()
            desk = Desk(Aligner.load(model), "toy", scratch=scratch, **options)
            faults = []
            stack.callback(lambda: faults == [] or pytest.fail("\n".join(faults)))
            stack.callback(desk.close)
            for name in files:
                (tmp_path / name).write_text(files[name], encoding="utf-8")
            if text is not None:
                (tmp_path / "text.tsv").write_text(text, encoding="utf-8")
                desk.open(
                    Text(
                        "tsv",
                        [str(tmp_path / "text.tsv")],
                        "text.tsv",
                        gold and LinksFile(str(tmp_path / gold), "pharaoh"),
                        [LinksFile(str(tmp_path / name), "pharaoh") for name in others],
                    ),
                    list(others),
                    on_failure=lambda: None,
                )
            desk.start(reading=text is not None)
            server = make_desk_server(0, lambda: "page", Routes(desk), token=TOKEN, on_fault=faults.append)
            client = Client(stack.enter_context(running(server)), desk)
            if text is not None:
                desk._reader.join()
                desk.linker.wait()
            return client

        yield start


def test_pairs_of_a_text_keep_their_lines(serve):
    client = serve(TSV)
    status, found = client.get("/pairs", limit=10)
    assert status == 200
    assert (found["total"], found["of"], found["linked"]) == (4, 4, 4)
    assert [(row["id"], row["number"], row["source"]) for row in found["rows"]] == [
        (1, 1, ["the", "dog", "is", "big"]),
        (2, 2, []),
        (3, 3, ["the", "red", "house"]),
        (4, 4, ["the", "dog", "is", "big"]),
    ]
    _, first = client.get("/pair", id=1)
    own = Aligner.load(client.desk.linker.aligner(0)._loaded_from[0])
    assert [link[:2] for link in first["pair"]["links"]] == [
        list(link) for link in own.align(*DOG.split("\t"))
    ]
    assert len(first["pair"]["links"][0]) == 6  # with its reasons
    assert first["annotation"] is None
    _, empty = client.get("/pair", id=2)
    assert (empty["pair"]["source"], empty["pair"]["target"], empty["pair"]["links"]) == ([], ["le"], [])
    assert client.get("/pairs", offset=3, limit=1, order="backwards")[1]["rows"][0]["id"] == 1
    assert client.get("/pairs", link="dog>chien")[1]["total"] == 2
    # the page that a pair is on, and its place among all that are found
    ids = [row["id"] for row in client.get("/pairs", order="backwards", limit=100)[1]["rows"]]
    found = client.get("/pairs", order="backwards", limit=2, at=ids[3])[1]
    assert (found["offset"], found["place"], [row["id"] for row in found["rows"]]) == (2, 3, ids[2:4])
    assert client.get("/pairs", at=10**6)[1]["place"] is None


def test_a_pair_that_is_pasted_is_kept(serve):
    client = serve()
    status, found = client.post("/align", {"source": "the dog", "target": "le chien"})
    assert (status, found["id"]) == (200, 1)
    assert client.post("/align", {"source": "a dog", "target": "le chien"})[1]["pairs"][0]["number"] == 2
    # The same again is the same pair.
    assert client.post("/align", {"source": "the dog", "target": "le chien"})[1]["id"] == 1
    rows = client.get("/pairs")[1]["rows"]
    assert [(row["kind"], row["number"]) for row in rows] == [("own", 1), ("own", 2)]
    assert client.get("/pair", id=1)[1]["pair"]["links"] == found["pairs"][0]["links"]
    # They have the score that they would have in a file.
    client.upload("tsv", b"the dog\tle chien\n")
    client.desk.linker.wait()
    scores = [client.get("/pair", id=pair)[1]["pair"]["score"] for pair in (1, 3)]
    assert scores[0] == scores[1] == found["pairs"][0]["score"] > 0


def test_correcting_undoing_and_doing_again(serve, tmp_path):
    client = serve(TSV, folder=tmp_path / "kept")
    shown = [[s, t, 1] for s, t, *_ in client.get("/pair", id=3)[1]["pair"]["links"]]
    changes = [[0, 0, "possible"], [1, 2, "none"], [2, 2, "sure"]]
    status, found = client.post("/edit", {"id": 3, "changes": changes})
    expected = sorted([[0, 0, 0], *[link for link in shown if link[:2] not in ([0, 0], [1, 2])], [2, 2, 1]])
    assert (status, found) == (200, {"annotation": {"links": expected, "done": False, "undo": 1, "redo": 0}})
    assert client.post("/edit", {"id": 3, "done": True})[1]["annotation"]["done"] is True
    row = client.get("/pairs", show="annotated")[1]["rows"][0]
    assert (row["id"], row["annotated"], row["missed"]) == (3, 2, 1)
    assert client.post("/undo", {})[1] == {
        "id": 3,
        "annotation": {"links": expected, "done": False, "undo": 1, "redo": 1},
    }
    assert client.post("/undo", {})[1] == {"id": 3, "annotation": None}
    assert client.get("/pair", id=3)[1]["annotation"] is None
    assert client.post("/undo", {}) == (409, {"error": "there is nothing to undo"})
    assert client.post("/redo", {})[1]["annotation"]["links"] == expected
    client.post("/redo", {})
    assert client.post("/redo", {}) == (409, {"error": "there is nothing to redo"})
    assert client.post("/edit", {"id": 3, "clear": True}) == (200, {"annotation": None})
    assert client.get("/pairs", show="annotated")[1]["total"] == 0


def test_correcting_begins_with_the_gold(serve, tmp_path):
    client = serve(TSV, files={"gold": "0-0 1p1\n\n0-0\n0-0\n"}, gold="gold")
    found = client.get("/pair", id=1)[1]["pair"]
    assert (found["kind"], found["gold"]) == ("gold", [[0, 0, 1], [1, 1, 0]])
    assert found["figures"]["aer"] == client.get("/pairs", limit=1)[1]["rows"][0]["aer"]
    assert client.post("/edit", {"id": 1, "done": True})[1]["annotation"]["links"] == [[0, 0, 1], [1, 1, 0]]


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"id": 99, "done": True}, 404, "there is no pair 99"),
        ({"id": True, "done": True}, 400, "id must be a whole number >= 0"),
        ({"done": True}, 400, "id must be a whole number >= 0"),
        ({"id": 1}, 400, "give changes, done, or clear: true"),
        ({"id": 1, "done": 1}, 400, "done must be true or false"),
        ({"id": 1, "changes": [[0, 0, "x"]]}, 400, "a change must be [source, target,"),
        ({"id": 1, "changes": [[0, 0, ["sure"]]]}, 400, "a change must be [source, target,"),
        ({"id": 1, "changes": {}}, 400, "changes must be a list of at most 5000"),
        ({"id": 1, "changes": [[0, -1, "sure"]]}, 400, "target must be a whole number >= 0"),
        ({"id": 1, "changes": [[0, 4, "sure"]]}, 400, "link 0-4 lies outside the pair of 4 and 4 words"),
        ({"id": 1, "other": 1}, 400, "the body may hold id, changes, done, clear, run only"),
        ([], 400, "the body must be a JSON object"),
    ],
)
def test_corrections_that_are_none(serve, body, status, told):
    client = serve(TSV)
    found, answer = client.post("/edit", body)
    assert (found, answer["error"][: len(told)]) == (status, told)
    assert client.get("/status")[1]["undo"] == 0


def test_the_queue_leads_through_what_is_to_do(serve):
    client = serve(f"{DOG}\n\tle\nthe red house\tla maison rouge\ni see\tje vois\n")
    order = [row["id"] for row in client.get("/pairs", order="unsure")[1]["rows"]]
    assert client.get("/queue", order="unsure")[1] == {"id": order[0]}
    assert client.get("/queue", order="unsure", after=order[0])[1] == {"id": order[1]}
    client.post("/edit", {"id": order[1], "done": True})
    assert client.get("/queue", order="unsure", after=order[0])[1] == {"id": order[2]}
    assert client.get("/queue", order="unsure", after=order[3])[1] == {"id": order[0]}
    for pair in order:
        client.post("/edit", {"id": pair, "done": True})
    for name in ("unsure", "worst", "random"):
        assert client.get("/queue", order=name)[1] == {"id": None}
    assert client.get("/queue", order="best")[0] == 400


def test_two_annotators(serve, tmp_path):
    client = serve(TSV, folder=tmp_path / "kept", annotator="ann")
    client.post("/edit", {"id": 1, "done": True})
    assert client.get("/agreement", a="ann", b="ben")[0] == 400
    status, found = client.post("/annotator", {"name": "ben"})
    assert (status, found["desk"]["annotator"], found["desk"]["annotators"]) == (200, "ben", ["ann", "ben"])
    assert client.get("/pair", id=1)[1]["annotation"] is None
    client.post("/edit", {"id": 1, "changes": [[0, 0, "none"]]})
    client.post("/edit", {"id": 1, "done": True})
    found = client.get("/agreement", a="ann", b="ben")[1]
    assert (found["pairs"], found["differ"]) == (1, 1)
    assert client.post("/undo", {})[1]["annotation"]["done"] is False
    client.post("/annotator", {"name": "ann"})
    assert client.get("/pair", id=1)[1]["annotation"]["done"] is True
    assert client.post("/annotator", {"name": "../x"})[0] == 400
    assert client.post("/annotator", {"name": 5})[0] == 400
    kept = {path.name for path in (tmp_path / "kept").iterdir()}
    assert {"ann.journal.jsonl", "ben.journal.jsonl"} <= kept


def test_what_was_said_is_found_by_another_server_where_lines_have_moved(serve, tmp_path):
    first = serve(TSV, folder=tmp_path / "kept")
    first.post("/align", {"source": "big house", "target": "grand maison"})
    for pair in (3, 4, 5):
        first.post("/edit", {"id": pair, "done": True})
    first.desk.close()
    lines = TSV.split("\n")
    second = serve("\n".join(["i see\tje vois", *lines]), folder=tmp_path / "kept")
    rows = second.get("/pairs", show="done")[1]["rows"]
    found = [(row["kind"], row["number"], " ".join(row["source"])) for row in rows]
    # The third line is the fourth now; line 4 was said of another line of the same words, which moved too.
    assert ("corpus", 4, "the red house") in found
    assert ("own", 1, "big house") in found
    assert [row for row in found if row[2] == "the dog is big"] != []
    assert len(found) == 3
    assert second.post("/undo", {})[1]["annotation"] is None
    assert second.get("/pairs", show="done")[1]["total"] == 2


def test_learning_takes_effect_and_can_be_gone_back_from(serve):
    client = serve(LEARNT)
    assert client.post("/learn", {}) == (
        409,
        {"error": "nothing is linked by hand yet: correct some pairs first"},
    )
    last = len(GOLD) + 1
    before = [link[:2] for link in client.get("/pair", id=last)[1]["pair"]["links"]]
    corrected(client)
    client.post("/edit", {"id": 1, "done": True})
    assert client.get("/summary")[1]["begun"] == len(GOLD) - 1
    said = {"pairs": 6, "begun": 5}
    assert client.get("/learn")[1] == {"state": "idle", "passes": [], "next": said}
    assert client.post("/learn", {})[0] == 200
    client.desk.learning.wait()
    client.desk.linker.wait()
    told = client.get("/learn")[1]
    assert (told["state"], told["pairs"], told["run"], told["parent"]) == ("done", 6, 1, 0)
    assert told["begun"] == 5  # all but the first
    assert [row[0] for row in told["passes"]][:2] == [1, 2]
    assert told["passes"][-1][1] < told["passes"][0][1]
    assert told["after"] < told["before"]
    value, low, high = told["difference"]
    assert value == pytest.approx(told["after"] - told["before"])
    assert low <= value <= high
    assert (told["held_out"], told["verdict"]) == (6, "better" if high < 0 else "chance")
    assert told["changed"] >= 1
    status = client.get("/status")[1]
    assert (status["current"], status["linked"]) == (1, last)
    found = client.get("/pair", id=last)[1]
    after = [link[:2] for link in found["pair"]["links"]]
    assert after == before[:-1]
    assert [link[:2] for link in found["before"]] == before
    assert client.get("/pairs", order="changed", limit=1)[1]["rows"][0]["changed"] >= 1
    assert client.get("/pairs", run=0, other=1, differ=1)[1]["total"] >= 1
    _, answer = client.post("/run", {"run": 0})
    assert (answer["desk"]["current"], len(answer["desk"]["runs"])) == (0, 2)
    assert [link[:2] for link in client.get("/pair", id=last)[1]["pair"]["links"]] == before
    assert client.post("/run", {"run": 7}) == (404, {"error": "there is no run 7"})
    assert client.get("/compare", a=0, b=1)[1]["differ"] >= 1
    client.post("/run", {"run": 1})
    assert client.get("/summary")[1]["gap_curve"] == told["passes"]


def corrected(client):
    """Correct the pairs of ``LEARNT`` as their annotator would."""
    for pair, (_, _, links) in enumerate(GOLD, start=1):
        shown = {tuple(link[:2]) for link in client.get("/pair", id=pair)[1]["pair"]["links"]}
        wanted = {tuple(map(int, link.split("-"))) for link in links.replace("p", "-").split()}
        changes = [[*cell, "none"] for cell in shown - wanted] + [[*cell, "sure"] for cell in wanted]
        assert client.post("/edit", {"id": pair, "changes": changes})[0] == 200


def learnt(client):
    """Let the model learn; return what is told of it."""
    assert client.post("/learn", {})[0] == 200
    client.desk.learning.wait()
    client.desk.linker.wait()
    return client.get("/learn")[1]


def test_a_learnt_model_is_kept_and_used_afterwards(serve, model, tmp_path):
    kept = tmp_path / "kept"
    client = serve(LEARNT, folder=kept, annotator="ann")
    corrected(client)
    told = learnt(client)
    assert (told["state"], told["saved"], told["run"]) == ("done", str(kept / "ann.model-1"), 1)
    assert client.desk.runs()[1]["name"] == "toy, learnt from 6 pairs (ann.model-1)"
    weights = client.desk.linker.aligner(1).model.weights
    assert (Model.load(kept / "ann.model-1").weights == weights).all()
    curve = gap_curve_of(kept / "ann.model-1")
    assert curve == told["passes"] != []
    assert Aligner.load(kept / "ann.model-1").align(*NEW) == Aligner.load(model).align(*NEW)[:-1]
    # The next one has the next number; it begins with the model served, so it is the same.
    assert learnt(client)["saved"] == str(kept / "ann.model-2")
    assert (Model.load(kept / "ann.model-2").weights == weights).all()
    last = client.get("/pair", id=len(GOLD) + 1, run=1)[1]["pair"]["links"]
    client.desk.close()

    (kept / "ann.model-x").mkdir()
    (kept / "ben.model-7").mkdir()
    (kept / "ann.model-9").mkdir()  # of which nothing is there
    said = []
    client = serve(LEARNT, folder=kept, annotator="ann", on_note=said.append)
    names = [run["name"] for run in client.desk.runs()]
    assert names == ["toy", str(kept / "ann.model-1"), str(kept / "ann.model-2")]
    assert len(said) == 1
    assert said[0].startswith(f"{kept / 'ann.model-9'}")
    assert said[0].endswith("; this model is not offered")
    assert client.desk.current == 0
    served, *offered = (client.desk.linker.aligner(run).model for run in range(3))
    # The tables are there once, and the weights are their own.
    assert all(each.resources is served.resources for each in offered)
    assert all((each.weights == weights).all() for each in offered)
    assert client.get("/pair", id=len(GOLD) + 1, run=2)[1]["pair"]["links"] == last
    assert client.get("/summary", run=1)[1]["gap_curve"] == curve
    assert client.get("/pairs", run=1)[1]["linked"] == len(GOLD) + 1
    # Its weights have seen the corrections: it is the model served that learns.
    client.post("/run", {"run": 1})
    again = learnt(client)
    assert (again["saved"], again["before"]) == (str(kept / "ann.model-10"), told["before"])
    client.post("/annotator", {"name": "ben"})
    assert len(client.desk.runs()) == 4
    assert said[1].startswith(f"{kept / 'ben.model-7'}")


def test_one_may_learn_from_the_pairs_that_are_done_alone(serve):
    client = serve(LEARNT)
    assert client.get("/learn")[1]["next"] == {"pairs": 0, "begun": 0}
    corrected(client)
    told = {"error": "no pair that is marked as done has a link: correct some pairs first"}
    assert client.post("/learn", {"done": True}) == (409, told)
    assert client.post("/learn", {"done": 1}) == (400, {"error": "done must be true or false"})
    for pair in (1, 2):
        client.post("/edit", {"id": pair, "done": True})
    assert client.get("/learn")[1]["next"] == {"pairs": 6, "begun": 4}
    assert client.get("/pairs", show="begun")[1]["total"] == client.get("/summary")[1]["begun"] == 4
    assert client.post("/learn", {"done": True})[0] == 200
    client.desk.learning.wait()
    found = client.get("/learn")[1]
    assert (found["state"], found["pairs"], found["begun"]) == ("done", 2, 0)


def test_a_model_that_learnt_from_the_pairs_before_is_not_measured_by_them(serve, model, tmp_path):
    Aligner.load(model).learn(GOLD).model.save(tmp_path / "old")
    client = serve(LEARNT)
    client.desk.linker.add(0, Aligner.load(tmp_path / "old"))
    corrected(client)
    told = learnt(client)
    assert (told["pairs"], told["known"], told["before"], told["verdict"]) == (6, 6, None, None)


def test_of_many_kept_models_the_newest_are_offered(serve, tmp_path):
    kept = tmp_path / "kept"
    for number in (2, 1, 10, 3, 9, 4, 8):
        toy.toy_model().save(kept / f"annotator.model-{number}")
    said = []
    client = serve(TSV, folder=kept, on_note=said.append)
    names = [run["name"].rpartition("-")[2] for run in client.desk.runs()]
    assert names == ["toy", "3", "4", "8", "9", "10"]
    assert said == [f"{kept}: 7 models of annotator; the newest 5 are offered, --compare gives another"]


def test_a_model_of_no_folder_is_not_kept(serve):
    client = serve(LEARNT)
    corrected(client)
    told = learnt(client)
    assert told["saved"] is None
    assert "not_saved" not in told
    assert client.desk.runs()[1]["name"] == "toy, learnt from 6 pairs"


def test_a_model_that_cannot_be_kept_is_told_and_used_all_the_same(serve, tmp_path, monkeypatch):
    kept = tmp_path / "kept"
    client = serve(LEARNT, folder=kept)
    corrected(client)

    def full(old, new):
        raise OSError(28, "No space left on device", str(new))

    with monkeypatch.context() as patched:
        patched.setattr("align.model.folder.copy_file", full)
        told = learnt(client)
    assert (told["state"], told["saved"], told["run"]) == ("done", None, 1)
    assert told["not_saved"] == (
        f"{kept / 'annotator.model-1' / 'source.vocabulary.tsv'}: the model cannot be kept: "
        "the disk is full; free space, then learn again"
    )
    assert [path.name for path in kept.iterdir() if ".model-" in path.name] == []
    assert client.get("/status")[1]["current"] == 1
    assert learnt(client)["saved"] == str(kept / "annotator.model-1")


def test_links_of_a_file_beside_those_of_the_model(serve):
    client = serve(TSV, files={"other": "0-0\n\n0-0:0.25\n3-3\n"}, others=["other"])
    assert [run["kind"] for run in client.get("/pairs") and client.desk.runs()] == ["model", "links"]
    found = client.get("/pair", id=3, other=1)[1]
    assert found["other"] == [[0, 0, 0.25]]
    # Without a base the links would be out by one.
    assert client.get("/pair", id=4, run=1)[1]["pair"]["links"] == [[3, 3, None]]
    client.post("/run", {"run": 1})
    assert client.post("/learn", {}) == (
        409,
        {"error": "links of a file, and weights without a model, cannot learn"},
    )
    assert client.get("/why", id=3, source=0, target=0)[0] == 409


def test_why(serve):
    client = serve(TSV)
    status, found = client.get("/why", id=3, source=1, target=1)
    assert status == 200
    assert found["linked"] is False
    assert found["sentences"]
    assert client.get("/why", id=3, source=9, target=0)[0] == 400
    assert client.get("/why", id=3, source=1)[0] == 400


def test_a_selection_is_exported(serve, tmp_path):
    client = serve(TSV)
    name, text = client.text("/export", format="pharaoh", words="dog")
    assert name == 'attachment; filename="pairs.align"'
    (tmp_path / "x.align").write_text(text, encoding="utf-8")
    pairs = read_file(tmp_path / "x.align")
    assert [[link[:2] for link in pair.links] for pair in pairs] == [
        [tuple(link[:2]) for link in client.get("/pair", id=pair)[1]["pair"]["links"]] for pair in (1, 4)
    ]
    for format in ("jsonl", "tmx"):
        (tmp_path / "x").write_text(client.text("/export", format=format)[1], encoding="utf-8")
        pairs = read_file(tmp_path / "x", format=format)
        assert [pair.source for pair in pairs] == [["the", "dog", "is", "big"], [], ["the", "red", "house"],
                                                   ["the", "dog", "is", "big"]]  # fmt: skip
    client.post("/edit", {"id": 3, "changes": [[0, 0, "possible"], [1, 2, "none"], [2, 1, "none"]]})
    assert client.text("/export", format="pharaoh", links="annotation")[1] == "0p0\n"
    rows = client.text("/export", format="csv", order="backwards")[1].split("\n")
    assert rows[0].startswith("number,kind,part,source,target,links,confidence")
    assert rows[1].startswith("4,corpus,,the dog is big,le chien est grand,0-0")
    assert client.get("/export", format="exe")[0] == 400


@pytest.mark.parametrize(
    ("name", "given"),
    [
        *((name, {}) for name in ("figures", "calibration", "scores", "confusions", "missed")),
        *((name, {}) for name in ("summary-words", "unaligned")),
        *((name, {"a": 0, "b": 1}) for name in ("differences", "kinds")),
        ("lexicon", {"word": "dog"}),
        *((name, {"a": "annotator", "b": "annotator"}) for name in ("agreement", "agreement-figures")),
    ],
)
def test_tables(serve, name, given):
    gold = "0-0 1-2\n\n0-0\n0-0\n"
    client = serve(TSV, files={"gold": gold, "other": "1-1\n\n1-0\n\n"}, gold="gold", others=["other"])
    disposition, text = client.text("/table", name=name, **given)
    assert disposition == f'attachment; filename="{name}.csv"'
    lines = text.split("\n")
    assert len({line.count(",") for line in lines[:-1]}) <= 1
    assert client.get("/table", name="x")[0] == 400


def test_the_lexicon_has_the_models_table_beside_it(serve):
    found = serve(TSV).get("/lexicon", side="target", word="Chien")[1]
    (dog,) = found["translations"]
    assert (dog["word"], dog["count"]) == ("dog", 2)
    # Of the toy model: 0.8 both ways.
    assert dog["model"] == {"p_forward": pytest.approx(0.8), "p_reverse": pytest.approx(0.8)}


def test_an_uploaded_file_adds_its_pairs(serve):
    client = serve(TSV)
    assert client.upload("tsv", b"i see\tje vois\nbad row\nnot\tpas\n") == (200, {"pairs": 3})
    client.desk.linker.wait()
    found = client.get("/pairs", offset=4)[1]
    assert [(row["number"], row["source"]) for row in found["rows"]] == [
        (5, ["i", "see"]),
        (6, []),
        (7, ["not"]),
    ]
    assert found["linked"] == 7
    tmx = (
        '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>big dog</seg></tuv>'
        '<tuv xml:lang="fr"><seg>grand chien</seg></tuv></tu></body></tmx>'
    )
    assert client.upload("tmx", tmx.encode()) == (200, {"pairs": 1})
    status, answer = client.upload("tmx", b"<tmx>")
    assert (status, answer["error"].startswith("the file")) == (400, True)
    assert client.upload("exe", b"")[0] == 400
    assert client.get("/status")[1]["reading"] is None


def test_of_an_uploaded_file_that_is_wrong_in_its_middle_nothing_is_added(serve):
    client = serve(TSV)
    pair = (
        '<tu><tuv xml:lang="en"><seg>big dog</seg></tuv><tuv xml:lang="fr"><seg>grand chien</seg></tuv></tu>'
    )
    begin, end = '<tmx version="1.4"><header srclang="en"/><body>', "</body></tmx>"
    status, answer = client.upload("tmx", f"{begin}{pair * 3000}</tu>{end}".encode())
    assert (status, answer["error"].startswith("the file")) == (400, True)
    assert client.get("/status")[1]["pairs"] == 4
    assert client.upload("tmx", f"{begin}{pair * 300}{end}".encode()) == (200, {"pairs": 300})
    assert client.get("/pairs")[1]["total"] == 304


def test_a_second_file_is_refused_before_it_is_sent(serve, monkeypatch):
    client = serve(TSV)
    take, begun = server._Handler._take, threading.Event()
    monkeypatch.setattr(server._Handler, "_take", lambda self, file: begun.set() or take(self, file))
    told = (409, {"error": "pairs are being read already: wait for their end"})
    with socket.create_connection(("127.0.0.1", client.port), timeout=60) as first:
        head = (
            f"POST /upload?format=tsv HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n"
            f"X-Liaison-Token: {TOKEN}\r\nContent-Type: application/octet-stream\r\nContent-Length: 8\r\n\r\n"
        )
        first.sendall(head.encode() + b"not\t")
        assert begun.wait(60)
        begun.clear()
        assert client.upload("tsv", b"a\tb\n") == told
        assert not begun.is_set()
        first.sendall(b"pas\n")
        with first.makefile("rb") as answer:
            assert b'{"pairs": 1}' in answer.read()
    assert client.upload("tsv", b"a\tb\n") == (200, {"pairs": 1})


def test_whoever_writes_needs_the_token_and_comes_from_the_page(serve):
    client = serve(TSV)
    body = {"id": 1, "done": True}
    told = {"error": "the token is missing or wrong: load the page again"}
    for token in ("", "other", "t\u00f6ken".encode("latin-1").decode("latin-1"), "T0KEN"):
        assert client.post("/edit", body, X_Liaison_Token=token) == (403, told)
    assert client.upload("tsv", b"", X_Liaison_Token="other") == (403, told)
    assert client.post("/edit", body, Origin="http://evil.example")[0] == 403
    assert client.post("/edit", body, Host="evil.example")[0] == 403
    assert client.post("/edit", body, Content_Type="text/plain")[0] == 415
    assert client.upload("tsv", b"", Content_Type="application/json")[0] == 415
    assert client.send("GET", "/pairs", Sec_Fetch_Site="cross-site")[0] == 403
    assert client.send("GET", "/pairs", Host="evil.example")[0] == 403
    assert client.get("/pairs", show="annotated")[1]["total"] == 0
    assert client.post("/edit", body)[0] == 200


def test_who_is_refused_hears_why_whatever_the_size(serve):
    """A connection that is closed with bytes unread is reset, and the reason is lost."""
    client = serve()
    told = {"error": "the token is missing or wrong: load the page again"}
    for _ in range(20):
        assert client.upload("tsv", b"x" * 2_000_000, X_Liaison_Token="other") == (403, told)
        assert client.post("/edit", {"x": "x" * 60_000}, X_Liaison_Token="other") == (403, told)


def test_the_name_of_a_slip_of_the_pen_leaves_nothing(serve, tmp_path):
    kept = tmp_path / "kept"
    client = serve(TSV, folder=kept, annotator="ann")
    client.post("/edit", {"id": 1, "done": True})
    assert client.post("/annotator", {"name": "bne"})[1]["desk"]["annotators"] == ["ann", "bne"]
    assert client.post("/annotator", {"name": "ben"})[1]["desk"]["annotators"] == ["ann", "ben"]
    assert [path.name for path in kept.iterdir() if path.name.startswith("bne")] == []
    client.post("/edit", {"id": 3, "done": True})
    assert client.post("/annotator", {"name": "ann"})[1]["desk"]["annotators"] == ["ann", "ben"]
    assert client.post("/annotator", {"name": "bne"})[0] == 200
    assert client.post("/annotator", {"name": "ben"})[1]["desk"]["annotators"] == ["ann", "ben"]
    assert client.get("/pair", id=3)[1]["annotation"]["done"]
    status, found = client.post("/annotator", {"name": "../../ann"})
    assert (status, found["error"][:21]) == (400, "annotator '../../ann'")


def test_what_another_server_has_kept_meanwhile_is_compared(serve, tmp_path):
    kept = tmp_path / "kept"
    client = serve(TSV, folder=kept, annotator="ann")
    dog = Subject("corpus", 1, *(side.split() for side in DOG.split("\t")))
    house = Subject("corpus", 3, ["the", "red", "house"], ["la", "maison", "rouge"])
    with contextlib.closing(Annotations(kept, "ben")) as ben:
        ben.change(dog, State([[0, 0, 1]], True))
        for pair in (1, 3):
            client.post("/edit", {"id": pair, "changes": [[0, 1, "none"]], "done": True})
        assert client.get("/agreement", a="ann", b="ben")[1]["pairs"] == 1
        kappa = client.get("/agreement", a="ann", b="ben")[1]["f1"]
        ben.change(house, State([[0, 0, 1]], True))
        assert client.get("/agreement", a="ben", b="ann")[1]["pairs"] == 2
        ben.change(dog, State([[1, 1, 1]], True))
        assert client.get("/agreement", a="ann", b="ben")[1]["f1"] != kappa
        ben.undo()
        ben.undo()
        ben.undo()
        found = client.get("/agreement", a="ann", b="ben")[1]
        assert (found["pairs"], found["begun"]) == (0, 0)
        ben.redo()
        assert client.get("/agreement", a="ann", b="ben")[1]["f1"] == kappa


def test_a_correction_that_cannot_be_written_is_told_and_not_shown(serve, tmp_path, monkeypatch):
    client = serve(TSV, folder=tmp_path / "kept")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("align.explorer.annotations.os.fsync", full)
        status, answer = client.post("/edit", {"id": 1, "done": True})
    assert (status, answer["error"].partition(": ")[2]) == (
        507,
        "the correction cannot be kept: the disk is full; free space, then make it again",
    )
    assert client.get("/pairs", show="annotated")[1]["total"] == 0
    assert client.get("/status")[1]["undo"] == 0


def test_paths_and_sizes(serve):
    client = serve()
    assert client.get("/etc/passwd") == (404, {"error": "there is no such page"})
    assert client.post("/pairs", {}) == (404, {"error": "there is nothing that takes such posts"})
    assert client.post("/edit?id=1", {}) == (400, {"error": "posts have no parameters"})
    assert client.get("/pairs", limit=501)[0] == 400
    assert client.get("/pair", id=1) == (404, {"error": "there is no pair 1"})
    assert client.get("/lexicon") == (400, {"error": "word is missing"})
    status, answer = client.post("/edit", {"x": "x" * MOST_BYTES})
    assert (status, answer["error"][:22]) == (413, "the body is larger tha")
    status, answer = client.upload("tsv", b"x", Content_Length=str(UPLOAD_BYTES + 1))
    assert (status, answer["error"]) == (
        413,
        f"the body is larger than {UPLOAD_BYTES} bytes; give it with --input, or in parts",
    )
    assert client.send("GET", "//[x/pairs")[0] in (400, 404)


def test_pairs_are_looked_at_and_corrected_while_others_are_linked(serve):
    client = serve("the dog\tle chien\n" * 2000)
    client.upload("tsv", b"the red dog\tle chien rouge\n" * 2000)
    together = threading.Barrier(8)
    failed = []

    def work(place):
        together.wait(60)
        for step in range(10):
            pair = 1 + (place * 450 + step * 7) % 4000
            if client.get("/pair", id=pair)[1]["pair"]["links"] == []:
                failed.append(pair)
            if client.post("/edit", {"id": pair, "changes": [[0, 1, "possible"]]})[0] != 200:
                failed.append(pair)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    client.desk.linker.wait()
    assert client.get("/pairs")[1]["linked"] == 4000
    said = client.get("/pairs", show="annotated")[1]["total"]
    assert said == len({1 + (place * 450 + step * 7) % 4000 for place in range(8) for step in range(10)})


class Process:
    """The command in a process of its own."""

    def __init__(self, model, text, folder, *, before="pass"):
        command = ["serve", "-m", str(model), "-i", str(text), "--save", str(folder), "--port", "0"]
        start = f"{before}\nimport sys\nfrom align.cli.main import main\nsys.exit(main())"
        self.process = prepared.Command(["-c", start, *command], cwd=ROOT)
        port = int(self.process.line().rsplit(":", 1)[1].rstrip("/"))
        page = Client(port).send("GET", "/")[2].decode()
        self.client = Client(port, token=page.split('"token":"')[1].split('"')[0])

    def end(self, number):
        self.process.send_signal(number)
        return self.process.communicate(60)[1]


def test_a_kill_and_a_new_start_lose_nothing(model, tmp_path):
    (tmp_path / "text.tsv").write_text(TSV, encoding="utf-8")
    first = Process(model, tmp_path / "text.tsv", tmp_path / "kept")
    first.client.post("/align", {"source": "big dog", "target": "grand chien"})
    until = time.monotonic() + 60
    while first.client.get("/status")[1]["pairs"] < 5 and time.monotonic() < until:
        time.sleep(0.05)
    told = {}
    for pair in first.client.get("/pairs")[1]["rows"]:
        if pair["source"]:
            changes = [[0, 0, "possible"]]
            answer = first.client.post("/edit", {"id": pair["id"], "changes": changes})[1]["annotation"]
            told[pair["kind"], pair["number"]] = answer["links"]
    first.end(signal.SIGKILL)
    second = Process(model, tmp_path / "text.tsv", tmp_path / "kept")
    found = {}
    while len(found) < 4 and time.monotonic() < until:
        for row in second.client.get("/pairs", show="annotated")[1]["rows"]:
            pair = second.client.get("/pair", id=row["id"])[1]
            found[row["kind"], row["number"]] = pair["annotation"]["links"]
    assert found == told
    assert len(told) == 4
    assert second.client.get("/status")[1]["undo"] == 4
    assert second.end(signal.SIGTERM) == ""
    pairs = read_file(tmp_path / "kept" / "annotator.jsonl", format="jsonl")
    assert len(pairs) == 4
    assert all(pair.links[0] == (0, 0, False, None) for pair in pairs)


def test_whole_lists_that_were_saved_are_not_kept_in_memory(serve):
    routes = Routes(serve(TSV).desk)
    for name in ("unaligned", "confusions"):
        routes.get("/table", f"name={name}").file.close()
    assert not routes._kept
    assert routes.get("/summary", "") is routes.get("/summary", "")


def test_what_was_undone_before_its_pair_was_read_stays_undone(serve, tmp_path):
    kept = tmp_path / "kept"
    first = Annotations(kept, "annotator")
    dog = Subject("corpus", 1, *(side.split() for side in DOG.split("\t")))
    house = Subject("corpus", 3, ["the", "red", "house"], ["la", "maison", "rouge"])
    for pair in (dog, house):
        first.change(pair, State([[0, 0, 1]]))
    first.close()
    client = serve(folder=kept)
    assert client.post("/undo", {}) == (200, {"id": None, "annotation": None})
    (tmp_path / "late.tsv").write_text(TSV, encoding="utf-8")
    client.desk.open(Text("tsv", [str(tmp_path / "late.tsv")], "late.tsv"), on_failure=lambda: None)
    client.desk._reader.join()
    client.desk.linker.wait()
    assert [row["number"] for row in client.get("/pairs", show="annotated")[1]["rows"]] == [1]
    assert client.get("/summary")[1]["judged"] == 1
    assert client.post("/redo", {})[1]["annotation"]["links"] == [[0, 0, 1]]
    assert client.get("/pairs", show="annotated")[1]["total"] == 2


def test_a_text_that_cannot_be_taken_in_to_its_end_is_told_of(serve, tmp_path, monkeypatch):
    client = serve()
    (tmp_path / "long.tsv").write_text(f"{DOG}\n" * 300, encoding="utf-8")
    add = client.desk.store.add_pairs
    answers = iter([add])

    def full(pairs):
        for answer in answers:
            return answer(pairs)
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(client.desk.store, "add_pairs", full)
    client.desk.open(Text("tsv", [str(tmp_path / "long.tsv")], "long.tsv"), on_failure=lambda: None)
    client.desk._reader.join()
    status = client.get("/status")[1]
    assert (status["pairs"], status["reading"]) == (256, None)
    assert status["trouble"] == (
        "the text was read up to pair 256 only (OperationalError: database or disk is full); corrections are "
        "kept, start the server again to see the rest"
    )


def test_a_full_disk_of_scratch_files_is_told_as_such(serve, monkeypatch):
    client = serve(TSV)
    told = {"error": f"{client.desk.scratch}: the disk is full; free space, then try again"}

    def full(*given, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(exports, "lines", full)
        assert client.get("/export", format="pharaoh") == (507, told)
    with client.desk.store.writing() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
    rows = "".join(f"new{number} words{number}\tmots{number} nouveaux{number}\n" for number in range(500))
    assert client.upload("tsv", rows.encode()) == (507, told)


def test_where_the_store_is_full_the_journal_has_no_more_than_what_was_told(serve, tmp_path, monkeypatch):
    client = serve(TSV, folder=tmp_path / "kept")
    journal = tmp_path / "kept" / "annotator.journal.jsonl"
    client.post("/edit", {"id": 1, "done": True})
    kept, said = journal.read_bytes(), client.get("/pair", id=1)[1]["annotation"]

    def full(*given, **options):
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    told = {"error": f"{client.desk.scratch}: the disk is full; free space, then try again"}
    with monkeypatch.context() as patch:
        patch.setattr(client.desk.store, "judge", full)
        for path, body in (("/edit", {"id": 3, "done": True}), ("/edit", {"id": 1, "clear": True})):
            assert client.post(path, body) == (507, told)
        assert client.post("/undo", {}) == (507, told)
    assert journal.read_bytes() == kept
    assert client.get("/pair", id=1)[1]["annotation"] == said
    assert client.get("/pair", id=3)[1]["annotation"] is None
    status = client.get("/status")[1]
    assert (status["undo"], status["redo"]) == (1, 0)
    assert client.post("/undo", {}) == (200, {"id": 1, "annotation": None})
    assert client.post("/redo", {})[1]["annotation"]["done"]


def test_a_correction_begins_with_the_links_that_are_looked_at(serve):
    client = serve(DOG + "\n", files={"other.align": "0-3\n"}, others=["other.align"])
    own = [link[:2] for link in client.get("/pair", id=1)[1]["pair"]["links"]]
    of_file = [link[:2] for link in client.get("/pair", id=1, run=1)[1]["pair"]["links"]]
    assert (own != of_file, of_file) == (True, [[0, 3]])
    _, answer = client.post("/edit", {"id": 1, "changes": [[1, 1, "possible"]], "run": 1})
    assert answer["annotation"]["links"] == [[0, 3, 1], [1, 1, 0]]
    client.post("/edit", {"id": 1, "clear": True})
    _, answer = client.post("/edit", {"id": 1, "done": True})
    assert [link[:2] for link in answer["annotation"]["links"]] == own
    assert client.post("/edit", {"id": 1, "done": True, "run": 9}) == (404, {"error": "there is no run 9"})


KILLED = """
import os, signal
from align.model import folder
folder.write_checksums = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_while_a_model_is_kept_leaves_no_half_of_it(model, tmp_path):
    (tmp_path / "text.tsv").write_text(LEARNT, encoding="utf-8")
    kept = tmp_path / "kept"
    first = Process(model, tmp_path / "text.tsv", kept, before=KILLED)
    corrected(first.client)
    assert first.client.post("/learn", {})[0] == 200
    assert first.process.wait(60) == -signal.SIGKILL
    first.end(signal.SIGKILL)
    left = [path.name for path in kept.iterdir() if ".model-" in path.name]
    assert len(left) == 1
    assert left[0].endswith(".unfinished")
    second = Process(model, tmp_path / "text.tsv", kept)
    assert second.client.post("/learn", {})[0] == 200
    until = time.monotonic() + 60
    while (told := second.client.get("/learn")[1])["state"] == "running" and time.monotonic() < until:
        time.sleep(0.05)
    assert told["saved"] == str(kept / "annotator.model-1")
    second.end(signal.SIGTERM)
    assert [path.name for path in kept.iterdir() if ".model-" in path.name] == ["annotator.model-1"]
    assert len(Aligner.load(kept / "annotator.model-1").align(*NEW)) == 4
