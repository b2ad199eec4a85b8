"""What one waits for is measured on a model that is there, and its links are the same in every round."""

import json
import sys

import pytest

from benchmarks import latency
from tests.align import toy


@pytest.fixture
def arguments(tmp_path, monkeypatch):
    toy.toy_model().save(tmp_path / "model")
    for name, text in (("t.en", "the red house\n\nI see\n"), ("t.fr", "la maison rouge\n\nje vois\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")

    def call(pairs):
        words = f"--bitext {tmp_path}/t.en {tmp_path}/t.fr --model {tmp_path}/model --repeats 1"
        monkeypatch.setattr(
            sys, "argv", ["latency", *words.split(), "--pairs", pairs, "--output", f"{tmp_path}/out"]
        )
        latency.main()
        return json.loads((tmp_path / "out" / "table.json").read_text(encoding="utf-8"))

    return call


def test_each_wait_is_told_with_the_links(arguments, capsys):
    told = arguments("3")
    assert [row["what"] for row in told["runs"]] == ["start", "command", "align", "align_many"]
    assert all(row["cpu_seconds"] > 0 for row in told["runs"])
    assert len(told["sha256"]) == 1
    assert "| align_many |" in capsys.readouterr().out


def test_too_few_lines(arguments, capsys):
    with pytest.raises(SystemExit):
        arguments("4")
    assert "fewer than 4 lines; give fewer --pairs" in capsys.readouterr().err
