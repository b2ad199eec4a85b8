"""Measuring the desk: the requests that are sent, and a small run from beginning to end."""

import json
import random
from pathlib import Path

import pytest

from align.core.errors import InputError
from benchmarks import serving
from tests.align import toy

SERVED = serving.Served(None, 8000, Path("log"), "t0ken", 0.0)


def test_malformed_requests_are_the_same_for_the_same_seed_and_of_all_kinds():
    first, second = (
        [serving.bad_request(random.Random(seed), SERVED) for seed in range(300)] for _ in range(2)
    )
    assert first == second
    assert {data.split(b" ")[0] for data in first} >= {b"GET", b"POST"}
    assert any(b"t0ken" in data for data in first)
    assert len(set(first)) > 250


def test_quantiles():
    values = list(range(100, 0, -1))
    assert [serving.quantile(values, share) for share in (0.5, 0.99, 1.0)] == [51, 100, 100]


def test_too_few_lines(tmp_path):
    (tmp_path / "a").write_text("1\n2\n", encoding="utf-8")
    assert serving.first_lines(tmp_path / "a", 1, tmp_path / "b").read_text(encoding="utf-8") == "1\n"
    with pytest.raises(InputError, match="a: 2 lines, not 3; give fewer --pairs"):
        serving.first_lines(tmp_path / "a", 3, tmp_path / "b")


def test_a_small_run(tmp_path, monkeypatch, capsys):
    toy.toy_model().save(tmp_path / "toy")
    for side, line in (("en", "the red house\n"), ("fr", "la maison rouge\n")):
        (tmp_path / side).write_text(line * 30, encoding="utf-8")
    words = ["--bitext", str(tmp_path / "en"), str(tmp_path / "fr"), "--model", str(tmp_path / "toy")]
    counts = ["--pairs", "30", "--malformed", "60", "--at-once", "20", "--rate", "10", "--seconds", "1"]
    monkeypatch.setattr("sys.argv", ["serving", *words, *counts, "--output", str(tmp_path / "out")])
    serving.main()
    found = json.loads((tmp_path / "out" / "table.json").read_text(encoding="utf-8"))
    assert "Traceback" not in (tmp_path / "out" / "server.log").read_text(encoding="utf-8")
    assert (found["alive"], found["traceback"], found["steady"]["failed"]) == (True, False, [])
    assert found["at_once"]["answered"] == 20
    assert sum(found["malformed"].values()) == 60
    assert not {"500", "traceback"} & set(found["malformed"])
    assert {row["found"] for row in found["pages"] if row["filter"] == "none"} == {30}
    assert "| memory with 30 pairs linked, MiB |" in capsys.readouterr().out
