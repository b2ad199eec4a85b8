"""Which row wins, and what is compared with it."""

import argparse

import pytest

from benchmarks import accuracy, transfer
from benchmarks.process import Usage

GOLD = "0-0 1-1\n" * 3
WRONG = "0-0 1-0\n" * 3


@pytest.fixture
def files(tmp_path):
    """Return a function that writes a file of links."""

    def write(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_each_of_ours_is_compared_with_the_best_peer(files, tmp_path):
    files("a.align", GOLD)
    gold = transfer.parse("a:en-sv", tmp_path)
    ours = {"ours": files("ours.txt", WRONG)}
    peers = {"peer bad": files("bad.txt", "5-5\n" * 3), "peer good": files("good.txt", GOLD)}
    table, values = transfer.report(gold, [gold], ours, peers, tmp_path)
    rows = {row["name"]: row for row in values["rows"]}
    assert rows["ours"]["against"]["name"] == "peer good"
    assert rows["ours"]["against"]["difference"] == pytest.approx(0.5)
    assert "| peer good (best of eflomal on these pairs) | 3 | 0.00 |" in table
    assert "+50.00 (+50.00 to +50.00)" in table


def test_what_has_seen_pairs_is_only_measured_on_the_others(files, tmp_path, monkeypatch):
    monkeypatch.setattr(accuracy, "TRAIN", 1)
    files("a.align", GOLD)
    (tmp_path / "5").mkdir()
    bench = accuracy.Bench(argparse.Namespace(gold=tmp_path / "a", out=tmp_path), None, None)
    used = Usage(1.0, 2.0, 1 << 20)
    stages = dict.fromkeys(("lexicon", "train", "align"), used)
    rows = [
        accuracy.Row("Liaison gold", files("x.txt", GOLD), 1, used, stages),
        accuracy.Row("Liaison no gold", files("y.txt", WRONG), 0, used, stages),
        accuracy.Row("eflomal union", files("z.txt", WRONG), 0, used),
    ]
    text, values = bench.report(5, rows)
    measured = [(row["name"], row["start"], row["pairs"]) for row in values["rows"]]
    assert measured == [
        ("Liaison gold", 1, 2),
        ("Liaison no gold", 1, 2),
        ("eflomal union", 1, 2),
        ("Liaison no gold", 0, 3),
        ("eflomal union", 0, 3),
    ]
    assert values["rows"][0]["against"]["difference"] == pytest.approx(-0.5)
    assert text.count("(best of eflomal on these pairs)") == 2
    assert "| Liaison no gold | train | 1.0 | 2.0 | 1 |" in text
