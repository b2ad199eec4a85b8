"""The explorer under many requests, models of strangers; long text: tests/browser/test_serve.py."""

import http.client
import json
import os
import shutil
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from types import SimpleNamespace

import pytest

from align.core.errors import InputError
from align.explorer import server as explorer
from align.model.folder import Model
from align.model.reading import read_description
from align.model.weights import Weights
from pipeline.stages.lexicon.prior_model import local_files
from tests.align import toy
from tests.align.server import PAIR, answer, running


def post(number, body=PAIR):
    """Post to the server: to the status and what it says."""
    with closing(http.client.HTTPConnection("127.0.0.1", number, timeout=120)) as connection:
        connection.request("POST", "/align", json.dumps(body), {"Content-Type": "application/json"})
        found = connection.getresponse()
        return found.status, json.loads(found.read())


def test_g34_200_posts_at_once_are_all_answered_by_few_threads():
    together, threads = threading.Barrier(200), []

    def slow(source, target):
        threads.append(threading.active_count())
        time.sleep(0.005)
        return answer(source, target)

    def one(number):
        together.wait(60)
        return post(number)

    with running(explorer.make_server(0, "", slow)) as number, ThreadPoolExecutor(200) as pool:
        before = threading.active_count() + 200
        found = list(pool.map(one, [number] * 200))
    assert found == [(200, {"asked": list(PAIR.values())})] * 200
    assert max(threads) <= before + explorer._THREADS


def test_g34_a_thread_answers_one_request_after_the_other_and_ends_with_the_server():
    seen = set()

    def asked(source, target):
        seen.add(threading.current_thread())
        return answer(source, target)

    with running(explorer.make_server(0, "", asked)) as number:
        for _ in range(30):
            assert post(number)[0] == 200
            time.sleep(0.01)  # the answer comes a moment before its thread is free
    assert len(seen) < 10
    for thread in seen:
        thread.join(10)
        assert not thread.is_alive()


def test_g34_who_connects_and_says_nothing_keeps_nobody_waiting_for_ever(monkeypatch):
    monkeypatch.setattr(explorer, "_TIMEOUT", 0.2)
    with running(explorer.make_server(0, "", answer)) as number:
        silent = [socket.create_connection(("127.0.0.1", number)) for _ in range(2 * explorer._THREADS)]
        assert post(number)[0] == 200
        for connection in silent:
            connection.close()


@pytest.mark.parametrize("said", [b"", b"GE", b"GET / HTTP/1.1\r\nHos", b"POST /align HTTP/1.1\r\nContent-"])
def test_g34_who_hangs_up_in_the_middle_of_a_request_is_no_fault(said, capfd):
    faults = []
    with running(explorer.make_server(0, "", answer, on_fault=faults.append)) as number:
        for _ in range(20):
            connection = socket.create_connection(("127.0.0.1", number))
            connection.sendall(said)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
            connection.close()
        assert post(number)[0] == 200
    assert (faults, capfd.readouterr().err) == ([], "")


@pytest.mark.parametrize("said", [b"\n", b" \r\n", b"\t\x1f\r\n", b"\x85\r\n"])
def test_g34_a_request_that_begins_with_blanks_is_answered(said, capfd):
    faults = []
    with (
        running(explorer.make_server(0, "", answer, on_fault=faults.append)) as number,
        socket.create_connection(("127.0.0.1", number), timeout=60) as connection,
    ):
        connection.sendall(said + b"\r\n")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.0 400 ")
    assert (faults, capfd.readouterr().err) == ([], "")


def test_g34_a_fault_of_the_server_itself_is_told_to_who_asked_for_them(monkeypatch, capfd):
    def broken(handler):
        raise ZeroDivisionError("secret")

    faults = []
    monkeypatch.setattr(explorer._Handler, "parse_request", broken)
    with (
        running(explorer.make_server(0, "", answer, on_fault=faults.append)) as number,
        pytest.raises(http.client.RemoteDisconnected),
    ):
        post(number)
    assert [fault.split("\n")[-2] for fault in faults] == ["ZeroDivisionError: secret"]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("size", [explorer.MOST_BYTES + 1, 1_000_000])
def test_g34_a_post_that_is_too_large_is_told_so_before_it_is_cut_off(size):
    """A connection that is closed with bytes unread is reset, and the reason is lost."""
    with running(explorer.make_server(0, "", answer)) as number:
        told = f"the body is larger than {explorer.MOST_BYTES} bytes; give a shorter pair"
        assert post(number, PAIR | {"source": "x" * size}) == (413, {"error": told})


# Models of strangers: every file of one is tried.

toy_files = pytest.mark.parametrize(
    "name",
    [
        "model.json",
        "weights.tsv",
        "source.vocabulary.tsv",
        "target.vectors.npy",
        "lexicon/dice.npy",
        "lexicon/links/forward.npy",
    ],
)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "model"
    toy.toy_model().save(made)
    (made / "lexicon" / "links").mkdir()
    (made / "lexicon" / "links" / "forward.npy").touch()
    return made


@toy_files
def test_g34_a_link_that_leads_out_of_a_model_is_not_followed(folder, tmp_path, name):
    secret = tmp_path / "secret"
    secret.write_text("key = 12345\n", encoding="utf-8")
    (folder / name).unlink()
    (folder / name).symlink_to(secret)
    for load in (Model.load, read_description, Weights.load):
        with pytest.raises(InputError, match=f"{name}: leads out of the model's folder, to ") as caught:
            load(folder)
        assert "12345" not in str(caught.value)


@toy_files
def test_g34_a_pipe_in_a_model_is_not_waited_for(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(InputError, match=f"{name}: is no regular file"):
        Model.load(folder)


def test_g34_links_to_devices_folders_and_nothing(folder, tmp_path):
    for place, told in (("/dev/zero", "leads out of the model's folder"), ("gone", "missing")):
        (folder / "weights.tsv").unlink()
        (folder / "weights.tsv").symlink_to(place)
        with pytest.raises(InputError, match=f"weights.tsv: {told}"):
            Model.load(folder)
    (folder / "weights.tsv").unlink()
    (folder / "weights.tsv").mkdir()
    with pytest.raises(InputError, match=r"weights.tsv: is no regular file"):
        Model.load(folder)


def test_g34_a_folder_of_a_model_that_is_elsewhere(folder, tmp_path):
    shutil.move(folder / "lexicon", tmp_path / "lexicon")
    (folder / "lexicon").symlink_to(tmp_path / "lexicon")
    with pytest.raises(InputError, match=r"lexicon/dice.npy: leads out of the model's folder"):
        Model.load(folder)


def test_g34_links_inside_a_model_and_to_it_are_followed(folder, tmp_path):
    shutil.rmtree(folder / "lexicon" / "links")
    (folder / "source.vocabulary.tsv").rename(folder / "words")
    (folder / "source.vocabulary.tsv").symlink_to("words")
    (tmp_path / "latest").symlink_to(folder)
    assert Model.load(tmp_path / "latest").names == toy.toy_model().names


def test_g34_weights_alone_and_a_prior(folder, tmp_path):
    own = tmp_path / "weights"
    Weights.save(toy.toy_model(), own)
    shutil.move(own / "weights.tsv", tmp_path)
    (own / "weights.tsv").symlink_to(tmp_path / "weights.tsv")
    with pytest.raises(InputError, match=r"weights.tsv: leads out of the model's folder"):
        Weights.load(own)
    (folder / "lexicon" / "dice.npy").unlink()
    os.mkfifo(folder / "lexicon" / "dice.npy")
    config = SimpleNamespace(option=lambda name: str(folder), path=tmp_path / "pairs.toml")
    with pytest.raises(InputError, match=r"dice.npy: is no regular file"):
        local_files(config)
